//! A session's ledger: the locks it holds, how often each was taken, with which token.

use std::collections::HashMap;
use std::time::Instant;

use super::name::{Key, Name};

/// One held lock.
#[derive(Debug)]
struct HeldEntry {
    /// Fencing token of the grant; [`NO_ROW`] while its row is not written.
    token: u64,
    /// While its row is not written.
    late: Option<LateLock>,
    /// Acquisitions, re-entrant ones included.
    count: u64,
    /// Whether `count` can be relied on. Of a lock that was found at the server only the server knows.
    is_counted: bool,
}

/// A lock whose row is not written yet.
#[derive(Debug)]
pub struct LateLock {
    /// The name, as it was given.
    pub name: Name,
    /// When it was granted.
    pub since: Instant,
    /// The row could not be written when that was tried.
    failed: bool,
}

/// In place of a token: the row is not written. No grant has this token.
pub const NO_ROW: u64 = 0;

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
    /// The last acquisition was released: the store must release this token, unless it is [`NO_ROW`].
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

    /// Keys and tokens of all locks held whose rows are written.
    pub fn grants(&self) -> Vec<(Key, u64)> {
        self.written().map(|(key, h)| (key.clone(), h.token)).collect()
    }

    /// One of the locks.
    pub fn any(&self) -> Option<(Key, u64)> {
        self.written().next().map(|(key, h)| (key.clone(), h.token))
    }

    fn written(&self) -> impl Iterator<Item = (&Key, &HeldEntry)> {
        self.locks.iter().filter(|(_, h)| h.token != NO_ROW)
    }

    /// Locks whose rows are not written.
    pub fn late(&self) -> impl Iterator<Item = &LateLock> {
        self.locks.values().filter_map(|h| h.late.as_ref())
    }

    /// When this lock was granted, if its row is not written.
    pub fn late_since(&self, key: &Key) -> Option<Instant> {
        self.locks.get(key)?.late.as_ref().map(|late| late.since)
    }

    /// The row of this lock could not be written. Whether that is so for the first time.
    pub fn note_failed(&mut self, key: &Key) -> bool {
        let late = self.locks.get_mut(key).and_then(|h| h.late.as_mut());
        late.is_some_and(|late| !std::mem::replace(&mut late.failed, true))
    }

    /// Keys of all locks held, with tokens; [`NO_ROW`] of those whose rows are not written.
    pub fn all(&self) -> Vec<(Key, u64)> {
        self.locks.iter().map(|(key, h)| (key.clone(), h.token)).collect()
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

    /// Enters a grant; of a lock that is held already, its new row.
    pub fn grant(&mut self, key: Key, token: u64) {
        if let Some(held) = self.locks.get_mut(&key) {
            (held.token, held.late) = (token, None);
        } else {
            self.locks.insert(key, HeldEntry { token, late: None, count: 1, is_counted: true });
        }
    }

    /// Enters a grant whose row is not written.
    pub fn grant_late(&mut self, name: Name, granted: Instant) {
        let key = name.key.clone();
        let late = Some(LateLock { name, since: granted, failed: false });
        self.locks.insert(key, HeldEntry { token: NO_ROW, late, count: 1, is_counted: true });
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
        let locks = self.locks.drain().filter(|(_, h)| h.token != NO_ROW);
        Taken { acquisitions, locks: locks.map(|(key, h)| (key, h.token)).collect() }
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
    fn a_lock_without_a_row_is_held_and_counted_and_gets_its_token_later() {
        let name = plain(b"k", Flavour::MySql).expect("valid");
        let (key, mut held) = (name.key.clone(), Held::default());
        held.grant_late(name, Instant::now());
        assert!(held.reenter(&key) && held.late_since(&key).is_some() && held.late().count() == 1);
        assert_eq!(
            (held.grants(), held.any(), held.all()),
            (vec![], None, vec![(key.clone(), NO_ROW)])
        );
        assert!(held.note_failed(&key) && !held.note_failed(&key));
        held.grant(key.clone(), 7);
        assert!(held.late_since(&key).is_none() && held.late().count() == 0);
        assert_eq!((held.release(&key), held.release(&key)), (Release::Counted, Release::Last(7)));
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
