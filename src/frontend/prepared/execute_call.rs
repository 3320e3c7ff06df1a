//! A prepared bare lock call is executed.

use super::cursor::{self, Cursor};
use super::dispatch::{LONG_PARAMETERS, too_long};
use crate::frontend::link::pending::Behind;
use crate::frontend::locks::arguments::Given;
use crate::frontend::locks::operations::{Outcome, UNJUDGED};
use crate::frontend::locks::reply::{Call, empties_warnings, is_plain_name};
use crate::frontend::locks::visible_wait::Shown;
use crate::frontend::session::settings::Settings;
use crate::frontend::session::{End, Session};
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::params::{Execute, Value};
use crate::protocol::reply::{ColumnType, Delivery, OneValue, put_ok, query_prefix};
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::sql::classify::BareCall;
use crate::sql::expression::argument::Argument;
use crate::types::Flavour;

/// What is executed.
pub(in crate::frontend) struct Execution {
    /// The statement's id.
    pub(in crate::frontend) id: u32,
    pub(in crate::frontend) text: Vec<u8>,
    /// The column's name.
    pub(in crate::frontend) name: Vec<u8>,
    pub(in crate::frontend) bare: BareCall,
    /// The server keeps data for it that are no longer needed.
    pub(in crate::frontend) stale: Option<u32>,
    /// The packet for the server.
    pub(in crate::frontend) as_it_stands: Vec<u8>,
}

/// Whether the values were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontend) enum Length {
    Known,
    /// They are too long.
    Long,
    /// The name is longer than any.
    LongName,
}

/// What the client is told.
struct Answer<'a> {
    catalog: &'a [u8],
    name: &'a [u8],
    column: ColumnType,
    delivery: Delivery,
    value: Option<u64>,
}

impl Session {
    /// Executes a prepared bare call.
    pub(in crate::frontend) async fn execute_bare(
        &mut self,
        execution: Execution,
        execute: &Execute,
        length: Length,
    ) -> Result<(), End> {
        let Execution { id, text, name, bare, stale, as_it_stands } = execution;
        // MySQL runs DO as a SELECT, and a cursor shows it.
        let is_do = bare.is_do;
        let cursor = cursor::wanted(execute.flags) && (self.flavour == Flavour::MySql || !is_do);
        self.count(Command::STMT_EXECUTE);
        let given = bind(&bare, &text, &execute.values);
        let mut name = name;
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
        let mut outcome = match length {
            // The server has all of the name, and refuses it.
            Length::LongName => Outcome::Native,
            _ if no_row => Outcome::Native,
            Length::Long => {
                self.note_unsupported(LONG_PARAMETERS, &text, false);
                Outcome::Error(too_long(Command::STMT_EXECUTE))
            }
            Length::Known => {
                let shown =
                    Shown { call: &call, name: Some(&name), stale, cursor, stand_in: false };
                self.call(&shown, given).await?
            }
        };
        if let Outcome::Unsupported = outcome {
            outcome = self.uncovered_execution(&text);
        }
        let servers = matches!(outcome, Outcome::Native | Outcome::Said(..));
        if stale.is_some() && !servers {
            self.reset_statement(id).await?;
        }
        match outcome {
            Outcome::Value(value, pure) | Outcome::Fails(value, pure) => {
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
            Outcome::Native => {
                if let Some(statement) = self.statements.get_mut(&id) {
                    statement.server_cursor = cursor;
                }
                self.forward(&as_it_stands)
            }
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
            Outcome::Unsupported => self.refuse(&codes::unsupported(UNJUDGED)),
        }
    }

    /// A name or timeout was bound that nobody can judge.
    fn uncovered_execution(&mut self, text: &[u8]) -> Outcome {
        let native = self.runs_uncovered();
        self.note_unsupported(UNJUDGED, text, native);
        if native { Outcome::Native } else { Outcome::Unsupported }
    }

    /// Whether the client is told of the column: it may keep what the PREPARE told. What a cursor
    /// reads is another column.
    fn describes(&self, delivery: Delivery) -> bool {
        delivery == Delivery::Cursor || !self.capabilities.has(Capabilities::MARIADB_CACHE_METADATA)
    }

    async fn deadlock_binary(&mut self, call: &Call<'_>, answer: &Answer<'_>) -> Result<(), End> {
        let columns = self.columns_binary(call, answer);
        self.say_deadlock(&columns, answer.delivery == Delivery::Cursor, call.bare.is_do).await
    }

    /// A response of which the columns count.
    fn columns_binary(&self, call: &Call<'_>, answer: &Answer<'_>) -> Vec<u8> {
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
            metadata: self.describes(delivery),
            end: None,
        };
        let mut columns = Vec::new();
        if !call.bare.is_do {
            reply.encode(&mut columns, self.capabilities);
        }
        columns
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
        let mut metadata = self.describes(delivery);
        let (mut between, mut end) = (status, None);
        let emptied = empties_warnings(function, self.flavour, value);
        if pure.is_empty()
            && !call.bare.special
            && !emptied
            && !unfound
            && self.may_answer_alone(by_ok)
        {
            self.behind.answered(by_ok);
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
            metadata &= first.is_none_or(|f| f.get(HEADER + 1) != Some(&0));
            if by_ok {
                return self.send_client(&reply.bytes);
            }
            if reply.is_error() {
                let columns = self.columns_binary(call, answer);
                return self.say_behind_columns(&columns, delivery == Delivery::Cursor, &reply);
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
