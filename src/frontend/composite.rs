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
use crate::lock::codes;
use crate::lock::function::Function;
use crate::protocol::amend::Amend;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::is_definition;
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reader::put_lenenc;
use crate::protocol::response::{Ending, PrepareOk};
use crate::sql::call::{Alias, BareCall};
use crate::sql::composite::{Call, Composite, Part, Verb};
use crate::types::Flavour;

/// An expression without an effect where the value of a call does not matter.
const NOTHING: &[u8] = b"(NULL OR 1)";
/// A statement that evaluates a call more often than this is refused.
const MAX_TIMES: u32 = 16;

/// Expressions for the places of calls.
type Edits = Vec<(Range<usize>, Vec<u8>)>;

/// A statement in its packet.
struct Statement<'a> {
    /// Command byte and query attributes.
    prefix: &'a [u8],
    text: &'a [u8],
    composite: &'a Composite,
    /// The columns as the server describes them.
    definitions: Vec<Vec<u8>>,
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

impl Session {
    /// Runs a statement with calls in it.
    pub(super) async fn composite(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        composite: &Composite,
    ) -> Result<(), End> {
        self.context.commands[usize::from(Command::QUERY.0)].inc();
        if composite.looks_back {
            return self.unsupported("a lock call beside ROW_COUNT() or the like");
        }
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
        let mut edits = Vec::new();
        if composite.verb == Verb::Explain {
            edits.extend(composite.calls.iter().map(|c| (c.span.clone(), NOTHING.to_vec())));
        } else if let Filled::Answered = self.fill(&statement, &mut edits).await? {
            return Ok(());
        }
        // The statement itself is the last one in the session.
        self.behind = Behind::default();
        let payload = [prefix, &spliced(text, 0..text.len(), &edits)].concat();
        let mut packet = Vec::with_capacity(payload.len() + HEADER);
        put_frame(&mut packet, 0, &payload);
        if !statement.definitions.is_empty() && composite.verb == Verb::Rows {
            let amend = self.amend.get_or_insert_with(|| Box::new(Amend::new(self.capabilities)));
            amend.define(statement.definitions);
        }
        self.forward(&packet)
    }

    /// Carries out the calls.
    async fn fill(&mut self, statement: &Statement<'_>, edits: &mut Edits) -> Result<Filled, End> {
        let composite = statement.composite;
        if composite.verb == Verb::Rows {
            self.learn_settings().await?;
        }
        for (nth, call) in composite.calls.iter().enumerate() {
            let looks = matches!(call.function, Function::IsFreeLock | Function::IsUsedLock);
            let limited = composite.verb == Verb::Rows && self.settings != Settings::Usual;
            let mut times = 1;
            if composite.tables {
                if !looks && (call.conditional || call.function != Function::GetLock) {
                    return self.refused("this lock call in a statement over tables");
                }
            } else if !(call.certain && !limited || looks && repeatable(call)) {
                if !composite.repeatable {
                    return self.refused("a lock call beside functions with effects");
                }
                let Some(counted) = self.try_call(statement, nth, edits).await? else {
                    return Ok(fails(&composite.calls[nth..], edits));
                };
                times = counted;
            }
            if times == 0 {
                edits.push((call.span.clone(), NOTHING.to_vec()));
                continue;
            }
            if times > MAX_TIMES || (times > 1 && !looks && call.function != Function::GetLock) {
                return self.refused("a lock call that is evaluated several times");
            }
            for again in (0..times).rev() {
                match self.carry_out(statement, call, edits, again == 0).await? {
                    Filled::All => {}
                    Filled::Fails => return Ok(fails(&composite.calls[nth + 1..], edits)),
                    Filled::Answered => return Ok(Filled::Answered),
                }
            }
        }
        Ok(Filled::All)
    }

    /// How often the server evaluates a call, if the statement does not fail before.
    async fn try_call(
        &mut self,
        statement: &Statement<'_>,
        nth: usize,
        edits: &Edits,
    ) -> Result<Option<u32>, End> {
        let Statement { text, composite, .. } = statement;
        let call = &composite.calls[nth];
        let probe = format!("_utf8mb4'lockstead_probe_{:016x}'", rand::random::<u64>());
        let mut trial = edits.clone();
        trial.push((call.span.clone(), format!("GET_LOCK({probe},0)").into_bytes()));
        let rest = &composite.calls[nth + 1..];
        trial.extend(rest.iter().map(|c| (c.span.clone(), NOTHING.to_vec())));
        let sql = if let Some(span) = &call.assigned {
            [b"SELECT ", spliced(text, span.clone(), &trial).as_slice()].concat()
        } else {
            trial.extend(composite.into.iter().map(|span| (span.clone(), Vec::new())));
            spliced(text, 0..composite.end, &trial)
        };
        let reply = self.ask(&sql).await?;
        let mut times = 0;
        let release = format!("SELECT RELEASE_LOCK({probe})");
        while times <= MAX_TIMES
            && self.ask_row(release.as_bytes()).await?.as_deref() == Some(&[Some(b"1".to_vec())])
        {
            times += 1;
        }
        Ok((times > 0 || !reply.is_error()).then_some(times))
    }

    /// Carries out a call that is evaluated, after those in its arguments.
    async fn carry_out(
        &mut self,
        statement: &Statement<'_>,
        call: &Call,
        edits: &mut Edits,
        last: bool,
    ) -> Result<Filled, End> {
        let inner = edits.len();
        let mut given = Vec::with_capacity(call.arguments.len());
        let mut pure = true;
        for part in &call.arguments {
            for nested in &part.calls {
                if !nested.certain {
                    return self.refused("a lock call in this place of an argument");
                }
                match Box::pin(self.carry_out(statement, nested, edits, true)).await? {
                    Filled::All => {}
                    ended => return Ok(ended),
                }
            }
            pure &= part.repeatable;
            if part.assigned_here {
                return self.refused("a name from a variable that the statement assigns");
            }
            match self.given(statement, part, edits).await? {
                Some(one) => given.push(one),
                None => return self.refused("a lock's name or timeout from a column"),
            }
        }
        let source = spliced(statement.text, call.span.clone(), &edits[inner..]);
        let stand_in = stand_in(statement, call, &source);
        let shown = Bare { prefix: statement.prefix, text: &stand_in.0, bare: stand_in.1 };
        let shown = Shown { call: &shown, name: None, stale: None, cursor: false, stand_in: true };
        let outcome = self.call(&shown, given).await?;
        edits.truncate(inner);
        let tables = statement.composite.tables;
        match outcome {
            Outcome::Value(value, again) => {
                let again = if pure { again } else { Vec::new() };
                if last {
                    let expression = if tables {
                        call.function.calm_expression(self.flavour, value)
                    } else {
                        call.function.value_expression(self.flavour, value, &again)
                    };
                    edits.push((call.span.clone(), expression));
                }
                Ok(Filled::All)
            }
            Outcome::Native => {
                if last {
                    edits.push((call.span.clone(), source));
                }
                // MySQL ends the statement with an error there, MariaDB goes on with a NULL.
                let goes_on = self.flavour == Flavour::MariaDb;
                Ok(if goes_on { Filled::All } else { Filled::Fails })
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

    /// An argument as it is to be judged; `None` if it depends on a row.
    async fn given(
        &mut self,
        statement: &Statement<'_>,
        part: &Part,
        edits: &Edits,
    ) -> Result<Option<Given>, End> {
        if let Some(literal) = &part.literal {
            return Ok(Some(Given::from_text(literal, statement.text)));
        }
        let sql = spliced(statement.text, part.span.clone(), edits);
        if statement.composite.tables || !part.repeatable {
            // What can be evaluated without the statement's tables means the same in front of it.
            let reply = self.prepare_and_close(&[b"SELECT ", sql.as_slice()].concat()).await?;
            if reply.is_error() {
                return Ok(None);
            }
        }
        if part.repeatable {
            return Ok(Some(Given::Expression { sql, numeric: false }));
        }
        let once = match self.flavour {
            Flavour::MySql => {
                [b"SELECT HEX(CONVERT(", sql.as_slice(), b" USING utf8mb4))"].concat()
            }
            Flavour::MariaDb => [b"SELECT HEX(", sql.as_slice(), b")"].concat(),
        };
        let row = self.ask_row(&once).await?;
        let Some([value]) = row.as_deref() else { return Ok(None) };
        Ok(Some(match value {
            None => Given::Null,
            Some(hex) if self.flavour == Flavour::MySql => Given::Expression {
                sql: [b"_utf8mb4 x'", hex.as_slice(), b"'"].concat(),
                numeric: false,
            },
            Some(hex) => {
                Given::Expression { sql: [b"x'", hex.as_slice(), b"'"].concat(), numeric: false }
            }
        }))
    }

    fn refused(&mut self, what: &str) -> Result<Filled, End> {
        self.unsupported(what)?;
        Ok(Filled::Answered)
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

/// Calls that are not evaluated any more.
fn fails(rest: &[Call], edits: &mut Edits) -> Filled {
    edits.extend(rest.iter().map(|call| (call.span.clone(), NOTHING.to_vec())));
    Filled::Fails
}

/// Part of a text with expressions in the places of calls.
fn spliced(text: &[u8], range: Range<usize>, edits: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    let mut edits: Vec<_> = edits
        .iter()
        .filter(|(span, _)| range.start <= span.start && span.end <= range.end)
        .collect();
    edits.sort_unstable_by_key(|(span, _)| span.start);
    let mut out = Vec::with_capacity(range.len() + 64);
    let mut at = range.start;
    for (span, expression) in edits {
        out.extend_from_slice(&text[at..span.start]);
        out.extend_from_slice(expression);
        at = span.end;
    }
    out.extend_from_slice(&text[at..range.end]);
    out
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

/// Whether nobody notices that the arguments are evaluated though the call is not.
fn repeatable(call: &Call) -> bool {
    call.arguments.iter().all(|part| part.repeatable && part.calls.is_empty())
}
