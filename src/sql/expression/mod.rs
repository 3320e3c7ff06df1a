//! Calls in a larger statement: where they stand, and what the server evaluates beside them.

pub mod argument;
pub(in crate::sql) mod clauses;
pub mod clock;
pub mod composite;
pub mod effects;
pub mod items;
pub mod listing;
pub(in crate::sql) mod nesting;
pub(in crate::sql) mod settings;
pub mod verb;
