//! Passwords that the configuration gives, of accounts whose clients need not teach them.
//!
//! The server judges each client. The answer of a client that it has let in shows whether the given password is the
//! account's, because the password makes that answer. So a wrong one never reaches the server. If the configuration has
//! changed it while sessions were open, it may, once.

use std::collections::HashMap;
use std::io;

use zeroize::Zeroizing;

use super::proven::Proven;
use super::vault::{KnownSecrets, Refused, Vault};
use crate::config::GivenUser;
use crate::protocol::auth;

/// What is known of a given password, beside itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivenStanding {
    /// Nothing.
    Unproven,
    /// The password is being tried, or a client has logged in with it.
    Counts,
    /// A client that the server has let in has another one, or the server has refused it.
    Wrong,
}

struct GivenAccount {
    standing: GivenStanding,
    /// The log has it that it is wrong.
    told: bool,
}

/// A secret of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretSource {
    /// What its clients have proved, with the number of that.
    Proved(u64),
    /// What the configuration gives, though no client has proved it yet; the same of that.
    Given(u64),
}

/// What has become of an entry that was read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GivenChange {
    /// The entry was not there before.
    New,
    /// The entry has another password.
    Changed,
    /// The entry is not there any more.
    Gone,
}

impl GivenChange {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "another password",
            Self::Gone => "gone",
        }
    }
}

/// A password that is wrong.
#[derive(Default)]
pub(super) struct Wrong {
    /// The password was not known to be wrong.
    pub(super) news: bool,
    /// The log has not said it.
    pub(super) unsaid: bool,
}

/// Given passwords, by user name.
#[derive(Default)]
pub(super) struct GivenSecrets {
    vault: Vault,
    accounts: HashMap<Vec<u8>, GivenAccount>,
}

impl GivenSecrets {
    /// Has these in place of those that were there. Returns what has changed.
    pub(super) fn put(
        &mut self,
        users: &[GivenUser],
        refused: Refused<'_>,
    ) -> io::Result<Vec<(String, GivenChange)>> {
        let mut changes = Vec::new();
        let is_left = |name: &[u8]| users.iter().any(|user| user.name.as_bytes() == name);
        let gone: Vec<_> = self.accounts.keys().filter(|name| !is_left(name)).cloned().collect();
        for name in gone {
            self.accounts.remove(&name);
            self.vault.forget(&name);
            changes.push((String::from_utf8_lossy(&name).into_owned(), GivenChange::Gone));
        }
        for GivenUser { name, password, .. } in users {
            let user = name.as_bytes();
            let before = self.vault.get(user).map(|known| known.clear() == Some(&password[..]));
            let change = match before {
                Some(true) => continue,
                Some(false) => GivenChange::Changed,
                None => GivenChange::New,
            };
            self.vault.keep_password(user, password, refused)?;
            let account = GivenAccount { standing: GivenStanding::Unproven, told: false };
            self.accounts.insert(user.to_vec(), account);
            changes.push((name.clone(), change));
        }
        changes.sort();
        Ok(changes)
    }

    /// The given password of an account.
    pub(super) fn get(&self, user: &[u8]) -> Option<KnownSecrets<'_>> {
        self.vault.get(user)
    }

    /// Whether this names the password that is given now.
    pub(super) fn is(&self, user: &[u8], source: SecretSource) -> bool {
        self.get(user).is_some_and(|known| source == SecretSource::Given(known.number()))
    }

    /// The password.
    pub(super) fn password(&self, user: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.get(user)?.clear().map(|password| Zeroizing::new(password.to_vec()))
    }

    /// Whether a client that the server has let in has the given password. `None`: none is given.
    pub(super) fn matches_given(&mut self, user: &[u8], proven: &Proven) -> Option<bool> {
        let known = self.vault.get(user)?;
        let right = known.clear().is_some_and(|given| match proven {
            Proven::Clear(password) => given == &password[..],
            Proven::Hashed(scheme, hash) => known.hash(*scheme) == Some(&hash[..]),
            Proven::Answered(shown) => shown.is_of(&known),
            Proven::Signed { plugin, nonce, answer } => {
                auth::signature(plugin, nonce, given).is_some_and(|own| own == *answer)
            }
        });
        if right {
            self.counts(user);
        }
        Some(right)
    }

    /// The password is right, or is being tried.
    pub(super) fn counts(&mut self, user: &[u8]) {
        self.set(user, GivenStanding::Counts);
    }

    /// What is known of the password is out of date.
    pub(super) fn is_unproven(&mut self, user: &[u8]) {
        self.set(user, GivenStanding::Unproven);
    }

    fn set(&mut self, user: &[u8], standing: GivenStanding) {
        if let Some(account) = self.accounts.get_mut(user) {
            account.standing = standing;
        }
    }

    /// The password is wrong.
    pub(super) fn is_wrong(&mut self, user: &[u8]) -> Wrong {
        let Some(account) = self.accounts.get_mut(user) else { return Wrong::default() };
        let news =
            std::mem::replace(&mut account.standing, GivenStanding::Wrong) != GivenStanding::Wrong;
        Wrong { news, unsaid: !std::mem::replace(&mut account.told, true) }
    }

    /// Whether the server may be asked for a connection with it, though nobody has logged in with it.
    pub(super) fn may_be_tried(&self, user: &[u8]) -> bool {
        self.accounts.get(user).is_some_and(|account| account.standing == GivenStanding::Unproven)
    }
}
