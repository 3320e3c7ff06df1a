//! Whether both sides of a session are still there, and how a client leaves.

use std::task::Context as TaskContext;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::relay::Fate;
use crate::frontend::session::{ClientState, End, Session};
use crate::protocol::command::Command;

/// How often the thread of a session is looked for whose client does not read.
const LOOK: Duration = Duration::from_secs(1);

/// As many bytes find room with a client that does not read.
const SMALL: usize = 16 * 1024;

/// What the client of a session that holds locks was sent and may not have acknowledged.
#[derive(Debug, Default)]
pub(in crate::frontend) struct Unheard {
    bytes: usize,
    /// It counts as gone if it acknowledges nothing for long.
    bounded: bool,
}

impl Unheard {
    pub(in crate::frontend) fn sent(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Session {
    /// The client has said something after all that it was sent, or nothing is on its way to it.
    pub(in crate::frontend) fn heard_of_client(&mut self) {
        if self.owes_client_nothing() {
            self.unheard.bytes = 0;
        }
        self.bound_silence();
    }

    /// A vanished client shall not keep its locks for as long as the kernel sends again. One that
    /// is slow to read a large result has not vanished: there the server's own limit holds.
    pub(in crate::frontend) fn bound_silence(&mut self) {
        let small = self.unheard.bytes <= SMALL;
        let bounded = small && (self.unheard.bounded || !self.held.is_empty());
        if std::mem::replace(&mut self.unheard.bounded, bounded) != bounded {
            self.client.socket().bound_silence(bounded);
        }
    }

    /// While the client does not take what the server sent, the server is not read, and its end is not
    /// seen: it may even be behind bytes for which there is no room. So its thread is looked for.
    pub(in crate::frontend) fn mind_the_server(&mut self, cx: &mut TaskContext<'_>) {
        if self.client.is_flushed() || self.held.is_empty() {
            self.stall = None;
            return;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(LOOK)));
        while stall.as_mut().poll(cx).is_ready() {
            if let Some(lock) = self.held.any() {
                self.context.engine.ask_whether_served(lock);
            }
            stall.as_mut().reset(Instant::now() + LOOK);
        }
    }

    /// Somebody wants a lock of this session at once. Its end may lie unread in the client's socket.
    pub(in crate::frontend) fn looked_for(&mut self, question: u64) {
        if self.hears_client() && !self.client.is_quiet() {
            self.sought = Some(question);
        } else {
            self.context.engine.present(self.connection, question);
        }
    }

    /// The client was heard, and has not left.
    pub(in crate::frontend) fn client_is_there(&mut self) {
        if let Some(question) = self.sought.take() {
            self.context.engine.present(self.connection, question);
        }
    }

    /// Nobody takes what is sent to the client any more.
    pub(in crate::frontend) fn lose_client(&mut self) {
        self.client_lost = true;
        self.client.discard();
    }

    pub(in crate::frontend) fn client_listens(&self) -> Result<(), End> {
        if self.client_lost { Err(End::ClientGone) } else { Ok(()) }
    }

    /// The client's end. What it sent before is still run and answered, as the server itself
    /// would do: it reads the end only when it is done, or looks for it while it waits.
    pub(in crate::frontend) fn client_closed(&mut self) -> Result<(), End> {
        self.client_ended = true;
        let at_command = matches!(self.client_state, ClientState::Command);
        if !at_command || self.owes_client_nothing() {
            return Err(End::ClientGone);
        }
        // Half a close for half a close; the server answers and hangs up.
        self.server.end();
        Ok(())
    }

    /// COM_QUIT of a session that holds locks. While nothing runs it needs no thread's end as a proof.
    pub(in crate::frontend) fn quits(&mut self) -> Result<Fate, End> {
        if self.held.is_empty() || !self.owes_client_nothing() {
            return Ok(Fate::Forward(None));
        }
        self.count(Command::QUIT);
        (self.client_ended, self.has_quit) = (true, true);
        self.client.end();
        Err(End::ClientGone)
    }
}
