//! A prepared statement with lock calls in it: at its execution the calls are carried out, then the
//! server prepares and executes it with their values in their places.

use super::cursor;
use super::dispatch::too_long;
use super::prepare_context::{ELSEWHERE, Surroundings};
use crate::frontend::link::pending::Behind;
use crate::frontend::locks::arguments::Given;
use crate::frontend::session::{End, Session};
use crate::frontend::statements::composite::{Statement, definitions, whole};
use crate::frontend::statements::rewrite::{Edit, Edits, Which, kept_parameters, spliced};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{self, Column};
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::params::{Execute, PARAMETER_COUNT_AVAILABLE, Value};
use crate::protocol::reader::{put_lenenc, put_lenenc_bytes};
use crate::protocol::reply::query_prefix;
use crate::protocol::response::PrepareOk;
use crate::sql::expression::composite::{Composite, Verb};
use crate::types::Flavour;

/// What an execution binds.
pub(in crate::frontend) struct Values<'a> {
    pub(in crate::frontend) payload: &'a [u8],
    pub(in crate::frontend) execute: &'a Execute,
    /// The rows are to be fetched.
    pub(in crate::frontend) cursor: bool,
}

/// A prepared statement with calls in it.
pub(in crate::frontend) struct Bound<'a> {
    pub(in crate::frontend) id: u32,
    pub(in crate::frontend) text: &'a [u8],
    pub(in crate::frontend) composite: &'a Composite,
    pub(in crate::frontend) columns: &'a [Vec<u8>],
    /// Where it was prepared, if that matters.
    pub(in crate::frontend) surroundings: Option<Surroundings>,
    /// The server keeps data for it that are no longer needed.
    pub(in crate::frontend) stale: Option<u32>,
}

impl Session {
    /// Executes a prepared statement with calls in it. `beyond`: its values are too long.
    pub(in crate::frontend) async fn composite_bound(
        &mut self,
        bound: &Bound<'_>,
        values: &Values<'_>,
        beyond: bool,
    ) -> Result<(), End> {
        self.count(Command::STMT_EXECUTE);
        let Bound { id, text, composite, columns, ref surroundings, stale } = *bound;
        if self.flavour == Flavour::MySql && values.refused_limits(composite) {
            return self.run_as_it_stands();
        }
        if let Some(id) = stale {
            self.reset_statement(id).await?;
            self.no_way_back();
        }
        if beyond {
            self.note_unsupported("parameters longer than 64 KiB", text, false);
            return self.refuse(&too_long(Command::STMT_EXECUTE));
        }
        let mut edits = self.look_back(composite).await?;
        if !self.surrounded_alike(surroundings.as_ref()).await? {
            return self.unsupported(ELSEWHERE);
        }
        let given: Vec<Given> = values.execute.values.iter().map(Given::from_value).collect();
        for (nth, (at, value)) in composite.params.iter().zip(&given).enumerate() {
            let limit = values.execute.values.get(nth).filter(|_| composite.limits.contains(at));
            let trial = if composite.calls.is_empty() {
                b"?".to_vec()
            } else if let Some(rows) = limit.and_then(rows) {
                rows.into_bytes()
            } else if let Some(literal) = self.literal(value.clone()).await? {
                literal
            } else {
                return self.unsupported("a parameter of this type beside a lock call");
            };
            edits.push(Edit { span: *at..*at + 1, last: b"?".to_vec(), trial, keeps: true });
        }
        edits.extend(self.list_locks(text, composite, columns).await?);
        let prefix = query_prefix(self.capabilities);
        let statement = Statement { prefix, text, composite, definitions: columns, values: &given };
        let caches = self.capabilities.has(Capabilities::MARIADB_CACHE_METADATA);
        if caches && self.retypes(&statement, &edits).await? {
            return self.unsupported("this prepared lock call for a client that caches metadata");
        }
        if !self.all_carried_out(&statement, &mut edits).await? {
            return Ok(());
        }
        self.execute_last(id, &statement, &edits, values).await
    }

    /// Whether a column's type is another with values in the calls' places: a client that keeps what it
    /// was told at the PREPARE would misread the rows.
    async fn retypes(&mut self, statement: &Statement<'_>, edits: &Edits) -> Result<bool, End> {
        let composite = statement.composite;
        let mut edits = edits.clone();
        edits.extend(composite.calls.iter().map(|call| self.nothing(call)));
        let text = spliced(statement.text, 0..composite.end, &edits, Which::Last);
        let own = definitions(&self.prepare_and_close(&text).await?);
        Ok(own.iter().zip(statement.definitions).any(|(own, native)| kind(own) != kind(native)))
    }

    /// Prepares and executes the statement with the calls' values in it.
    async fn execute_last(
        &mut self,
        client_id: u32,
        statement: &Statement<'_>,
        edits: &Edits,
        values: &Values<'_>,
    ) -> Result<(), End> {
        let Statement { text, composite, definitions: native, .. } = *statement;
        let last = spliced(text, 0..composite.end, edits, Which::Last);
        let mut packet = Vec::with_capacity(last.len() + HEADER + 1);
        put_frame(&mut packet, 0, &[&[Command::STMT_PREPARE.0], last.as_slice()].concat());
        self.behind = Behind::default();
        let reply = self.exchange(&packet, Shape::Prepare).await?;
        let prepared = reply.frames().next().and_then(|f| PrepareOk::parse(&f[HEADER..]));
        let Some(PrepareOk { id, .. }) = prepared else {
            return self.send_client(&reply.bytes);
        };
        let own = definitions(&reply);
        if composite.verb == Verb::Rows {
            // Another length does not matter to the rows.
            let columns = native.iter().enumerate().filter_map(|(nth, native)| {
                let (_, name) = column::names(native)?;
                let own = own.get(nth).filter(|own| kind(own) == kind(native));
                let whole = composite.lists.as_ref().and_then(|_| whole(own?, native));
                let types = own.and_then(|own| column::type_bytes(own));
                let types = types.zip(column::type_bytes(native));
                Some(Column { name: name.to_vec(), types, whole })
            });
            self.describe(columns.collect());
        }
        let kept = kept_parameters(composite, edits);
        let payload = values.encode(id, &kept, self.capabilities);
        let mut packet = Vec::with_capacity(payload.len() + HEADER);
        put_frame(&mut packet, 0, &payload);
        self.forward(&packet)?;
        match self.statements.get_mut(&client_id) {
            // It is fetched from by the client's id.
            Some(statement) if values.cursor => {
                statement.stand_in = Some(id);
                Ok(())
            }
            Some(_) | None => self.close_statement(id),
        }
    }
}

/// What a value comes to behind LIMIT.
fn rows(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("0".to_owned()),
        // MariaDB takes it for the largest number there is.
        Value::Int(..0) => Some(u64::MAX.to_string()),
        Value::Int(n) => Some(n.to_string()),
        Value::Uint(n) => Some(n.to_string()),
        Value::Double(x) if *x >= 0.0 && *x < 1e15 => Some(format!("{:.0}", x.trunc())),
        Value::Decimal(bytes) | Value::Bytes { bytes, .. } => {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim_start();
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let negative = text.starts_with('-');
            let text = if digits == 0 { "0" } else { &text[..digits] };
            (!negative && digits < 19).then(|| text.to_owned())
        }
        Value::Double(_) | Value::Moment(_) | Value::Other => None,
    }
}

/// The type in a column definition.
fn kind(definition: &[u8]) -> Option<u8> {
    column::type_bytes(definition).map(|t| t[4])
}

impl Values<'_> {
    /// Whether MySQL refuses a value behind LIMIT before it evaluates anything.
    fn refused_limits(&self, composite: &Composite) -> bool {
        let refused =
            |value: &Value| matches!(value, Value::Int(..0) | Value::Double(_) | Value::Decimal(_));
        let params = composite.params.iter().zip(&self.execute.values);
        params.filter(|(at, _)| composite.limits.contains(at)).any(|(_, value)| refused(value))
    }

    /// `COM_STMT_EXECUTE` of another statement with some of the values.
    fn encode(&self, id: u32, kept: &[usize], capabilities: Capabilities) -> Vec<u8> {
        let Execute { values, types, raw, attributes: extra, .. } = self.execute;
        let mut out = vec![Command::STMT_EXECUTE.0];
        out.extend_from_slice(&id.to_le_bytes());
        // Perhaps a cursor, one iteration.
        let cursor = if self.cursor { cursor::READ_ONLY } else { 0 };
        let counted = if extra.is_empty() { 0 } else { PARAMETER_COUNT_AVAILABLE };
        out.extend_from_slice(&[cursor | counted, 1, 0, 0, 0]);
        let count = kept.len() + extra.len();
        if count == 0 {
            return out;
        }
        let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        if attributes {
            put_lenenc(&mut out, count as u64);
        }
        let null = kept.iter().map(|nth| values[*nth] == Value::Null);
        let mut nulls = vec![0u8; count.div_ceil(8)];
        for (nth, null) in null.chain(extra.iter().map(|a| a.value.is_none())).enumerate() {
            nulls[nth / 8] |= u8::from(null) << (nth % 8);
        }
        out.extend_from_slice(&nulls);
        out.push(1);
        for value in kept {
            out.extend_from_slice(&types[*value].to_le_bytes());
            if attributes {
                put_lenenc(&mut out, 0);
            }
        }
        for attribute in extra {
            out.extend_from_slice(&attribute.kind.to_le_bytes());
            out.extend_from_slice(&self.payload[attribute.name.clone()]);
        }
        for value in kept {
            match (&values[*value], &raw[*value]) {
                // It was sent ahead.
                (Value::Bytes { bytes, .. }, span) if span.is_empty() => {
                    put_lenenc_bytes(&mut out, bytes);
                }
                (_, span) => out.extend_from_slice(&self.payload[span.clone()]),
            }
        }
        for span in extra.iter().filter_map(|a| a.value.clone()) {
            out.extend_from_slice(&self.payload[span]);
        }
        out
    }
}
