//! Prometheus metrics, registered once for each cluster.

mod labels;
pub mod named;
pub mod observed;
mod register;
mod table;
mod text;

pub use labels::CallOutcome;
pub use table::Metrics;
