//! A text of several statements with lock calls or commits among them: they are run one after the other,
//! and their responses go to the client as one.

use std::collections::VecDeque;
use std::ops::Range;

use crate::protocol::packet;
use crate::sql::classify::named::may_be_named;
use crate::sql::find::prefilter::scan;
use crate::sql::find::release::ConnectionRelease;

/// The statements of a text that are still to be run.
#[derive(Debug)]
pub(crate) struct Several {
    rest: VecDeque<TextPart>,
    begun: bool,
    /// Whether the server ends the connection after what has run.
    release: ConnectionRelease,
}

/// One of the statements, or several that are just passed on.
#[derive(Debug)]
pub(crate) struct TextPart {
    /// A whole COM_QUERY packet.
    pub packet: Vec<u8>,
    /// The part may hold calls that are carried out, or it commits: it is sent alone.
    pub alone: bool,
    /// Other parts follow this one.
    pub more: bool,
}

/// Where a part is in the text.
struct PartRange {
    range: Range<usize>,
    alone: bool,
}

impl Several {
    /// Takes the statements of a text apart. `prefix`: command byte and query attributes. `alone`: whether the nth
    /// statement is to be run by itself, though nothing is called in it.
    pub(crate) fn of_text(
        prefix: &[u8],
        text: &[u8],
        pieces: &[Range<usize>],
        alone: impl Fn(usize, &[u8]) -> bool,
    ) -> Self {
        let ranges = together(text, pieces, alone);
        let last = ranges.len().saturating_sub(1);
        let parts = ranges.into_iter().enumerate().map(|(nth, PartRange { range, alone })| {
            let more = nth < last;
            let mut text = &text[range];
            if more {
                text = text.strip_suffix(b";").unwrap_or(text);
            }
            // Where two dashes end a text, they begin a comment.
            let end: &[u8] = if more && text.ends_with(b"--") { b"/**/" } else { b"" };
            TextPart { packet: packet::command(&[prefix, text, end]), alone, more }
        });
        Self { rest: parts.collect(), begun: false, release: ConnectionRelease::No }
    }

    /// The next statement.
    pub(crate) fn next(&mut self) -> Option<TextPart> {
        self.begun = true;
        self.rest.pop_front()
    }

    /// Notes whether the server ends the connection after what is run next. The same of what has run.
    pub(crate) fn release(&mut self, next: ConnectionRelease) -> ConnectionRelease {
        std::mem::replace(&mut self.release, next)
    }

    /// Whether one was run.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }
}

/// The statements as they are sent: those that are just passed on stay together, and an empty one, at which the
/// server stops, with all that follows.
fn together(
    text: &[u8],
    pieces: &[Range<usize>],
    alone: impl Fn(usize, &[u8]) -> bool,
) -> Vec<PartRange> {
    let mut ranges: Vec<PartRange> = Vec::new();
    for (nth, piece) in pieces.iter().enumerate() {
        if text[piece.clone()].trim_ascii() == b";" {
            ranges.push(PartRange { range: piece.start..text.len(), alone: false });
            break;
        }
        let piece_text = &text[piece.clone()];
        let calls = scan(piece_text).call || may_be_named(piece_text, true);
        let alone = calls || alone(nth, piece_text);
        match ranges.last_mut() {
            Some(before) if !before.alone && !alone => before.range.end = piece.end,
            _ => ranges.push(PartRange { range: piece.clone(), alone }),
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
        let mut several = Several::of_text(b"\x03", text.as_bytes(), &ranges, |nth, piece| {
            nth > 0 && piece.trim_ascii().starts_with(b"COMMIT")
        });
        assert!(!several.has_begun());
        let mut parts = Vec::new();
        while let Some(part) = several.next() {
            let text = String::from_utf8_lossy(&part.packet[HEADER + 1..]).into_owned();
            parts.push((text, part.alone));
            assert_eq!(part.more, !several.rest.is_empty());
        }
        assert!(several.has_begun());
        parts
    }

    fn part(text: &str, alone: bool) -> (String, bool) {
        (text.to_owned(), alone)
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
    fn commits_stand_alone() {
        assert_eq!(
            parts(&["COMMIT;", "DO 1;", " DO 2;", "COMMIT;", "DO 3"]),
            [part("COMMIT;DO 1; DO 2", false), part("COMMIT", true), part("DO 3", false)]
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
