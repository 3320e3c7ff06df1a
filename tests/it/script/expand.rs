//! Filling in placeholders and byte escapes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The names of one run; a run and the run it is compared with share them.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// Eight characters of `[a-z0-9]`.
    pub(crate) prefix: String,
    /// Eight digits.
    pub(crate) digits: String,
}

impl Names {
    /// Names that no other run against the same server has, of letters alone. Digits in a name could be read as a
    /// connection's id, which are small on a fresh server.
    pub(crate) fn fresh() -> Names {
        let seed = RandomState::new().build_hasher().finish();
        let mut prefix = String::from("n");
        let mut rest = seed;
        for _ in 0..7 {
            prefix.push(char::from(b'a' + u8::try_from(rest % 26).expect("below 26")));
            rest /= 26;
        }
        Names { prefix, digits: (10_000_000 + seed % 80_000_000).to_string() }
    }

    pub(crate) fn database(&self) -> String {
        format!("d_{}", self.prefix)
    }

    pub(crate) fn user(&self) -> String {
        format!("u_{}", self.prefix)
    }

    /// A second account with the same rights.
    pub(crate) fn second_user(&self) -> String {
        format!("v_{}", self.prefix)
    }

    /// `text` with everything filled in; `ids` are the connection ids of the sessions.
    pub(crate) fn expand(&self, text: &str, ids: &BTreeMap<String, u32>) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            out.extend_from_slice(&rest.as_bytes()[..at]);
            rest = &rest[at..];
            let (bytes, used) = self.one(rest, ids);
            out.extend_from_slice(&bytes);
            rest = &rest[used..];
        }
        out.extend_from_slice(rest.as_bytes());
        out
    }

    /// What stands at the front of `text`, and how many bytes of `text` it takes.
    fn one(&self, text: &str, ids: &BTreeMap<String, u32>) -> (Vec<u8>, usize) {
        if let Some(byte) = escaped_byte(text) {
            return (vec![byte], 4);
        }
        if let Some((inner, used)) = call(text, "$ID(") {
            let id = ids.get(inner).unwrap_or_else(|| panic!("no session {inner} for {text}"));
            return (id.to_string().into_bytes(), used);
        }
        if let Some((inner, used)) = call(text, "$REP(") {
            let (unit, times) = inner.rsplit_once(',').unwrap_or_else(|| panic!("bad {text}"));
            let times: usize = times.trim().parse().unwrap_or_else(|_| panic!("bad {text}"));
            return (self.expand(unit, ids).repeat(times), used);
        }
        for (name, value) in [
            ("$DB", self.database()),
            ("$USER2", self.second_user()),
            ("$USER", self.user()),
            ("$X", hex::encode(&self.prefix)),
            ("$N", self.prefix.clone()),
            ("$D", self.digits.clone()),
        ] {
            if text.starts_with(name) {
                return (value.into_bytes(), name.len());
            }
        }
        (text.as_bytes()[..1].to_vec(), 1)
    }
}

fn escaped_byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("\\x")?.get(..2)?;
    u8::from_str_radix(digits, 16).ok()
}

fn call<'a>(text: &'a str, open: &str) -> Option<(&'a str, usize)> {
    let inner = text.strip_prefix(open)?;
    let end = inner.find(')')?;
    Some((&inner[..end], open.len() + end + 1))
}
