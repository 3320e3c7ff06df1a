//! Cursors over the one row of a prepared lock call: the call is at the execution, the row comes
//! when it is fetched.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::state::lock_statement::{Cursor, Fetched};
use crate::frontend::state::statements::Statements;
use crate::protocol::reply::put_fetched;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;

/// Rows came from the cursor of another statement than the client's. After the last of them it is to be
/// closed: the server's words about a cursor are then those about the client's own statement.
pub(crate) fn stand_in_to_close(
    statements: &mut Statements,
    id: u32,
    ending: Ending,
) -> Option<u32> {
    let open = matches!(ending, Ending::Ok { status, .. } if !status.has(Status::LAST_ROW_SENT));
    statements.get_mut(id).filter(|_| !open)?.stand_in.take()
}

/// COM_STMT_FETCH of `rows` rows. The end is noticed, and the cursor closed, by a fetch that
/// asks for more than there is.
pub(crate) fn fetch_row(
    cx: &mut CallContext<'_>,
    id: u32,
    mut cursor: Cursor,
    rows: u32,
) -> Result<(), CloseReason> {
    let Fetched { row, ended } = cursor.fetch(rows);
    if let Some(statement) = cx.statements.get_mut(id) {
        statement.cursor = (!ended).then_some(cursor);
    }
    let shown = if ended { Status::LAST_ROW_SENT } else { Status::CURSOR_EXISTS };
    let status = Status(cx.server.status().flags().lasting() | shown);
    let mut out = Vec::with_capacity(32);
    put_fetched(&mut out, cursor.column, row.map(|row| row.0), status, cx.capabilities());
    cx.send_client(&out)
}
