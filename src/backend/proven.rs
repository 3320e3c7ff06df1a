//! What a client has shown at a login that the server has accepted.

use zeroize::Zeroizing;

use super::vault::KnownSecrets;
use crate::protocol::recover::{PasswordHash, Scheme, is_none};

/// What a client has shown to a server that then let it in. Not to be printed.
pub enum Proven {
    /// The password; empty if there is none.
    Clear(Zeroizing<Vec<u8>>),
    /// A hash of it.
    Hashed(Scheme, PasswordHash),
    /// An answer to a nonce, which teaches only where it is known what the server keeps.
    Answered(ShownAnswer),
    /// A signature, which teaches only what the configuration gives.
    Signed {
        /// The plugin.
        plugin: Vec<u8>,
        /// What was signed.
        nonce: Vec<u8>,
        /// The signature.
        answer: Vec<u8>,
    },
}

/// A client's answer, and what it was the answer to.
pub struct ShownAnswer {
    /// How it was made.
    pub scheme: Scheme,
    /// The nonce.
    pub nonce: Vec<u8>,
    /// The answer.
    pub answer: Vec<u8>,
}

impl ShownAnswer {
    /// Whether the known password has made it.
    pub(super) fn is_of(&self, known: &KnownSecrets<'_>) -> bool {
        if known.has_no_password() { is_none(&self.answer) } else { self.hash(known).is_some() }
    }

    /// The hash that it was made with, if it is that of the known password.
    pub(super) fn hash(&self, known: &KnownSecrets<'_>) -> Option<PasswordHash> {
        known.recover(self.scheme, &self.nonce, &self.answer)
    }
}
