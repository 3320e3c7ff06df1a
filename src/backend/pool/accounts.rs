//! Whose turn it is: accounts with the fewest connections first, and those that have waited longest for one.

use std::collections::{HashMap, VecDeque};

/// Accounts whose turns are remembered while others wait.
const MOST: usize = 1024;

/// What an account has of a pool.
#[derive(Debug)]
struct PoolShare<W> {
    /// The account's connections, in use or free.
    open: usize,
    /// When one of its sessions had its turn last, as a number.
    served: u64,
    /// The account's sessions that wait, in the order of their coming.
    queue: VecDeque<W>,
}

/// The accounts of a pool, by user name, and the sessions of each that wait.
#[derive(Debug)]
pub(super) struct AccountTurns<W> {
    shares: HashMap<Box<[u8]>, PoolShare<W>>,
    turns: u64,
}

impl<W> AccountTurns<W> {
    pub(super) fn new() -> Self {
        Self { shares: HashMap::new(), turns: 0 }
    }

    fn share(&mut self, user: &[u8]) -> &mut PoolShare<W> {
        let new = || PoolShare { open: 0, served: 0, queue: VecDeque::new() };
        self.shares.entry(user.into()).or_insert_with(new)
    }

    /// An account has one connection more.
    pub(super) fn open(&mut self, user: &[u8]) {
        self.share(user).open += 1;
    }

    /// Counts the end of one of the account's connections.
    pub(super) fn close(&mut self, user: &[u8]) {
        if let Some(share) = self.shares.get_mut(user) {
            share.open = share.open.saturating_sub(1);
        }
        self.forget();
    }

    /// How many connections an account has.
    pub(super) fn count(&self, user: &[u8]) -> usize {
        self.shares.get(user).map_or(0, |share| share.open)
    }

    /// Adds a waiting session to the account's queue.
    pub(super) fn wait(&mut self, user: &[u8], waiter: W) {
        self.share(user).queue.push_back(waiter);
    }

    /// Sessions that wait.
    pub(super) fn waiting(&self) -> usize {
        self.shares.values().map(|share| share.queue.len()).sum()
    }

    /// All sessions that wait.
    pub(super) fn waiters(&self) -> impl Iterator<Item = &W> {
        self.shares.values().flat_map(|share| &share.queue)
    }

    /// Keeps only the waiting sessions for which `waits` is true.
    pub(super) fn retain(&mut self, waits: impl Fn(&W) -> bool) {
        for share in self.shares.values_mut() {
            share.queue.retain(&waits);
        }
        self.forget();
    }

    /// The account whose turn it is, the session of it that has waited longest, and how many connections it has beside one
    /// that `leaves` the account of this name.
    pub(super) fn next(&self, leaves: Option<&[u8]>) -> Option<(&[u8], &W, usize)> {
        let waiting = self.shares.iter().filter(|(_, share)| !share.queue.is_empty());
        let others = waiting.map(|(user, share)| {
            let leaves = leaves.is_some_and(|leaves| *leaves == **user);
            (user, share, share.open.saturating_sub(usize::from(leaves)))
        });
        let (user, share, open) = others.min_by_key(|(_, share, open)| (*open, share.served))?;
        Some((&**user, share.queue.front()?, open))
    }

    /// The session of an account that has waited longest has its turn.
    pub(super) fn serve(&mut self, user: &[u8]) -> Option<W> {
        self.turns += 1;
        let share = self.shares.get_mut(user)?;
        share.served = self.turns;
        share.queue.pop_front()
    }

    /// Forgets accounts that have nothing, while nobody waits for a turn, or if there are too many.
    fn forget(&mut self) {
        if self.waiting() == 0 || self.shares.len() > MOST {
            self.shares.retain(|_, share| share.open > 0 || !share.queue.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_take_turns() {
        let mut accounts = AccountTurns::new();
        for n in 0..3 {
            accounts.wait(b"many", format!("many {n}"));
        }
        accounts.wait(b"one", "one".to_owned());
        accounts.open(b"many");
        accounts.open(b"many");
        // One of the others' connections is free: the account without any has it.
        let mut turn = |leaves: &[u8]| {
            let user = accounts.next(Some(leaves)).map(|(user, ..)| user.to_vec());
            let served = accounts.serve(&user?);
            served.inspect(|_| accounts.open(b"many"))
        };
        assert_eq!(turn(b"many").as_deref(), Some("one"));
        assert_eq!(turn(b"many").as_deref(), Some("many 0"));
        accounts.wait(b"one", "again".to_owned());
        accounts.close(b"many");
        let (user, waiter, open) = accounts.next(None).expect("some wait");
        assert_eq!((user, waiter.as_str(), open), (&b"one"[..], "again", 0));
        accounts.retain(|waiter| waiter.starts_with("many"));
        assert_eq!((accounts.waiting(), accounts.count(b"one")), (2, 0));
    }

    #[test]
    fn among_equals_the_one_is_next_that_has_waited_for_more_turns() {
        let mut accounts = AccountTurns::new();
        for n in 0..2 {
            accounts.wait(b"a", n);
            accounts.wait(b"b", 10 + n);
        }
        let mut order = Vec::new();
        while let Some(user) = accounts.next(None).map(|(user, ..)| user.to_vec()) {
            order.push(accounts.serve(&user).map(|n| n / 10));
        }
        assert!(order[0] != order[1] && order[2] != order[3], "{order:?}");
    }

    #[test]
    fn accounts_that_have_nothing_are_forgotten() {
        let mut accounts: AccountTurns<u8> = AccountTurns::new();
        accounts.open(b"a");
        accounts.wait(b"b", 1);
        accounts.close(b"a");
        assert_eq!(accounts.shares.len(), 2, "it may have had its turn");
        assert_eq!(accounts.serve(b"b"), Some(1));
        accounts.retain(|_| true);
        assert!(accounts.shares.is_empty());
    }
}
