//! What is known of a session by its commands and their responses: texts with lock calls, and their results.

mod arguments;
pub(super) mod held_back;
pub(super) mod pending_response;
pub(super) mod pending_row_update;
pub(super) mod report;
pub(super) mod row_update;
pub(super) mod run_end;
pub(super) mod statement;
pub(super) mod waiting;
pub(super) mod watch;
