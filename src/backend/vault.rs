//! What is known of accounts, each in a slot of locked memory.

use std::collections::HashMap;
use std::io;

use super::locked::{LockedSlot, LockedSlots, SLOT};
use crate::protocol::auth::signature;
use crate::protocol::recover::{PasswordHash, Scheme};

/// Accounts that are known at most. For one more, another is forgotten: [`Vault::least`].
pub(super) const MOST: usize = 1024;
/// Longest password that servers take with `caching_sha2_password`.
const LONGEST: usize = 256;

/// Accounts by user name.
#[derive(Default)]
pub(super) struct Vault {
    slots: LockedSlots,
    accounts: HashMap<Vec<u8>, KnownAccount>,
    /// Counts uses.
    clock: u64,
}

/// What there is in an account's slot.
struct KnownAccount {
    slot: LockedSlot,
    /// The password's length.
    clear: Option<usize>,
    /// What is known of each hash, by [`row`].
    known: [KnownHash; 2],
    /// Differs for each secret that the account has had.
    number: u64,
    used: u64,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum KnownHash {
    #[default]
    Neither,
    /// What the server keeps: it recognises a client, and opens nothing.
    Verifier,
    /// The verifier and the hash that it is made of, which opens connections.
    Both,
}

fn row(scheme: Scheme) -> usize {
    match scheme {
        Scheme::CachingSha2 => 0,
        Scheme::Native => 1,
    }
}

/// Where a slot has a hash and, after it, its verifier. The password comes before both.
const HASHES: [usize; 2] = [LONGEST, LONGEST + 64];
const _: () = assert!(HASHES[1] + 40 <= SLOT);

/// An account's secrets, to be read.
pub(super) struct KnownSecrets<'a> {
    account: &'a KnownAccount,
    bytes: &'a [u8],
}

impl<'a> KnownSecrets<'a> {
    /// The password.
    pub(super) fn clear(&self) -> Option<&'a [u8]> {
        self.bytes.get(..self.account.clear?)
    }

    /// Whether it is known that there is no password.
    pub(super) fn has_no_password(&self) -> bool {
        self.account.clear == Some(0)
    }

    /// Differs for each secret that the account has had.
    pub(super) fn number(&self) -> u64 {
        self.account.number
    }

    /// Whether both have a hash or verifier of the same password.
    pub(super) fn is_like(&self, other: &KnownSecrets<'_>) -> bool {
        Scheme::ALL.iter().any(|scheme| {
            self.verifier(*scheme).is_some_and(|own| other.verifier(*scheme) == Some(own))
        })
    }

    /// The password's hash.
    pub(super) fn hash(&self, scheme: Scheme) -> Option<&'a [u8]> {
        let (from, length) = (HASHES[row(scheme)], scheme.length());
        let known = self.account.known[row(scheme)] == KnownHash::Both;
        self.bytes.get(from..from + length).filter(|_| known)
    }

    /// What the server keeps of the password.
    pub(super) fn verifier(&self, scheme: Scheme) -> Option<&'a [u8]> {
        let (from, length) = (HASHES[row(scheme)] + scheme.length(), scheme.length());
        let known = self.account.known[row(scheme)] != KnownHash::Neither;
        self.bytes.get(from..from + length).filter(|_| known)
    }

    /// The hash that an answer was made with, if it is that of the known password.
    pub(super) fn recover(
        &self,
        scheme: Scheme,
        nonce: &[u8],
        answer: &[u8],
    ) -> Option<PasswordHash> {
        scheme.recover(self.verifier(scheme)?, nonce, answer)
    }

    /// The answer to a nonce. `None`: what is known makes none for this plugin.
    pub(super) fn proof(&self, plugin: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
        if self.has_no_password() {
            return Scheme::of_plugin(plugin).map(|_| Vec::new());
        }
        match Scheme::of_plugin(plugin) {
            Some(scheme) => scheme.answer(self.hash(scheme)?, nonce),
            None => signature(plugin, nonce, self.clear()?),
        }
    }

    /// Whether a connection can be opened with what is known.
    pub(super) fn open(&self) -> bool {
        self.account.opens()
    }
}

impl KnownAccount {
    /// Whether a connection can be opened with it.
    fn opens(&self) -> bool {
        self.clear.is_some() || self.known.contains(&KnownHash::Both)
    }

    fn keep(&mut self, bytes: &mut [u8], scheme: Scheme, hash: Option<&[u8]>, verifier: &[u8]) {
        let (from, length) = (HASHES[row(scheme)], scheme.length());
        let pair = bytes.get_mut(from..from + 2 * length);
        let Some((first, second)) = pair.and_then(|pair| pair.split_at_mut_checked(length)) else {
            return;
        };
        second.copy_from_slice(verifier);
        self.known[row(scheme)] = KnownHash::Verifier;
        if let Some(hash) = hash {
            first.copy_from_slice(hash);
            self.known[row(scheme)] = KnownHash::Both;
        }
    }
}

/// Is told why new memory is not locked.
pub(super) type Refused<'a> = &'a dyn Fn(io::Error);

impl Vault {
    /// What is known of an account.
    pub(super) fn get(&self, user: &[u8]) -> Option<KnownSecrets<'_>> {
        let account = self.accounts.get(user)?;
        Some(KnownSecrets { account, bytes: self.slots.bytes(&account.slot) })
    }

    /// What is known of an account; this counts as a use.
    pub(super) fn used(&mut self, user: &[u8]) -> Option<KnownSecrets<'_>> {
        self.touch(user);
        self.get(user)
    }

    /// Keeps a password and its hashes in place of what was known. Of a very long one, the hashes alone.
    pub(super) fn keep_password(
        &mut self,
        user: &[u8],
        password: &[u8],
        refused: Refused<'_>,
    ) -> io::Result<()> {
        let native = Scheme::Native;
        let verifier = native.hash(&native.hash(password));
        let (account, bytes) = self.fresh(user, (native, &verifier), refused)?;
        if password.len() <= LONGEST
            && let Some(room) = bytes.get_mut(..password.len())
        {
            room.copy_from_slice(password);
            account.clear = Some(password.len());
        }
        for scheme in Scheme::ALL {
            let hash = scheme.hash(password);
            account.keep(bytes, scheme, Some(&hash), &scheme.hash(&hash));
        }
        Ok(())
    }

    /// Keeps a password's verifier, and its hash if that is known. Keeps what else is known of the
    /// same password, and drops what is known of another.
    pub(super) fn keep_hash(
        &mut self,
        user: &[u8],
        scheme: Scheme,
        hash: Option<&[u8]>,
        verifier: &[u8],
        refused: Refused<'_>,
    ) -> io::Result<()> {
        if verifier.len() != scheme.length() || hash.is_some_and(|h| h.len() != scheme.length()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let known = self.get(user);
        let same = known.as_ref().is_some_and(|k| k.verifier(scheme) == Some(verifier));
        if same && (hash.is_none() || known.is_some_and(|k| k.hash(scheme).is_some())) {
            return Ok(());
        }
        if !same && hash.is_none() && self.is_full_for(user, (scheme, verifier)) {
            return Ok(());
        }
        let (account, bytes) = match self.accounts.get_mut(user).filter(|_| same) {
            Some(account) => {
                let bytes = self.slots.bytes_mut(&account.slot);
                (account, bytes)
            }
            None => self.fresh(user, (scheme, verifier), refused)?,
        };
        account.keep(bytes, scheme, hash, verifier);
        Ok(())
    }

    /// Forgets an account.
    pub(super) fn forget(&mut self, user: &[u8]) {
        if let Some(account) = self.accounts.remove(user) {
            self.slots.give_back(account.slot);
        }
    }

    /// An account of which nothing is known, and its slot.
    fn fresh(
        &mut self,
        user: &[u8],
        password: (Scheme, &[u8]),
        refused: Refused<'_>,
    ) -> io::Result<(&mut KnownAccount, &mut [u8])> {
        self.forget(user);
        if self.accounts.len() >= MOST
            && let Some(least) = self.least(password).map(<[u8]>::to_vec)
        {
            self.forget(&least);
        }
        self.clock += 1;
        let slot = self.slots.take(refused)?;
        let number = self.clock;
        let account =
            KnownAccount { slot, clear: None, known: Default::default(), number, used: number };
        let account = self.accounts.entry(user.to_vec()).insert_entry(account).into_mut();
        let bytes = self.slots.bytes_mut(&account.slot);
        Ok((account, bytes))
    }

    /// Whether an account that nobody has proved, with this verifier, would replace one that somebody has.
    fn is_full_for(&self, user: &[u8], password: (Scheme, &[u8])) -> bool {
        let least = || self.least(password).and_then(|least| self.accounts.get(least));
        self.accounts.len() >= MOST
            && !self.accounts.contains_key(user)
            && least().is_some_and(KnownAccount::opens)
    }

    /// The account that makes room for one with this verifier. The first choice is one with the same password, since a
    /// client may have one account under any number of names. The next one is an account with which no connection can
    /// be opened. Of several, it is the one that was not used for longest.
    fn least(&self, (scheme, verifier): (Scheme, &[u8])) -> Option<&[u8]> {
        let worth = |account: &KnownAccount| {
            let known = KnownSecrets { account, bytes: self.slots.bytes(&account.slot) };
            (known.verifier(scheme) != Some(verifier), account.opens(), account.used)
        };
        let least = self.accounts.iter().min_by_key(|(_, account)| worth(account));
        least.map(|(user, _)| &user[..])
    }

    fn touch(&mut self, user: &[u8]) {
        self.clock += 1;
        if let Some(account) = self.accounts.get_mut(user) {
            account.used = self.clock;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &[u8] = b"app";

    fn unlocked(_: io::Error) {}

    #[test]
    fn the_account_that_was_not_used_for_longest_makes_room() {
        let mut vault = Vault::default();
        let name = |n: usize| format!("u{n}").into_bytes();
        for n in 0..MOST {
            vault.keep_password(&name(n), &name(n), &unlocked).expect("memory");
        }
        assert!(vault.used(&name(0)).is_some());
        vault.keep_password(&name(MOST), b"secret", &unlocked).expect("memory");
        assert!(vault.get(&name(0)).is_some());
        assert!(vault.get(&name(1)).is_none());
        assert_eq!(vault.accounts.len(), MOST);
    }

    #[test]
    fn many_names_of_one_password_and_accounts_that_are_only_read_displace_nobody_else() {
        let mut vault = Vault::default();
        let native = Scheme::Native;
        let read = |vault: &mut Vault, name: String| {
            let verifier = native.hash(&native.hash(name.as_bytes()));
            let kept = vault.keep_hash(name.as_bytes(), native, None, &verifier, &unlocked);
            kept.expect("memory");
        };
        vault.keep_password(NAME, b"secret", &unlocked).expect("memory");
        read(&mut vault, "read".to_owned());
        for n in 0..2 * MOST {
            let name = format!("nobody{n}").into_bytes();
            vault.keep_password(&name, b"", &unlocked).expect("memory");
        }
        assert!(vault.get(NAME).is_some() && vault.get(b"read").is_some());
        for n in 0..2 * MOST {
            read(&mut vault, format!("read{n}"));
        }
        assert!(vault.get(NAME).is_some() && vault.accounts.len() == MOST);
        for n in 0..MOST {
            let name = format!("u{n}").into_bytes();
            vault.keep_password(&name, &name, &unlocked).expect("memory");
        }
        read(&mut vault, "one more".to_owned());
        assert!(vault.get(b"one more").is_none() && vault.get(b"u1").is_some());
    }

    #[test]
    fn another_password_leaves_nothing_of_the_one_before() {
        let mut vault = Vault::default();
        let native = Scheme::Native;
        vault.keep_password(NAME, b"secret", &unlocked).expect("memory");
        let hash = native.hash(b"secret");
        vault.keep_hash(NAME, native, Some(&hash), &native.hash(&hash), &unlocked).expect("known");
        assert_eq!(
            vault.get(NAME).and_then(|k| k.clear().map(<[u8]>::to_vec)),
            Some(b"secret".into())
        );
        let other = native.hash(&native.hash(b"another"));
        vault.keep_hash(NAME, native, None, &other, &unlocked).expect("memory");
        let known = vault.get(NAME).expect("a verifier");
        assert!(known.clear().is_none() && known.hash(native).is_none() && !known.open());
        assert_eq!(known.verifier(native), Some(&other[..]));
        assert!(known.verifier(Scheme::CachingSha2).is_none());
        assert!(vault.keep_hash(NAME, native, None, &[0; 32], &unlocked).is_err());
    }

    #[test]
    fn of_a_password_longer_than_servers_take_only_hashes_are_kept() {
        let mut vault = Vault::default();
        for (length, clear) in [(LONGEST, true), (LONGEST + 1, false)] {
            let password = vec![b'x'; length];
            vault.keep_password(NAME, &password, &unlocked).expect("memory");
            let known = vault.get(NAME).expect("hashes");
            assert_eq!(known.clear().is_some(), clear);
            let hash = Scheme::CachingSha2.hash(&password);
            assert_eq!(known.hash(Scheme::CachingSha2), Some(&hash[..]));
        }
    }
}
