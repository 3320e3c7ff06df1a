//! Prometheus metrics, registered once for each cluster.

#[macro_use]
mod define;
mod gauge_guard;
mod labels;
pub mod named;
pub mod observed;
mod register;
mod start;
mod table;
mod text;

pub use gauge_guard::GaugeGuard;
pub use labels::CallOutcome;
pub use table::Metrics;
