//! What is reported of a session in mode observe: its statements with lock calls, and how long it held locks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::statement::WatchedText;
use crate::engine::shared::history::{RELEASED, UNSEEN};
use crate::frontend::shared::seen_holds::{SeenHoldGuard, SeenHolds};
use crate::frontend::shared::waits::WaitingSession;
use crate::lock::function::Function;
use crate::observe::event::{Made, Missed, ObservedEvent, Outcome, SeenStatement, StatementUser};
use crate::observe::holds::{Ended, Holds, Lock};
use crate::observe::recorder::Observer;
use crate::sql::report::call_names::Alone;

/// Reports on one session.
#[derive(Debug)]
pub(crate) struct SessionReport {
    observer: Observer,
    who: StatementUser,
    holds: Holds<SeenHoldGuard>,
    seen: SeenHolds,
    holder: WaitingSession,
    /// Why the session ends, when it does.
    ending: &'static str,
}

impl SessionReport {
    /// The report of a session, whose holds are shown among `seen`.
    pub(crate) fn new(
        observer: Observer,
        who: StatementUser,
        seen: SeenHolds,
        holder: WaitingSession,
    ) -> Self {
        Self { observer, who, holds: Holds::default(), seen, holder, ending: UNSEEN }
    }

    /// Why the session ends.
    pub(crate) fn end_with(&mut self, reason: &'static str) {
        self.ending = reason;
    }

    /// The default schema, as far as it is known.
    pub(crate) fn set_schema(&mut self, name: Arc<str>) {
        self.who.schema = name;
    }

    /// The session starts over, perhaps as another user.
    pub(crate) fn anew(&mut self, who: Option<StatementUser>) {
        self.end_holds(RELEASED);
        if let Some(who) = who {
            self.holder.owner = format!("{}@{}", who.user, who.host).as_bytes().into();
            self.who = who;
        }
    }

    /// A statement was prepared.
    pub(crate) fn prepared(&self, statement: Arc<SeenStatement>) {
        self.observer.tell(ObservedEvent::Prepared(self.who.clone(), statement));
    }

    /// A call may be in a statement that was not looked at.
    pub(crate) fn unread(&mut self, statement: SeenStatement) {
        let statement = Arc::new(statement);
        self.observer.tell(ObservedEvent::Ran(self.who.clone(), statement, Vec::new()));
        self.miss(Missed::Long, 1);
        // The statement may have taken or released any lock.
        self.doubt(1);
    }

    /// A statement was run, and its calls named these locks. `sent`: when it was sent, if no other command
    /// was under way.
    pub(crate) fn ran(
        &mut self,
        text: &WatchedText,
        locks: Vec<Lock>,
        outcome: Outcome,
        sent: Option<Instant>,
    ) {
        let now = Instant::now();
        let alone = text.uses.alone;
        let mut made = Vec::with_capacity(locks.len());
        for (call, lock) in text.uses.calls.iter().zip(&locks) {
            let waits = alone.is_some() && call.function == Function::GetLock;
            let wait = sent.filter(|_| waits).map(|sent| now - sent);
            if waits && wait.is_none() {
                self.miss(Missed::Pipelined, 1);
            }
            let name = Arc::clone(&lock.name);
            made.push(Made { function: call.function, name, outcome, wait });
        }
        let statement = Arc::clone(&text.statement);
        self.observer.tell(ObservedEvent::Ran(self.who.clone(), statement, made));
        for (call, lock) in text.uses.calls.iter().zip(locks) {
            self.follow(call.function, lock, outcome, alone, sent, now);
        }
    }

    /// Takes in what a call and its outcome say about the locks that are held.
    fn follow(
        &mut self,
        function: Function,
        lock: Lock,
        outcome: Outcome,
        alone: Option<Alone>,
        sent: Option<Instant>,
        now: Instant,
    ) {
        let untold = outcome == Outcome::Untold;
        let held = lock.key.as_deref().is_some_and(|key| self.holds.has(key));
        // A call that has no error, of a lock that is held, gives 1.
        let one = outcome == Outcome::One || (untold && alone == Some(Alone::Untold) && held);
        match function {
            Function::GetLock if one => {
                let waited = sent.map_or(Duration::ZERO, |sent| now - sent);
                let show = |lock: &Lock| {
                    self.seen.taken(self.holder.clone(), Arc::clone(&lock.name), waited)
                };
                let missed = self.holds.taken(lock, now, show);
                self.miss(Missed::Hold, missed);
            }
            Function::GetLock if untold => self.doubt(1),
            Function::ReleaseLock if one => match self.holds.released(lock.key.as_deref()) {
                Ok(ended) => self.told(ended, now, RELEASED),
                Err(missed) => self.miss(Missed::Hold, missed),
            },
            Function::ReleaseLock if outcome == Outcome::Error => {}
            // UnknownLocks, or not held though it seemed to be.
            Function::ReleaseLock if held || (untold && !self.holds.is_empty()) => self.doubt(0),
            Function::ReleaseAllLocks if alone.is_some() && outcome != Outcome::Error => {
                self.end_holds(RELEASED);
            }
            Function::ReleaseAllLocks => self.doubt(0),
            // Nothing was changed.
            Function::GetLock
            | Function::ReleaseLock
            | Function::IsFreeLock
            | Function::IsUsedLock => {}
        }
    }

    fn doubt(&mut self, more: u64) {
        let missed = self.holds.doubt();
        self.miss(Missed::Hold, missed + more);
    }

    fn end_holds(&mut self, how: &'static str) {
        let now = Instant::now();
        let ended: Vec<Ended<SeenHoldGuard>> = self.holds.clear().collect();
        self.told(ended, now, how);
    }

    fn told(
        &self,
        ended: impl IntoIterator<Item = Ended<SeenHoldGuard>>,
        now: Instant,
        how: &'static str,
    ) {
        for (name, since, shown) in ended {
            shown.ended(how);
            self.observer.tell(ObservedEvent::Held(name, now - since));
        }
    }

    /// Something could not be observed, so many times.
    pub(crate) fn miss(&self, what: Missed, times: u64) {
        if times > 0 {
            self.observer.tell(ObservedEvent::Missed(what, times));
        }
    }
}

/// The session is over, and with it what it holds.
impl Drop for SessionReport {
    fn drop(&mut self) {
        self.end_holds(self.ending);
    }
}
