//! What an answer to a nonce gives away to a reader who knows what the server keeps of the password. That is the hash
//! from which the answer to every other nonce is made.
//!
//! Both plugins hash a password twice. The server keeps the second hash, the *verifier*; a client
//! sends the first one, masked with the nonce and the verifier. Neither is the password, but the first
//! one is as good as it for a login that asks for no more.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use zeroize::Zeroizing;

use super::auth::NONCE;

/// A plugin whose answers can be made from a hash of the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `caching_sha2_password`: SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce).
    CachingSha2,
    /// `mysql_native_password`: SHA1(password) xor SHA1(nonce, SHA1(SHA1(password))).
    Native,
}

/// A hash of a password that is as good as it. Not to be printed.
pub type PasswordHash = Zeroizing<Vec<u8>>;

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::CachingSha2, Self::Native];

    /// Of a plugin's name. A client that names none means the oldest.
    pub fn of_plugin(plugin: &[u8]) -> Option<Self> {
        match plugin {
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"mysql_native_password" | b"" => Some(Self::Native),
            _ => None,
        }
    }

    /// The plugin's name.
    pub fn plugin(self) -> &'static [u8] {
        match self {
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Native => b"mysql_native_password",
        }
    }

    /// Bytes of a hash, of a verifier, and of an answer.
    pub fn length(self) -> usize {
        match self {
            Self::CachingSha2 => 32,
            Self::Native => 20,
        }
    }

    fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::CachingSha2 => &SHA256,
            Self::Native => &SHA1_FOR_LEGACY_USE_ONLY,
        }
    }

    /// One round: of a password its hash, of that the verifier.
    pub fn hash(self, bytes: &[u8]) -> PasswordHash {
        Zeroizing::new(digest(self.algorithm(), bytes).as_ref().to_vec())
    }

    /// Whether this hash belongs to this verifier.
    pub fn verifies(self, verifier: &[u8], hash: &[u8]) -> bool {
        verify_slices_are_equal(&self.hash(hash), verifier).is_ok()
    }

    /// The hash, if `answer` was made with the verifier's password.
    pub fn recover(self, verifier: &[u8], nonce: &[u8], answer: &[u8]) -> Option<PasswordHash> {
        if answer.len() != self.length() {
            return None;
        }
        let hash = xor(answer, &self.mask(verifier, nonce)?);
        self.verifies(verifier, &hash).then_some(hash)
    }

    /// The answer to a nonce. `None`: that is no nonce.
    pub fn answer(self, hash: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
        let mask = self.mask(&self.hash(hash), nonce)?;
        Some(xor(hash, &mask).to_vec())
    }

    /// Whether `answer` is the password's to this nonce. Without a password it is none, or a NUL.
    pub fn is_answer(self, password: &[u8], nonce: &[u8], answer: &[u8]) -> bool {
        if password.is_empty() {
            return is_none(answer);
        }
        let own = self.answer(&self.hash(password), nonce);
        own.is_some_and(|own| verify_slices_are_equal(&own, answer).is_ok())
    }

    fn mask(self, verifier: &[u8], nonce: &[u8]) -> Option<PasswordHash> {
        // A NUL may follow.
        let nonce = nonce.get(..NONCE)?;
        let mut mask = Context::new(self.algorithm());
        let parts = match self {
            Self::CachingSha2 => [verifier, nonce],
            Self::Native => [nonce, verifier],
        };
        for part in parts {
            mask.update(part);
        }
        Some(Zeroizing::new(mask.finish().as_ref().to_vec()))
    }
}

/// Whether this is the answer of a client without a password.
pub fn is_none(answer: &[u8]) -> bool {
    matches!(answer, [] | [0])
}

fn xor(a: &[u8], b: &[u8]) -> PasswordHash {
    Zeroizing::new(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
}

#[cfg(test)]
mod tests {
    use super::super::auth::proof;
    use super::*;

    const PASSWORD: &str = "a secret";
    /// With the NUL of a greeting.
    const GREETED: &[u8] = b"abcdefghijklmnopqrst\0";
    const LATER: &[u8] = b"ABCDEFGHIJKLMNOPQRST";

    #[test]
    fn one_answer_and_the_verifier_make_the_answer_to_every_nonce() {
        for scheme in Scheme::ALL {
            let hash = scheme.hash(PASSWORD.as_bytes());
            let verifier = scheme.hash(&hash);
            let said = proof(scheme.plugin(), GREETED, PASSWORD);
            let recovered = scheme.recover(&verifier, GREETED, &said).expect("the right password");
            assert_eq!(*recovered, *hash, "{scheme:?}");
            let next = scheme.answer(&recovered, LATER);
            assert_eq!(next, Some(proof(scheme.plugin(), LATER, PASSWORD)), "{scheme:?}");
            assert!(scheme.is_answer(PASSWORD.as_bytes(), GREETED, &said), "{scheme:?}");
        }
    }

    #[test]
    fn an_answer_of_another_password_gives_nothing_away() {
        for scheme in Scheme::ALL {
            let verifier = scheme.hash(&scheme.hash(PASSWORD.as_bytes()));
            let said = proof(scheme.plugin(), GREETED, PASSWORD);
            let wrong = proof(scheme.plugin(), GREETED, "another");
            for (nonce, answer) in [
                (GREETED, &wrong[..]),
                (LATER, &said),
                (&GREETED[1..], &said),
                (&GREETED[..19], &said),
                (GREETED, &said[1..]),
                (GREETED, &[]),
                (b"", &said),
            ] {
                assert_eq!(scheme.recover(&verifier, nonce, answer), None, "{scheme:?}");
                assert!(!scheme.is_answer(PASSWORD.as_bytes(), nonce, answer), "{scheme:?}");
            }
            assert_eq!(scheme.recover(b"", GREETED, &said), None, "{scheme:?}");
            assert_eq!(scheme.answer(&verifier, b"short"), None, "{scheme:?}");
        }
    }

    #[test]
    fn no_password_has_no_answer() {
        for scheme in Scheme::ALL {
            assert!(scheme.is_answer(b"", GREETED, b""));
            assert!(scheme.is_answer(b"", GREETED, b"\0"));
            assert!(!scheme.is_answer(b"", GREETED, &vec![0; scheme.length()]));
            assert!(!scheme.is_answer(b"x", GREETED, b""));
        }
    }

    #[test]
    fn plugins_go_by_their_names() {
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::of_plugin(scheme.plugin()), Some(scheme));
        }
        assert_eq!(Scheme::of_plugin(b""), Some(Scheme::Native));
        assert_eq!(Scheme::of_plugin(b"sha256_password"), None);
    }
}
