//! The lease: who vouches for locks, and until when.

pub(in crate::engine) mod incarnation;
pub(in crate::engine) mod keeper;
pub(in crate::engine) mod longest;
pub(in crate::engine) mod server;
pub mod takeover;
