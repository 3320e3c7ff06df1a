//! What the proxy has learned of accounts while their clients logged in, so that it can open more
//! connections for them.
//!
//! The server judges each client. The proof that a client has given is kept in locked memory, and
//! nowhere else; it is good as long as the server takes it.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_lc_rs::error::Unspecified;
use parking_lot::Mutex;
use prometheus::IntCounter;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::admissions::{Admission, Admissions, LoginShape};
use super::given::GivenSecrets;
use super::proven::{Proven, ShownAnswer};
use super::vault::{MOST, Vault};
use super::verifier_reads::VerifierReads;
use crate::protocol::auth::OwnKey;
use crate::protocol::recover::{Scheme, is_none};
use crate::protocol::user_name::UserName;
use crate::types::LearnPasswords;

/// Longest user name that is known: names have 32 characters on MySQL, 128 on MariaDB.
const LONGEST_NAME: usize = 512;
/// How long clients of an account are not asked for its password after one has left at the question.
const RELUCTANCE: Duration = Duration::from_mins(10);

/// What is known of the accounts of one server, by their user names in utf8: [`UserName::certain`].
pub struct LearnedSecrets {
    policy: LearnPasswords,
    own_key: Option<OwnKey>,
    pub(super) vault: Mutex<Vault>,
    /// Taken before the vault where both are.
    pub(super) given: Mutex<GivenSecrets>,
    /// When a client left because it was asked for its password.
    reluctant: Mutex<HashMap<Vec<u8>, Instant>>,
    pub(super) unlocked: Unlocked,
    /// Given passwords that have turned out to be wrong.
    pub(super) wrong: IntCounter,
    admissions: Admissions,
    reads: VerifierReads,
}

/// Blocks of memory that could not be locked.
pub(super) struct Unlocked {
    counter: IntCounter,
    told: AtomicBool,
}

impl LearnedSecrets {
    /// Nothing yet. `unlocked` counts blocks of memory that could not be locked, `wrong` given passwords that have
    /// turned out to be wrong.
    pub fn new(
        policy: LearnPasswords,
        unlocked: IntCounter,
        wrong: IntCounter,
    ) -> Result<Self, Unspecified> {
        Ok(Self {
            policy,
            own_key: policy.learns().then(OwnKey::generate).transpose()?,
            vault: Mutex::default(),
            given: Mutex::default(),
            reluctant: Mutex::default(),
            unlocked: Unlocked { counter: unlocked, told: AtomicBool::new(false) },
            wrong,
            admissions: Admissions::default(),
            reads: VerifierReads::default(),
        })
    }

    /// What is kept.
    pub fn policy(&self) -> LearnPasswords {
        self.policy
    }

    /// The key under which clients without TLS are to send a password; present if any is learned.
    pub fn own_key(&self) -> Option<&OwnKey> {
        self.own_key.as_ref()
    }

    /// Keeps what a client has proved itself with, where no password is given for the account. Returns whether
    /// connections can be opened for the account now.
    pub(super) fn keep_proven(&self, user: &[u8], proven: &Proven) -> bool {
        if !self.takes(user) {
            return false;
        }
        let mut vault = self.vault.lock();
        let kept = match proven {
            Proven::Clear(password) => {
                self.reluctant.lock().remove(user);
                vault.keep_password(user, password, &|e| self.unlocked.note(&e))
            }
            Proven::Hashed(scheme, hash) => self.keep_hash(&mut vault, user, *scheme, hash),
            Proven::Answered(shown) => match vault.get(user).and_then(|known| shown.hash(&known)) {
                Some(hash) => self.keep_hash(&mut vault, user, shown.scheme, &hash),
                None => return false,
            },
            Proven::Signed { .. } => return false,
        };
        if let Err(e) = &kept {
            tracing::debug!(error = %e, "a proven password is not kept");
        }
        kept.is_ok()
    }

    fn keep_hash(
        &self,
        vault: &mut Vault,
        user: &[u8],
        scheme: Scheme,
        hash: &[u8],
    ) -> io::Result<()> {
        let verifier = scheme.hash(hash);
        vault.keep_hash(user, scheme, Some(hash), &verifier, &|e| self.unlocked.note(&e))
    }

    /// Keeps what the server keeps of an account's password, by its own tables: a login is then
    /// recognised, and teaches the hash.
    pub fn learn_verifier(&self, user: &[u8], scheme: Scheme, verifier: &[u8]) {
        if self.takes(user) {
            let refused = |e| self.unlocked.note(&e);
            let kept = self.vault.lock().keep_hash(user, scheme, None, verifier, &refused);
            if let Err(e) = kept {
                tracing::debug!(error = %e, "a verifier is not kept");
            }
        }
    }

    /// Reads of what the server keeps.
    pub fn verifier_reads(&self) -> &VerifierReads {
        &self.reads
    }

    /// Logins that the server has judged last.
    pub fn admissions(&self) -> &Admissions {
        &self.admissions
    }

    /// Lets a client in that gives this answer, if the server has let in one like it, with the same password, not longer
    /// than `ttl` ago.
    pub fn admit(
        &self,
        shape: &LoginShape,
        plugin: &[u8],
        (nonce, answer): (&[u8], &[u8]),
        ttl: Duration,
    ) -> Option<Admission> {
        let admission = self.admissions.of(shape, plugin, ttl)?;
        self.recognise(shape.user.certain()?, plugin, nonce, answer).map(|_| admission)
    }

    /// Learns from an answer, if it comes from a client that has the account's password.
    /// `None` is no refusal: the password may have changed, and there may be two.
    pub fn recognise(
        &self,
        user: &[u8],
        plugin: &[u8],
        nonce: &[u8],
        answer: &[u8],
    ) -> Option<Proven> {
        let scheme = Scheme::of_plugin(plugin)?;
        let mut vault = self.vault.lock();
        let known = vault.used(user)?;
        if known.has_no_password() {
            return is_none(answer).then(|| Proven::Clear(Zeroizing::default()));
        }
        known.recover(scheme, nonce, answer).map(|hash| Proven::Hashed(scheme, hash))
    }

    /// Whether a client with this answer should not be asked for its password. Either the question would teach nothing
    /// that the answer does not, or another client of the account has left at that question.
    pub fn needs_no_more(&self, user: &[u8], shown: &ShownAnswer) -> bool {
        self.needs_no_more_at(user, shown, Instant::now())
    }

    fn needs_no_more_at(&self, user: &[u8], shown: &ShownAnswer, now: Instant) -> bool {
        let left = |since: &Instant| now.saturating_duration_since(*since) < RELUCTANCE;
        if self.given.lock().get(user).is_some_and(|known| shown.is_of(&known)) {
            return true;
        }
        if !self.takes(user) || self.reluctant.lock().get(user).is_some_and(left) {
            return true;
        }
        let vault = self.vault.lock();
        vault.get(user).is_some_and(|known| known.clear().is_some() && shown.hash(&known).is_some())
    }

    /// Notes that a client of this account left because it was asked for its password, so that the next login does not
    /// end there.
    pub fn note_reluctant(&self, user: &[u8]) {
        if self.takes(user) {
            let mut reluctant = self.reluctant.lock();
            if reluctant.len() >= MOST {
                reluctant.retain(|_, since| since.elapsed() < RELUCTANCE);
            }
            if reluctant.len() < MOST {
                reluctant.insert(user.to_vec(), Instant::now());
            }
        }
    }

    /// The account's answer to a nonce. `None`: what is known makes none for this plugin.
    pub fn proof_for(&self, user: &[u8], plugin: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
        self.vault.lock().used(user)?.proof(plugin, nonce)
    }

    /// The password itself, if it is kept.
    pub fn clear_for(&self, user: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let vault = self.vault.lock();
        vault.get(user)?.clear().map(|password| Zeroizing::new(password.to_vec()))
    }

    /// Whether connections can be opened for sessions of this user.
    pub fn opens_for(&self, user: &UserName) -> bool {
        user.certain().is_some_and(|user| self.knows(user))
    }

    /// Whether connections can be opened for the account, as far as is known.
    pub fn knows(&self, user: &[u8]) -> bool {
        self.vault.lock().get(user).is_some_and(|known| known.open())
    }

    fn takes(&self, user: &[u8]) -> bool {
        self.policy.learns() && user.len() <= LONGEST_NAME
    }
}

impl Unlocked {
    pub(super) fn note(&self, error: &io::Error) {
        self.counter.inc();
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %error,
                "memory for learned passwords cannot be locked, and may be written to swap: raise the \
                 limit of locked memory (LimitMEMLOCK, ulimit -l)"
            );
        }
    }
}

impl fmt::Debug for LearnedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LearnedSecrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::auth::proof;

    const NAME: &[u8] = b"app";
    const PASSWORD: &str = "a secret";
    const NONCE: &[u8] = b"abcdefghijklmnopqrst";
    const LATER: &[u8] = b"ABCDEFGHIJKLMNOPQRST";

    fn secrets(policy: LearnPasswords) -> LearnedSecrets {
        let counter = IntCounter::new("unlocked", "of a test").expect("a counter");
        LearnedSecrets::new(policy, counter.clone(), counter).expect("a key")
    }

    fn clear(password: &str) -> Proven {
        Proven::Clear(Zeroizing::new(password.as_bytes().to_vec()))
    }

    fn answered(scheme: Scheme, password: &str) -> ShownAnswer {
        let answer = proof(scheme.plugin(), NONCE, password);
        ShownAnswer { scheme, nonce: NONCE.to_vec(), answer }
    }

    fn assert_opens(secrets: &LearnedSecrets, scheme: Scheme) {
        let expected = proof(scheme.plugin(), LATER, PASSWORD);
        assert_eq!(secrets.proof_for(NAME, scheme.plugin(), LATER), Some(expected), "{scheme:?}");
        assert!(secrets.knows(NAME));
    }

    #[test]
    fn a_password_opens_by_both_plugins() {
        let secrets = secrets(LearnPasswords::Clear);
        assert!(secrets.learn(NAME, &clear(PASSWORD)));
        for scheme in Scheme::ALL {
            assert_opens(&secrets, scheme);
            assert!(secrets.needs_no_more(NAME, &answered(scheme, PASSWORD)));
            assert!(!secrets.needs_no_more(NAME, &answered(scheme, "another")));
        }
        assert!(secrets.clear_for(NAME).is_some());
        secrets.refused(NAME, secrets.source(NAME).expect("known"));
        assert!(!secrets.knows(NAME) && secrets.clear_for(NAME).is_none());
    }

    #[test]
    fn off_learns_nothing() {
        let secrets = secrets(LearnPasswords::Off);
        assert!(!secrets.learn(NAME, &clear(PASSWORD)));
        secrets.learn_verifier(NAME, Scheme::Native, &[0; 20]);
        assert!(secrets.vault.lock().get(NAME).is_none());
        assert!(secrets.own_key().is_none());
        assert!(secrets.needs_no_more(NAME, &answered(Scheme::CachingSha2, PASSWORD)));
    }

    #[test]
    fn the_server_s_verifier_and_one_answer_open_an_account() {
        for scheme in Scheme::ALL {
            let secrets = secrets(LearnPasswords::Clear);
            let right = answered(scheme, PASSWORD);
            assert!(!secrets.learn(NAME, &Proven::Answered(right)), "nothing is known yet");
            let verifier = scheme.hash(&scheme.hash(PASSWORD.as_bytes()));
            secrets.learn_verifier(NAME, scheme, &verifier);
            assert!(
                !secrets.knows(NAME) && secrets.proof_for(NAME, scheme.plugin(), NONCE).is_none()
            );
            let wrong = answered(scheme, "another");
            assert!(secrets.recognise(NAME, scheme.plugin(), NONCE, &wrong.answer).is_none());
            assert!(!secrets.learn(NAME, &Proven::Answered(wrong)));
            let right = answered(scheme, PASSWORD);
            let proven = secrets.recognise(NAME, scheme.plugin(), NONCE, &right.answer);
            assert!(secrets.learn(NAME, &proven.expect("the right password")));
            assert_opens(&secrets, scheme);
            assert!(!secrets.needs_no_more(NAME, &right), "the password itself is not known");
            secrets.refused(NAME, secrets.source(NAME).expect("known"));
            assert!(!secrets.knows(NAME));
        }
    }

    #[test]
    fn no_password_is_something_to_know_too() {
        let secrets = secrets(LearnPasswords::Clear);
        assert!(secrets.learn(NAME, &clear("")));
        for scheme in Scheme::ALL {
            assert_eq!(secrets.proof_for(NAME, scheme.plugin(), NONCE), Some(Vec::new()));
            assert!(secrets.recognise(NAME, scheme.plugin(), NONCE, b"").is_some());
            assert!(secrets.recognise(NAME, scheme.plugin(), NONCE, &[0; 20]).is_none());
        }
        assert_eq!(secrets.proof_for(NAME, b"client_ed25519", NONCE), None);
    }

    #[test]
    fn an_account_whose_client_left_at_the_question_is_not_asked_for_a_while() {
        let secrets = secrets(LearnPasswords::Clear);
        let shown = answered(Scheme::CachingSha2, PASSWORD);
        assert!(!secrets.needs_no_more(NAME, &shown));
        secrets.note_reluctant(NAME);
        assert!(secrets.needs_no_more(NAME, &shown));
        assert!(!secrets.needs_no_more(b"another", &shown));
        assert!(!secrets.needs_no_more_at(NAME, &shown, Instant::now() + RELUCTANCE));
    }

    #[test]
    fn names_are_bounded_and_nothing_is_printed() {
        let secrets = secrets(LearnPasswords::Clear);
        assert!(!secrets.learn(&vec![b'u'; LONGEST_NAME + 1], &clear(PASSWORD)));
        assert!(secrets.learn(NAME, &clear(PASSWORD)));
        assert_eq!(format!("{secrets:?}"), "LearnedSecrets");
    }
}
