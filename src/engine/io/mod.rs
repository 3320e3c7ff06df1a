//! Connections of the engine: to the lock tables, to administrators, to other proxies.

pub mod admin_queries;
pub(in crate::engine) mod deadlock_detector;
pub mod disconnects;
pub mod gatekeeper;
pub mod held_locks;
pub mod last_known;
pub mod pipe;
pub(in crate::engine) mod wakeup;
