//! Cursors over the one row of a prepared lock call: the call is at the execution, the row comes
//! when it is fetched.

use crate::frontend::session::{End, Session};
use crate::protocol::reply::{ColumnType, put_fetched};
use crate::protocol::response::Ending;
use crate::protocol::status::Status;

/// Bit of COM_STMT_EXECUTE that asks for one (CURSOR_TYPE_READ_ONLY); servers look at no other.
pub(in crate::frontend) const READ_ONLY: u8 = 1;

/// Whether an execution asks for a cursor.
pub(in crate::frontend) fn wanted(flags: u8) -> bool {
    flags & READ_ONLY != 0
}

/// An open cursor.
#[derive(Debug, Clone, Copy)]
pub(in crate::frontend) struct Cursor {
    pub(in crate::frontend) column: ColumnType,
    pub(in crate::frontend) value: Option<u64>,
    fetched: bool,
}

impl Cursor {
    /// In front of the row.
    pub(in crate::frontend) fn new(column: ColumnType, value: Option<u64>) -> Self {
        Self { column, value, fetched: false }
    }
}

impl Session {
    /// Rows came from the cursor of another statement: behind the last of them, the server's words
    /// about a cursor are those about the client's own statement.
    pub(in crate::frontend) fn fetched(&mut self, id: u32, ending: Ending) {
        let open =
            matches!(ending, Ending::Ok { status, .. } if !status.has(Status::LAST_ROW_SENT));
        let statement = self.statements.get_mut(&id).filter(|_| !open);
        if let Some(stand_in) = statement.and_then(|s| s.stand_in.take()) {
            // What cannot be sent now is noticed at the next command.
            let _ = self.close_statement(stand_in);
        }
    }

    /// COM_STMT_FETCH of `rows` rows. The end is noticed, and the cursor closed, by a fetch that
    /// asks for more than there is.
    pub(in crate::frontend) fn fetch(
        &mut self,
        id: u32,
        mut cursor: Cursor,
        rows: u32,
    ) -> Result<(), End> {
        let row = (!cursor.fetched && rows > 0).then_some(cursor.value);
        let ended = rows > u32::from(!cursor.fetched);
        cursor.fetched |= row.is_some();
        if let Some(statement) = self.statements.get_mut(&id) {
            statement.cursor = (!ended).then_some(cursor);
        }
        let shown = if ended { Status::LAST_ROW_SENT } else { Status::CURSOR_EXISTS };
        let status = Status(self.status.lasting() | shown);
        let mut out = Vec::with_capacity(32);
        put_fetched(&mut out, cursor.column, row, status, self.capabilities);
        self.send_client(&out)
    }
}
