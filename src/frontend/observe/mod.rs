//! A session that is only observed: its commands pass, and those that tell of lock calls are counted.

pub(in crate::frontend) mod commands;
pub(in crate::frontend) mod observer;
pub(in crate::frontend) mod pending_response;
pub(in crate::frontend) mod statement;
