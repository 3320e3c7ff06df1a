//! State that the engine's tasks and the sessions share.

pub mod current_backend;
pub(in crate::engine) mod deferred;
pub(in crate::engine) mod engine_wake;
pub mod fenced_sessions;
pub mod history;
pub mod keep_names;
pub mod late_rows;
pub mod lease;
pub mod peers;
pub mod reign;
pub mod snapshot;
pub mod stuck;
pub(in crate::engine) mod wait_graph;
