//! Connections of the engine: to the lock tables, to administrators, to other proxies.

pub mod admin_queries;
pub(in crate::engine) mod confirm;
pub(in crate::engine) mod deadlock_detector;
pub mod disconnects;
pub mod gatekeeper;
pub mod held_locks;
pub mod last_known;
pub mod link;
pub mod native_locks;
pub(in crate::engine) mod pipe;
pub mod query_error;
pub(in crate::engine) mod reader;
pub(in crate::engine) mod wakeup;
pub(in crate::engine) mod witnesses;
