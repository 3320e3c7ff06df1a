//! The lock engine: who holds what, in memory and in the store, under one lease.
//!
//! Sessions talk to it through [`handle::Engine`] alone. Its tasks run on a thread of their own;
//! the keeper of the lease has another, so that a busy engine never delays a renewal.

pub mod census;
pub mod desk;
pub mod endings;
pub mod gates;
pub mod handle;
pub mod lease;
pub mod pipe;
pub mod service;
pub mod sight;
pub mod stuck;
pub mod takeover;
pub mod threads;

mod audit;
mod collector;
mod deadlocks;
mod doorbell;
mod incarnation;
mod keeper;
mod keys;
mod longest;
mod server;
mod strangers;
mod waits;
