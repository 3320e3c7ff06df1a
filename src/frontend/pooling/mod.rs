//! What a session with shared server connections takes from one to the next, and what ties it to one.

pub(crate) mod account;
pub(crate) mod address;
pub(crate) mod audit;
mod audit_notes;
pub(crate) mod bound;
pub(crate) mod capture;
mod change;
mod changes;
mod creation;
pub(crate) mod diagnostics;
mod found_rows;
mod known_login;
mod literal;
pub(crate) mod lost;
pub(crate) mod named;
pub(crate) mod open;
pub(crate) mod pins;
pub(crate) mod prepared;
mod release;
pub(crate) mod restore;
pub(crate) mod results;
pub(crate) mod seat;
pub(crate) mod seated;
mod shown;
pub(crate) mod statement;
pub(crate) mod statements;
mod warnings;
