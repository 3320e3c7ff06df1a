//! Accepting clients.

pub mod listener;
mod wakes;
