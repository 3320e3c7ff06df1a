//! Lock calls inside a larger statement.

mod clock;
pub(super) mod composite;
pub(super) mod lock_tables;
pub(super) mod native;
pub(super) mod probe;
pub(super) mod rewrite;
pub(super) mod row_names;
pub(super) mod run_calls;
pub(super) mod statement;
pub(super) mod uncovered;
