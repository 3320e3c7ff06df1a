//! Accepting clients.

pub mod listener;
