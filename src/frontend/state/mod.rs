//! What a session is, apart from its legs: plain values, each with rules of its own.

pub mod current_command;
pub mod identity;
pub mod ledger;
pub mod lock_statement;
pub mod named_statements;
pub mod server_view;
pub mod statements;
