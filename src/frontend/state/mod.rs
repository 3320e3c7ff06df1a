//! What a session is, apart from its legs: plain values, each with rules of its own.

pub(super) mod current_command;
pub(super) mod identity;
pub(super) mod ledger;
pub(super) mod lock_statement;
pub(super) mod named_statements;
pub(super) mod phase;
pub(super) mod server_view;
pub(super) mod several;
pub(super) mod statements;
