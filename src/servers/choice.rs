//! Which of several servers is the writer, by what each has said last.

use std::fmt;
use std::time::Duration;

use super::cluster::{Seat, has_left, named};

/// A server that does not answer in time counts for so long as what it said last: a busy server must not look like a
/// lost one.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// It was not asked yet.
    Unasked,
    /// It takes writes.
    Writable {
        /// Its identity.
        ident: String,
        /// Its place in a cluster, which decides which servers take writes.
        seat: Option<Seat>,
    },
    /// It answers, and takes none.
    Closed {
        /// Why, in words that follow its name.
        why: String,
        /// Its identity, and its place in a cluster, as far as it tells them.
        member: Option<(String, Option<Seat>)>,
    },
    /// It answers, and what it says of writes does not hold for the account that asks: why.
    Unfit(&'static str),
    /// It cannot be asked: why.
    Silent(String),
}

impl ServerState {
    /// Whether it takes writes.
    pub fn takes_writes(&self) -> bool {
        matches!(self, Self::Writable { .. })
    }

    /// Its identity, if it has told it.
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

    /// Its place in a cluster, if it has told one.
    pub fn seat(&self) -> Option<&Seat> {
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
    /// Its state.
    Said(ServerState),
    /// Nothing in time, or nothing that tells its state: why.
    Late(String),
    /// It does not run there, as far as can be seen: why.
    Gone(String),
}

/// A server's state, and since when it is not certain any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Its state.
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
    pub fn hear(&mut self, answer: ProbeAnswer, now: Duration) {
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

/// The writer, and the servers that should not take writes beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its place in the list.
    pub writer: Option<usize>,
    /// Places of servers that take writes as well, though no cluster joins them with the writer.
    pub rivals: Vec<usize>,
    /// Identity of the server that the lock tables of a cluster name and that has not left it, though it cannot be the
    /// writer now.
    pub awaited: Option<String>,
}

/// Which of the servers is the writer. `last` is the one that was it last.
///
/// Where several take writes, it is the one that the cluster's lock tables name; without one, it stays the one that it was, and a new
/// one is the first in the list.
pub fn choose(last: Option<usize>, states: &[&ServerState]) -> Choice {
    let takes = |at: &usize| states.get(*at).is_some_and(|state| state.takes_writes());
    // At first, an earlier one in the list may be about to answer.
    let first = states
        .iter()
        .position(|state| state.takes_writes() || **state == ServerState::Unasked)
        .filter(takes);
    let named = named(states);
    let named_at = named.and_then(|named| {
        let is_it = |state: &&ServerState| {
            state.takes_writes() && state.ident() == Some(named.ident.as_str())
        };
        states.iter().position(is_it)
    });
    let awaited = named
        .filter(|named| named_at.is_none() && !has_left(states, &named.ident))
        .map(|named| named.ident.clone());
    let free = last.filter(takes).or(first).filter(|_| awaited.is_none());
    let writer = named_at.or(free);
    let alone = |state: &ServerState| match state {
        ServerState::Writable { ident, seat: None } => Some(ident.clone()),
        _ => None,
    };
    let own = writer.and_then(|at| alone(states[at]));
    let is_rival = |state: &ServerState| {
        own.as_ref().is_some_and(|own| alone(state).is_some_and(|ident| ident != *own))
    };
    let rivals = (0..states.len()).filter(|at| is_rival(states[*at])).collect();
    Choice { writer, rivals, awaited }
}

#[cfg(test)]
mod tests {
    use super::super::cluster::View;
    use super::*;

    fn state(word: &str) -> ServerState {
        match word {
            "?" => ServerState::Unasked,
            "ro" => ServerState::Closed { why: "is read-only".to_owned(), member: None },
            "-" => ServerState::Silent("connection refused".to_owned()),
            // A capital letter is a server by itself, a small one a member of a cluster.
            ident => ServerState::Writable {
                ident: ident.to_owned(),
                seat: ident.chars().all(char::is_lowercase).then(|| Seat {
                    cluster: "c".to_owned(),
                    view: View::Writers(Vec::new()),
                    named: None,
                }),
            },
        }
    }

    #[test]
    fn the_writer_stays_while_it_takes_writes_and_is_the_first_in_the_list_otherwise() {
        for (last, servers, writer, rivals) in [
            // At the start.
            (None, "A ro ro", Some(0), &[][..]),
            (None, "ro B ro", Some(1), &[]),
            (None, "- B ro", Some(1), &[]),
            (None, "? B ro", None, &[]),
            (None, "ro B ?", Some(1), &[]),
            (None, "? ? ?", None, &[]),
            (None, "ro ro -", None, &[]),
            // A switch and a crash.
            (Some(0), "A ro ro", Some(0), &[]),
            (Some(0), "ro ro ro", None, &[]),
            (Some(0), "ro B ro", Some(1), &[]),
            (Some(0), "- ro ro", None, &[]),
            (Some(0), "- ro C", Some(2), &[]),
            (Some(2), "ro ro C", Some(2), &[]),
            // It was unknown for a moment.
            (Some(2), "ro ro -", None, &[]),
            (Some(2), "ro ro C", Some(2), &[]),
            // Clusters in which all take writes.
            (None, "a b c", Some(0), &[]),
            (Some(1), "a b c", Some(1), &[]),
            (Some(1), "a - c", Some(0), &[]),
            (Some(0), "a b c", Some(0), &[]),
            // A former primary comes back as if it were one.
            (Some(1), "A B ro", Some(1), &[0]),
            (Some(0), "A B C", Some(0), &[1, 2]),
            (None, "A B ro", Some(0), &[1]),
            (Some(0), "a B ro", Some(0), &[]),
            // One server by two names.
            (Some(0), "A A ro", Some(0), &[]),
        ] {
            let states: Vec<ServerState> = servers.split(' ').map(state).collect();
            let found = choose(last, &states.iter().collect::<Vec<_>>());
            assert_eq!((found.writer, &*found.rivals), (writer, rivals), "{last:?} {servers}");
        }
    }

    #[test]
    fn a_server_that_is_late_keeps_its_state_for_a_while() {
        let at = Duration::from_millis;
        let late = || ProbeAnswer::Late("no answer".to_owned());
        let mut heard = Heard::nothing();
        heard.hear(late(), at(100));
        assert!(matches!(heard.state, ServerState::Silent(_)), "it has said nothing yet");
        heard.hear(ProbeAnswer::Said(state("A")), at(1000));
        for (now, writes) in [(1500, true), (2999, true), (3000, false), (3500, false)] {
            heard.hear(late(), at(now));
            assert_eq!(heard.state.takes_writes(), writes, "at {now}");
        }
        heard.hear(ProbeAnswer::Said(state("A")), at(4000));
        heard.hear(ProbeAnswer::Gone("connection refused".to_owned()), at(4001));
        assert!(!heard.state.answers());
    }
}
