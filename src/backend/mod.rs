//! The server side: connections with a greeting, and the end of those that no client needs.

pub mod admissions;
pub mod connection;
pub mod encrypt;
pub mod given;
pub mod greeted;
pub mod learned;
pub(crate) mod left;
mod locked;
pub mod login_as;
pub mod own;
pub mod pool;
pub mod proven;
pub mod reach;
mod secret_source;
pub(crate) mod session_state;
pub mod spares;
mod vault;
pub mod verifier_reads;
