//! Observations of lock calls, sent by sessions.

use std::sync::Arc;
use std::time::Duration;

use crate::lock::function::Function;
use crate::sql::report::coverage::Coverage;

/// Bytes of a name that are kept: no server takes a longer name of a lock.
const LONGEST: usize = 192;

/// The user who runs statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementUser {
    /// The account's user.
    pub user: Arc<str>,
    /// Where the client is.
    pub host: Arc<str>,
    /// The client's name of itself.
    pub program: Arc<str>,
    /// The default schema; empty for none.
    pub schema: Arc<str>,
}

/// A statement with lock calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenStatement {
    /// Without its literals.
    pub text: String,
    /// What Lockstead would do with it.
    pub coverage: Coverage,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 1, or another number.
    One,
    /// 0.
    Zero,
    /// NULL.
    Null,
    /// An error.
    Error,
    /// The response does not show it.
    Untold,
}

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The function.
    pub function: Function,
    /// The lock's name as people are to see it.
    pub name: Arc<str>,
    /// Outcome of the call.
    pub outcome: Outcome,
    /// How long GET_LOCK took, where that could be measured.
    pub wait: Option<Duration>,
}

/// What could not be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// A call in a statement too long to be looked at in one piece.
    Long,
    /// A wait, or an execution, that was sent after others without waiting for their responses.
    Pipelined,
    /// How long a lock was held.
    Hold,
    /// Executions of one more prepared statement than a session's observer remembers.
    Statement,
    /// Events that came faster than they could be counted.
    Busy,
}

impl Missed {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Long, Self::Pipelined, Self::Hold, Self::Statement, Self::Busy];

    /// The label in metrics and in the report.
    pub fn label(self) -> &'static str {
        match self {
            Self::Long => "long",
            Self::Pipelined => "pipelined",
            Self::Hold => "hold",
            Self::Statement => "statement",
            Self::Busy => "busy",
        }
    }

    /// What could not be observed, as a phrase.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Long => "lock calls in statements longer than 64 KiB, whose names were not read",
            Self::Pipelined => {
                "waits or executions that were sent before the response to an earlier command"
            }
            Self::Hold => "holds that could not be measured",
            Self::Statement => "prepared statements beyond the number that is kept for one session",
            Self::Busy => "events that were lost because there were too many at once",
        }
    }
}

/// An observation of a session.
#[derive(Debug, Clone)]
pub enum ObservedEvent {
    /// A statement was prepared, and not run yet.
    Prepared(StatementUser, Arc<SeenStatement>),
    /// A statement was run.
    Ran(StatementUser, Arc<SeenStatement>, Vec<Made>),
    /// A lock was held so long.
    Held(Arc<str>, Duration),
    /// Something could not be observed, so many times.
    Missed(Missed, u64),
    /// The last event: the report is to be written.
    Stop,
}

/// Bytes as text for display: cut, and without control characters.
pub fn shown(bytes: &[u8]) -> Arc<str> {
    let cut = &bytes[..bytes.len().min(LONGEST)];
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut text: String = String::from_utf8_lossy(cut).chars().map(plain).collect();
    if cut.len() < bytes.len() {
        text.push('…');
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_names_are_short_and_harmless() {
        assert_eq!(&*shown(b"nightly job"), "nightly job");
        assert!(!shown(b"\x1b[2J\n").chars().any(char::is_control));
        let long = shown(&[b'a'; 1000]);
        assert!(long.len() <= LONGEST + 3 && long.ends_with('…'), "{long}");
    }
}
