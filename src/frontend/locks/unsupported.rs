//! Statements with lock calls that are recognised and not covered: refused, or run by the server as
//! they stand. Each shape of them is logged once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::Unsupported;
use crate::frontend::link::pending::Counting;
use crate::frontend::session::{End, Session};
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::sql::report::digest_text::normalise;

/// Shapes that are told apart; the rest is only counted.
const MAX_SHAPES: usize = 1000;
/// Bytes of a statement that are shown.
pub(in crate::frontend) const SHOWN: usize = 1024;

/// Shapes that were logged.
#[derive(Debug, Clone, Default)]
pub struct Shapes(Arc<Mutex<HashSet<u64>>>);

/// Whether to log a shape.
#[derive(Debug, PartialEq, Eq)]
enum News {
    New,
    /// It is new, and the last one that is logged.
    Last,
    Known,
}

impl Shapes {
    fn hear(&self, what: &str, shape: &str) -> News {
        let mut hasher = DefaultHasher::new();
        (what, shape).hash(&mut hasher);
        let mut known = self.0.lock();
        if known.len() >= MAX_SHAPES || !known.insert(hasher.finish()) {
            News::Known
        } else if known.len() == MAX_SHAPES {
            News::Last
        } else {
            News::New
        }
    }
}

/// The command that is being answered.
#[derive(Debug, Default)]
pub(in crate::frontend) struct AtHand {
    /// As the server would run it; empty if it may not any more.
    packet: Vec<u8>,
    /// Its statement.
    text: Vec<u8>,
    pub(in crate::frontend) counting: Counting,
}

impl AtHand {
    /// At the start of a command that the proxy answers.
    pub(in crate::frontend) fn begun() -> Self {
        Self { counting: Counting::Once, ..Self::default() }
    }

    /// Its statement, if it was taken in hand.
    pub(in crate::frontend) fn text(&self) -> &[u8] {
        &self.text
    }
}

impl Session {
    /// A command is going to be answered that the server could run as it stands.
    pub(in crate::frontend) fn take_in_hand(&mut self, packet: &[u8], text: &[u8]) {
        self.at_hand.packet = packet.to_vec();
        self.at_hand.text = text.to_vec();
    }

    /// Its statement is another one than the text says.
    pub(in crate::frontend) fn is_about(&mut self, text: &[u8]) {
        self.at_hand.text = text.to_vec();
    }

    /// The server runs the command at hand, which it refuses.
    pub(in crate::frontend) fn run_as_it_stands(&mut self) -> Result<(), End> {
        let packet = std::mem::take(&mut self.at_hand.packet);
        self.forward(&packet)
    }

    /// The server could not run it any more as it stands.
    pub(in crate::frontend) fn no_way_back(&mut self) {
        self.at_hand.packet = Vec::new();
    }

    /// Answers a statement that is not covered, of which nothing is carried out.
    pub(in crate::frontend) fn unsupported(&mut self, what: &str) -> Result<(), End> {
        let packet = std::mem::take(&mut self.at_hand.packet);
        let text = std::mem::take(&mut self.at_hand.text);
        let native = self.runs_uncovered() && !packet.is_empty();
        self.note_unsupported(what, &text, native);
        if let Some(command) = packet.get(HEADER) {
            self.count(Command(*command));
        }
        if native { self.forward(&packet) } else { self.refuse(&codes::unsupported(what)) }
    }

    /// Refuses a statement of which some calls are carried out.
    pub(in crate::frontend) fn unsupported_midway(&mut self, what: &str) -> Result<(), End> {
        let text = std::mem::take(&mut self.at_hand.text);
        self.note_unsupported(what, &text, false);
        self.refuse(&codes::unsupported_midway(what))
    }

    /// Whether the server may run what is not covered.
    pub(in crate::frontend) fn runs_uncovered(&self) -> bool {
        self.context.config.unsupported == Unsupported::Native
    }

    /// Counts and logs.
    pub(in crate::frontend) fn note_unsupported(&self, what: &str, text: &[u8], native: bool) {
        let decision = if native { "native" } else { "refused" };
        self.context.metrics.unsupported.with_label_values(&[decision]).inc();
        let statement = normalise(text, self.dialect(), SHOWN);
        let news = self.context.shapes.hear(what, &statement);
        if news != News::Known {
            tracing::warn!(
                connection = %self.connection,
                owner = %String::from_utf8_lossy(&self.owner),
                why = what,
                statement,
                decision,
                "a statement with a lock call is not covered; its like are not logged again"
            );
        }
        if news == News::Last {
            tracing::warn!(
                "so many statements that are not covered: further ones are only counted"
            );
        }
        self.digest_uncovered(statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_told_once_and_not_too_many_are() {
        let shapes = Shapes::default();
        assert_eq!(shapes.hear("a", "x"), News::New);
        assert_eq!(shapes.hear("a", "x"), News::Known);
        assert_eq!(shapes.hear("b", "x"), News::New);
        for n in 2..MAX_SHAPES - 1 {
            assert_eq!(shapes.hear("a", &n.to_string()), News::New);
        }
        assert_eq!(shapes.hear("a", "last"), News::Last);
        assert_eq!(shapes.hear("a", "more"), News::Known);
    }
}
