//! The server side: connections with a greeting, and the end of those that no client needs.

pub mod connection;
pub mod greeted;
pub mod learned;
mod locked;
pub mod own;
pub mod pool;
pub mod reach;
pub mod spares;
mod vault;
