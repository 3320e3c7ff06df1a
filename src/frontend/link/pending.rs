//! Responses that are still to come, and statements that the server still has to see.

use crate::frontend::observe::pending_response::Seen;
use crate::frontend::session::{ClientState, End, Session};
use crate::protocol::command::{Command, Shape};
use crate::protocol::error_replacement::ErrorReplacement;
use crate::protocol::frame::HEADER;
use crate::protocol::reply::query;
use crate::protocol::response::Progress;

/// A response that the server owes.
#[derive(Debug)]
pub(in crate::frontend) struct Owed {
    pub(in crate::frontend) shape: Shape,
    pub(in crate::frontend) whose: Whose,
    /// The sequence id of its first packet.
    pub(in crate::frontend) seq: u8,
}

impl Owed {
    /// To a command of one frame.
    pub(in crate::frontend) fn new(shape: Shape, whose: Whose) -> Self {
        Self { shape, whose, seq: 1 }
    }

    /// Whether a command of the client's is answered by it.
    pub(in crate::frontend) fn is_clients(&self) -> bool {
        match self.whose {
            Whose::Clients | Whose::Watched(_) | Whose::Refused(_) => true,
            Whose::Hidden | Whose::Release(..) | Whose::Gate(_) => false,
        }
    }
}

/// Who asked for a response.
#[derive(Debug)]
pub(in crate::frontend) enum Whose {
    /// The client, for a statement as it stands.
    Clients,
    /// The client, for a command that its session's observer was shown.
    Watched(Box<Seen>),
    /// The client, for a statement that was spoilt on its way: the server's refusal is replaced.
    Refused(Box<ErrorReplacement>),
    /// The proxy: not for the client.
    Hidden,
    /// The proxy, which repeats this packet some times if it fails: a KILL QUERY for the client's
    /// wait may come late, and hit the release of its gate.
    Release(Box<[u8]>, u8),
    /// The proxy, to show a wait: kept until it is complete.
    Gate(Vec<u8>),
}

/// How often commands are counted that go to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::frontend) enum Counting {
    /// They are relayed.
    #[default]
    Each,
    /// They are what becomes of one command.
    Once,
    /// Of one that was counted.
    Done,
}

/// Statements that the server has not seen because the proxy answered them: what they would
/// have left behind in its session (row count, found rows, warnings) is caught up before it
/// runs anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::frontend) struct Behind {
    pub(in crate::frontend) select: bool,
    pub(in crate::frontend) then_do: bool,
}

impl Behind {
    /// One more statement that the proxy answered: a DO, or a SELECT, behind which no DO matters.
    pub(in crate::frontend) fn answered(&mut self, is_do: bool) {
        if is_do {
            self.then_do = true;
        } else {
            *self = Self { select: true, then_do: false };
        }
    }
}

impl Session {
    /// Whether the client has an answer to all that it asked.
    pub(in crate::frontend) fn owes_client_nothing(&self) -> bool {
        self.client.is_flushed() && !self.owed.iter().any(Owed::is_clients)
    }

    /// Counts a command of the client's; one that the proxy answers, once.
    pub(in crate::frontend) fn count(&mut self, command: Command) {
        match self.at_hand.counting {
            Counting::Each => {}
            Counting::Once => self.at_hand.counting = Counting::Done,
            Counting::Done => return,
        }
        self.context.commands[usize::from(command.0)].inc();
    }

    /// Enters a command of the client's.
    pub(in crate::frontend) fn owe(&mut self, command: Command, shape: Shape) {
        if shape == Shape::Prepare {
            self.last_prepared = None;
        }
        self.count(command);
        if shape != Shape::Nothing {
            let whose = self.whose();
            self.owed.push_back(Owed::new(shape, whose));
        }
        self.server_used = tokio::time::Instant::now();
    }

    /// Begins to follow a response.
    pub(in crate::frontend) fn begin_response(&mut self, shape: Shape, seq: u8) {
        self.tracker.begin(shape);
        if let Some(renumber) = &mut self.renumber {
            renumber.begin(seq);
        }
    }

    /// Follows a response through these bytes, which may be more than the rest of a packet.
    pub(in crate::frontend) fn follow(&mut self, bytes: &mut [u8]) -> (usize, Progress) {
        let (n, progress) = self.tracker.feed(bytes);
        // Where no response ends, nobody knows where to begin anew.
        let piped = matches!(self.client_state, ClientState::Pipe);
        if let Some(renumber) = self.renumber.as_mut().filter(|_| !piped) {
            renumber.pass(&mut bytes[..n]);
        }
        (n, progress)
    }

    /// Forwards the packet of a parked command as it stands.
    pub(in crate::frontend) fn forward(&mut self, packet: &[u8]) -> Result<(), End> {
        let command = Command(packet.get(HEADER).copied().unwrap_or(0));
        let shape = command.response();
        if shape != Shape::Nothing {
            self.catch_up()?;
        }
        self.owe(command, shape);
        self.send_server(packet)
    }

    /// Lets the server run what the proxy answered in its place, so that row count, found rows
    /// and warnings are those of the last statement. It goes out in front of the next command,
    /// without a round trip of its own.
    pub(in crate::frontend) fn catch_up(&mut self) -> Result<(), End> {
        let Behind { select, then_do } = std::mem::take(&mut self.behind);
        for (needed, text) in [(select, "SELECT (NULL OR 1)"), (then_do, "DO (NULL OR 1)")] {
            if needed {
                let packet = query(text.as_bytes(), self.capabilities);
                self.send_hidden(&packet)?;
            }
        }
        Ok(())
    }
}
