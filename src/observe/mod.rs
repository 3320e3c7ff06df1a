//! Observing: who uses which locks of the server's own, before Lockstead takes them over.
//!
//! Sessions send their observations as events of one closed enum; a thread of its own counts them and
//! keeps the report. A session never waits for it.

pub mod event;
pub mod file;
pub mod holds;
pub mod record;
pub mod recorder;
pub mod report;
