//! Lockstead: a MySQL proxy that turns `GET_LOCK()` into durable rows.
//!
//! Modules stand in floors; a module imports only from floors below its own (`tests/tidy.rs`
//! checks it): words, pure cores, reading SQL and settings, IO, the two services, the client
//! side, windows, the application, the command line. ARCHITECTURE.md is the map.

pub mod types;

pub mod lock;
pub mod protocol;

pub mod sql;
