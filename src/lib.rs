//! Lockstead: a MySQL proxy that turns `GET_LOCK()` into durable rows.
//!
//! Modules are on floors, and a module imports only from floors below its own (`tests/tidy.rs` checks it). The floors
//! are words, pure cores, reading SQL and settings, IO, the two services, the client side, windows, the application,
//! the command line. ARCHITECTURE.md is the map.

#![deny(clippy::expect_used, clippy::panic)]

pub mod mutants;
pub mod types;

pub mod lock;
pub mod protocol;

pub mod clock;
pub mod config;
pub mod metrics;
pub mod panics;
pub mod private;
pub mod seldom;
pub mod sql;
pub mod wakes;

pub mod net;
pub mod observe;
pub mod servers;
pub mod state;
pub mod store;

pub mod backend;
pub mod engine;

pub mod frontend;

pub mod admin;

pub mod http;

pub mod app;

pub mod cli;
