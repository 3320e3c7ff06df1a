//! Reads a session's commands and their responses for lock calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arguments::{given, lock};
use super::pending_response::{About, Seen};
use super::report::SessionReport;
use super::row_update::{RowUpdate, UnknownLocks, UntoldStatement, need};
use super::statement::{MAX_PARAMS, Prepared, TooManyReadings, WatchedText, bound};
use super::waiting::wait_of;
use crate::engine::shared::peers::Peers;
use crate::frontend::shared::waits::{LockWaits, WaitingSession};
use crate::lock::timeout::Timeout;
use crate::observe::event::{Missed, SeenStatement, StatementUser, shown};
use crate::protocol::frame::HEADER;
use crate::protocol::response::{Ending, PrepareOk};
use crate::sql::lexer::dialect::Dialect;
use crate::sql::report::call_names::{Use, Written};
use crate::sql::report::coverage::{By, Coverage};
use crate::types::Flavour;

/// Prepared statements with lock calls that are remembered of one session.
const MAX_STATEMENTS: usize = 256;
/// Texts that are remembered, and up to which length in bytes.
const RECENT: usize = 4;
const SHORT: usize = 512;
/// How a text is shown that is too long to be read.
const LONG: &str = "<longer than 64 KiB>";
/// How long a client waits whose timeout is not told.
const UNTOLD: Timeout = Timeout::Wait(Duration::from_secs(10));
/// Error 1054: the server took a text in double quotes for a column.
const BAD_FIELD: u16 = 1054;

/// Reads a session's commands and responses.
#[derive(Debug)]
pub(crate) struct Watch {
    flavour: Flavour,
    statements: HashMap<u32, Prepared>,
    /// What was prepared last, if it calls: MariaDB's clients mean it by the id −1.
    latest: Option<Arc<WatchedText>>,
    /// Texts with calls of which the server has not said the id.
    preparing: usize,
    /// Texts that were read last. A client that locks and unlocks in a loop sends the same two.
    recent: Vec<Recent>,
    /// More statements with calls were prepared than are remembered.
    forgot: bool,
    /// A call was found in the long statement that is under way.
    long_calls: bool,
    /// A text that may read rows was prepared.
    reads: bool,
    /// Receives the response to the command that is forwarded next.
    next: Option<Box<Seen>>,
    purpose: Purpose,
}

/// A text that was read.
#[derive(Debug)]
struct Recent {
    text: Box<[u8]>,
    dialect: Dialect,
    by: By,
    read: Arc<WatchedText>,
}

/// What a session is watched for.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// Mode observe: a report.
    Report(SessionReport),
    /// Mode coexist: the rows of its locks.
    Rows(Arc<Peers>),
}

impl Watch {
    pub(crate) fn new(flavour: Flavour, purpose: Purpose) -> Self {
        Self {
            flavour,
            statements: HashMap::new(),
            latest: None,
            preparing: 0,
            recent: Vec::new(),
            forgot: false,
            long_calls: false,
            reads: false,
            next: None,
            purpose,
        }
    }

    /// Whether rows follow the session's locks.
    pub(crate) fn keeps_rows(&self) -> bool {
        matches!(self.purpose, Purpose::Rows(_))
    }

    /// A text is about to be prepared, and may read rows if this is so.
    pub(crate) fn note_reading(&mut self, reads: bool) {
        self.reads |= reads;
    }

    /// Whether a prepared statement may read rows.
    pub(crate) fn may_read(&self) -> bool {
        self.reads
    }

    /// Takes what the response to the command that is forwarded now is to be told to. `who` may wait in it for a lock.
    pub(crate) fn follow(
        &mut self,
        alone: bool,
        waits: &LockWaits,
        who: impl FnOnce() -> WaitingSession,
    ) -> Option<Box<Seen>> {
        let mut seen = self.next.take()?;
        seen.sent = alone.then(Instant::now);
        if let Some(wait) = wait_of(&seen.about, self.flavour, who()) {
            seen.may_wait(waits, wait);
        }
        if alone {
            seen.comes_next();
        }
        if let Purpose::Rows(peers) = &self.purpose {
            seen.hold_back(peers.hold_by_rows());
        }
        if matches!(seen.about, About::Prepare(_)) {
            self.preparing += 1;
        }
        Some(seen)
    }

    /// Reads a text that may call; `None` if it does not.
    pub(crate) fn read(
        &mut self,
        text: &[u8],
        dialect: Dialect,
        by: By,
    ) -> Result<Option<Arc<WatchedText>>, TooManyReadings> {
        let same = |r: &Recent| *r.text == *text && (r.dialect, r.by) == (dialect, by);
        if let Some(at) = self.recent.iter().position(same) {
            return Ok(Some(Arc::clone(&self.recent[at].read)));
        }
        let read = WatchedText::read(text, dialect, by, !self.keeps_rows())?.map(Arc::new);
        if let Some(read) = read.as_ref().filter(|_| text.len() <= SHORT) {
            let (text, read) = (text.into(), Arc::clone(read));
            self.recent.truncate(RECENT - 1);
            self.recent.insert(0, Recent { text, dialect, by, read });
        }
        Ok(read)
    }

    /// A statement is about to be forwarded.
    pub(crate) fn query(&mut self, text: Arc<WatchedText>) {
        self.run(text, Vec::new());
    }

    fn run(&mut self, text: Arc<WatchedText>, values: Vec<Option<Vec<u8>>>) {
        self.next = Some(Box::new(Seen::new(About::Run(text, values))));
    }

    /// A statement is about to be forwarded of which only the server knows what it calls.
    fn run_unknown(&mut self) {
        if self.keeps_rows() {
            let text = WatchedText::unknown("<prepared statement>".to_owned());
            self.run(Arc::new(text), Vec::new());
        }
    }

    /// A text is about to be prepared; `None` if it does not call.
    pub(crate) fn prepare(&mut self, text: Option<Arc<WatchedText>>) {
        self.latest = text;
        self.next = self.latest.clone().map(|text| Box::new(Seen::new(About::Prepare(text))));
    }

    /// COM_RESET_CONNECTION is about to be forwarded.
    pub(crate) fn reset(&mut self) {
        self.next = Some(Box::new(Seen::new(About::Reset)));
    }

    /// A change of the default schema is about to be forwarded.
    pub(crate) fn schema(&mut self, name: &[u8]) {
        if !self.keeps_rows() {
            self.next = Some(Box::new(Seen::new(About::Schema(shown(name)))));
        }
    }

    /// One of several statements may change the default schema: it is not known from here on.
    pub(crate) fn forget_schema(&mut self) {
        if let Purpose::Report(report) = &mut self.purpose {
            report.set_schema("<unknown>".into());
        }
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
                self.run(text, values);
            } else {
                self.run_unremembered();
            }
            return;
        };
        let Prepared { text, types, ahead } = prepared;
        let ahead = std::mem::take(ahead);
        let mut values = Vec::new();
        match bound(text, payload, types, &ahead, attributes) {
            Some((bound, read)) => (*types, values) = (bound, read),
            // The bound values are not known.
            None => types.clear(),
        }
        let text = Arc::clone(text);
        self.run(text, values);
    }

    /// A bulk execution is about to be forwarded.
    pub(crate) fn bulk(&mut self, id: u32) {
        if let Some(Prepared { text, types, .. }) = self.statements.get_mut(&id) {
            types.clear();
            let text = Arc::new(text.refused("a lock call in a bulk execution"));
            self.run(text, Vec::new());
        } else if let Some(text) = self.latest(id) {
            self.run(Arc::new(text.refused("a lock call in a bulk execution")), Vec::new());
        } else {
            self.run_unremembered();
        }
    }

    /// An execution of a statement that is not remembered: it may be one with calls.
    fn run_unremembered(&mut self) {
        if self.preparing > 0 {
            self.miss(Missed::Pipelined, 1);
        }
        if self.preparing > 0 || self.forgot {
            self.run_unknown();
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

    /// A statement that is too long to be looked at is about to be forwarded, or prepared.
    pub(crate) fn begin_long(&mut self, prepares: bool) {
        self.long_calls = false;
        if self.keeps_rows() {
            self.next = Some(Box::new(Seen::new(About::Long { prepares })));
        }
    }

    /// A call was found in a statement that does not fit into a buffer.
    pub(crate) fn long(&mut self, why: &'static str) {
        self.long_calls = true;
        self.unread(LONG, Coverage::Refused(why));
    }

    /// A call may be in a statement that is not looked at, and is about to be forwarded.
    pub(crate) fn unread(&mut self, shown: &str, coverage: Coverage) {
        match &mut self.purpose {
            Purpose::Report(report) => {
                report.unread(SeenStatement { text: shown.to_owned(), coverage });
            }
            Purpose::Rows(_) => {}
        }
    }

    /// Why the session ends.
    pub(crate) fn end_with(&mut self, reason: &'static str) {
        if let Purpose::Report(report) = &mut self.purpose {
            report.end_with(reason);
        }
    }

    /// The session starts over, perhaps as another user.
    pub(crate) fn anew(&mut self, who: Option<StatementUser>) {
        if let Purpose::Report(report) = &mut self.purpose {
            report.anew(who);
        }
        self.statements.clear();
        self.latest = None;
        self.forgot = false;
    }

    /// A response ended. What that means for the rows of the session's locks, if they are kept.
    pub(crate) fn ended(
        &mut self,
        seen: Seen,
        ending: Ending,
    ) -> Option<(RowUpdate, UnknownLocks)> {
        let outcome = seen.outcome(ending);
        match seen.about {
            About::Prepare(text) => self.prepared(text, &seen.reply, ending),
            About::Reset if !ending.is_error() => {
                self.anew(None);
                return self.keeps_rows().then_some((RowUpdate::ReleaseAll, None));
            }
            About::Schema(name) if !ending.is_error() => {
                if let Purpose::Report(report) = &mut self.purpose {
                    report.set_schema(name);
                }
            }
            About::Reset | About::Schema(_) => {}
            About::Long { prepares } => {
                let calls = std::mem::take(&mut self.long_calls);
                // The statement's executions name an id that is not remembered.
                self.forgot |= calls && prepares;
                let untold = UntoldStatement { text: LONG.to_owned(), calls: true };
                return (calls && !prepares).then(|| (RowUpdate::Read(Vec::new()), Some(untold)));
            }
            About::Run(text, values) => {
                let told =
                    text.uses.alone.is_some() && !matches!(ending, Ending::Err { code: BAD_FIELD });
                let calls = text.uses.calls.iter();
                match &mut self.purpose {
                    Purpose::Report(report) => {
                        let flavour = self.flavour;
                        let locks = calls.map(|call| lock(call, &values, told, flavour)).collect();
                        report.ran(&text, locks, outcome, seen.sent);
                    }
                    // A definition calls nothing yet.
                    Purpose::Rows(_) if text.statement.coverage == Coverage::Passed => {}
                    Purpose::Rows(_) => {
                        let timeout = text.uses.calls.first().map(|c| &c.timeout);
                        let timeout = timeout.and_then(|t| given(t, &values, told));
                        let timeout = timeout.and_then(|given| given.timeout(self.flavour));
                        let name =
                            |call: &Use| given(&call.name, &values, told)?.plain(self.flavour);
                        let names: Vec<_> = calls.map(name).collect();
                        let untold = text.untold(&names);
                        let need = need(&text.uses, names, timeout.unwrap_or(UNTOLD), outcome)?;
                        return Some((need, untold));
                    }
                }
            }
        }
        None
    }

    fn prepared(&mut self, text: Arc<WatchedText>, reply: &[u8], ending: Ending) {
        self.preparing = self.preparing.saturating_sub(1);
        if ending.is_error() {
            return;
        }
        if let Purpose::Report(report) = &self.purpose {
            report.prepared(Arc::clone(&text.statement));
        }
        let Some(ok) = reply.get(HEADER..).and_then(PrepareOk::parse) else { return };
        if self.statements.len() >= MAX_STATEMENTS {
            self.forgot = true;
            self.miss(Missed::Statement, 1);
            return;
        }
        self.statements.insert(ok.id, Prepared { text, types: Vec::new(), ahead: Vec::new() });
    }

    fn miss(&self, what: Missed, times: u64) {
        if let Purpose::Report(report) = &self.purpose {
            report.miss(what, times);
        }
    }
}
