//! Lock calls inside a larger statement.

pub(in crate::frontend) mod composite;
pub(in crate::frontend) mod lock_tables;
pub(in crate::frontend) mod native;
pub(in crate::frontend) mod probe;
pub(in crate::frontend) mod rewrite;
pub(in crate::frontend) mod row_names;
pub(in crate::frontend) mod run_calls;
