//! The servers of a cluster: which of them takes writes, found out by asking each, and the one place that says so; and those beside it.

pub mod candidates;
mod choice;
mod cluster;
pub mod find;
pub mod greetings;
pub mod guarantee;
pub mod heard;
mod membership;
pub mod pairs;
mod probe;
pub mod replicas;
pub mod route;
pub mod writer;
