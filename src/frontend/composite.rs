//! Lock calls inside a larger statement.
//!
//! The calls are carried out one after the other, in the order in which the server would evaluate
//! them; then the server runs the statement with each call replaced by its value. Where it
//! depends on other expressions whether a call is evaluated, the server is asked: it runs the
//! statement with a probe in the call's place, a lock of its own that tells afterwards whether it
//! was taken ([ADR 12](../../docs/adr/0012-composite-statements.md)).

use std::ops::Range;

use super::answer::Call as Bare;
use super::arguments::Given;
use super::ask::{Reply, frames};
use super::gate::Shown;
use super::intercept::Outcome;
use super::owed::Behind;
use super::session::{End, Session};
use super::settings::Settings;
use super::splice::{Edit, Edits, Which, spliced};
use super::trial::Next;
use crate::lock::codes;
use crate::lock::function::Function;
use crate::protocol::amend::Amend;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{self, Column, is_definition};
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reader::put_lenenc;
use crate::protocol::response::{Ending, PrepareOk};
use crate::sql::call::{Alias, BareCall};
use crate::sql::composite::{Call, Composite, Part, Verb};
use crate::types::Flavour;

/// A statement that evaluates a call more often than this is refused.
pub(super) const MAX_TIMES: u32 = 16;

/// A statement in its packet.
pub(super) struct Statement<'a> {
    /// Command byte and query attributes.
    pub(super) prefix: &'a [u8],
    pub(super) text: &'a [u8],
    pub(super) composite: &'a Composite,
    /// The columns as the server describes them.
    pub(super) definitions: Vec<Vec<u8>>,
}

/// What came of the calls.
enum Filled {
    /// Their places are filled.
    All,
    /// The server is to say the error: what stands in the places does not matter any more.
    Fails,
    /// The client has its answer.
    Answered,
}

/// What the server makes of a call that is its own.
enum Native {
    /// NULL.
    TakesNothing,
    /// An error, which ends the statement.
    Fails,
    /// It is not its own after all.
    Unclear,
}

impl Session {
    /// Runs a statement with calls in it.
    pub(super) async fn composite(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        composite: &Composite,
    ) -> Result<(), End> {
        self.context.commands[usize::from(Command::QUERY.0)].inc();
        let mut edits = self.look_back(composite).await?;
        // Errors in the statement come before any of it runs.
        let reply = self.prepare_and_close(&text[..composite.end]).await?;
        match reply.ending {
            Ending::Err { code: 1295 } => return self.unsupported("a lock call in this statement"),
            Ending::Err { .. } => {
                self.behind = Behind::default();
                return self.send_client(&reply.bytes);
            }
            Ending::Ok { .. } | Ending::Plain => {}
        }
        let definitions = definitions(&reply);
        let statement = Statement { prefix, text, composite, definitions };
        if composite.verb == Verb::Explain || !self.fits_variables(text, composite).await? {
            edits.extend(composite.calls.iter().map(|call| self.nothing(call)));
        } else if let Filled::Answered = self.fill(&statement, &mut edits).await? {
            return Ok(());
        }
        let last = spliced(text, 0..text.len(), &edits, Which::Last);
        let columns = match composite.verb {
            Verb::Rows => self.native_columns(&statement, &edits).await?,
            Verb::Do | Verb::Set | Verb::Explain | Verb::Change => Vec::new(),
        };
        // The statement itself is the last one in the session.
        self.behind = Behind::default();
        let mut packet = Vec::with_capacity(prefix.len() + last.len() + HEADER);
        put_frame(&mut packet, 0, &[prefix, &last].concat());
        if !columns.is_empty() {
            let amend = self.amend.get_or_insert_with(|| Box::new(Amend::new(self.capabilities)));
            amend.describe(columns);
        }
        self.forward(&packet)
    }

    /// Whether there are as many columns as variables behind INTO: MariaDB finds out only when it
    /// runs the statement, and before it evaluates anything.
    async fn fits_variables(&mut self, text: &[u8], composite: &Composite) -> Result<bool, End> {
        let Some((span, variables)) = composite.into.as_ref() else { return Ok(true) };
        let without = [&text[..span.start], &text[span.end..composite.end]].concat();
        Ok(definitions(&self.prepare_and_close(&without).await?).len() == *variables)
    }

    /// The columns as the client is to see them.
    async fn native_columns(
        &mut self,
        statement: &Statement<'_>,
        edits: &Edits,
    ) -> Result<Vec<Column>, End> {
        // No expression of MariaDB's has the types of all calls.
        let retype = self.flavour == Flavour::MariaDb || !statement.composite.looks_back.is_empty();
        let own = if retype {
            let whole = 0..statement.composite.end;
            let last = spliced(statement.text, whole, edits, Which::Last);
            definitions(&self.prepare_and_close(&last).await?)
        } else {
            Vec::new()
        };
        let columns = statement.definitions.iter().enumerate().filter_map(|(nth, native)| {
            let (_, name) = column::names(native)?;
            let own = own.get(nth).and_then(|d| column::type_bytes(d));
            Some(Column { name: name.to_vec(), types: own.zip(column::type_bytes(native)) })
        });
        Ok(columns.collect())
    }

    /// What is not covered in a statement, found before any of it is carried out.
    async fn objection(&mut self, statement: &Statement<'_>) -> Result<Option<&'static str>, End> {
        let Composite { calls, tables, repeatable: again, .. } = statement.composite;
        let looks_only = calls.iter().all(|c| looks(c) && repeatable(c));
        for call in calls {
            if *tables && !looks(call) && !statement.composite.once(call) {
                return Ok(Some("this lock call in a statement over tables"));
            }
            if !tables && !again && !call.certain && !looks_only {
                return Ok(Some("a lock call beside functions with effects"));
            }
            for part in &call.arguments {
                if part.calls.iter().any(|c| !c.certain) && !part.repeatable {
                    return Ok(Some("a lock call beside functions with effects"));
                }
                if part.assigned_here {
                    return Ok(Some("a name from a variable that the statement assigns"));
                }
                // What can be evaluated without the statement's tables means the same before it.
                if part.literal.is_none() && (*tables || !part.repeatable) {
                    let text = &statement.text[part.span.clone()];
                    let reply = self.prepare_and_close(&[b"SELECT ", text].concat()).await?;
                    if reply.is_error() {
                        return Ok(Some("a lock's name or timeout from a column"));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Carries out the calls.
    async fn fill(&mut self, statement: &Statement<'_>, edits: &mut Edits) -> Result<Filled, End> {
        if let Some(what) = self.objection(statement).await? {
            self.unsupported(what)?;
            return Ok(Filled::Answered);
        }
        let Composite { calls, verb, .. } = statement.composite;
        if *verb == Verb::Rows {
            self.learn_settings().await?;
        }
        let limited = *verb == Verb::Rows && self.settings != Settings::Usual;
        self.fill_in(statement, calls, (None, limited), edits).await
    }

    /// Carries out `calls`, which are all of the statement's, or all in one argument, which then is
    /// their scope. `limited`: the statement's rows may be limited to none.
    async fn fill_in(
        &mut self,
        statement: &Statement<'_>,
        calls: &[Call],
        (scope, limited): (Option<Range<usize>>, bool),
        edits: &mut Edits,
    ) -> Result<Filled, End> {
        // Looking changes nothing, so it does not matter whether the server would look.
        let looks_only = calls.iter().all(|c| looks(c) && repeatable(c));
        let mut waiting: Vec<&Call> = calls.iter().collect();
        // MariaDB takes looking for a constant, which a condition has evaluated first.
        let mariadb = self.flavour == Flavour::MariaDb;
        let constant = |call: &Call| mariadb && looks(call) && call.filters && !call.conditional;
        // Rows are chosen before anything is made of them.
        let tables = statement.composite.tables;
        waiting.sort_by_key(|call| (!constant(call), tables && !call.filters));
        while let Some(first) = waiting.first() {
            let certain = first.certain && !limited;
            let (nth, times) = if tables || certain || looks_only || constant(first) {
                (0, 1)
            } else {
                let scope = scope.clone().or_else(|| first.assigned.clone());
                match self.next_call(statement, &waiting, scope, edits).await? {
                    Next::Call(nth, times) => (nth, times),
                    Next::None(first_ones) => {
                        for call in waiting.drain(..first_ones) {
                            edits.push(self.nothing(call));
                        }
                        continue;
                    }
                }
            };
            let call = waiting.remove(nth);
            if times > MAX_TIMES
                || (times > 1 && !looks(call) && call.function != Function::GetLock)
            {
                self.context.metrics.unsupported.inc();
                self.refuse(&codes::evaluated_often())?;
                return Ok(Filled::Answered);
            }
            for _ in 0..times {
                edits.retain(|edit| edit.span != call.span);
                match self.carry_out(statement, call, edits).await? {
                    Filled::All => {}
                    Filled::Fails => {
                        for call in waiting {
                            edits.push(self.nothing(call));
                        }
                        return Ok(Filled::Fails);
                    }
                    Filled::Answered => return Ok(Filled::Answered),
                }
            }
        }
        Ok(Filled::All)
    }

    /// Carries out a call that is evaluated, after those in its arguments.
    async fn carry_out(
        &mut self,
        statement: &Statement<'_>,
        call: &Call,
        edits: &mut Edits,
    ) -> Result<Filled, End> {
        let inner = edits.len();
        let mut given = Vec::with_capacity(call.arguments.len());
        let mut pure = true;
        for part in &call.arguments {
            if !part.calls.is_empty() {
                let scope = (Some(part.span.clone()), false);
                match Box::pin(self.fill_in(statement, &part.calls, scope, edits)).await? {
                    Filled::All => {}
                    ended => return Ok(ended),
                }
            }
            pure &= part.repeatable;
            let is_name = given.is_empty();
            given.push(self.given(statement, part, is_name, edits).await?);
        }
        let inner_edits = edits.split_off(inner);
        let source = spliced(statement.text, call.span.clone(), &inner_edits, Which::Last);
        let stand_in = stand_in(statement, call, &source);
        let shown = Bare { prefix: statement.prefix, text: &stand_in.0, bare: stand_in.1 };
        let shown = Shown { call: &shown, name: None, stale: None, cursor: false, stand_in: true };
        let outcome = self.call(&shown, given).await?;
        let tables = statement.composite.tables;
        match outcome {
            Outcome::Value(value, again) => {
                let again = if pure { again } else { Vec::new() };
                edits.push(self.edit(call, value, &again, tables));
                Ok(Filled::All)
            }
            Outcome::Native => {
                let fails = match self.native(statement, call, &inner_edits).await? {
                    Native::TakesNothing => false,
                    Native::Fails => true,
                    Native::Unclear => {
                        self.refuse(&codes::unsupported("this lock name or timeout"))?;
                        return Ok(Filled::Answered);
                    }
                };
                edits.push(Edit { span: call.span.clone(), last: source.clone(), trial: source });
                Ok(if fails { Filled::Fails } else { Filled::All })
            }
            Outcome::Said(_, reply) => {
                let error = frames(&reply).last().map(|f| f[HEADER..].to_vec());
                self.behind = Behind::default();
                self.say_error(statement, &error.unwrap_or_default())
            }
            Outcome::Deadlock => {
                let columns = self.columns(statement);
                self.say_deadlock(shown.call, &columns, false).await?;
                Ok(Filled::Answered)
            }
            Outcome::Error(error) => {
                self.refuse(&error)?;
                Ok(Filled::Answered)
            }
        }
    }

    /// What the server makes of a call that is its own because it takes nothing. That it takes
    /// nothing is asked, not trusted: its lock would be nobody's.
    async fn native(
        &mut self,
        statement: &Statement<'_>,
        call: &Call,
        edits: &Edits,
    ) -> Result<Native, End> {
        let argument = |nth: usize| {
            let span = call.arguments.get(nth)?.span.clone();
            Some(spliced(statement.text, span, edits, Which::Last))
        };
        let Some(name) = argument(0) else { return Ok(Native::Unclear) };
        let row = self.ask_row(&[b"SELECT IS_FREE_LOCK(", name.as_slice(), b")"].concat()).await?;
        match row.as_deref() {
            None => return Ok(Native::Fails),
            Some([None]) => return Ok(Native::TakesNothing),
            Some(_) => {}
        }
        let Some(timeout) = argument(1).filter(|_| self.flavour == Flavour::MariaDb) else {
            return Ok(Native::Unclear);
        };
        // MariaDB refuses some timeouts, with a lock that nobody else knows as with any.
        let probe = format!("_utf8mb4'lockstead_probe_{:016x}'", rand::random::<u64>());
        let sql = [b"SELECT GET_LOCK(", probe.as_bytes(), b",", timeout.as_slice(), b")"].concat();
        if self.ask_row(&sql).await?.as_deref() == Some(&[None]) {
            return Ok(Native::TakesNothing);
        }
        self.ask(format!("DO RELEASE_LOCK({probe})").as_bytes()).await?;
        Ok(Native::Unclear)
    }

    /// An argument as it is to be judged.
    async fn given(
        &mut self,
        statement: &Statement<'_>,
        part: &Part,
        is_name: bool,
        edits: &Edits,
    ) -> Result<Given, End> {
        if let Some(literal) = &part.literal {
            return Ok(Given::from_text(literal, statement.text));
        }
        let sql = spliced(statement.text, part.span.clone(), edits, Which::Last);
        // A timeout is evaluated once in any case.
        if part.repeatable || !is_name {
            return Ok(Given::Expression { sql, numeric: false });
        }
        let (open, close, literal): (&[u8], &[u8], &[u8]) = match self.flavour {
            Flavour::MySql => (b"SELECT HEX(CONVERT(", b" USING utf8mb4))", b"_utf8mb4 x'"),
            Flavour::MariaDb => (b"SELECT HEX(CONCAT(", b"))", b"x'"),
        };
        let row = self.ask_row(&[open, sql.as_slice(), close].concat()).await?;
        Ok(match row.as_deref() {
            Some([Some(hex)]) => {
                Given::Expression { sql: [literal, hex, b"'"].concat(), numeric: false }
            }
            // An error will come again.
            Some(_) | None => Given::Null,
        })
    }

    /// Refuses a statement that is not covered.
    pub(super) fn unsupported(&mut self, what: &str) -> Result<(), End> {
        self.context.metrics.unsupported.inc();
        self.refuse(&codes::unsupported(what))
    }

    /// Sends an error where the server would.
    fn say_error(&mut self, statement: &Statement<'_>, error: &[u8]) -> Result<Filled, End> {
        let mut out = self.columns(statement);
        let seq = frames(&out).count() + 1;
        put_frame(&mut out, u8::try_from(seq).unwrap_or(u8::MAX), error);
        self.send_client(&out)?;
        Ok(Filled::Answered)
    }

    /// The frames of the result in front of its rows, where there are any.
    fn columns(&self, statement: &Statement<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let composite = statement.composite;
        if composite.verb != Verb::Rows || composite.into.is_some() || composite.tables {
            return out;
        }
        let mut count = Vec::new();
        put_lenenc(&mut count, statement.definitions.len() as u64);
        put_frame(&mut out, 1, &count);
        let mut seq = 1u8;
        for definition in &statement.definitions {
            seq = seq.wrapping_add(1);
            put_frame(&mut out, seq, definition);
        }
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            let [low, high] = self.status.lasting().to_le_bytes();
            put_frame(&mut out, seq.wrapping_add(1), &[0xfe, 0, 0, low, high]);
        }
        out
    }
}

/// The column definitions in a response to a PREPARE.
fn definitions(reply: &Reply) -> Vec<Vec<u8>> {
    let mut all = reply.frames().map(|f| &f[HEADER..]);
    let columns = all.next().and_then(PrepareOk::parse).map_or(0, |ok| usize::from(ok.columns));
    let mut definitions: Vec<Vec<u8>> =
        all.filter(|p| is_definition(p)).map(<[u8]>::to_vec).collect();
    definitions.split_off(definitions.len().saturating_sub(columns))
}

/// A statement of one bare call, which shows the wait for a lock.
fn stand_in(statement: &Statement<'_>, call: &Call, source: &[u8]) -> (Vec<u8>, BareCall) {
    let composite = statement.composite;
    let is_do = composite.verb != Verb::Rows || composite.into.is_some();
    let verb: &[u8] = if is_do { b"DO " } else { b"SELECT " };
    let text = [verb, source].concat();
    let bare = BareCall {
        is_do,
        function: call.function,
        arguments: Vec::new(),
        call: verb.len()..text.len(),
        alias: Alias::None,
        odd: false,
        around: ("", ""),
        none: (text.len(), " LIMIT 0"),
        hint: false,
        special: true,
    };
    (text, bare)
}

/// Whether a call changes nothing.
pub(super) fn looks(call: &Call) -> bool {
    matches!(call.function, Function::IsFreeLock | Function::IsUsedLock)
}

/// Whether nobody notices that the arguments are evaluated though the call is not.
fn repeatable(call: &Call) -> bool {
    call.arguments.iter().all(|part| part.repeatable && part.calls.is_empty())
}
