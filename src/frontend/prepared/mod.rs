//! Lock calls in prepared statements, of the protocol and of SQL.

pub(in crate::frontend) mod cursor;
pub(in crate::frontend) mod dispatch;
pub(in crate::frontend) mod execute_call;
pub(in crate::frontend) mod execute_statement;
pub(in crate::frontend) mod prepare;
pub(in crate::frontend) mod prepare_context;
pub(in crate::frontend) mod sql_execute;
pub(in crate::frontend) mod sql_prepare;
pub(in crate::frontend) mod sql_text;
pub(in crate::frontend) mod store;
