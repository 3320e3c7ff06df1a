//! Lock calls in prepared statements, of the protocol and of SQL.

pub(super) mod cursor;
pub(super) mod dispatch;
pub(super) mod execute_call;
pub(super) mod execute_statement;
pub(super) mod prepare;
pub(super) mod prepare_context;
pub(super) mod session_id;
pub(super) mod sql_execute;
pub(super) mod sql_prepare;
pub(super) mod sql_text;
pub(super) mod too_long;
