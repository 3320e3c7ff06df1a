//! A pool as administrators are shown it.

use std::collections::BTreeMap;

use super::Pool;

/// What an account has of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolAccount {
    /// Connections that sessions have.
    pub held: usize,
    /// Connections that no session has.
    pub free: usize,
    /// Sessions that wait for one.
    pub waiting: usize,
    /// Sessions that keep theirs between transactions, by reason. One with several reasons counts for each.
    pub pinned: BTreeMap<&'static str, usize>,
}

impl Pool {
    /// What each account has, by user name.
    pub fn shown(&self) -> BTreeMap<Vec<u8>, PoolAccount> {
        let mut accounts: BTreeMap<Vec<u8>, PoolAccount> = BTreeMap::new();
        let state = self.0.state.lock();
        for backend in &state.free {
            accounts.entry(backend.key().user.bytes().to_vec()).or_default().free += 1;
        }
        for waiter in state.accounts.waiters().filter(|waiter| !waiter.to.is_closed()) {
            accounts.entry(waiter.key.user.bytes().to_vec()).or_default().waiting += 1;
        }
        for holder in state.holders.values() {
            let account = accounts.entry(holder.key.user.bytes().to_vec()).or_default();
            account.held += 1;
            for reason in holder.reasons.lock().iter() {
                *account.pinned.entry(reason).or_default() += 1;
            }
        }
        accounts
    }
}
