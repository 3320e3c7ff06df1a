//! What a session does while a switchover is prepared, as it says itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A statement runs outside a transaction, or the session has not said anything yet.
    Runs,
    /// A transaction is open.
    Transaction,
    /// The session waits for a lock, outside a transaction.
    Waits,
    /// The session is idle, and survives the loss of its connection to the server.
    Rests,
    /// The session is idle, and ends with its connection to the server.
    Tied,
}

impl Doing {
    const ALL: [Self; 5] = [Self::Runs, Self::Transaction, Self::Waits, Self::Rests, Self::Tied];
    /// Bits for one of these.
    const BITS: u32 = 3;
}

/// What a session does. The session's task writes it, and the task that prepares a switchover reads it.
#[derive(Debug, Default)]
pub struct Activity {
    /// The number of the hold in which it was said, and what.
    said: AtomicU64,
    waits: AtomicBool,
}

impl Activity {
    /// The session does this, in the hold of this number.
    pub(crate) fn say(&self, hold: u64, doing: Doing) {
        let said = hold << Doing::BITS | doing as u64;
        self.said.store(said, Ordering::SeqCst);
    }

    /// The session waits for a lock outside a transaction, or does so no more.
    pub(crate) fn set_waiting(&self, waits: bool) {
        self.waits.store(waits, Ordering::SeqCst);
    }

    /// What it does in the hold of this number.
    pub fn during(&self, hold: u64) -> Doing {
        let said = self.said.load(Ordering::SeqCst);
        let heard = said >> Doing::BITS == hold;
        let code = said & ((1 << Doing::BITS) - 1);
        let doing = Doing::ALL.into_iter().find(|doing| heard && *doing as u64 == code);
        match doing.unwrap_or(Doing::Runs) {
            Doing::Transaction => Doing::Transaction,
            _ if self.waits.load(Ordering::SeqCst) => Doing::Waits,
            doing => doing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_hold_says_nothing_of_the_next() {
        let activity = Activity::default();
        assert_eq!(activity.during(1), Doing::Runs);
        for doing in [Doing::Rests, Doing::Tied, Doing::Transaction, Doing::Runs] {
            activity.say(1, doing);
            assert_eq!((activity.during(1), activity.during(2)), (doing, Doing::Runs));
        }
    }

    #[test]
    fn a_wait_for_a_lock_counts_in_every_hold_unless_a_transaction_is_open() {
        let activity = Activity::default();
        activity.set_waiting(true);
        assert_eq!(activity.during(1), Doing::Waits);
        activity.say(1, Doing::Transaction);
        assert_eq!(activity.during(1), Doing::Transaction);
        activity.set_waiting(false);
        assert_eq!(activity.during(2), Doing::Runs);
    }
}
