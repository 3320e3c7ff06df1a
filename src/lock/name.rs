//! Lock names: which texts the proxy may judge itself, and the key a name becomes.
//!
//! MySQL compares names after conversion to utf8mb3 and case folding, MariaDB byte by byte; both
//! cut at the first NUL (native-semantics, section 2). The proxy decides printable ASCII only;
//! every other name is computed by the session's own server.

use sha2::{Digest, Sha256};

use crate::types::Flavour;

/// MySQL's limit in characters.
const MYSQL_MAX_CHARS: usize = 64;
/// MariaDB's limit in bytes.
const MARIADB_MAX_BYTES: usize = 192;

/// First byte of every key that is a plain lock; other kinds of keys are for later use.
const PLAIN: u8 = b'L';

/// The primary key of a lock's row: a type byte and the folded name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Box<[u8]>);

impl Key {
    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A key as a row has it; `None` for one that is no lock's.
    pub fn from_row(bytes: &[u8]) -> Option<Self> {
        (bytes.first() == Some(&PLAIN)).then(|| Self(bytes.into()))
    }

    /// The name, as names are compared.
    pub fn folded(&self) -> &[u8] {
        &self.0[1..]
    }

    /// The name as names are compared, for display.
    pub fn shown(&self) -> String {
        shown(self.folded())
    }

    /// A number that tells it from other locks, in a schema of lock tables as in others, and fits a
    /// BIGINT. All proxies have the same for it.
    pub fn tag(&self, schema: &str) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&Sha256::digest([schema.as_bytes(), b".", &self.0].concat())[..8]);
        u64::from_be_bytes(first) >> 1
    }

    fn plain(folded: &[u8]) -> Self {
        let end = memchr::memchr(0, folded).unwrap_or(folded.len());
        let mut k = Vec::with_capacity(end + 1);
        k.push(PLAIN);
        k.extend_from_slice(&folded[..end]);
        Self(k.into())
    }
}

/// A valid name: its key, and the name as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The row's key.
    pub key: Key,
    /// The name as it was given, for display.
    pub given: Box<[u8]>,
}

impl Name {
    /// An expression of SQL that the server takes for the same name, in any mode and character set.
    pub fn expression(&self, flavour: Flavour) -> String {
        let bytes = hex::encode_upper(&self.given);
        match flavour {
            Flavour::MySql => format!("CONVERT(x'{bytes}' USING utf8mb4)"),
            Flavour::MariaDb => format!("x'{bytes}'"),
        }
    }
}

/// A name as the server lists its own locks: in the form in which it compares names, up to the first NUL.
pub fn listed(name: &[u8]) -> Name {
    let given = if name.is_empty() { &b"\0"[..] } else { name };
    Name { key: Key::plain(name), given: given.into() }
}

/// A name for display, as the view shows it: in hexadecimal digits if it is no text, so that it
/// differs from others.
pub fn shown(name: &[u8]) -> String {
    std::str::from_utf8(name).map_or_else(|_| hex::encode_upper(name), str::to_owned)
}

/// Whether the proxy may decide about these bytes without the server.
pub fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| (0x20..0x7f).contains(b))
}

/// Judges a name of printable ASCII: `None` when the server refuses it.
pub fn plain(bytes: &[u8], flavour: Flavour) -> Option<Name> {
    let limit = match flavour {
        Flavour::MySql => MYSQL_MAX_CHARS,
        Flavour::MariaDb => MARIADB_MAX_BYTES,
    };
    if bytes.is_empty() || bytes.len() > limit {
        return None;
    }
    let key = match flavour {
        Flavour::MySql => Key::plain(&bytes.to_ascii_lowercase()),
        Flavour::MariaDb => Key::plain(bytes),
    };
    Some(Name { key, given: bytes.into() })
}

/// Judges a name whose folded bytes and length in characters the server has computed.
/// `None` when the server refuses it.
pub fn computed(folded: &[u8], chars: u64, given: &[u8], flavour: Flavour) -> Option<Name> {
    let fits = match flavour {
        Flavour::MySql => chars <= MYSQL_MAX_CHARS as u64,
        Flavour::MariaDb => folded.len() <= MARIADB_MAX_BYTES,
    };
    // A folded name is at most 64 characters of three bytes, or 192 bytes.
    if folded.is_empty() || !fits || folded.len() > MARIADB_MAX_BYTES {
        return None;
    }
    Some(Name { key: Key::plain(folded), given: given.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_matters_on_mariadb_only() {
        let key = |n: &[u8], f| plain(n, f).expect("valid").key;
        assert_eq!(key(b"Job A", Flavour::MySql), key(b"job a", Flavour::MySql));
        assert_ne!(key(b"Job A", Flavour::MariaDb), key(b"job a", Flavour::MariaDb));
        // From the SHA-256 of "lockstead.Ljob a".
        assert_eq!(key(b"Job A", Flavour::MySql).tag("lockstead"), 0x4a00_c3f4_923c_eefc);
    }

    #[test]
    fn limits_are_those_of_each_flavour() {
        for (flavour, limit) in [(Flavour::MySql, 64), (Flavour::MariaDb, 192)] {
            assert!(plain(&vec![b'a'; limit], flavour).is_some());
            assert!(plain(&vec![b'a'; limit + 1], flavour).is_none());
            assert!(plain(b"", flavour).is_none());
        }
    }

    #[test]
    fn a_name_ends_at_its_first_nul_and_may_be_empty_then() {
        let key = |n: &[u8]| computed(n, 3, n, Flavour::MySql).expect("valid").key;
        assert_eq!(key(b"a\0b"), key(b"a\0c"));
        assert_eq!(key(b"\0").as_bytes(), b"L");
    }
}
