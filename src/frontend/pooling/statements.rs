//! A session's prepared statements: which ids they have on its connection, and what it takes to prepare them again on
//! another one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::bound::{BindingDoubt, BoundState};
use super::statement::{Again, Carried, Sums};
use crate::backend::session_state::SessionState;
use crate::protocol::cut::PreparedStatement;
use crate::protocol::response::Ending;
use crate::protocol::statement_ids::StatementNumbers;
use crate::protocol::status::Status;
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// What MariaDB's clients mean by "the one prepared last".
pub(super) const LATEST: u32 = u32::MAX;
/// Bytes that a session keeps of its statements. What comes on top cannot be prepared again.
const LARGEST_SUM: usize = 1024 * 1024;
/// Statements that a session keeps. What comes on top cannot be prepared again.
const MOST_STATEMENTS: usize = 1000;
/// Columns and parameters of a statement that is prepared again: their definitions are read as a whole.
const MOST_COLUMNS: u16 = 500;
const MOST_PARAMETERS: u16 = 8192;
/// `ER_STMT_HAS_NO_OPEN_CURSOR`
const NO_CURSOR: u16 = 1421;

/// A statement that the server is asked to prepare.
#[derive(Debug)]
pub(crate) struct Preparing {
    /// Text of the statement; `None` if it cannot be prepared again.
    pub text: Option<Arc<[u8]>>,
    pub dialect: Dialect,
}

/// Where a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// There is none of this id.
    Unknown,
    /// On the session's connection.
    Here,
    /// The statement must be prepared again.
    Away,
    /// The statement could not be prepared again.
    Refused,
}

/// What a response answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    Execution,
    Rows,
}

/// Whether a new statement can follow its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// There is none, or it can.
    Yes,
    /// The statement cannot follow.
    No,
    /// The statement could follow, but there are so many already.
    TooMany,
}

/// A session's prepared statements.
#[derive(Debug)]
pub(crate) struct CarriedStatements {
    flavour: Flavour,
    /// By the session's id.
    known: HashMap<u32, Carried>,
    /// The client's that the server has not yet answered, in order.
    preparing: VecDeque<Preparing>,
    /// The one that was prepared last.
    latest: Option<u32>,
    /// What was bound last: often the next has the same.
    bound: Option<Arc<BoundState>>,
    sums: Sums,
    has_schema: bool,
    /// While the session has no connection, which has them otherwise.
    numbers: StatementNumbers,
}

impl CarriedStatements {
    /// Of a session right after its login.
    pub(super) fn new(flavour: Flavour, has_schema: bool) -> Self {
        Self {
            flavour,
            known: HashMap::new(),
            preparing: VecDeque::new(),
            latest: None,
            bound: None,
            sums: Sums::default(),
            has_schema,
            numbers: StatementNumbers::at_login(flavour),
        }
    }

    /// Whether one of them keeps the session on its connection.
    pub(super) fn is_tied(&self) -> bool {
        self.sums.tied > 0
    }

    /// How many of them could be prepared again.
    pub(super) fn kept(&self) -> usize {
        self.sums.kept
    }

    /// Whether values were sent ahead of an execution.
    pub(super) fn has_long_data(&self) -> bool {
        self.sums.long_data > 0
    }

    /// Whether a cursor may be open.
    pub(super) fn has_cursor(&self) -> bool {
        self.sums.cursors > 0
    }

    /// Whether the server has not yet answered a PREPARE of the client's.
    pub(super) fn is_preparing(&self) -> bool {
        !self.preparing.is_empty()
    }

    /// The server is asked to prepare one for the client.
    pub(super) fn prepares(&mut self, preparing: Preparing) {
        self.preparing.push_back(preparing);
    }

    /// The statement that an id means.
    pub(super) fn meant(&self, id: u32) -> u32 {
        let latest = self.flavour == Flavour::MariaDb && id == LATEST;
        self.latest.filter(|_| latest).unwrap_or(id)
    }

    pub(super) fn get(&self, id: u32) -> Option<&Carried> {
        self.known.get(&id)
    }

    /// Changes a statement.
    pub(super) fn change<T>(&mut self, id: u32, how: impl FnOnce(&mut Carried) -> T) -> Option<T> {
        let carried = self.known.get_mut(&id)?;
        let before = Sums::of(carried);
        let result = how(carried);
        carried.tied = carried.ties(self.has_schema);
        self.sums = self.sums.without(before).with(Sums::of(carried));
        Some(result)
    }

    /// Where a statement is.
    pub(super) fn whereabouts(&self, id: u32) -> Whereabouts {
        match self.known.get(&self.meant(id)) {
            None => Whereabouts::Unknown,
            Some(carried) if carried.refusal.is_some() => Whereabouts::Refused,
            Some(carried) if carried.here.is_some() => Whereabouts::Here,
            Some(_) => Whereabouts::Away,
        }
    }

    /// Whether the connection has any.
    pub(super) fn are_here(&self) -> bool {
        !self.preparing.is_empty() || self.known.values().any(|carried| carried.here.is_some())
    }

    /// Whether a statement has this id on the connection.
    pub(super) fn is_taken(&self, server: u32) -> bool {
        self.known.values().any(|carried| carried.here == Some(server))
    }

    /// The server has answered a PREPARE of the client's, in this state.
    pub(super) fn answered(
        &mut self,
        statement: Option<PreparedStatement>,
        state: &SessionState,
        doubt: BindingDoubt,
    ) -> Follows {
        let preparing = self.preparing.pop_front();
        self.latest = None;
        let Some(statement) = statement else { return Follows::Yes };
        let room = self.sums.bytes < LARGEST_SUM && self.sums.kept < MOST_STATEMENTS;
        let small = statement.columns <= MOST_COLUMNS && statement.params <= MOST_PARAMETERS;
        let again = preparing.filter(|_| small && room).and_then(|of| {
            let bound = self.bound_now(state, doubt);
            Some(Again { text: of.text?, dialect: of.dialect, bound })
        });
        let follows = match (&again, room) {
            (Some(_), _) => Follows::Yes,
            (None, true) => Follows::No,
            (None, false) => Follows::TooMany,
        };
        self.insert(&statement, again, false);
        self.latest = Some(statement.id);
        follows
    }

    /// What a statement is bound to that is prepared now.
    fn bound_now(&mut self, state: &SessionState, doubt: BindingDoubt) -> Arc<BoundState> {
        let bound = BoundState::of(state, doubt);
        let same = self.bound.take().filter(|last| **last == bound);
        Arc::clone(self.bound.insert(same.unwrap_or_else(|| Arc::new(bound))))
    }

    /// The proxy has prepared one of its own.
    pub(super) fn hid(&mut self, statement: &PreparedStatement) {
        self.insert(statement, None, true);
    }

    fn insert(&mut self, statement: &PreparedStatement, again: Option<Again>, hidden: bool) {
        let &PreparedStatement { id, server, columns, params, .. } = statement;
        self.remove(id);
        let mut carried = Carried {
            here: Some(server),
            again,
            hidden,
            params: usize::from(params),
            columns: Some(columns),
            changed: false,
            telling: false,
            types: Some(Box::default()),
            types_here: false,
            long_data: false,
            cursor: false,
            refusal: None,
            tied: false,
        };
        carried.tied = carried.ties(self.has_schema);
        self.sums = self.sums.with(Sums::of(&carried));
        self.known.insert(id, carried);
    }

    /// A statement is closed.
    pub(super) fn remove(&mut self, id: u32) {
        if let Some(carried) = self.known.remove(&id) {
            self.sums = self.sums.without(Sums::of(&carried));
        }
        self.latest = self.latest.filter(|latest| *latest != id);
    }

    /// What it takes to prepare a statement again.
    pub(super) fn again(&self, id: u32) -> Option<&Again> {
        self.known.get(&id)?.again.as_ref()
    }

    /// A statement was prepared again, or refused by an error packet with this payload.
    pub(super) fn brought(&mut self, id: u32, outcome: Result<PreparedStatement, Box<[u8]>>) {
        self.change(id, |carried| match outcome {
            Ok(PreparedStatement { server, columns, .. }) => {
                (carried.here, carried.types_here) = (Some(server), false);
                let before = carried.columns.replace(columns);
                carried.changed |= before.is_some_and(|before| before != columns);
            }
            Err(refusal) => carried.refusal = Some(refusal),
        });
    }

    /// What a command for a statement is answered with that could not be prepared again. `keeps`: so is the next.
    pub(super) fn take_refusal(&mut self, id: u32, keeps: bool) -> Option<Box<[u8]>> {
        let id = self.meant(id);
        self.change(
            id,
            |carried| {
                if keeps { carried.refusal.clone() } else { carried.refusal.take() }
            },
        )?
    }

    /// A statement is executed: whether its response must say that it has other columns.
    pub(super) fn tells_change(&mut self, id: u32) -> bool {
        self.change(id, |carried| {
            carried.telling = std::mem::take(&mut carried.changed);
            carried.telling
        })
        .unwrap_or(false)
    }

    /// The response to a command for a statement has ended.
    pub(super) fn ended(&mut self, id: u32, asked: Awaited, ending: Ending) {
        self.change(id, |carried| match (asked, ending) {
            (Awaited::Execution, Ending::Ok { status, .. }) => {
                let told = std::mem::take(&mut carried.telling);
                if status.has(Status::METADATA_CHANGED) && !told {
                    carried.columns = None;
                }
                carried.cursor &= status.has(Status::CURSOR_EXISTS);
            }
            (Awaited::Execution, Ending::Err { .. }) => {
                (carried.cursor, carried.telling) = (false, false);
            }
            (Awaited::Rows, Ending::Ok { status, .. }) => {
                carried.cursor &= !status.has(Status::LAST_ROW_SENT);
            }
            (Awaited::Rows, Ending::Err { code }) => carried.cursor &= code != NO_CURSOR,
            (_, Ending::Plain) => {}
        });
    }

    /// A schema was selected, or the selected one is gone.
    pub(super) fn note_schema(&mut self, has_schema: bool) {
        if std::mem::replace(&mut self.has_schema, has_schema) != has_schema {
            self.change_all(|_| {});
        }
    }

    /// The character sets, or the schema, have changed: what they were before is not known, if they were in doubt.
    pub(super) fn doubt_stays(&mut self) {
        self.change_all(|carried| {
            carried.again.take_if(|again| !again.bound.is_certain());
        });
    }

    /// The state that was in doubt is this one.
    pub(super) fn doubt_ends(&mut self, state: &SessionState) {
        let mut last: Option<(Arc<BoundState>, Arc<BoundState>)> = None;
        self.change_all(|carried| {
            let Some(again) = carried.again.as_mut().filter(|a| !a.bound.is_certain()) else {
                return;
            };
            let known = match last.take().filter(|(doubtful, _)| *doubtful == again.bound) {
                Some((_, known)) => known,
                None => Arc::new(again.bound.made_certain(state)),
            };
            last = Some((std::mem::replace(&mut again.bound, Arc::clone(&known)), known));
        });
    }

    fn change_all(&mut self, mut how: impl FnMut(&mut Carried)) {
        let mut sums = Sums::default();
        for carried in self.known.values_mut() {
            how(carried);
            carried.tied = carried.ties(self.has_schema);
            sums = sums.with(Sums::of(carried));
        }
        self.sums = sums;
    }

    /// The session has no connection any more, on which they were numbered like this.
    pub(super) fn leave(&mut self, numbers: Option<StatementNumbers>) {
        self.numbers = numbers.unwrap_or(self.numbers);
        self.preparing.clear();
        self.known.retain(|_, carried| !carried.hidden);
        self.change_all(|carried| (carried.here, carried.types_here) = (None, false));
    }

    /// How they are numbered on another connection.
    pub(super) fn numbers(&self) -> StatementNumbers {
        self.numbers.moved()
    }

    /// The session has reset its connection, or has changed its user.
    pub(super) fn clear(&mut self, has_schema: bool) {
        self.has_schema = has_schema;
        self.known.clear();
        self.preparing.clear();
        (self.latest, self.bound, self.sums) = (None, None, Sums::default());
    }
}
