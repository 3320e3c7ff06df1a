//! What a session leaves on its connection for the next one.

use std::time::Duration;

use super::session_state::SessionState;

/// How long it is believed without a word with the server.
const BELIEVED: Duration = Duration::from_secs(1);

/// What is on a connection of the pool that a session is about to get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Left {
    /// Nothing: no session had it.
    #[default]
    Nothing,
    /// The state of the last session.
    Known(Box<LeftState>),
    /// The state of the connection is not known.
    Unknown,
}

/// The state of a session that has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftState {
    /// What is known of each session.
    pub state: SessionState,
    /// The connection has nothing else of it, such as prepared statements.
    pub alone: bool,
    /// When the session left, on the boot clock.
    pub since: Duration,
}

impl Left {
    /// The state on the connection, if it is known.
    pub(crate) fn state(&self) -> Option<&SessionState> {
        match self {
            Self::Known(left) => Some(&left.state),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// The whole state on the connection, if it was just left.
    pub(crate) fn all(&self, now: Duration) -> Option<&SessionState> {
        match self {
            Self::Known(left) if left.alone && now.saturating_sub(left.since) < BELIEVED => {
                Some(&left.state)
            }
            Self::Nothing | Self::Known(_) | Self::Unknown => None,
        }
    }
}
