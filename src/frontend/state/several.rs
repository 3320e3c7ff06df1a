//! A text of several statements with lock calls among them: they are run one after the other, and
//! their responses go to the client as one.

use std::collections::VecDeque;
use std::ops::Range;

use crate::protocol::packet;
use crate::sql::classify::named::may_be_named;
use crate::sql::find::prefilter::scan;

/// The statements of a text that are still to be run.
#[derive(Debug)]
pub(crate) struct Several {
    rest: VecDeque<TextPart>,
    begun: bool,
}

/// One of the statements, or several without calls.
#[derive(Debug)]
pub(crate) struct TextPart {
    /// A whole COM_QUERY packet.
    pub packet: Vec<u8>,
    /// It may hold calls that are carried out.
    pub calls: bool,
    /// Others follow it.
    pub more: bool,
}

/// Where a part is in the text.
struct PartRange {
    range: Range<usize>,
    calls: bool,
}

impl Several {
    /// Takes the statements of a text apart. `prefix`: command byte and query attributes.
    pub(crate) fn of_text(prefix: &[u8], text: &[u8], pieces: &[Range<usize>]) -> Self {
        let ranges = together(text, pieces);
        let last = ranges.len().saturating_sub(1);
        let parts = ranges.into_iter().enumerate().map(|(nth, PartRange { range, calls })| {
            let more = nth < last;
            let mut text = &text[range];
            if more {
                text = text.strip_suffix(b";").unwrap_or(text);
            }
            // Where two dashes end a text, they begin a comment.
            let end: &[u8] = if more && text.ends_with(b"--") { b"/**/" } else { b"" };
            TextPart { packet: packet::command(&[prefix, text, end]), calls, more }
        });
        Self { rest: parts.collect(), begun: false }
    }

    /// The next statement.
    pub(crate) fn next(&mut self) -> Option<TextPart> {
        self.begun = true;
        self.rest.pop_front()
    }

    /// Whether one was run.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }
}

/// The statements as they are sent: those without calls stay together, and an empty one, at which the
/// server stops, with all that follows.
fn together(text: &[u8], pieces: &[Range<usize>]) -> Vec<PartRange> {
    let mut ranges: Vec<PartRange> = Vec::new();
    for piece in pieces {
        if text[piece.clone()].trim_ascii() == b";" {
            ranges.push(PartRange { range: piece.start..text.len(), calls: false });
            break;
        }
        let piece_text = &text[piece.clone()];
        let calls = scan(piece_text).call || may_be_named(piece_text, true);
        match ranges.last_mut() {
            Some(before) if !before.calls && !calls => before.range.end = piece.end,
            _ => ranges.push(PartRange { range: piece.clone(), calls }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::HEADER;

    fn parts(pieces: &[&str]) -> Vec<(String, bool)> {
        let text = pieces.concat();
        let mut at = 0;
        let ranges: Vec<Range<usize>> = pieces
            .iter()
            .map(|piece| {
                at += piece.len();
                at - piece.len()..at
            })
            .collect();
        let mut several = Several::of_text(b"\x03", text.as_bytes(), &ranges);
        assert!(!several.has_begun());
        let mut parts = Vec::new();
        while let Some(part) = several.next() {
            let text = String::from_utf8_lossy(&part.packet[HEADER + 1..]).into_owned();
            parts.push((text, part.calls));
            assert_eq!(part.more, !several.rest.is_empty());
        }
        assert!(several.has_begun());
        parts
    }

    fn part(text: &str, calls: bool) -> (String, bool) {
        (text.to_owned(), calls)
    }

    #[test]
    fn statements_without_calls_stay_together() {
        assert_eq!(
            parts(&["SELECT 1;", " SELECT 2;", " DO GET_LOCK('a',1);", " SELECT 3"]),
            [
                part("SELECT 1; SELECT 2", false),
                part(" DO GET_LOCK('a',1)", true),
                part(" SELECT 3", false)
            ]
        );
    }

    #[test]
    fn an_empty_statement_keeps_all_that_follows() {
        assert_eq!(
            parts(&["DO GET_LOCK('a',1);", ";", " DO RELEASE_LOCK('a')"]),
            [part("DO GET_LOCK('a',1)", true), part("; DO RELEASE_LOCK('a')", false)]
        );
    }

    #[test]
    fn dashes_at_the_end_of_a_part_begin_no_comment() {
        assert_eq!(
            parts(&["SELECT 1--;", "DO GET_LOCK('a',1)"]),
            [part("SELECT 1--/**/", false), part("DO GET_LOCK('a',1)", true)]
        );
    }
}
