//! A session's ledger: the locks it holds, how often each was taken, with which token.

use std::collections::HashMap;

use super::name::Key;

/// One held lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldEntry {
    /// Fencing token of the grant.
    pub token: u64,
    /// Acquisitions, re-entrant ones included.
    pub count: u64,
    /// Whether `count` can be relied on. Of a lock that was found at the server only the server knows.
    pub is_counted: bool,
}

/// The locks that a session holds. Re-entry is counted here alone: only the first acquisition and the last
/// release reach the store.
#[derive(Debug, Default)]
pub struct Held {
    locks: HashMap<Key, HeldEntry>,
}

/// The result of RELEASE_LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Not held by this session.
    NotMine,
    /// Still held, one acquisition less.
    Counted,
    /// The last acquisition was released: the store must release this token.
    Last(u64),
    /// Only the server knows whether that was the last.
    Uncounted,
}

/// All locks that were held.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// How often locks were taken, re-entry counted.
    pub acquisitions: u64,
    /// Keys and tokens that the store must release.
    pub locks: Vec<(Key, u64)>,
}

impl Held {
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// The names held, as the server compares them, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.locks.keys().map(Key::shown).collect();
        names.sort_unstable();
        names
    }

    /// The name of the lock held under this token, for display.
    pub fn name_of(&self, token: u64) -> Option<String> {
        self.locks.iter().find(|(_, h)| h.token == token).map(|(key, _)| key.shown())
    }

    /// Keys and tokens of all locks held.
    pub fn grants(&self) -> Vec<(Key, u64)> {
        self.locks.iter().map(|(key, h)| (key.clone(), h.token)).collect()
    }

    /// One of the locks.
    pub fn any(&self) -> Option<(Key, u64)> {
        self.locks.iter().next().map(|(key, h)| (key.clone(), h.token))
    }

    /// Number of names held.
    pub fn len(&self) -> usize {
        self.locks.len()
    }

    /// Takes a held lock again; false if it is not held.
    pub fn reenter(&mut self, key: &Key) -> bool {
        match self.locks.get_mut(key) {
            Some(holding) => {
                holding.count += 1;
                true
            }
            None => false,
        }
    }

    /// Enters a grant.
    pub fn grant(&mut self, key: Key, token: u64) {
        self.locks.insert(key, HeldEntry { token, count: 1, is_counted: true });
    }

    /// Whether this session holds the lock.
    pub fn contains(&self, key: &Key) -> bool {
        self.locks.contains_key(key)
    }

    /// Gives one acquisition back. The last one is only looked at: [`Self::forget`] drops it
    /// once the store has released it.
    pub fn release(&mut self, key: &Key) -> Release {
        match self.locks.get_mut(key) {
            None => Release::NotMine,
            Some(h) if !h.is_counted => Release::Uncounted,
            Some(h) if h.count > 1 => {
                h.count -= 1;
                Release::Counted
            }
            Some(h) => Release::Last(h.token),
        }
    }

    /// From now on only the server knows how often the locks are held.
    pub fn uncount(&mut self) {
        for holding in self.locks.values_mut() {
            holding.is_counted = false;
        }
    }

    /// Drops a lock.
    pub fn forget(&mut self, key: &Key) {
        self.locks.remove(key);
    }

    /// Empties the ledger.
    pub fn take_all(&mut self) -> Taken {
        let acquisitions = self.locks.values().map(|h| h.count).sum();
        Taken { acquisitions, locks: self.locks.drain().map(|(key, h)| (key, h.token)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;
    use crate::types::Flavour;

    #[test]
    fn a_lock_taken_three_times_is_released_by_the_third() {
        let key = plain(b"k", Flavour::MySql).expect("valid").key;
        let mut held = Held::default();
        assert!(!held.reenter(&key));
        held.grant(key.clone(), 7);
        assert!(held.reenter(&key) && held.reenter(&key));
        assert_eq!(held.release(&key), Release::Counted);
        assert_eq!(held.release(&key), Release::Counted);
        assert_eq!(held.release(&key), Release::Last(7));
        held.forget(&key);
        assert_eq!(held.release(&key), Release::NotMine);
    }

    #[test]
    fn a_lock_found_at_the_server_is_not_counted() {
        let key = plain(b"k", Flavour::MySql).expect("valid").key;
        let mut held = Held::default();
        held.grant(key.clone(), 7);
        held.uncount();
        assert!(held.reenter(&key));
        for _ in 0..3 {
            assert_eq!(held.release(&key), Release::Uncounted);
        }
        held.forget(&key);
        held.grant(key.clone(), 8);
        assert_eq!(held.release(&key), Release::Last(8));
    }

    #[test]
    fn release_all_counts_acquisitions_not_names() {
        let mut held = Held::default();
        for (name, n) in [(b"k", 3), (b"l", 1)] {
            let key = plain(name, Flavour::MySql).expect("valid").key;
            held.grant(key.clone(), 1);
            for _ in 1..n {
                held.reenter(&key);
            }
        }
        let Taken { acquisitions: count, locks } = held.take_all();
        assert_eq!((count, locks.len()), (4, 2));
        assert!(held.is_empty());
    }
}
