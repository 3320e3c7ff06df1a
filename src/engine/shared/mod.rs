//! What the engine's tasks and the sessions read of each other.

pub mod lease;
pub mod snapshot;
pub mod stuck;
pub(in crate::engine) mod wait_graph;
