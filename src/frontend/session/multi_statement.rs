//! A text of several statements with lock calls among them: they are run one after the other, and
//! their responses go to the client as one.

use std::collections::VecDeque;
use std::ops::Range;

use super::{End, Session};
use crate::protocol::amend::Amend;
use crate::protocol::frame::{HEADER, put_frame};
use crate::sql::classify::named::may_be_named;
use crate::sql::find::prefilter::scan;

/// The statements of a text that are still to be run.
#[derive(Debug, Default)]
pub(in crate::frontend) struct Chain {
    /// Whole COM_QUERY packets, and whether they may hold calls that are carried out.
    rest: VecDeque<(Vec<u8>, bool)>,
    /// One was run.
    begun: bool,
}

impl Session {
    /// Takes the statements of a text apart.
    pub(in crate::frontend) fn start_chain(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        pieces: &[Range<usize>],
    ) {
        let ranges = together(text, pieces);
        let last = ranges.len().saturating_sub(1);
        let packets = ranges.into_iter().enumerate().map(|(nth, (range, calls))| {
            let mut text = &text[range];
            if nth < last {
                text = text.strip_suffix(b";").unwrap_or(text);
            }
            // Where two dashes end a text, they begin a comment.
            let end: &[u8] = if nth < last && text.ends_with(b"--") { b"/**/" } else { b"" };
            let mut packet = Vec::with_capacity(text.len() + prefix.len() + end.len() + HEADER);
            put_frame(&mut packet, 0, &[prefix, text, end].concat());
            (packet, calls)
        });
        self.chain = Some(Box::new(Chain { rest: packets.collect(), begun: false }));
        self.amend = Some(Box::new(Amend::new(self.capabilities)));
    }

    /// Runs the next statement, unless the last one has failed.
    pub(in crate::frontend) async fn next_in_chain(&mut self) -> Result<(), End> {
        let failed = self.amend.as_ref().is_some_and(|amend| amend.failed());
        let next = self.chain.as_mut().and_then(|chain| {
            let next = chain.rest.pop_front();
            next.map(|(packet, calls)| (packet, calls, !chain.rest.is_empty()))
        });
        if self.chain.as_mut().is_some_and(|chain| std::mem::replace(&mut chain.begun, true)) {
            self.client.result_follows();
        }
        match (next, &mut self.amend) {
            (Some((packet, calls, more)), Some(amend)) if !failed => {
                amend.next(more);
                if scan(&packet).setting {
                    self.note_setting(&packet, false);
                }
                if calls { Box::pin(self.query(packet)).await } else { self.forward(&packet) }
            }
            _ => {
                self.chain = None;
                self.amend = None;
                Ok(())
            }
        }
    }
}

/// The statements as they are sent, and whether there are calls in them: those without stay together,
/// and an empty one, at which the server stops, with all that follows.
fn together(text: &[u8], pieces: &[Range<usize>]) -> Vec<(Range<usize>, bool)> {
    let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
    for piece in pieces {
        if text[piece.clone()].trim_ascii() == b";" {
            ranges.push((piece.start..text.len(), false));
            break;
        }
        let piece_text = &text[piece.clone()];
        let calls = scan(piece_text).call || may_be_named(piece_text, true);
        match ranges.last_mut() {
            Some((range, false)) if !calls => range.end = piece.end,
            _ => ranges.push((piece.clone(), calls)),
        }
    }
    ranges
}
