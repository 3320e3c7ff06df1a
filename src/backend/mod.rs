//! The server side: connections with a greeting, and what becomes of those nobody wants.

pub mod greeted;
pub mod own;
pub mod reach;
pub mod spares;
