//! The last answer of a server, and for how long it counts.

use std::fmt;
use std::time::Duration;

use super::cluster::ClusterSeat;

/// A server that does not answer in time counts for so long as what it said last: a busy server must not look like a
/// lost one.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// The server was not asked yet.
    Unasked,
    /// The server takes writes.
    Writable {
        /// Identity of the server.
        ident: String,
        /// The server's place in a cluster, which decides which servers take writes.
        seat: Option<ClusterSeat>,
        /// Number of other servers that have each change before it is acknowledged.
        copies: usize,
    },
    /// The server answers, and takes no writes.
    Closed {
        /// Why, in words that follow its name.
        why: String,
        /// Identity of the server, and its place in a cluster, as far as it tells them.
        member: Option<(String, Option<ClusterSeat>)>,
        /// The server has the others' changes, as far as it tells.
        follows: bool,
    },
    /// The server answers, and what it says of writes does not hold for the account that asks: why.
    Unfit(&'static str),
    /// The server cannot be asked: why.
    Silent(String),
}

impl ServerState {
    /// Whether it takes writes.
    pub fn takes_writes(&self) -> bool {
        matches!(self, Self::Writable { .. })
    }

    /// Whether it takes writes, and no cluster joins it with others that do.
    pub fn takes_writes_alone(&self) -> bool {
        matches!(self, Self::Writable { seat: None, .. })
    }

    /// Whether sessions may read there that are to be at another server than the writer, if it is another one.
    pub fn can_be_replica(&self) -> bool {
        matches!(self, Self::Writable { seat: Some(_), .. } | Self::Closed { follows: true, .. })
    }

    /// Identity of the server, if it has told one.
    pub fn ident(&self) -> Option<&str> {
        match self {
            Self::Writable { ident, .. } | Self::Closed { member: Some((ident, _)), .. } => {
                Some(ident)
            }
            Self::Closed { member: None, .. }
            | Self::Unasked
            | Self::Unfit(_)
            | Self::Silent(_) => None,
        }
    }

    /// The server's place in a cluster, if it has told one.
    pub fn seat(&self) -> Option<&ClusterSeat> {
        match self {
            Self::Writable { seat, .. } | Self::Closed { member: Some((_, seat)), .. } => {
                seat.as_ref()
            }
            Self::Closed { member: None, .. }
            | Self::Unasked
            | Self::Unfit(_)
            | Self::Silent(_) => None,
        }
    }

    /// Whether it answers.
    pub fn answers(&self) -> bool {
        matches!(self, Self::Writable { .. } | Self::Closed { .. } | Self::Unfit(_))
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unasked => f.write_str("was not asked yet"),
            Self::Writable { .. } => f.write_str("takes writes"),
            Self::Closed { why, .. } => f.write_str(why),
            Self::Unfit(why) => f.write_str(why),
            Self::Silent(why) => write!(f, "does not answer ({why})"),
        }
    }
}

/// What a server was heard to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// The state of the server.
    Said(ServerState),
    /// Nothing in time, or nothing that tells its state: why.
    Late(String),
    /// No server runs at the address, as far as can be seen: why.
    Gone(String),
}

/// A server's state, and since when it is not certain any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The state of the server.
    pub state: ServerState,
    /// When it said so, on the boot clock.
    at: Duration,
}

impl Heard {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self { state: ServerState::Unasked, at: Duration::ZERO }
    }

    /// Takes in what was heard at `now`.
    pub fn note_answer(&mut self, answer: ProbeAnswer, now: Duration) {
        let state = match answer {
            ProbeAnswer::Said(state) => state,
            ProbeAnswer::Late(_)
                if self.state.answers() && now.saturating_sub(self.at) < PATIENCE =>
            {
                return;
            }
            ProbeAnswer::Late(why) | ProbeAnswer::Gone(why) => ServerState::Silent(why),
        };
        *self = Self { state, at: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writable() -> ProbeAnswer {
        ProbeAnswer::Said(ServerState::Writable { ident: "A".to_owned(), seat: None, copies: 0 })
    }

    #[test]
    fn a_server_that_is_late_keeps_its_state_for_a_while() {
        let at = Duration::from_millis;
        let late = || ProbeAnswer::Late("no answer".to_owned());
        let mut heard = Heard::nothing();
        heard.note_answer(late(), at(100));
        assert!(matches!(heard.state, ServerState::Silent(_)), "it has said nothing yet");
        heard.note_answer(writable(), at(1000));
        for (now, writes) in [(1500, true), (2999, true), (3000, false), (3500, false)] {
            heard.note_answer(late(), at(now));
            assert_eq!(heard.state.takes_writes(), writes, "at {now}");
        }
        heard.note_answer(writable(), at(4000));
        heard.note_answer(ProbeAnswer::Gone("connection refused".to_owned()), at(4001));
        assert!(!heard.state.answers());
    }
}
