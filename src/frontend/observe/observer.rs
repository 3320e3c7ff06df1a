//! A session's observer: what its commands and their responses tell of lock calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::pending_response::{About, Seen, one_value};
use super::statement::{MAX_PARAMS, Prepared, WatchedText, bound};
use crate::lock::function::Function;
use crate::lock::name::{is_plain, plain};
use crate::observe::event::{
    Made, Missed, ObservedEvent, Outcome, SeenStatement, StatementUser, shown,
};
use crate::observe::holds::{Ended, Holds, Lock};
use crate::observe::recorder::Observer;
use crate::protocol::frame::HEADER;
use crate::protocol::response::{Ending, PrepareOk};
use crate::sql::report::call_names::{Alone, Use, Written};
use crate::sql::report::coverage::Coverage;
use crate::types::Flavour;

/// Prepared statements with lock calls that are remembered of one session.
const MAX_STATEMENTS: usize = 256;
/// Error 1054: what stands in double quotes was taken for a column.
const BAD_FIELD: u16 = 1054;

/// The observer.
#[derive(Debug)]
pub(crate) struct Watch {
    observer: Observer,
    who: StatementUser,
    flavour: Flavour,
    holds: Holds,
    statements: HashMap<u32, Prepared>,
    /// What was prepared last, if it calls: MariaDB's clients mean it by the id −1.
    latest: Option<Arc<WatchedText>>,
    /// Texts with calls of which the server has not said the id.
    preparing: usize,
    /// What the response to the command that is forwarded next is to be told to.
    next: Option<Box<Seen>>,
}

impl Watch {
    pub(crate) fn new(observer: Observer, who: StatementUser, flavour: Flavour) -> Self {
        Self {
            observer,
            who,
            flavour,
            holds: Holds::default(),
            statements: HashMap::new(),
            latest: None,
            preparing: 0,
            next: None,
        }
    }

    /// Takes what the response to the command that is forwarded now is to be told to.
    pub(crate) fn begin(&mut self, alone: bool) -> Option<Box<Seen>> {
        let mut seen = self.next.take()?;
        seen.sent = alone.then(Instant::now);
        if matches!(seen.about, About::Prepare(_)) {
            self.preparing += 1;
        }
        Some(seen)
    }

    /// A statement is about to be forwarded.
    pub(crate) fn query(&mut self, text: WatchedText) {
        self.next = Some(Box::new(Seen::new(About::Run(Arc::new(text), Vec::new()))));
    }

    /// A text is about to be prepared; `None` if it does not call.
    pub(crate) fn prepare(&mut self, text: Option<WatchedText>) {
        self.latest = text.map(Arc::new);
        self.next = self.latest.clone().map(|text| Box::new(Seen::new(About::Prepare(text))));
    }

    /// COM_RESET_CONNECTION is about to be forwarded.
    pub(crate) fn reset(&mut self) {
        self.next = Some(Box::new(Seen::new(About::Reset)));
    }

    /// A change of the default schema is about to be forwarded.
    pub(crate) fn schema(&mut self, name: &[u8]) {
        self.next = Some(Box::new(Seen::new(About::Schema(shown(name)))));
    }

    /// One of several statements may change the default schema: it is not known from here on.
    pub(crate) fn forget_schema(&mut self) {
        self.who.schema = "<unknown>".into();
    }

    /// Whether an execution must be there as a whole to be looked at.
    pub(crate) fn reads_executions_of(&self, id: u32) -> bool {
        let text = self.statements.get(&id).map(|prepared| Arc::clone(&prepared.text));
        let text = text.or_else(|| self.latest(id));
        text.is_some_and(|text| {
            text.uses.params <= MAX_PARAMS
                && text.uses.calls.iter().any(|c| matches!(c.name, Written::Parameter(_)))
        })
    }

    /// What MariaDB's clients mean by the id −1, if it calls.
    fn latest(&self, id: u32) -> Option<Arc<WatchedText>> {
        let means = id == u32::MAX && self.flavour == Flavour::MariaDb;
        self.latest.clone().filter(|_| means)
    }

    /// COM_STMT_EXECUTE is about to be forwarded: its payload, if it is there as a whole.
    pub(crate) fn execute(&mut self, id: u32, payload: Option<&[u8]>, attributes: bool) {
        let Some(prepared) = self.statements.get_mut(&id) else {
            if let Some(text) = self.latest(id) {
                // Types may have been bound under its id.
                let values =
                    bound(&text, payload, &[], &[], attributes).map_or_else(Vec::new, |e| e.1);
                self.next = Some(Box::new(Seen::new(About::Run(text, values))));
            } else if self.preparing > 0 {
                self.miss(Missed::Pipelined, 1);
            }
            return;
        };
        let Prepared { text, types, ahead } = prepared;
        let ahead = std::mem::take(ahead);
        let mut values = Vec::new();
        match bound(text, payload, types, &ahead, attributes) {
            Some((bound, read)) => (*types, values) = (bound, read),
            // What it may have bound is not known.
            None => types.clear(),
        }
        self.next = Some(Box::new(Seen::new(About::Run(Arc::clone(text), values))));
    }

    /// A bulk execution is about to be forwarded.
    pub(crate) fn bulk(&mut self, id: u32) {
        if let Some(Prepared { text, types, .. }) = self.statements.get_mut(&id) {
            types.clear();
            let text = Arc::new(text.refused("a lock call in a bulk execution"));
            self.next = Some(Box::new(Seen::new(About::Run(text, Vec::new()))));
        }
    }

    /// Data for a parameter was sent ahead.
    pub(crate) fn long_data(&mut self, id: u32, parameter: u16) {
        if let Some(Prepared { ahead, .. }) = self.statements.get_mut(&id)
            && ahead.len() < MAX_PARAMS
            && !ahead.contains(&parameter)
        {
            ahead.push(parameter);
        }
    }

    /// COM_STMT_RESET
    pub(crate) fn reset_statement(&mut self, id: u32) {
        if let Some(prepared) = self.statements.get_mut(&id) {
            prepared.ahead.clear();
        }
    }

    /// COM_STMT_CLOSE
    pub(crate) fn close_statement(&mut self, id: u32) {
        self.statements.remove(&id);
    }

    /// A call was found in a statement that is too long to be looked at.
    pub(crate) fn long(&mut self, why: &'static str) {
        self.unread("<longer than 64 KiB>", Coverage::Refused(why));
    }

    /// A call may be in a statement that is not looked at.
    pub(crate) fn unread(&mut self, shown: &str, coverage: Coverage) {
        let statement = Arc::new(SeenStatement { text: shown.to_owned(), coverage });
        self.observer.tell(ObservedEvent::Ran(self.who.clone(), statement, Vec::new()));
        self.miss(Missed::Long, 1);
        // It may have taken or released any.
        self.doubt(1);
    }

    /// The session starts over, perhaps as somebody else.
    pub(crate) fn anew(&mut self, who: Option<StatementUser>) {
        self.end_holds();
        self.statements.clear();
        self.latest = None;
        self.who = who.unwrap_or_else(|| self.who.clone());
    }

    /// A response ended.
    pub(crate) fn ended(&mut self, seen: Seen, ending: Ending) {
        let now = Instant::now();
        match seen.about {
            About::Prepare(text) => self.prepared(text, &seen.reply, ending),
            About::Reset if !ending.is_error() => self.anew(None),
            About::Schema(name) if !ending.is_error() => self.who.schema = name,
            About::Reset | About::Schema(_) => {}
            About::Run(text, values) => {
                let alone = text.uses.alone;
                let outcome = match (ending, alone) {
                    (Ending::Err { .. }, Some(_)) => Outcome::Error,
                    (_, Some(Alone::Row)) => one_value(&seen.reply),
                    _ => Outcome::Untold,
                };
                let told = alone.is_some() && !matches!(ending, Ending::Err { code: BAD_FIELD });
                let locks: Vec<Lock> =
                    text.uses.calls.iter().map(|call| self.lock(call, &values, told)).collect();
                let mut made = Vec::with_capacity(locks.len());
                for (call, lock) in text.uses.calls.iter().zip(&locks) {
                    let waits = alone.is_some() && call.function == Function::GetLock;
                    let wait = seen.sent.filter(|_| waits).map(|sent| now - sent);
                    if waits && wait.is_none() {
                        self.miss(Missed::Pipelined, 1);
                    }
                    let name = Arc::clone(&lock.name);
                    made.push(Made { function: call.function, name, outcome, wait });
                }
                let statement = Arc::clone(&text.statement);
                self.observer.tell(ObservedEvent::Ran(self.who.clone(), statement, made));
                for (call, lock) in text.uses.calls.iter().zip(locks) {
                    self.follow(call.function, lock, outcome, alone, now);
                }
            }
        }
    }

    fn prepared(&mut self, text: Arc<WatchedText>, reply: &[u8], ending: Ending) {
        self.preparing = self.preparing.saturating_sub(1);
        if ending.is_error() {
            return;
        }
        let statement = Arc::clone(&text.statement);
        self.observer.tell(ObservedEvent::Prepared(self.who.clone(), statement));
        let Some(ok) = reply.get(HEADER..).and_then(PrepareOk::parse) else { return };
        if self.statements.len() >= MAX_STATEMENTS {
            self.miss(Missed::Statement, 1);
            return;
        }
        self.statements.insert(ok.id, Prepared { text, types: Vec::new(), ahead: Vec::new() });
    }

    /// The lock that a call names; `told`: what stands in double quotes was no column.
    fn lock(&self, call: &Use, values: &[Option<Vec<u8>>], told: bool) -> Lock {
        let unknown = |name: &str| Lock { key: None, name: name.into() };
        match &call.name {
            Written::None => unknown("<all>"),
            Written::Computed => unknown("<computed>"),
            Written::Double(name) if !told => {
                Lock { key: None, name: shown(&[b"\"", name.as_slice(), b"\""].concat()) }
            }
            Written::Literal(name) | Written::Double(name) => self.named(name),
            Written::Parameter(nth) => match values.get(*nth) {
                Some(Some(name)) => self.named(name),
                Some(None) | None => unknown("<parameter>"),
            },
        }
    }

    /// As the server compares it, where that is known: MySQL ignores letter case.
    fn named(&self, name: &[u8]) -> Lock {
        let key = Some(name).filter(|n| is_plain(n)).and_then(|n| plain(n, self.flavour));
        let name = key.map_or_else(|| shown(name), |name| shown(name.key.folded()));
        Lock { key: Some(Arc::clone(&name)), name }
    }

    /// What a call and its outcome tell of the locks that are held.
    fn follow(
        &mut self,
        function: Function,
        lock: Lock,
        outcome: Outcome,
        alone: Option<Alone>,
        now: Instant,
    ) {
        let untold = outcome == Outcome::Untold;
        let held = lock.key.as_deref().is_some_and(|key| self.holds.has(key));
        // A call that has no error, of a lock that is held, gives 1.
        let one = outcome == Outcome::One || (untold && alone == Some(Alone::Untold) && held);
        match function {
            Function::GetLock if one => {
                let missed = self.holds.taken(lock, now);
                self.miss(Missed::Hold, missed);
            }
            Function::GetLock if untold => self.doubt(1),
            Function::ReleaseLock if one => match self.holds.released(lock.key.as_deref()) {
                Ok(ended) => self.told(ended, now),
                Err(missed) => self.miss(Missed::Hold, missed),
            },
            Function::ReleaseLock if outcome == Outcome::Error => {}
            // Untold, or not held though it seemed to be.
            Function::ReleaseLock if held || (untold && !self.holds.is_empty()) => self.doubt(0),
            Function::ReleaseAllLocks if alone.is_some() && outcome != Outcome::Error => {
                self.end_holds();
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

    fn end_holds(&mut self) {
        let now = Instant::now();
        let ended: Vec<Ended> = self.holds.clear().collect();
        self.told(ended, now);
    }

    fn told(&self, ended: impl IntoIterator<Item = Ended>, now: Instant) {
        for (name, since) in ended {
            self.observer.tell(ObservedEvent::Held(name, now - since));
        }
    }

    fn miss(&self, what: Missed, times: u64) {
        if times > 0 {
            self.observer.tell(ObservedEvent::Missed(what, times));
        }
    }
}

/// The session is over, and with it what it holds.
impl Drop for Watch {
    fn drop(&mut self) {
        self.end_holds();
    }
}
