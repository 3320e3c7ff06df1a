//! The lock engine: locks and their holders, in memory and in the store, under one lease.
//!
//! Sessions talk to the engine through [`handle::Engine`] alone. The engine's tasks run on a thread of their own; the
//! keeper of the lease has another, so that a busy engine never delays a renewal.

pub mod handle;
pub(in crate::engine) mod housekeeping;
pub mod io;
pub mod lease;
pub(in crate::engine) mod messages;
pub mod service;
pub mod setup;
pub mod shared;
pub mod start;
