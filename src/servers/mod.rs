//! The servers of a cluster: which of them takes writes, found out by asking each, and the one place that says so.

pub mod choice;
mod cluster;
pub mod find;
mod probe;
pub mod route;
pub mod writer;
