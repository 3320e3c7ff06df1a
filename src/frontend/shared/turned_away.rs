//! Why a client is turned away before it has a session.

use crate::protocol::reply::ErrorReply;

/// Why a client is turned away: what is counted, and what it is told.
#[derive(Debug)]
pub struct TurnedAway {
    /// What is counted.
    pub reason: &'static str,
    /// What the client is told.
    pub error: Option<ErrorReply>,
}

impl TurnedAway {
    /// With an error.
    pub fn of(reason: &'static str, error: ErrorReply) -> Self {
        Self { reason, error: Some(error) }
    }

    /// What the client is told.
    pub fn text(&self) -> &str {
        self.error.as_ref().map_or("", |error| &error.message)
    }

    /// The client has left, or has been told.
    pub fn silent(reason: &'static str) -> Self {
        Self { reason, error: None }
    }
}
