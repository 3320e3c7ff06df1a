//! Lock calls in prepared statements.
//!
//! The server prepares the statement itself, so metadata, errors and ids are its own; only its
//! execution is the proxy's.

use std::sync::Arc;

use super::cursor::fetch_row;
use super::execute_call::{Execution, Length, execute_bare};
use super::execute_statement::{Bound, Values, execute_composite, runs_as_it_is};
use super::too_long::forget_long_data;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::pending::Recipient;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::unsupported::refuse_unsupported;
use crate::frontend::state::lock_statement::Calls;
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::protocol::params::{Execute, wants_cursor};
use crate::protocol::reader::Reader;
use crate::sql::expression::composite::Verb;

/// EXECUTE, SEND_LONG_DATA, RESET, CLOSE and FETCH of a prepared lock call.
pub(crate) async fn prepared_command(
    cx: &mut CallContext<'_>,
    packet: Vec<u8>,
) -> Result<(), CloseReason> {
    let payload = &packet[HEADER..];
    let mut r = Reader::new(payload);
    let (Some(byte), Some(id)) = (r.u8(), r.u32()) else {
        return cx.forward(&packet);
    };
    let id = cx.statements.meant(id);
    if matches!(Command(byte), Command::STMT_CLOSE | Command::STMT_RESET | Command::STMT_EXECUTE) {
        let stand_in = cx.statements.get_mut(id).and_then(|s| s.stand_in.take());
        stand_in.map_or(Ok(()), |id| cx.close_statement(id))?;
    }
    match Command(byte) {
        Command::STMT_CLOSE => {
            cx.statements.remove(id);
            cx.forward(&packet)
        }
        Command::STMT_RESET => {
            if let Some(statement) = cx.statements.get_mut(id) {
                statement.forget_long_data();
                statement.cursor = None;
            }
            cx.forward(&packet)
        }
        Command::STMT_SEND_LONG_DATA => {
            let room = cx.room();
            if let (Some(statement), Some(index)) = (cx.statements.get_mut(id), r.u16()) {
                statement.keep_long_data(usize::from(index), r.rest(), room);
            }
            // The server gets it too: a call that turns out to be its own needs it.
            cx.forward(&packet)
        }
        Command::STMT_FETCH => {
            if let Some(stand_in) = cx.statements.get(id).and_then(|s| s.stand_in) {
                let mut packet = packet;
                packet[HEADER + 1..HEADER + 5].copy_from_slice(&stand_in.to_le_bytes());
                return cx.forward_for(&packet, Recipient::Fetch(id));
            }
            let cursor = cx.statements.get(id).and_then(|s| s.cursor);
            match (cursor, r.u32()) {
                (Some(cursor), Some(rows)) => fetch_row(cx, id, cursor, rows),
                _ => cx.forward(&packet),
            }
        }
        Command::STMT_EXECUTE => execute_prepared(cx, id, packet).await,
        Command::MARIADB_BULK_EXECUTE if cx.statements.only_lists(id) => cx.forward(&packet),
        Command::MARIADB_BULK_EXECUTE => {
            let text = cx.statements.get(id).map(|s| s.text.clone()).unwrap_or_default();
            cx.command.keep(&packet, &text);
            refuse_unsupported(cx, "a lock call in a bulk execution")
        }
        _ => cx.forward(&packet),
    }
}

async fn execute_prepared(
    cx: &mut CallContext<'_>,
    id: u32,
    packet: Vec<u8>,
) -> Result<(), CloseReason> {
    let attributes = cx.capabilities().has(Capabilities::QUERY_ATTRIBUTES);
    let Some(statement) = cx.statements.get_mut(id) else {
        return cx.forward(&packet);
    };
    if std::mem::take(&mut statement.refused_data) {
        return cx.forward(&packet);
    }
    if statement.no_room {
        cx.count(Command::STMT_EXECUTE);
        forget_long_data(cx, id).await?;
        return cx.refuse_no_room();
    }
    if Execute::has_too_few(&packet[HEADER..], statement.params, attributes) {
        return cx.forward(&packet);
    }
    // Servers forgive other mistakes than the proxy, so this is not theirs to judge: it could
    // take a lock there.
    let Some(execute) = Execute::parse(
        &packet[HEADER..],
        statement.params,
        &statement.types,
        &statement.long_data,
        attributes,
    ) else {
        cx.count(Command::STMT_EXECUTE);
        forget_long_data(cx, id).await?;
        return cx.refuse(&codes::unreadable(cx.flavour()));
    };
    let as_it_is = as_it_is(&execute, &packet, attributes);
    let name_beyond = statement.first_is_the_name() && statement.beyond.contains(&0);
    let beyond = !statement.beyond.is_empty();
    let long = statement.forget_long_data();
    statement.cursor = None;
    let stale = std::mem::replace(&mut statement.server_cursor, false);
    statement.types.clone_from(&execute.types);
    let text = statement.text.clone();
    let stale = (long || stale).then_some(id);
    match &statement.calls {
        Calls::Bare(bare) => {
            let (bare, name) = (bare.clone(), statement.name.clone());
            let execution = Execution { id, text, name, bare, stale, as_it_is };
            let length = match (beyond, name_beyond) {
                (_, true) => Length::LongName,
                (true, false) => Length::Long,
                (false, false) => Length::Known,
            };
            execute_bare(cx, execution, &execute, length).await
        }
        Calls::Composite(composite, columns) => {
            let (composite, columns) = (Arc::clone(composite), Arc::clone(columns));
            let context = statement.context.clone();
            cx.command.keep(&as_it_is, &text);
            // For a DO, MySQL would show the statement that is run in its place.
            let cursor = wants_cursor(execute.flags) && composite.verb != Verb::Do;
            let values = Values { payload: &packet[HEADER..], execute: &execute, cursor };
            let bound =
                Bound { id, text: &text, composite: &composite, columns: &columns, context, stale };
            if runs_as_it_is(cx, &bound, beyond).await? {
                if let Some(statement) = cx.statements.get_mut(id) {
                    statement.server_cursor = wants_cursor(execute.flags);
                }
                return cx.forward(&as_it_is);
            }
            Box::pin(execute_composite(cx, &bound, &values, beyond)).await
        }
    }
}

/// The packet of an execution for a server that has not seen the one that bound the types.
fn as_it_is(execute: &Execute, packet: &[u8], attributes: bool) -> Vec<u8> {
    let Some(payload) = execute.with_types(&packet[HEADER..], attributes) else {
        return packet.to_vec();
    };
    packet::command(&[&payload])
}
