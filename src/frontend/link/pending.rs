//! Responses that are still to come, and statements that the server still has to see.

use super::super::observe::pending_response::Seen;
use super::super::pooling::statements::Awaited;
use crate::protocol::command::{Command, Shape};
use crate::protocol::error_replacement::ErrorReplacement;
use crate::protocol::frame::{HEADER, answering_seq};
use crate::protocol::response::Ending;
use crate::sql::find::release::ConnectionRelease;

/// A response that the server owes.
#[derive(Debug)]
pub(crate) struct Pending {
    /// To which command.
    pub command: Command,
    /// Grammar of the response.
    pub shape: Shape,
    /// Whom it is for.
    pub recipient: Recipient,
    /// The sequence id of its first packet.
    pub seq: u8,
    /// The command is undone with the transaction that it runs in, and ends it by a rollback only.
    pub undone: bool,
    /// Whether the session ends with it, if it succeeds.
    pub releases: ConnectionRelease,
    /// The prepared statement of a session that shares its connections, if the response may end its cursor.
    pub statement: Option<(u32, Awaited)>,
}

impl Pending {
    /// To a packet, of which at least so much is there as tells the shape of its response.
    pub(crate) fn to(packet: &[u8], recipient: Recipient) -> Self {
        Self {
            command: Command(packet.get(HEADER).copied().unwrap_or(0)),
            shape: Shape::of(packet),
            recipient,
            seq: answering_seq(packet),
            undone: false,
            releases: ConnectionRelease::No,
            statement: None,
        }
    }
}

/// Whom a response is for.
#[derive(Debug)]
pub(crate) enum Recipient {
    /// The client, unchanged.
    Client,
    /// The client, which fetches rows of this prepared statement from the cursor of another.
    Fetch(u32),
    /// The client, for a command that its session's observer was shown.
    Watched(Box<Seen>),
    /// The client, for a statement that was spoilt on its way: the server's refusal is replaced.
    Refused(Box<ErrorReplacement>),
    /// Nobody: the proxy asked, and only the end matters.
    Nobody,
    /// Nobody: the proxy repeats this packet some times if it fails. A KILL QUERY for the client's
    /// wait may come late, and hit the release of its gate.
    Release(Box<[u8]>, u8),
    /// The proxy, to show a wait: kept until it is complete.
    Gate(Vec<u8>),
}

impl Recipient {
    /// Whether a command of the client's is answered by it.
    pub(crate) fn is_client(&self) -> bool {
        match self {
            Self::Client | Self::Fetch(_) | Self::Watched(_) | Self::Refused(_) => true,
            Self::Nobody | Self::Release(..) | Self::Gate(_) => false,
        }
    }
}

/// A response that has ended, and that somebody in the session waits for.
#[derive(Debug)]
pub(crate) enum Finished {
    /// The response to a command that the observer was shown.
    Watched(Box<Seen>, Ending),
    /// Rows of this prepared statement.
    Fetch(u32, Ending),
}

impl Pending {
    /// Whether the end of the response waits for the rows of locks.
    pub(crate) fn is_held_back(&self) -> bool {
        matches!(&self.recipient, Recipient::Watched(seen) if seen.held.is_some())
    }
}

impl Pending {
    /// Whether no command of the client's is read before it.
    pub(super) fn stops_client(&self) -> bool {
        self.is_held_back() || self.shape == Shape::Endless
    }
}

/// Statements that the server has not seen because the proxy answered them. What they would have left in its session
/// (row count, found rows, warnings) is made up for before the server runs anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Skipped {
    select: bool,
    then_do: bool,
}

impl Skipped {
    /// One more statement that the proxy answered: a DO, or a SELECT, before which no DO matters.
    pub(crate) fn answered(&mut self, is_do: bool) {
        if is_do {
            self.then_do = true;
        } else {
            *self = Self { select: true, then_do: false };
        }
    }

    /// Statements that leave the same, in order. Nothing is skipped then.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = &'static str> + use<> {
        let Self { select, then_do } = std::mem::take(self);
        let select = select.then_some("SELECT (NULL OR 1)");
        select.into_iter().chain(then_do.then_some("DO (NULL OR 1)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_statements_are_replayed_once_in_order() {
        let replayed = |answers: &[bool]| {
            let mut skipped = Skipped::default();
            for is_do in answers {
                skipped.answered(*is_do);
            }
            let texts: Vec<_> = skipped.take().collect();
            assert_eq!(skipped.take().count(), 0);
            texts
        };
        assert!(replayed(&[]).is_empty());
        assert_eq!(replayed(&[true, true]), ["DO (NULL OR 1)"]);
        assert_eq!(replayed(&[false, true]), ["SELECT (NULL OR 1)", "DO (NULL OR 1)"]);
        assert_eq!(replayed(&[true, false]), ["SELECT (NULL OR 1)"], "a SELECT overwrites a DO");
    }
}
