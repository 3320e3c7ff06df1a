//! Which of the secrets that are known of an account opens its next connection, and what the server says to that.
//!
//! The next connection is opened with what a client has proved last. A password that the configuration gives is proved
//! as all others are, by a client. Where it was changed while sessions were open, it is tried, once.

use std::io;

use zeroize::Zeroizing;

use super::given::{GivenChange, GivenSecrets, SecretSource, Wrong};
use super::learned::LearnedSecrets;
use super::proven::Proven;
use super::vault::{KnownSecrets, Vault};
use crate::config::GivenUser;
use crate::protocol::recover::Scheme;
use crate::types::LearnPasswords;

impl LearnedSecrets {
    /// Keeps what a client has proved itself with, after the server has let it in. Returns whether connections can be opened
    /// for the account now.
    pub fn learn(&self, user: &[u8], proven: &Proven) -> bool {
        self.judge_given(user, proven) || self.keep_proven(user, proven)
    }

    /// Whether a login of this account can teach anything.
    pub fn concerns(&self, user: &[u8]) -> bool {
        self.policy().learns() || self.given.lock().get(user).is_some()
    }

    /// Has these accounts' passwords, in place of those that were given before. Returns what has changed.
    pub fn give(&self, users: &[GivenUser]) -> io::Result<Vec<(String, GivenChange)>> {
        let mut given = self.given.lock();
        let changes = given.put(users, &|e| self.unlocked.note(&e))?;
        if self.policy() != LearnPasswords::Clear {
            // A password was kept only because the configuration gave it.
            let gone = changes.iter().filter(|(_, change)| *change != GivenChange::New);
            for (name, _) in gone {
                self.vault.lock().forget(name.as_bytes());
            }
        }
        if !changes.is_empty() {
            self.admissions().clear();
        }
        Ok(changes)
    }

    /// With what the next connection of the account is to be opened. `None`: nothing is known.
    pub fn source(&self, user: &[u8]) -> Option<SecretSource> {
        let mut given = self.given.lock();
        let mut vault = self.vault.lock();
        let proved = vault.used(user).filter(KnownSecrets::open).map(|known| known.number());
        if !given.may_be_tried(user) {
            return proved.map(SecretSource::Proved);
        }
        // Other sessions are not to try the password as well.
        given.counts(user);
        let same = given.get(user).zip(vault.get(user)).is_some_and(|(a, b)| a.is_like(&b));
        match (same, given.password(user)) {
            (true, Some(password)) => {
                self.keep_given(&mut vault, user, &password);
                vault.get(user).map(|known| SecretSource::Proved(known.number()))
            }
            (..) => given.get(user).map(|known| SecretSource::Given(known.number())),
        }
    }

    /// The answer to a nonce by this secret. `None`: it makes none for this plugin.
    pub fn proof_from(
        &self,
        source: SecretSource,
        user: &[u8],
        plugin: &[u8],
        nonce: &[u8],
    ) -> Option<Vec<u8>> {
        match source {
            SecretSource::Proved(_) => self.proof_for(user, plugin, nonce),
            SecretSource::Given(_) => self.given.lock().get(user)?.proof(plugin, nonce),
        }
    }

    /// The password itself.
    pub fn clear_from(&self, source: SecretSource, user: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        match source {
            SecretSource::Proved(_) => self.clear_for(user),
            SecretSource::Given(_) => self.given.lock().password(user),
        }
    }

    /// The server has let the proxy in with it.
    pub fn accepted(&self, user: &[u8], source: SecretSource) {
        let given = self.given.lock();
        if given.is(user, source)
            && let Some(password) = given.password(user)
        {
            self.keep_given(&mut self.vault.lock(), user, &password);
        }
    }

    /// The server takes it no longer, or perhaps not.
    pub fn refused(&self, user: &[u8], source: SecretSource) {
        self.admissions().clear();
        let mut given = self.given.lock();
        let mut vault = self.vault.lock();
        let wrong = match source {
            // A reload may have changed the given password.
            SecretSource::Given(_) if !given.is(user, source) => return,
            SecretSource::Given(_) => true,
            SecretSource::Proved(number) => {
                let Some(known) = vault.get(user).filter(|known| known.number() == number) else {
                    // Another login has shown a newer one.
                    return;
                };
                let same = given.get(user).is_some_and(|given| given.is_like(&known));
                vault.forget(user);
                same
            }
        };
        drop(vault);
        if wrong {
            self.note_wrong(&mut given, user, "the server has refused it");
        } else {
            given.is_unproven(user);
        }
    }

    /// What a login, which the server has accepted, says of the password that is given. `true`: connections can be opened
    /// with that. `false`: none is given, or another one.
    pub(super) fn judge_given(&self, user: &[u8], proven: &Proven) -> bool {
        let mut given = self.given.lock();
        let right = given.matches_given(user, proven);
        match (right, given.password(user)) {
            (Some(true), Some(password)) => {
                self.keep_given(&mut self.vault.lock(), user, &password);
                true
            }
            (Some(false), _) => {
                self.note_wrong(&mut given, user, "a client has logged in with another one");
                false
            }
            (..) => false,
        }
    }

    /// The answer to a nonce of a client that has answered another one, if it has the password that is given.
    pub fn answer_again(
        &self,
        user: &[u8],
        scheme: Scheme,
        (nonce, answer): (&[u8], &[u8]),
        to: &[u8],
    ) -> Option<Vec<u8>> {
        let given = self.given.lock();
        let hash = given.get(user)?.recover(scheme, nonce, answer)?;
        scheme.answer(&hash, to)
    }

    fn keep_given(&self, vault: &mut Vault, user: &[u8], password: &[u8]) {
        if vault.get(user).is_some_and(|known| known.clear() == Some(password)) {
            return;
        }
        let kept = vault.keep_password(user, password, &|e| self.unlocked.note(&e));
        if let Err(e) = kept {
            tracing::debug!(error = %e, "a given password is not kept");
        }
    }

    fn note_wrong(&self, given: &mut GivenSecrets, user: &[u8], why: &str) {
        let Wrong { news, unsaid } = given.is_wrong(user);
        if news {
            self.wrong.inc();
        }
        if unsaid {
            tracing::warn!(
                user = %String::from_utf8_lossy(user),
                why,
                "the password that [[users]] gives for an account is not used: give the one that the server has, and \
                 reload; until then the account counts as one that has no entry"
            );
        }
    }

    /// The server was not asked after all.
    pub fn untried(&self, user: &[u8], source: SecretSource) {
        let mut given = self.given.lock();
        if given.is(user, source) {
            given.is_unproven(user);
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus::IntCounter;

    use super::*;
    use crate::backend::proven::ShownAnswer;
    use crate::protocol::auth::{proof, signature};

    const NAME: &[u8] = b"app";
    const NONCE: &[u8] = b"abcdefghijklmnopqrst";

    fn secrets(policy: LearnPasswords) -> (LearnedSecrets, IntCounter) {
        let counter = || IntCounter::new("wrong", "of a test").expect("a counter");
        let wrong = counter();
        (LearnedSecrets::new(policy, counter(), wrong.clone()).expect("a key"), wrong)
    }

    fn user(password: &str) -> GivenUser {
        let password = Zeroizing::new(password.as_bytes().to_vec());
        GivenUser { name: "app".to_owned(), password, readable: None }
    }

    fn answered(password: &str) -> Proven {
        let scheme = Scheme::CachingSha2;
        let answer = proof(scheme.plugin(), NONCE, password);
        Proven::Answered(ShownAnswer { scheme, nonce: NONCE.to_vec(), answer })
    }

    fn give(secrets: &LearnedSecrets, users: &[GivenUser]) -> Vec<GivenChange> {
        let changes = secrets.give(users).expect("memory");
        changes.into_iter().map(|(_, change)| change).collect()
    }

    #[test]
    fn a_given_password_counts_from_the_login_that_shows_it() {
        for policy in [LearnPasswords::Clear, LearnPasswords::Off] {
            let (secrets, wrong) = secrets(policy);
            assert_eq!(give(&secrets, &[user("tulip")]), [GivenChange::New]);
            assert!(secrets.concerns(NAME) && !secrets.knows(NAME));
            assert_eq!(secrets.concerns(b"another"), policy.learns());
            assert!(secrets.learn(NAME, &answered("tulip")) && secrets.knows(NAME));
            assert_eq!(secrets.clear_for(NAME).as_deref(), Some(&b"tulip".to_vec()));
            assert!(!secrets.learn(NAME, &answered("rose")), "nothing else is given");
            assert_eq!(wrong.get(), 1);
            assert!(!secrets.learn(NAME, &answered("rose")));
            assert_eq!(wrong.get(), 1, "it is known");
        }
    }

    #[test]
    fn nobody_is_recognised_by_a_password_that_no_login_has_shown() {
        let (secrets, _) = secrets(LearnPasswords::Clear);
        give(&secrets, &[user("tulip")]);
        let scheme = Scheme::CachingSha2;
        let answer = proof(scheme.plugin(), NONCE, "tulip");
        assert!(secrets.recognise(NAME, scheme.plugin(), NONCE, &answer).is_none());
        assert!(secrets.learn(NAME, &answered("tulip")));
        assert!(secrets.recognise(NAME, scheme.plugin(), NONCE, &answer).is_some());
    }

    #[test]
    fn a_changed_one_is_tried_once_and_what_was_proved_stays() {
        let (secrets, wrong) = secrets(LearnPasswords::Clear);
        give(&secrets, &[user("tulip")]);
        secrets.learn(NAME, &answered("tulip"));
        let proved = secrets.source(NAME);
        assert!(matches!(proved, Some(SecretSource::Proved(_))));
        assert_eq!(give(&secrets, &[user("tulip")]), []);
        assert_eq!(give(&secrets, &[user("rose")]), [GivenChange::Changed]);
        let given = secrets.source(NAME).expect("it may be tried");
        assert!(matches!(given, SecretSource::Given(_)));
        assert_eq!(secrets.source(NAME), proved, "others do not try it as well");
        secrets.untried(NAME, given);
        assert_eq!(secrets.source(NAME), Some(given));
        secrets.refused(NAME, given);
        assert_eq!((secrets.source(NAME), wrong.get()), (proved, 1));
        // The server has another password now, which may be the given one.
        secrets.refused(NAME, proved.expect("known"));
        assert!(!secrets.knows(NAME));
        assert_eq!(secrets.source(NAME), Some(given));
        secrets.accepted(NAME, given);
        assert!(secrets.knows(NAME));
        // The late refusal of an older password takes nothing from it.
        secrets.refused(NAME, proved.expect("known"));
        assert_eq!(secrets.clear_for(NAME).as_deref(), Some(&b"rose".to_vec()));
        let now = secrets.source(NAME).expect("known");
        secrets.refused(NAME, now);
        assert_eq!((secrets.source(NAME), wrong.get()), (None, 2), "it was the given one");
    }

    #[test]
    fn the_answer_of_the_server_is_about_the_password_that_it_was_given() {
        let (secrets, wrong) = secrets(LearnPasswords::Off);
        give(&secrets, &[user("tulip")]);
        let tried = secrets.source(NAME).expect("it may be tried");
        give(&secrets, &[user("rose")]);
        secrets.accepted(NAME, tried);
        assert!(!secrets.knows(NAME), "nothing is known of the other one");
        secrets.refused(NAME, tried);
        assert_eq!(wrong.get(), 0);
        assert!(secrets.source(NAME).is_some_and(|source| source != tried));
    }

    #[test]
    fn a_password_that_was_kept_because_it_was_given_goes_with_its_entry() {
        for policy in [LearnPasswords::Clear, LearnPasswords::Off] {
            let (secrets, _) = secrets(policy);
            give(&secrets, &[user("tulip")]);
            secrets.learn(NAME, &answered("tulip"));
            assert_eq!(give(&secrets, &[]), [GivenChange::Gone]);
            assert_eq!(secrets.knows(NAME), policy == LearnPasswords::Clear, "{policy:?}");
            assert_eq!(secrets.concerns(NAME), policy.learns());
        }
    }

    #[test]
    fn a_signature_shows_a_given_password_and_is_made_from_it() {
        let (secrets, wrong) = secrets(LearnPasswords::Off);
        give(&secrets, &[user("tulip")]);
        let (plugin, nonce) = (b"client_ed25519", [7; 32]);
        let signed = |password: &[u8]| Proven::Signed {
            plugin: plugin.to_vec(),
            nonce: nonce.to_vec(),
            answer: signature(plugin, &nonce, password).expect("a nonce"),
        };
        assert!(!secrets.learn(NAME, &signed(b"rose")) && wrong.get() == 1);
        assert!(secrets.learn(NAME, &signed(b"tulip")));
        let later = [8; 33];
        let made = secrets.proof_for(NAME, plugin, &later);
        assert_eq!(made, signature(plugin, &later[..32], b"tulip"));
        assert_eq!(secrets.proof_for(NAME, plugin, &later[..31]), None);
        assert_eq!(secrets.proof_for(NAME, b"parsec", &later), None);
    }
}
