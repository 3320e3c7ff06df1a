//! The lease: registering, renewing, fencing, and taking over the locks of dead proxies.

pub(in crate::engine) mod clusters;
pub(in crate::engine) mod incarnation;
pub(in crate::engine) mod keeper;
pub(in crate::engine) mod longest;
pub(in crate::engine) mod observed;
pub(in crate::engine) mod predecessors;
pub(in crate::engine) mod restart;
pub(in crate::engine) mod server;
pub(in crate::engine) mod suspension;
pub mod takeover;
