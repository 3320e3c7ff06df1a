//! Lock calls in prepared statements.
//!
//! The server prepares the statement itself, so metadata, errors and ids are its own; only its
//! execution is the proxy's.

use super::answer::{Call, empties_warnings};
use super::arguments::Given;
use super::intercept::Outcome;
use super::session::{Behind, End, Session};
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::params::{Execute, Value};
use crate::protocol::reader::Reader;
use crate::protocol::reply::{ErrorReply, OneValue, put_ok};
use crate::protocol::response::{Ending, PrepareOk};
use crate::protocol::status::Status;
use crate::sql::call::{Argument, BareCall, Statement};

/// Statements with lock calls a session may have prepared; the server's own limit is larger.
const MAX_STATEMENTS: usize = 16_384;
/// Long data kept for a parameter: more than any name or timeout needs.
const MAX_LONG_DATA: usize = 64 * 1024;
/// No server takes a name of more bytes, in whatever character set.
pub(super) const MAX_NAME: u64 = 1024;

/// A prepared bare call.
#[derive(Debug)]
pub(super) struct LockStatement {
    bare: BareCall,
    text: Vec<u8>,
    params: usize,
    /// The column's name as the server described it.
    name: Vec<u8>,
    /// Types of the last execution that bound any.
    types: Vec<u16>,
    long_data: Vec<Option<Vec<u8>>>,
    /// Parameters of which the long data was too long to be kept.
    beyond: Vec<usize>,
    /// Long data came for a parameter that does not exist: the server has an error for it.
    refused_data: bool,
}

impl LockStatement {
    /// How many parameters there are.
    pub(super) fn params(&self) -> usize {
        self.params
    }

    fn first_is_the_name(&self) -> bool {
        self.bare.arguments.first() == Some(&Argument::Parameter)
    }

    /// Whether the first value of an execution is the lock's name.
    pub(super) fn name_is_sent_with_execution(&self) -> bool {
        self.first_is_the_name()
            && self.long_data.first().is_some_and(Option::is_none)
            && !self.beyond.contains(&0)
    }

    /// The server gets an execution as it stands, and forgets long data by it.
    pub(super) fn run_by_server(&mut self, types: Vec<u16>) {
        self.types = types;
        self.forget_long_data();
    }

    /// Whether there was any.
    fn forget_long_data(&mut self) -> bool {
        let any = !self.beyond.is_empty() || self.long_data.iter().any(Option::is_some);
        self.long_data.iter_mut().for_each(|d| *d = None);
        self.beyond.clear();
        self.refused_data = false;
        any
    }

    fn keep_long_data(&mut self, index: usize, bytes: &[u8]) {
        let slot = self.long_data.get_mut(index);
        self.refused_data |= slot.is_none();
        let Some(data) = slot.map(Option::get_or_insert_default) else {
            return;
        };
        if data.len() + bytes.len() <= MAX_LONG_DATA {
            data.extend_from_slice(bytes);
        } else if !self.beyond.contains(&index) {
            self.beyond.push(index);
        }
    }
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
            self.drop_long_data(self.meant(id)).await?;
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

    /// COM_STMT_PREPARE of a text that may call.
    pub(super) async fn prepare(&mut self, packet: Vec<u8>) -> Result<(), End> {
        let text = &packet[HEADER + 1..];
        let bare = match self.classify(text).await? {
            Statement::Bare(bare) => bare,
            statement => return self.not_bare(&packet, text, &statement).await,
        };
        self.context.commands[usize::from(Command::STMT_PREPARE.0)].inc();
        self.settle_behind().await?;
        let reply = self.exchange(&packet, Shape::Prepare).await?;
        let first = reply.frames().next().and_then(|f| PrepareOk::parse(&f[HEADER..]));
        if let Some(ok) = first {
            if self.statements.len() >= MAX_STATEMENTS {
                self.close_statement(ok.id)?;
                return self
                    .refuse(&codes::unsupported("so many prepared lock calls in one session"));
            }
            // The result column's definition is the last packet that is one.
            let name = reply
                .frames()
                .map(|f| &f[HEADER..])
                .filter(|p| p.starts_with(b"\x03def"))
                .filter_map(column_name)
                .last()
                .unwrap_or_else(|| text[bare.call.clone()].to_vec());
            let params = usize::from(ok.params);
            let statement = LockStatement {
                bare,
                text: text.to_vec(),
                params,
                name,
                types: Vec::new(),
                long_data: vec![None; params],
                beyond: Vec::new(),
                refused_data: false,
            };
            self.statements.insert(ok.id, statement);
            self.last_prepared = Some(ok.id);
        }
        self.send_client(&reply.bytes)
    }

    /// EXECUTE, SEND_LONG_DATA, RESET, CLOSE and FETCH of a prepared lock call.
    pub(super) async fn prepared_command(&mut self, packet: Vec<u8>) -> Result<(), End> {
        let payload = &packet[HEADER..];
        let mut r = Reader::new(payload);
        let (Some(byte), Some(id)) = (r.u8(), r.u32()) else {
            return self.forward(&packet);
        };
        let id = self.meant(id);
        match Command(byte) {
            Command::STMT_CLOSE => {
                self.statements.remove(&id);
                self.forward(&packet)
            }
            Command::STMT_RESET => {
                if let Some(statement) = self.statements.get_mut(&id) {
                    statement.forget_long_data();
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
        statement.types.clone_from(&execute.types);
        let bare = statement.bare.clone();
        let (text, name) = (statement.text.clone(), statement.name.clone());
        self.context.commands[usize::from(Command::STMT_EXECUTE.0)].inc();
        let given = bind(&bare, &text, &execute.values);
        let call = Call { prefix: &[3], text: &text, bare };
        let outcome = match beyond {
            // The server has all of the name, and refuses it.
            true if name_beyond => Outcome::Native,
            true => Outcome::Error(too_long(Command::STMT_EXECUTE)),
            false => self.call(call.bare.function, given).await?,
        };
        match outcome {
            Outcome::Value(value, pure) => {
                if long {
                    self.drop_long_data(id).await?;
                }
                self.answer_binary(&call, &name, value, &pure).await
            }
            Outcome::Native => match native {
                // The server has not seen the execution that bound the types.
                Some(payload) => {
                    let mut packet = Vec::with_capacity(payload.len() + HEADER);
                    put_frame(&mut packet, 0, &payload);
                    self.forward(&packet)
                }
                None => self.forward(&packet),
            },
            Outcome::Error(error) => {
                if long {
                    self.drop_long_data(id).await?;
                }
                self.refuse(&error)
            }
        }
    }

    /// The server keeps long data until an execution that never comes.
    async fn drop_long_data(&mut self, id: u32) -> Result<(), End> {
        let mut packet = Vec::new();
        let payload = [&[Command::STMT_RESET.0][..], &id.to_le_bytes()].concat();
        put_frame(&mut packet, 0, &payload);
        self.exchange(&packet, Shape::Results).await.map(|_| ())
    }

    async fn answer_binary(
        &mut self,
        call: &Call<'_>,
        name: &[u8],
        value: Option<u64>,
        pure: &[Vec<u8>],
    ) -> Result<(), End> {
        let function = call.bare.function;
        let mut status = Status(self.status.lasting());
        let mut warnings = 0;
        let mut metadata = true;
        let emptied = empties_warnings(function, self.flavour, value);
        if pure.is_empty()
            && !call.bare.special
            && !emptied
            && self.may_answer_alone(call.bare.is_do)
        {
            if call.bare.is_do {
                self.behind.then_do = true;
            } else {
                self.behind = Behind { select: true, then_do: false };
            }
        } else {
            self.behind = Behind::default();
            let verb: &[u8] = if call.bare.is_do { b"DO " } else { b"SELECT " };
            let expression = function.value_expression(self.flavour, value, pure);
            let reply = self.ask(&[verb, &expression].concat()).await?;
            if let Ending::Ok { status: s, warnings: w } = reply.ending {
                (status, warnings) = (s, w);
            }
            let first = reply.frames().next();
            metadata = first.is_none_or(|f| f.get(HEADER + 1) != Some(&0));
            if call.bare.is_do {
                return self.send_client(&reply.bytes);
            }
        }
        let mut out = Vec::with_capacity(128);
        if call.bare.is_do {
            put_ok(&mut out, 1, status);
        } else {
            let column = function.column(self.flavour);
            let reply = OneValue { name, column, value, status, warnings, binary: true, metadata };
            reply.encode(&mut out, self.capabilities);
        }
        self.send_client(&out)
    }

    /// Catches up before a question whose reply the client sees.
    async fn settle_behind(&mut self) -> Result<(), End> {
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

fn column_name(payload: &[u8]) -> Option<Vec<u8>> {
    let mut r = Reader::new(payload);
    for _ in 0..4 {
        r.lenenc_bytes()?;
    }
    r.lenenc_bytes().map(<[u8]>::to_vec)
}
