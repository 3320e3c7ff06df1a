//! The server side: connections with a greeting, and the end of those that no client needs.

pub mod admissions;
pub mod connection;
pub mod encrypt;
pub mod greeted;
pub mod learned;
mod locked;
pub mod login_as;
pub mod own;
pub mod pool;
pub mod reach;
pub mod spares;
mod vault;
