//! Tasks that keep the rows and the engine's memory in agreement.

pub(in crate::engine) mod audit;
pub(in crate::engine) mod gc;
pub(in crate::engine) mod history;
pub(in crate::engine) mod orphans;
pub(in crate::engine) mod sweep;
