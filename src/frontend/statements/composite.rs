//! Lock calls inside a larger statement.
//!
//! The calls are carried out one after the other, in the order in which the server would evaluate
//! them; then the server runs the statement with each call replaced by its value. Where it
//! depends on other expressions whether a call is evaluated, the server is asked: it runs the
//! statement with a probe in the call's place, a lock of its own that tells afterwards whether it
//! was taken ([ADR 12](../../docs/adr/0012-composite-statements.md)).

use super::rewrite::{Edits, Which, spliced};
use super::run_calls::Filled;
use crate::frontend::link::pending::Behind;
use crate::frontend::link::server_query::{Reply, frames};
use crate::frontend::locks::arguments::Given;
use crate::frontend::session::{End, Session};
use crate::protocol::amend::Amend;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{self, Column, is_definition};
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reader::put_lenenc;
use crate::protocol::response::{Ending, PrepareOk};
use crate::sql::expression::composite::{Call, Composite, Verb};
use crate::types::Flavour;

/// A statement in its packet.
pub(in crate::frontend) struct Statement<'a> {
    /// Command byte and query attributes.
    pub(in crate::frontend) prefix: &'a [u8],
    pub(in crate::frontend) text: &'a [u8],
    pub(in crate::frontend) composite: &'a Composite,
    /// The columns as the server describes them.
    pub(in crate::frontend) definitions: &'a [Vec<u8>],
    /// What is bound to its parameters.
    pub(in crate::frontend) values: &'a [Given],
}

impl Session {
    /// Runs a statement with calls in it.
    pub(in crate::frontend) async fn composite(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        composite: &Composite,
    ) -> Result<(), End> {
        if !composite.params.is_empty() {
            // Without PREPARE they are a syntax error.
            return self.forward_text(prefix, text);
        }
        self.count(Command::QUERY);
        let mut edits = self.look_back(composite).await?;
        // Errors in the statement come before any of it runs.
        let reply = self.prepare_and_close(&text[..composite.end]).await?;
        if reply.is_error() && composite.calls.is_empty() {
            return self.forward_text(prefix, text);
        }
        match reply.ending {
            Ending::Err { code: 1295 } if composite.verb == Verb::Show => {}
            // No access to a schema that may not be there: MySQL says which when it is run.
            Ending::Err { code: 1044 } if composite.verb == Verb::Show => {
                edits.extend(composite.calls.iter().map(|call| self.nothing(call)));
                let last = spliced(text, 0..text.len(), &edits, Which::Last);
                let mut packet = Vec::with_capacity(prefix.len() + last.len() + HEADER);
                put_frame(&mut packet, 0, &[prefix, &last].concat());
                self.behind = Behind::default();
                return self.forward(&packet);
            }
            Ending::Err { code: 1295 } => return self.unsupported("a lock call in this statement"),
            Ending::Err { .. } => {
                self.behind = Behind::default();
                return self.send_client(&reply.bytes);
            }
            Ending::Ok { .. } | Ending::Plain => {}
        }
        let definitions = definitions(&reply);
        let definitions = definitions.as_slice();
        edits.extend(self.list_locks(text, composite, definitions).await?);
        let statement = Statement { prefix, text, composite, definitions, values: &[] };
        if !self.all_carried_out(&statement, &mut edits).await? {
            return Ok(());
        }
        let last = spliced(text, 0..text.len(), &edits, Which::Last);
        let columns = self.native_columns(&statement, &edits).await?;
        // The statement itself is the last one in the session.
        self.behind = Behind::default();
        self.describe(columns);
        self.forward_text(prefix, &last)
    }

    fn forward_text(&mut self, prefix: &[u8], text: &[u8]) -> Result<(), End> {
        let mut packet = Vec::with_capacity(prefix.len() + text.len() + HEADER);
        put_frame(&mut packet, 0, &[prefix, text].concat());
        self.forward(&packet)
    }

    /// How the columns of the response that is to come are to be described.
    pub(in crate::frontend) fn describe(&mut self, columns: Vec<Column>) {
        if !columns.is_empty() {
            let amend = self.amend.get_or_insert_with(|| Box::new(Amend::new(self.capabilities)));
            amend.describe(columns);
        }
    }

    /// Carries out the calls. False: the client has its answer.
    pub(in crate::frontend) async fn all_carried_out(
        &mut self,
        statement: &Statement<'_>,
        edits: &mut Edits,
    ) -> Result<bool, End> {
        let Statement { text, composite, .. } = *statement;
        if composite.calls.is_empty() {
            return Ok(true);
        }
        let Some(fits) = self.fits_variables(text, composite).await? else {
            self.unsupported("a lock call before these variables")?;
            return Ok(false);
        };
        if let Some(why) = composite.explains_uncovered() {
            self.unsupported(why)?;
            return Ok(false);
        }
        if composite.verb == Verb::Explain || !fits {
            edits.extend(composite.calls.iter().map(|call| self.nothing(call)));
            return Ok(true);
        }
        Ok(!matches!(self.fill(statement, edits).await?, Filled::Answered))
    }

    /// Whether there are as many columns as variables behind INTO: MariaDB finds out only when it
    /// runs the statement, and before it evaluates anything. `None` if that cannot be told.
    async fn fits_variables(
        &mut self,
        text: &[u8],
        composite: &Composite,
    ) -> Result<Option<bool>, End> {
        let Some((span, variables)) = composite.into.as_ref() else { return Ok(Some(true)) };
        let without = [&text[..span.start], &text[span.end..composite.end]].concat();
        let reply = self.prepare_and_close(&without).await?;
        Ok((!reply.is_error()).then(|| definitions(&reply).len() == *variables))
    }

    /// The columns as the client is to see them.
    pub(in crate::frontend) async fn native_columns(
        &mut self,
        statement: &Statement<'_>,
        edits: &Edits,
    ) -> Result<Vec<Column>, End> {
        if statement.composite.verb != Verb::Rows {
            return Ok(Vec::new());
        }
        // No expression of MariaDB's has the types of all calls.
        let composite = statement.composite;
        let retype = self.flavour == Flavour::MariaDb
            || !composite.looks_back.is_empty()
            || composite.lists.is_some();
        let own = if retype {
            let whole = 0..statement.composite.end;
            let last = spliced(statement.text, whole, edits, Which::Last);
            definitions(&self.prepare_and_close(&last).await?)
        } else {
            Vec::new()
        };
        let columns = statement.definitions.iter().enumerate().filter_map(|(nth, native)| {
            let (_, name) = column::names(native)?;
            let own = own.get(nth);
            let whole = composite.lists.as_ref().and_then(|_| whole(own?, native));
            let types = own.and_then(|d| column::type_bytes(d)).zip(column::type_bytes(native));
            Some(Column { name: name.to_vec(), types, whole })
        });
        Ok(columns.collect())
    }

    /// Sends an error where the server would.
    pub(in crate::frontend) fn say_error(
        &mut self,
        statement: &Statement<'_>,
        call: &Call,
        error: &[u8],
    ) -> Result<Filled, End> {
        let mut out = self.columns(statement, call);
        let seq = frames(&out).count() + 1;
        put_frame(&mut out, u8::try_from(seq).unwrap_or(u8::MAX), error);
        self.send_client(&out)?;
        Ok(Filled::Answered)
    }

    /// The frames of the result in front of its rows, where the server sends them before it comes to a
    /// call.
    pub(in crate::frontend) fn columns(&self, statement: &Statement<'_>, call: &Call) -> Vec<u8> {
        let mut out = Vec::new();
        let composite = statement.composite;
        let mariadb = self.flavour == Flavour::MariaDb;
        let first = call.derived || if mariadb { composite.union } else { call.filters };
        if composite.verb != Verb::Rows || composite.into.is_some() || first {
            return out;
        }
        let mut count = Vec::new();
        put_lenenc(&mut count, statement.definitions.len() as u64);
        put_frame(&mut out, 1, &count);
        let mut seq = 1u8;
        for definition in statement.definitions {
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

/// The definition of a table's column in the place of one that holds the same.
pub(in crate::frontend) fn whole(own: &[u8], native: &[u8]) -> Option<Vec<u8>> {
    let tables = column::schema(native).is_some_and(|schema| !schema.is_empty());
    (tables && column::kind(own) == column::kind(native)).then(|| native.to_vec())
}

/// The column definitions in a response to a PREPARE.
pub(in crate::frontend) fn definitions(reply: &Reply) -> Vec<Vec<u8>> {
    let mut all = reply.frames().map(|f| &f[HEADER..]);
    let columns = all.next().and_then(PrepareOk::parse).map_or(0, |ok| usize::from(ok.columns));
    let mut definitions: Vec<Vec<u8>> =
        all.filter(|p| is_definition(p)).map(<[u8]>::to_vec).collect();
    definitions.split_off(definitions.len().saturating_sub(columns))
}
