//! Lock calls in prepared statements.
//!
//! The server prepares the statement itself, so metadata, errors and ids are its own; only its
//! execution is the proxy's.

use std::sync::Arc;

use super::answer::{Call, empties_warnings, is_plain_name};
use super::arguments::Given;
use super::bound::{Bound, Values};
use super::cursor::{self, Cursor};
use super::gate::Shown;
use super::intercept::Outcome;
use super::owed::Behind;
use super::session::{End, Session};
use super::settings::Settings;
use super::statement::{Calls, LockStatement};
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::params::{Execute, Value};
use crate::protocol::reader::Reader;
use crate::protocol::reply::{ColumnType, Delivery, ErrorReply, OneValue, put_ok, query_prefix};
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::sql::argument::Argument;
use crate::sql::call::BareCall;
use crate::sql::composite::Verb;
use crate::types::Flavour;

/// Statements with lock calls a session may have prepared; the server's own limit is larger.
pub(super) const MAX_STATEMENTS: usize = 16_384;
/// Bytes that all their texts may have.
pub(super) const MAX_TEXTS: usize = 16 << 20;
/// The refusal of one more.
pub(super) const SO_MANY: &str = "so many prepared lock calls in one session";
/// No server takes a name of more bytes, in whatever character set.
pub(super) const MAX_NAME: u64 = 1024;

/// What the client is told.
struct Answer<'a> {
    catalog: &'a [u8],
    name: &'a [u8],
    column: ColumnType,
    delivery: Delivery,
    value: Option<u64>,
}

/// The refusal of an execution that is too long to be looked at.
pub(super) fn too_long(command: Command) -> ErrorReply {
    codes::unsupported(if command == Command::MARIADB_BULK_EXECUTE {
        "a lock call in a bulk execution"
    } else {
        "parameters of a lock call longer than 64 KiB"
    })
}

impl Session {
    /// A prepared lock call.
    pub(super) fn lock_statement(&mut self, id: u32) -> Option<&mut LockStatement> {
        let id = self.meant(id);
        self.statements.get_mut(&id)
    }

    /// Long data that is not kept came for a parameter.
    pub(super) fn long_data_beyond_limit(&mut self, id: u32, index: usize) {
        if let Some(statement) = self.lock_statement(id) {
            statement.keep_long_data(index, &[]);
            if index < statement.params && !statement.beyond.contains(&index) {
                statement.beyond.push(index);
            }
        }
    }

    /// Forgets the long data of an execution that the server does not see.
    pub(super) async fn forget_long_data(&mut self, id: u32) -> Result<(), End> {
        if self.lock_statement(id).is_some_and(LockStatement::forget_long_data) {
            self.reset_statement(self.meant(id)).await?;
        }
        Ok(())
    }

    /// Whether a statement id is that of a lock call.
    pub(super) fn is_lock_statement(&self, id: u32) -> bool {
        self.statements.contains_key(&self.meant(id))
    }

    /// The statement an id means: MariaDB's clients execute "the one prepared last" as −1.
    fn meant(&self, id: u32) -> u32 {
        self.last_prepared.filter(|_| id == u32::MAX).unwrap_or(id)
    }

    /// EXECUTE, SEND_LONG_DATA, RESET, CLOSE and FETCH of a prepared lock call.
    pub(super) async fn prepared_command(&mut self, packet: Vec<u8>) -> Result<(), End> {
        let payload = &packet[HEADER..];
        let mut r = Reader::new(payload);
        let (Some(byte), Some(id)) = (r.u8(), r.u32()) else {
            return self.forward(&packet);
        };
        let id = self.meant(id);
        if matches!(
            Command(byte),
            Command::STMT_CLOSE | Command::STMT_RESET | Command::STMT_EXECUTE
        ) {
            let stand_in = self.statements.get_mut(&id).and_then(|s| s.stand_in.take());
            stand_in.map_or(Ok(()), |id| self.close_statement(id))?;
        }
        match Command(byte) {
            Command::STMT_CLOSE => {
                self.statements.remove(&id);
                self.forward(&packet)
            }
            Command::STMT_RESET => {
                if let Some(statement) = self.statements.get_mut(&id) {
                    statement.forget_long_data();
                    statement.cursor = None;
                }
                self.forward(&packet)
            }
            Command::STMT_SEND_LONG_DATA => {
                if let (Some(statement), Some(index)) = (self.statements.get_mut(&id), r.u16()) {
                    statement.keep_long_data(usize::from(index), r.rest());
                }
                // The server gets it too: a call that turns out to be its own needs it.
                self.forward(&packet)
            }
            Command::STMT_FETCH => {
                if let Some(stand_in) = self.statements.get(&id).and_then(|s| s.stand_in) {
                    let mut packet = packet;
                    packet[HEADER + 1..HEADER + 5].copy_from_slice(&stand_in.to_le_bytes());
                    self.fetching = Some(id);
                    return self.forward(&packet);
                }
                let cursor = self.statements.get(&id).and_then(|s| s.cursor);
                match (cursor, r.u32()) {
                    (Some(cursor), Some(rows)) => self.fetch(id, cursor, rows),
                    _ => self.forward(&packet),
                }
            }
            Command::STMT_EXECUTE => self.execute(id, packet).await,
            Command::MARIADB_BULK_EXECUTE => self.refuse(&too_long(Command::MARIADB_BULK_EXECUTE)),
            _ => self.forward(&packet),
        }
    }

    async fn execute(&mut self, id: u32, packet: Vec<u8>) -> Result<(), End> {
        let attributes = self.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let Some(statement) = self.statements.get_mut(&id) else {
            return self.forward(&packet);
        };
        if std::mem::take(&mut statement.refused_data) {
            return self.forward(&packet);
        }
        let parsed = Execute::parse(
            &packet[HEADER..],
            statement.params,
            &statement.types,
            &statement.long_data,
            attributes,
        );
        // What cannot be read the server refuses in its own words.
        let Some(execute) = parsed else {
            return self.forward(&packet);
        };
        let native = execute.with_types(&packet[HEADER..], attributes);
        let name_beyond = statement.first_is_the_name() && statement.beyond.contains(&0);
        let beyond = !statement.beyond.is_empty();
        let long = statement.forget_long_data();
        statement.cursor = None;
        let stale = std::mem::replace(&mut statement.server_cursor, false);
        statement.types.clone_from(&execute.types);
        let bare = match &statement.calls {
            Calls::Bare(bare) => bare.clone(),
            Calls::Composite(composite, columns) => {
                let (composite, columns) = (Arc::clone(composite), Arc::clone(columns));
                let text = statement.text.clone();
                // Of a DO, MySQL would show what is run in its place.
                let cursor = cursor::wanted(execute.flags) && composite.verb != Verb::Do;
                let values = Values { payload: &packet[HEADER..], execute: &execute, cursor };
                let stale = (long || stale).then_some(id);
                let surroundings = statement.surroundings.as_ref();
                let bound = Bound {
                    id,
                    text: &text,
                    composite: &composite,
                    columns: &columns,
                    surroundings: surroundings.cloned(),
                    stale,
                };
                return Box::pin(self.composite_bound(&bound, &values, beyond)).await;
            }
        };
        // MySQL runs DO as a SELECT, and a cursor shows it.
        let is_do = bare.is_do;
        let cursor = cursor::wanted(execute.flags) && (self.flavour == Flavour::MySql || !is_do);
        let (text, mut name) = (statement.text.clone(), statement.name.clone());
        self.count(Command::STMT_EXECUTE);
        let given = bind(&bare, &text, &execute.values);
        let call = Call { prefix: query_prefix(self.capabilities), text: &text, bare };
        let mut catalog = b"def".to_vec();
        let no_row = self.gives_no_row(&call).await?;
        let wide = matches!(self.settings, Settings::Unusual { wide: true, .. });
        // The character set of results may be another than when it was prepared. So may the
        // client's, so that only ASCII means the same again.
        if (wide || !is_plain_name(&name)) && text.is_ascii() {
            let again = self.prepare_and_close(&text).await?.column_names().last();
            (catalog, name) = again.filter(|_| !call.bare.is_do).unwrap_or((catalog, name));
        }
        let outcome = match beyond {
            // The server has all of the name, and refuses it.
            true if name_beyond => Outcome::Native,
            _ if no_row => Outcome::Native,
            true => Outcome::Error(too_long(Command::STMT_EXECUTE)),
            false => {
                let stale = (long || stale).then_some(id);
                let shown =
                    Shown { call: &call, name: Some(&name), stale, cursor, stand_in: false };
                self.call(&shown, given).await?
            }
        };
        let servers = matches!(outcome, Outcome::Native | Outcome::Said(..));
        if (long || stale) && !servers {
            self.reset_statement(id).await?;
        }
        match outcome {
            Outcome::Value(value, pure) => {
                let mut column = call.bare.function.column(self.flavour);
                let mut delivery = Delivery::Binary;
                if cursor {
                    delivery = Delivery::Cursor;
                    column = column.in_cursor();
                    if let Some(statement) = self.statements.get_mut(&id) {
                        statement.cursor = Some(Cursor::new(column, value));
                    }
                }
                let answer = Answer { catalog: &catalog, name: &name, column, delivery, value };
                self.answer_binary(&call, &answer, &pure).await
            }
            Outcome::Native => self.run_by_server(id, cursor, native, &packet),
            Outcome::Said(_, reply) => self.send_client(&reply),
            Outcome::Deadlock => {
                let delivery = if cursor { Delivery::Cursor } else { Delivery::Binary };
                let column = call.bare.function.column(self.flavour);
                let column = if cursor { column.in_cursor() } else { column };
                let value = None;
                let answer = Answer { catalog: &catalog, name: &name, column, delivery, value };
                self.deadlock_binary(&call, &answer).await
            }
            Outcome::Error(error) => self.refuse(&error),
        }
    }

    /// Lets the server execute the statement as it stands; `bound`, if it has not seen the execution
    /// that bound the types.
    fn run_by_server(
        &mut self,
        id: u32,
        cursor: bool,
        bound: Option<Vec<u8>>,
        packet: &[u8],
    ) -> Result<(), End> {
        if let Some(statement) = self.statements.get_mut(&id) {
            statement.server_cursor = cursor;
        }
        let Some(payload) = bound else {
            return self.forward(packet);
        };
        let mut packet = Vec::with_capacity(payload.len() + HEADER);
        put_frame(&mut packet, 0, &payload);
        self.forward(&packet)
    }

    /// The server keeps long data, and its cursor, until an execution that never comes.
    pub(super) async fn reset_statement(&mut self, id: u32) -> Result<(), End> {
        let mut packet = Vec::new();
        let payload = [&[Command::STMT_RESET.0][..], &id.to_le_bytes()].concat();
        put_frame(&mut packet, 0, &payload);
        self.exchange(&packet, Shape::Results).await.map(|_| ())
    }

    async fn deadlock_binary(&mut self, call: &Call<'_>, answer: &Answer<'_>) -> Result<(), End> {
        let Answer { catalog, name, column, delivery, value } = *answer;
        let status = Status(self.status.lasting());
        let reply = OneValue {
            catalog,
            name,
            column,
            value,
            between: status,
            status,
            warnings: 0,
            delivery,
            metadata: true,
            end: None,
        };
        let mut columns = Vec::new();
        if !call.bare.is_do {
            reply.encode(&mut columns, self.capabilities);
        }
        self.say_deadlock(call, &columns, delivery == Delivery::Cursor).await
    }

    async fn answer_binary(
        &mut self,
        call: &Call<'_>,
        answer: &Answer<'_>,
        pure: &[Vec<u8>],
    ) -> Result<(), End> {
        let Answer { catalog, name, column, delivery, value } = *answer;
        let by_ok = call.bare.is_do && delivery == Delivery::Binary;
        let function = call.bare.function;
        // To MariaDB's FOUND_ROWS(), what a cursor reads was not found yet.
        let unfound = delivery == Delivery::Cursor && self.flavour == Flavour::MariaDb;
        let mut status = Status(self.status.lasting());
        let mut warnings = 0;
        let mut metadata = true;
        let (mut between, mut end) = (status, None);
        let emptied = empties_warnings(function, self.flavour, value);
        if pure.is_empty()
            && !call.bare.special
            && !emptied
            && !unfound
            && self.may_answer_alone(by_ok)
        {
            if by_ok {
                self.behind.then_do = true;
            } else {
                self.behind = Behind { select: true, then_do: false };
            }
        } else {
            self.behind = Behind::default();
            let (before, behind): (&[u8], &[u8]) = if unfound {
                (b"SELECT 1 FROM DUAL WHERE ", b"=-1")
            } else if by_ok {
                (b"DO ", b"")
            } else {
                (b"SELECT ", b" LIMIT 1")
            };
            let expression = function.value_expression(self.flavour, value, pure);
            let reply = self.ask(&[before, &expression, behind].concat()).await?;
            if let Ending::Ok { status: s, warnings: w } = reply.ending {
                (status, warnings) = (s, w);
                between = reply.first_eof().unwrap_or(s);
            }
            let first = reply.frames().next();
            metadata = first.is_none_or(|f| f.get(HEADER + 1) != Some(&0));
            if by_ok {
                return self.send_client(&reply.bytes);
            }
            if self.capabilities.has(Capabilities::DEPRECATE_EOF) {
                end = reply.frames().last().map(|f| f[HEADER..].to_vec());
            }
        }
        let mut out = Vec::with_capacity(128);
        if by_ok {
            put_ok(&mut out, 1, status);
        } else {
            let reply = OneValue {
                catalog,
                name,
                column,
                value,
                between,
                status,
                warnings,
                delivery,
                metadata,
                end: end.as_deref(),
            };
            reply.encode(&mut out, self.capabilities);
        }
        self.send_client(&out)
    }

    /// Catches up before a question whose reply the client sees.
    pub(super) async fn settle_behind(&mut self) -> Result<(), End> {
        self.catch_up()?;
        self.settle_owed().await
    }
}

/// Bound values in the places of the parameters.
fn bind(bare: &BareCall, text: &[u8], values: &[Value]) -> Vec<Given> {
    let mut values = values.iter();
    bare.arguments
        .iter()
        .map(|argument| match argument {
            Argument::Parameter => values.next().map_or(Given::Unknown, Given::from_value),
            literal => Given::from_text(literal, text),
        })
        .collect()
}
