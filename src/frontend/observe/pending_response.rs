//! What the response to an observed command is read for.

use std::sync::Arc;
use std::time::Instant;

use super::held_back::HeldBack;
use super::statement::WatchedText;
use crate::frontend::shared::waits::{LockWait, LockWaits, WaitGuard};
use crate::observe::event::Outcome;
use crate::protocol::column::is_definition;
use crate::protocol::frame::HEADER;
use crate::protocol::frame::frames;
use crate::protocol::reader::Reader;
use crate::protocol::response::Ending;
use crate::sql::report::call_names::Alone;

/// Bytes kept of a response: the row of one call is in them.
const KEPT: usize = 4096;

/// What a response will be told to.
#[derive(Debug)]
pub(crate) struct Seen {
    pub about: About,
    /// When the command was forwarded, unless others were under way.
    pub sent: Option<Instant>,
    /// The start of the response.
    pub reply: Vec<u8>,
    /// What is held back of the response until the rows of locks are written.
    pub held: Option<HeldBack>,
    /// The wait that begins then, if it may be one.
    planned: Option<(LockWaits, LockWait)>,
    /// The wait that has begun.
    pub wait: Option<WaitGuard>,
}

#[derive(Debug)]
pub(crate) enum About {
    /// A run of a statement, and what is bound to its parameters.
    Run(Arc<WatchedText>, Vec<Option<Vec<u8>>>),
    Prepare(Arc<WatchedText>),
    /// A run of a statement that is too long to be looked at.
    Long {
        prepares: bool,
    },
    Reset,
    Schema(Arc<str>),
}

impl Seen {
    pub(crate) fn new(about: About) -> Self {
        Self { about, sent: None, reply: Vec::new(), held: None, planned: None, wait: None }
    }

    /// The statement may wait for a lock, as this wait.
    pub(crate) fn may_wait(&mut self, waits: &LockWaits, wait: LockWait) {
        self.planned = Some((waits.clone(), wait));
    }

    /// The server has answered all commands before it.
    pub(crate) fn comes_next(&mut self) {
        if let Some((waits, wait)) = self.planned.take() {
            self.wait = Some(waits.add(wait));
        }
    }

    /// The outcome of the call that its statement is, by the response, which ended so.
    pub(crate) fn outcome(&self, ending: Ending) -> Outcome {
        let About::Run(text, _) = &self.about else { return Outcome::Untold };
        match (ending, text.uses.alone) {
            (Ending::Err { .. }, Some(_)) => Outcome::Error,
            (_, Some(Alone::Row)) => one_value(&self.reply),
            _ => Outcome::Untold,
        }
    }

    /// Holds the end of the response back, if it may report a new lock, or of a free one while only
    /// rows know some holders.
    pub(crate) fn hold_back(&mut self, by_rows: bool) {
        self.held = match &self.about {
            About::Run(text, _) if text.takes() || (by_rows && text.only_looks()) => {
                Some(HeldBack::new(text.uses.alone == Some(Alone::Row)))
            }
            About::Long { .. } => Some(HeldBack::new(false)),
            About::Run(..) | About::Prepare(_) | About::Reset | About::Schema(_) => None,
        };
    }

    /// Looks at a piece of the response.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let tells = match &self.about {
            About::Run(text, _) => text.uses.alone == Some(Alone::Row),
            About::Prepare(_) => true,
            About::Reset | About::Schema(_) | About::Long { .. } => false,
        };
        let room = if tells { KEPT - self.reply.len() } else { 0 };
        self.reply.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// The value in the only row of a response, text or binary.
pub(crate) fn one_value(reply: &[u8]) -> Outcome {
    let read = || {
        let mut frames = frames(reply).map(|f| &f[HEADER..]);
        let columns = Reader::new(frames.next()?).lenenc()?;
        let end = |f: &&[u8]| matches!(f.first(), Some(0xfe | 0xff));
        let row = frames.find(|f| !is_definition(f) && !end(f)).filter(|_| columns == 1)?;
        Some(match row {
            [0xfb] | [0, 0b100, ..] => Outcome::Null,
            // A binary row: the value follows the header and the bits of NULLs.
            [0, 0, value @ ..] if value.len() >= 4 => {
                if value.iter().all(|b| *b == 0) {
                    Outcome::Zero
                } else {
                    Outcome::One
                }
            }
            [1, b'0'] => Outcome::Zero,
            [n, digits @ ..] if usize::from(*n) == digits.len() && !digits.is_empty() => {
                Outcome::One
            }
            _ => return None,
        })
    };
    read().unwrap_or(Outcome::Untold)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(packets: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, packet) in (1..).zip(packets) {
            crate::protocol::frame::put_frame(&mut out, seq, packet);
        }
        out
    }

    #[test]
    fn the_value_is_read_from_text_and_binary_rows_only() {
        let definition = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x01\0\0\0\x08\x81\0\0\0\0";
        let eof = b"\xfe\0\0\x02\0";
        for (row, outcome) in [
            (&b"\x011"[..], Outcome::One),
            (b"\x010", Outcome::Zero),
            (b"\x0212", Outcome::One),
            (b"\xfb", Outcome::Null),
            (b"\0\0\x01\0\0\0", Outcome::One),
            (b"\0\0\0\0\0\0\0\0\0\0", Outcome::Zero),
            (b"\0\0\0\x01\0\0\0\0\0\0", Outcome::One),
            (b"\0\x04", Outcome::Null),
            (b"", Outcome::Untold),
            (b"\x05abc", Outcome::Untold),
        ] {
            for packets in [vec![&[1][..], definition, eof, row, eof], vec![&[1, 0], row, eof]] {
                assert_eq!(one_value(&reply(&packets)), outcome, "{row:?}");
            }
        }
        assert_eq!(one_value(&reply(&[&[1], definition, eof, eof])), Outcome::Untold, "no row");
        assert_eq!(
            one_value(&reply(&[&[2], definition, definition, b"\x011\x011"])),
            Outcome::Untold
        );
        assert_eq!(one_value(b"\x01\0"), Outcome::Untold);
    }
}
