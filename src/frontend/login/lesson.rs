//! What a login teaches of its account's password.

use zeroize::Zeroizing;

use crate::backend::learned::LearnedSecrets;
use crate::backend::proven::{Proven, ShownAnswer};
use crate::protocol::auth::{self, Method};
use crate::protocol::recover::{Scheme, is_none};

/// What the proxy may learn from a login, and of which account.
#[derive(Clone, Copy)]
pub struct Learning<'a> {
    /// What is known so far.
    pub secrets: &'a LearnedSecrets,
    /// The user name that the client sent.
    pub user: &'a [u8],
}

/// What one login has shown so far. Without [`Learning`], nothing is noted.
#[derive(Default)]
pub(super) struct Lesson<'a> {
    learning: Option<Learning<'a>>,
    /// The client's answer to the method that the server has asked for last.
    shown: Option<ShownAnswer>,
    /// The client's answer by a plugin that signs the nonce.
    signed: Option<Proven>,
    /// The password, by the same method.
    clear: Option<Zeroizing<Vec<u8>>>,
    /// More than a password is asked for.
    several: bool,
}

impl<'a> Lesson<'a> {
    pub(super) fn of(learning: Learning<'a>) -> Self {
        let learning = Some(learning).filter(|from| from.secrets.concerns(from.user));
        Self { learning, ..Self::default() }
    }

    /// What the proxy may learn from the login; `None`: nothing.
    pub(super) fn learning(&self) -> Option<Learning<'a>> {
        self.learning
    }

    /// Another method begins: what was shown by the one before is no proof.
    pub(super) fn begin_anew(&mut self) {
        (self.shown, self.signed, self.clear) = (None, None, None);
    }

    /// A further factor is asked for, which nobody can learn to have.
    pub(super) fn note_factor(&mut self) {
        self.several = true;
    }

    /// The client's first answer by a method.
    pub(super) fn note_answer(&mut self, method: &Method, answer: &[u8]) {
        let scheme = Scheme::of_plugin(&method.plugin).filter(|_| self.learning.is_some());
        self.shown = scheme.map(|scheme| ShownAnswer {
            scheme,
            nonce: method.nonce.clone(),
            answer: answer.to_vec(),
        });
        let signs = self.learning.is_some() && auth::signs(&method.plugin) && !answer.is_empty();
        self.signed = signs.then(|| Proven::Signed {
            plugin: method.plugin.clone(),
            nonce: method.nonce.clone(),
            answer: answer.to_vec(),
        });
    }

    /// The password has come, with the NUL that ends it.
    pub(super) fn note_password(&mut self, password: &[u8]) {
        if self.learning.is_some() {
            let whole = password.strip_suffix(&[0]);
            self.clear = whole.map(|password| Zeroizing::new(password.to_vec()));
        }
    }

    /// Whether a client that the server is content with should be asked for its password.
    pub(super) fn needs_password(&self) -> bool {
        match (&self.learning, &self.shown) {
            (Some(from), Some(shown)) => {
                let told = self.several || is_none(&shown.answer);
                !told && !from.secrets.needs_no_more(from.user, shown)
            }
            _ => false,
        }
    }

    /// The client was asked for its password in passing, and has said this. If it is not the one by
    /// which the server has let it in, its next login is not asked again.
    pub(super) fn check_password(&mut self, password: &[u8]) {
        let (Some(from), Some(shown)) = (self.learning, &self.shown) else {
            return;
        };
        let whole = password.strip_suffix(&[0]).unwrap_or_default();
        if !whole.is_empty() && shown.scheme.is_answer(whole, &shown.nonce, &shown.answer) {
            self.note_password(password);
        } else {
            from.secrets.note_reluctant(from.user);
        }
    }

    /// The client's proof, now that the server has let it in.
    pub(super) fn take(&mut self) -> Option<Proven> {
        let (clear, shown, signed) = (self.clear.take(), self.shown.take(), self.signed.take());
        if self.several || self.learning.is_none() {
            return None;
        }
        match (clear, shown) {
            (Some(password), _) => Some(Proven::Clear(password)),
            (None, Some(shown)) if is_none(&shown.answer) => {
                Some(Proven::Clear(Zeroizing::default()))
            }
            (None, shown) => shown.map(Proven::Answered).or(signed),
        }
    }
}
