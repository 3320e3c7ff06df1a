//! Tasks that keep the rows and what the engine knows in agreement.

pub(in crate::engine) mod audit;
pub(in crate::engine) mod gc;
pub(in crate::engine) mod orphans;
