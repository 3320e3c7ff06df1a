//! A statement with lock calls in its packet, and what the client learns about its columns.

use super::rewrite::{Edits, Which, spliced};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::frames;
use crate::frontend::locks::arguments::Given;
use crate::frontend::locks::call_context::CallContext;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{self, Column};
use crate::protocol::frame::put_frame;
use crate::protocol::reader::put_lenenc;
use crate::sql::classify::{Alias, BareCall};
use crate::sql::expression::composite::{Call, Composite, Verb};
use crate::types::Flavour;

/// A statement in its packet.
pub(crate) struct CallStatement<'a> {
    /// Command byte and query attributes.
    pub prefix: &'a [u8],
    /// The text of the statement.
    pub text: &'a [u8],
    /// The calls in it.
    pub composite: &'a Composite,
    /// The columns as the server describes them.
    pub definitions: &'a [Vec<u8>],
    /// What is bound to its parameters.
    pub values: &'a [Given],
}

/// What is left to do for a statement.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The statement goes on.
    Continue,
    /// Nothing: the client has its answer.
    Answered,
}

/// The columns as the client is to see them.
pub(crate) async fn columns_of_native(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    edits: &Edits,
) -> Result<Vec<Column>, CloseReason> {
    if statement.composite.verb != Verb::Rows {
        return Ok(Vec::new());
    }
    // No expression of MariaDB's has the types of all calls.
    let composite = statement.composite;
    let retype = cx.flavour() == Flavour::MariaDb
        || composite
            .looks_back
            .iter()
            .any(|(_, back)| !back.is_id() || cx.server.pooled().is_shared())
        || composite.lists.is_some();
    let own = if retype {
        let whole = 0..statement.composite.end;
        let last = spliced(statement.text, whole, edits, Which::Last);
        cx.prepare_and_close(&last).await?.definitions()
    } else {
        Vec::new()
    };
    let columns = statement.definitions.iter().enumerate().filter_map(|(nth, native)| {
        let (_, name) = column::names(native)?;
        let own = own.get(nth);
        let whole = composite.lists.as_ref().and_then(|_| whole(own?, native));
        let types = own.and_then(|d| column::type_bytes(d)).zip(column::type_bytes(native));
        Some(Column { name: name.to_vec(), types, whole, left_out: None })
    });
    Ok(columns.collect())
}

/// Sends an error where the server would.
pub(crate) fn say_error(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    call: &Call,
    error: &[u8],
) -> Result<(), CloseReason> {
    let mut out = columns_before(cx, statement, call);
    let seq = frames(&out).count() + 1;
    put_frame(&mut out, u8::try_from(seq).unwrap_or(u8::MAX), error);
    cx.send_client(&out)
}

/// The frames of the result in front of its rows, where the server sends them before it reaches a
/// call.
pub(crate) fn columns_before(
    cx: &CallContext<'_>,
    statement: &CallStatement<'_>,
    call: &Call,
) -> Vec<u8> {
    let mut out = Vec::new();
    let composite = statement.composite;
    let mariadb = cx.flavour() == Flavour::MariaDb;
    let first = call.derived || if mariadb { composite.union } else { call.filters };
    if composite.verb != Verb::Rows || composite.into.is_some() || first {
        return out;
    }
    let mut count = Vec::new();
    put_lenenc(&mut count, statement.definitions.len() as u64);
    let optional = [Capabilities::OPTIONAL_METADATA, Capabilities::MARIADB_CACHE_METADATA];
    if optional.into_iter().any(|capability| cx.capabilities().has(capability)) {
        count.push(1);
    }
    put_frame(&mut out, 1, &count);
    let mut seq = 1u8;
    for definition in statement.definitions {
        seq = seq.wrapping_add(1);
        put_frame(&mut out, seq, definition);
    }
    if !cx.capabilities().has(Capabilities::DEPRECATE_EOF) {
        let [low, high] = cx.server.status().flags().lasting().to_le_bytes();
        put_frame(&mut out, seq.wrapping_add(1), &[0xfe, 0, 0, low, high]);
    }
    out
}

/// The definition of a table's column in place of one that holds the same.
pub(crate) fn whole(own: &[u8], native: &[u8]) -> Option<Vec<u8>> {
    let tables = column::schema(native).is_some_and(|schema| !schema.is_empty());
    (tables && column::kind(own) == column::kind(native)).then(|| native.to_vec())
}

/// A statement of one bare call, which shows the wait for a lock.
pub(crate) struct StandIn {
    pub text: Vec<u8>,
    pub bare: BareCall,
}

/// The one for a call in a larger statement; `source`: the call's text.
pub(crate) fn stand_in(statement: &CallStatement<'_>, call: &Call, source: &[u8]) -> StandIn {
    let composite = statement.composite;
    let is_do = composite.verb != Verb::Rows || composite.into.is_some();
    let verb: &[u8] = if is_do { b"DO " } else { b"SELECT " };
    // With its settings, which may limit the wait.
    let settings = &statement.text[..composite.start];
    let text = [settings, verb, source].concat();
    let bare = BareCall {
        is_do,
        function: call.function,
        arguments: Vec::new(),
        call: settings.len() + verb.len()..text.len(),
        alias: Alias::None,
        odd: false,
        around: ("", ""),
        none: (text.len(), " LIMIT 0"),
        hint: false,
        special: true,
    };
    StandIn { text, bare }
}
