//! Accounts of administrators who connect over TCP: a file with a line `name:role:verifier` for each.
//!
//! The verifier is what `caching_sha2_password` keeps for its fast path, SHA256(SHA256(password)) in
//! hexadecimal digits: it proves a password, and cannot be used as one.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use sha2::{Digest, Sha256};

/// Shortest password taken, in characters: the verifier has no salt.
pub const MIN_PASSWORD: usize = 16;

/// What an administrator may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminRole {
    /// Ask.
    Viewer,
    /// Act, too.
    Operator,
}

impl AdminRole {
    /// From its word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "viewer" => Some(Self::Viewer),
            "operator" => Some(Self::Operator),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

/// The user who gives commands on a connection.
#[derive(Debug, Clone)]
pub(super) struct Administrator {
    /// For the audit log.
    pub(super) name: String,
    /// As CURRENT_USER() shows it.
    pub(super) account: String,
    pub(super) role: AdminRole,
}

/// All accounts.
#[derive(Debug)]
pub struct Accounts(HashMap<String, (AdminRole, [u8; 32])>);

impl Accounts {
    /// Reads the file, which only its owner may read. Errors contain no verifier.
    pub fn load(path: &Path) -> Result<Self, String> {
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let mode = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.mode();
        if mode & 0o077 != 0 {
            return Err(wrong("other users may read it: chmod 600".to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let mut accounts = HashMap::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, account) = parse(line).ok_or_else(|| {
                wrong(format!(
                    "line {} is not an account; `lockstead admin-account` prints such lines",
                    n + 1
                ))
            })?;
            if accounts.insert(name.clone(), account).is_some() {
                return Err(wrong(format!("{name} is listed twice")));
            }
        }
        if accounts.is_empty() {
            return Err(wrong("has no account; `lockstead admin-account` prints one".to_owned()));
        }
        Ok(Self(accounts))
    }

    /// The role, if the proof is `caching_sha2_password`'s answer to the nonce.
    pub(super) fn check(&self, user: &[u8], nonce: &[u8; 20], proof: &[u8]) -> Option<AdminRole> {
        let found = std::str::from_utf8(user).ok().and_then(|user| self.0.get(user));
        // As much work for a name that is not there.
        let (role, verifier) = found.copied().unwrap_or((AdminRole::Viewer, [0; 32]));
        let mask = Sha256::new().chain_update(verifier).chain_update(nonce).finalize();
        let proof: [u8; 32] = proof.try_into().ok()?;
        let hashed: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        let proved = verify_slices_are_equal(&Sha256::digest(hashed), &verifier).is_ok();
        (proved && found.is_some()).then_some(role)
    }
}

fn parse(line: &str) -> Option<(String, (AdminRole, [u8; 32]))> {
    let mut parts = line.split(':');
    let (name, role, verifier) = (parts.next()?, parts.next()?, parts.next()?);
    let mut bytes = [0; 32];
    hex::decode_to_slice(verifier, &mut bytes).ok()?;
    let whole = parts.next().is_none() && is_name(name);
    whole.then_some((name.to_owned(), (AdminRole::parse(role)?, bytes)))
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=32).contains(&name.len()) && name.chars().all(plain)
}

/// The line of an account.
pub fn line(name: &str, role: AdminRole, password: &str) -> Result<String, String> {
    if !is_name(name) {
        return Err(format!(
            "{name:?} is not a valid name: use up to 32 letters, digits, - _ and ."
        ));
    }
    if password.chars().count() < MIN_PASSWORD {
        return Err(format!("the password has fewer than {MIN_PASSWORD} characters"));
    }
    let verifier = Sha256::digest(Sha256::digest(password));
    Ok(format!("{name}:{}:{}", role.word(), hex::encode(verifier)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::auth::proof;

    const PASSWORD: &str = "tulips from amsterdam";

    #[test]
    fn a_password_is_proved_and_nothing_else_is() {
        let line = line("ops", AdminRole::Operator, PASSWORD).expect("a line");
        let (name, account) = parse(&line).expect("an account");
        let accounts = Accounts(HashMap::from([(name, account)]));
        let nonce = [7; 20];
        let good = proof(b"caching_sha2_password", &nonce, PASSWORD);
        assert_eq!(accounts.check(b"ops", &nonce, &good), Some(AdminRole::Operator));
        for (user, nonce, proof) in [
            (&b"ops"[..], [8; 20], good.clone()),
            (b"nobody", nonce, good.clone()),
            (b"ops", nonce, proof(b"caching_sha2_password", &nonce, "tulips from rotterdam")),
            (b"ops", nonce, Vec::new()),
            (b"ops", nonce, vec![0]),
            (b"ops", nonce, account.1.to_vec()),
            (b"ops", nonce, [&good[..], &[0]].concat()),
        ] {
            assert_eq!(accounts.check(user, &nonce, &proof), None);
        }
        // The verifier of a name that is not there proves nothing.
        let mask = Sha256::new().chain_update([0; 32]).chain_update(nonce).finalize();
        assert_eq!(accounts.check(b"nobody", &nonce, &mask), None);
    }

    #[test]
    fn lines_that_are_no_accounts_are_refused() {
        assert!(line("ops", AdminRole::Viewer, "too short").is_err());
        assert!(line("a:b", AdminRole::Viewer, PASSWORD).is_err());
        let verifier = "00".repeat(32);
        assert!(parse(&format!("a:viewer:{verifier}")).is_some());
        for wrong in [
            format!("a:root:{verifier}"),
            format!(":viewer:{verifier}"),
            format!("a:viewer:{verifier}:"),
            format!("a:viewer:{}", &verifier[2..]),
            "a:viewer".to_owned(),
        ] {
            assert!(parse(&wrong).is_none(), "{wrong}");
        }
    }
}
