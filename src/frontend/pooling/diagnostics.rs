//! Warnings and errors of a session's last statement, as its server told them.

use crate::protocol::frame::{HEADER, frames};
use crate::protocol::reader::Reader;
use crate::protocol::status::Status;
use crate::sql::find::first_word::after_comments;
use crate::sql::find::words::Back;

/// Bytes of them that are taken along.
const LARGEST: usize = 16 * 1024;

/// The questions for them, as clients write them, too: for their numbers, and for all of them.
pub(crate) const COUNTS: [&str; 2] = ["show count(*) warnings", "show count(*) errors"];
pub(crate) const LISTS: [&str; 2] = ["show warnings", "show errors"];
/// Columns of the answer to each of [`LISTS`].
const COLUMNS: usize = 3;

/// What a session took along when it left the connection that knew them.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    /// How many warnings there are, errors among them, and how many errors.
    numbers: [i64; 2],
    /// The server's replies to the questions.
    replies: [Box<[u8]>; 4],
}

impl Diagnostics {
    /// These, unless they are too large.
    pub(crate) fn new(numbers: [i64; 2], replies: [Box<[u8]>; 4]) -> Option<Self> {
        let size: usize = replies.iter().map(|reply| reply.len()).sum();
        (size <= LARGEST).then_some(Self { numbers, replies })
    }

    /// How many there are.
    pub(super) fn number(&self, back: Back) -> Option<i64> {
        match back {
            Back::Warnings => Some(self.numbers[0]),
            Back::Errors => Some(self.numbers[1]),
            Back::RowCount | Back::FoundRows | Back::ConnectionId | Back::ThreadId => None,
        }
    }

    /// Whether the answers are the same ones in this character set.
    pub(super) fn reads_in(&self, charset: &[u8]) -> bool {
        const NOT_AS_ASCII: [&[u8]; 4] = [b"ucs2", b"utf16", b"utf32", b"swe7"];
        let is_ascii = |row: &[u8]| {
            let mut reader = Reader::new(row);
            let mut values = (0..COLUMNS).map(|_| reader.lenenc_bytes());
            let plain = |value: &[u8]| value.iter().all(|byte| byte.is_ascii() && *byte != 0);
            values.all(|value| value.is_some_and(plain))
        };
        let are_ascii = |reply: &[u8]| {
            let rows = frames(reply).map(|frame| &frame[HEADER..]).skip(1 + COLUMNS);
            rows.filter(|payload| payload.first() != Some(&0xfe)).all(is_ascii)
        };
        !NOT_AS_ASCII.iter().any(|begin| charset.starts_with(begin))
            && self.replies[COUNTS.len()..].iter().all(|reply| are_ascii(reply))
    }

    /// The answer to a question, in a session with this status.
    pub(super) fn answer(&self, nth: usize, status: Status) -> Option<Vec<u8>> {
        let reply = self.replies.get(nth)?;
        let mut bytes = Vec::with_capacity(reply.len());
        for (nth, frame) in frames(reply).enumerate() {
            bytes.extend_from_slice(frame);
            // EOF, and an OK that has changed nothing in its place: the flags are in the same place.
            if nth > 0
                && let [0xfe, _, _, low, high, ..] = frame[HEADER..]
            {
                let before = Status(u16::from_le_bytes([low, high]));
                let flags = before.0 & !before.lasting() | status.lasting();
                let at = bytes.len() - frame.len() + HEADER + 3;
                bytes[at..at + 2].copy_from_slice(&flags.to_le_bytes());
            }
        }
        Some(bytes)
    }
}

/// Which of the questions a text is.
pub(super) fn question(text: &[u8]) -> Option<usize> {
    let text = &text[after_comments(text)..];
    let end = text.iter().rposition(|b| !b.is_ascii_whitespace() && *b != b';')?;
    let text = std::str::from_utf8(&text[..=end]).ok()?;
    COUNTS.iter().chain(&LISTS).position(|question| {
        let mut words = text.split_ascii_whitespace();
        let mut same =
            |word| words.next().is_some_and(|said: &str| said.eq_ignore_ascii_case(word));
        question.split(' ').all(&mut same) && words.next().is_none()
    })
}

/// Whether a question is one for a number, whose answer counts as a query's.
pub(super) fn is_count(nth: usize) -> bool {
    nth < COUNTS.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_known_by_their_words() {
        for (text, nth) in [
            ("SHOW WARNINGS", Some(2)),
            ("/* a */ show\n  Warnings ; ", Some(2)),
            ("SHOW ERRORS", Some(3)),
            ("SHOW COUNT(*) WARNINGS", Some(0)),
            ("SHOW COUNT(*) ERRORS;", Some(1)),
            ("SHOW WARNINGS LIMIT 1", None),
            ("SHOW WARNINGS; SELECT 1", None),
            ("SHOW", None),
            (";", None),
            ("", None),
        ] {
            assert_eq!(question(text.as_bytes()), nth, "{text}");
        }
    }

    #[test]
    fn answers_have_the_session_s_flags_of_now() {
        let packets = [&b"\x01"[..], b"\x03def", b"\xfe\0\0\x22\0", b"\x011", b"\xfe\x02\0\x22\0"];
        let reply = |flags: u8| {
            let mut out = Vec::new();
            for (seq, packet) in (1..).zip(packets) {
                crate::protocol::frame::put_frame(&mut out, seq, packet);
            }
            out.iter_mut().filter(|byte| **byte == 0x22).for_each(|byte| *byte = flags);
            out.into_boxed_slice()
        };
        let replies = [reply(0x22), reply(0x22), reply(0x22), reply(0x22)];
        let told = Diagnostics::new([2, 0], replies).expect("few");
        let now = Status(Status::IN_TRANS | Status::AUTOCOMMIT | Status::METADATA_CHANGED);
        assert_eq!(told.answer(2, now).as_deref(), Some(&*reply(0x23)));
        assert_eq!(told.answer(4, now), None);
    }

    #[test]
    fn ascii_reads_alike_in_most_character_sets() {
        let told = |message: &[u8]| {
            let row = [&b"\x05Error\x041649"[..], message].concat();
            let packets: [&[u8]; 6] =
                [b"\x03", b"a\x21\0", b"b\0", b"c\xe0", &row, b"\xfe\0\0\x22\0"];
            let mut list = Vec::new();
            for (seq, packet) in (1..).zip(packets) {
                crate::protocol::frame::put_frame(&mut list, seq, packet);
            }
            let list = list.into_boxed_slice();
            let count: Box<[u8]> = Box::default();
            Diagnostics::new([1, 1], [count.clone(), count, list.clone(), list]).expect("few")
        };
        let long = [&b"\x98"[..], &[b'a'; 0x98]].concat();
        let plain = told(&long);
        for (charset, alike) in
            [(&b"latin1"[..], true), (b"utf8mb4", true), (b"", true), (b"utf16le", false)]
        {
            assert_eq!(plain.reads_in(charset), alike, "{charset:?}");
        }
        assert!(!told(b"\x02\xc3\xa9").reads_in(b"latin1"));
        assert!(!told(b"\x04\0a\0b").reads_in(b"latin1"), "they were told in ucs2");
    }
}
