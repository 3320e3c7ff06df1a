//! What is owed on a session's legs. These are responses of the server that are still to come, ended ones that the
//! session still has to read, and statements that the server still has to see.

use std::collections::VecDeque;

use super::pending::{Finished, Pending, Recipient, Skipped};
use super::reply::Reply;
use crate::protocol::response::Ending;

/// What is owed.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    pending: VecDeque<Pending>,
    finished: Vec<Finished>,
    /// What the server said to a statement that shows a wait.
    gate_reply: Option<Reply>,
    skipped: Skipped,
}

impl Owed {
    /// A response will come.
    pub(super) fn push(&mut self, pending: Pending) {
        self.pending.push_back(pending);
    }

    /// The response that comes next.
    pub(super) fn front(&self) -> Option<&Pending> {
        self.pending.front()
    }

    /// Like [`Self::front`], to be changed.
    pub(super) fn front_mut(&mut self) -> Option<&mut Pending> {
        self.pending.front_mut()
    }

    /// The response that comes last.
    pub(super) fn back(&self) -> Option<&Pending> {
        self.pending.back()
    }

    /// Like [`Self::back`], to be changed.
    pub(super) fn back_mut(&mut self) -> Option<&mut Pending> {
        self.pending.back_mut()
    }

    /// The responses, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter()
    }

    /// How many responses are to come.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether no response is to come.
    pub(crate) fn is_nothing(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the client waits for one of the responses.
    pub(crate) fn any_for_client(&self) -> bool {
        self.pending.iter().any(|response| response.recipient.is_client())
    }

    /// No response comes any more.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }

    /// The response that came next has ended.
    pub(super) fn end_front(&mut self) -> Option<Pending> {
        let ended = self.pending.pop_front();
        if let Some(Pending { recipient: Recipient::Watched(seen), .. }) = self.pending.front_mut()
        {
            seen.comes_next();
        }
        ended
    }

    /// Keeps what somebody in the session waits for. What to send again, and how often, if a release has failed.
    pub(super) fn keep(&mut self, recipient: Recipient, ending: Ending) -> Option<(Box<[u8]>, u8)> {
        match recipient {
            Recipient::Watched(seen) => self.finished.push(Finished::Watched(seen, ending)),
            Recipient::Fetch(id) => self.finished.push(Finished::Fetch(id, ending)),
            Recipient::Gate(bytes) => self.gate_reply = Some(Reply { bytes, ending }),
            Recipient::Release(packet, again @ 1..) if ending.is_error() => {
                return Some((packet, again - 1));
            }
            Recipient::Client
            | Recipient::Refused(_)
            | Recipient::Nobody
            | Recipient::Release(..) => {}
        }
        None
    }

    /// Responses that somebody in the session waits for.
    pub(crate) fn take_finished(&mut self) -> Vec<Finished> {
        std::mem::take(&mut self.finished)
    }

    /// Whether there are such.
    pub(super) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// What the server said to a statement that waited at a gate, once.
    pub(crate) fn take_gate_reply(&mut self) -> Option<Reply> {
        self.gate_reply.take()
    }

    /// Nobody wants the server's reply to a statement at a gate any more.
    pub(crate) fn drop_gate_reply(&mut self) {
        self.gate_reply = None;
        for response in &mut self.pending {
            if matches!(response.recipient, Recipient::Gate(_)) {
                response.recipient = Recipient::Nobody;
            }
        }
    }

    /// Statements that the server has not seen.
    pub(crate) fn skipped(&mut self) -> &mut Skipped {
        &mut self.skipped
    }

    /// Forgets those: what comes next leaves nothing of theirs.
    pub(crate) fn forget_skipped(&mut self) {
        self.skipped = Skipped::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::packet;

    #[test]
    fn the_client_waits_for_its_own_responses_only() {
        let (query, fetch) = (packet::ping(), [9, 0, 0, 0, 0x1c, 1, 0, 0, 0, 1, 0, 0, 0]);
        let mut owed = Owed::default();
        owed.push(Pending::to(&query, Recipient::Nobody));
        assert!(!owed.any_for_client());
        owed.push(Pending::to(&query, Recipient::Gate(Vec::new())));
        assert!(!owed.any_for_client());
        owed.push(Pending::to(&fetch, Recipient::Fetch(3)));
        assert!(owed.any_for_client());
    }

    #[test]
    fn a_release_that_fails_is_sent_again_for_some_times() {
        let mut owed = Owed::default();
        let failed = Ending::Err { code: 1317 };
        let release = |again| Recipient::Release(Box::from(*b"x"), again);
        assert_eq!(owed.keep(release(2), failed), Some((Box::from(*b"x"), 1)));
        assert_eq!(owed.keep(release(0), failed), None);
        assert_eq!(owed.keep(release(2), Ending::Plain), None);
    }
}
