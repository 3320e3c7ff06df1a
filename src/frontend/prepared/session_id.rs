//! `COM_STMT_PREPARE` of a text that asks for its connection's id, where sessions share connections: the server
//! prepares it with the id of the session.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::state::statements::Noted;
use crate::frontend::statements::rewrite::{Which, id_edits, spliced};
use crate::protocol::column::{self, Column};
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::packet;
use crate::sql::classify::as_composite;
use crate::sql::find::words::names_connection;

/// Has a text prepared that names no lock function. `false`: it does not ask for the id.
pub(crate) async fn prepare_with_id(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    text: &[u8],
) -> Result<bool, CloseReason> {
    if !cx.server.pooled().is_shared() || !names_connection(text) {
        return Ok(false);
    }
    let Some(composite) = as_composite(text, cx.dialect()) else { return Ok(false) };
    let edits = id_edits(cx, &composite);
    if edits.is_empty() {
        return Ok(false);
    }
    cx.count(Command::STMT_PREPARE);
    cx.settle_skipped().await?;
    // The client's own text is prepared, too: the errors and the column names that the client sees must be those of
    // this text.
    let native = cx.prepare_and_close(text).await?;
    if native.is_error() {
        cx.send_client(&native.bytes)?;
        return Ok(true);
    }
    let own = packet::prepare(&spliced(text, 0..text.len(), &edits, Which::Last));
    let reply = cx.exchange_prepare(&own).await?;
    let Some(prepared) = reply.prepared() else {
        cx.forward(packet)?;
        return Ok(true);
    };
    let columns = named_like(&native);
    let bytes = with_names(&reply, &columns);
    if bytes == reply.bytes {
        cx.statements.another_is_prepared();
        cx.send_client(&bytes)?;
    } else {
        note_prepared(cx, prepared.id, Noted::Asks(columns), &bytes)?;
    }
    Ok(true)
}

/// Keeps what is known of a statement, and sends the response to its PREPARE.
pub(crate) fn note_prepared(
    cx: &mut CallContext<'_>,
    id: u32,
    noted: Noted,
    response: &[u8],
) -> Result<(), CloseReason> {
    if noted.size() > cx.room() {
        cx.close_statement(id)?;
        return cx.refuse_no_room();
    }
    cx.statements.note(id, noted);
    cx.send_client(response)
}

/// The names of a prepared statement's columns.
fn named_like(native: &Reply) -> Vec<Column> {
    let name = |definition: &Vec<u8>| column::names(definition).map(|(_, name)| name.to_vec());
    let named = |name| Column { name, types: None, whole: None, left_out: None };
    native.definitions().iter().filter_map(name).map(named).collect()
}

/// The response to a PREPARE with other names of its columns.
fn with_names(reply: &Reply, columns: &[Column]) -> Vec<u8> {
    let is_definition = |frame: &&[u8]| column::is_definition(&frame[HEADER..]);
    // Definitions of the parameters come first.
    let parameters =
        reply.frames().skip(1).filter(is_definition).count().saturating_sub(columns.len());
    let mut out = Vec::with_capacity(reply.bytes.len());
    let mut nth = 0usize;
    for (at, frame) in reply.frames().enumerate() {
        let mut described = None;
        if at > 0 && is_definition(&frame) {
            let column = nth.checked_sub(parameters).and_then(|nth| columns.get(nth));
            described = column.and_then(|column| column.describe(&frame[HEADER..]));
            nth += 1;
        }
        match described {
            Some(definition) => put_frame(&mut out, frame[HEADER - 1], &definition),
            None => out.extend_from_slice(frame),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::response::Ending;

    fn definition(name: &[u8]) -> Vec<u8> {
        let len = [u8::try_from(name.len()).expect("a short name")];
        [b"\x03def\0\0\0", &len[..], name, b"\0\x0c\x3f\0\x15\0\0\0\x08\x81\0\0\0\0"].concat()
    }

    fn reply(names: [&[u8]; 3]) -> Reply {
        let mut bytes = Vec::new();
        put_frame(&mut bytes, 1, &[0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0]);
        for (seq, name) in (2..).zip(names) {
            put_frame(&mut bytes, seq, &definition(name));
        }
        Reply { bytes, ending: Ending::Plain }
    }

    #[test]
    fn columns_have_the_names_of_the_clients_text_and_parameters_stay() {
        let native = reply([b"?", b"CONNECTION_ID()", b"c"]);
        let own = reply([b"?", b"CAST(5 AS UNSIGNED)", b"c"]);
        let columns = named_like(&native);
        assert_eq!(columns.len(), 2);
        assert_eq!(with_names(&own, &columns), native.bytes);
        assert_eq!(with_names(&native, &columns), native.bytes);
    }
}
