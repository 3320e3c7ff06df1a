//! Reports of changes in a session, as OK packets carry it for clients with
//! `CLIENT_SESSION_TRACK`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html>

use std::borrow::Cow;

use super::capabilities::Capabilities;
use super::frame::{HEADER, put_frame};
use super::reader::{Reader, put_lenenc, put_lenenc_bytes};
use super::status::Status;
use crate::mutants::{self, Mutant};
use crate::types::Flavour;

/// The variables of which servers tell every client that tracks, unless the client changes that; in MariaDB's order.
const TOLD_BY_DEFAULT: [&[u8]; 5] = [
    b"autocommit",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"time_zone",
];

/// Kinds of blocks.
const VARIABLE: u8 = 0;
const SCHEMA: u8 = 1;
const STATE: u8 = 2;
const GTIDS: u8 = 3;
const CHARACTERISTICS: u8 = 4;
const TRANSACTION: u8 = 5;

/// One change in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// A system variable has this value now, as text.
    Variable {
        /// Name of the variable.
        name: Box<[u8]>,
        /// Value of the variable.
        value: Box<[u8]>,
    },
    /// The default schema.
    Schema(Box<[u8]>),
    /// Something of the session has changed, also what has no block of its own: a user variable, a
    /// temporary table, a prepared statement, a role.
    Something,
    /// The statements that give the next transaction its characteristics, or nothing.
    Characteristics(Box<[u8]>),
    /// Eight letters of the transaction's state; the last but none says whether tables are locked.
    Transaction([u8; 8]),
}

/// An OK packet, or an EOF in its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OkPacket<'a> {
    header: u8,
    /// Rows that were changed.
    pub(super) affected: u64,
    /// The first value that the statement generated for an AUTO_INCREMENT column; 0 for none.
    pub insert_id: u64,
    /// Status flags.
    pub status: Status,
    /// Warnings that the statement has left.
    pub(super) warnings: u16,
    info: Option<&'a [u8]>,
    blocks: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// Reads the payload of a server with which `CLIENT_SESSION_TRACK` was agreed upon.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        let header = r.u8()?;
        let (affected, insert_id) = (r.lenenc()?, r.lenenc()?);
        let (status, warnings) = (Status(r.u16()?), r.u16()?);
        let info = if r.rest().is_empty() { None } else { Some(r.lenenc_bytes()?) };
        let tracked = status.has(Status::SESSION_STATE_CHANGED);
        // MariaDB writes the length in the character set of the default schema: of utf16 and utf32, zeros come before it.
        while tracked && matches!(r.rest(), [0, _, ..]) {
            r.u8()?;
        }
        let blocks = if tracked { r.lenenc_bytes()? } else { &[] };
        Some(Self { header, affected, insert_id, status, warnings, info, blocks })
    }

    /// The first number in the text about what was done.
    pub fn told(&self) -> Option<u64> {
        let mut numbers = self.info?.split(|b| !b.is_ascii_digit()).filter(|n| !n.is_empty());
        std::str::from_utf8(numbers.next()?).ok()?.parse().ok()
    }

    /// The server's reports of the session; `None`: its blocks cannot be read.
    pub fn changes(&self) -> Option<Vec<SessionChange>> {
        let mut changes = Vec::new();
        for block in blocks(self.blocks) {
            block?.read(&mut changes)?;
        }
        Some(changes)
    }

    /// This OK with these flags in its status, too.
    #[must_use]
    pub fn with_status(mut self, flags: u16) -> Self {
        self.status.0 |= flags;
        self
    }

    /// The payload for a client that has left its trackers at their defaults.
    pub fn for_client(&self, told: &mut DefaultReports) -> Vec<u8> {
        self.encoded(told.kept(self.blocks).as_deref())
    }

    /// The payload with these blocks in place of its own; `None`: nothing has changed.
    fn encoded(&self, kept: Option<&[u8]>) -> Vec<u8> {
        let kept_any = kept.is_some();
        let kept = kept.unwrap_or_default();
        let changed = if kept_any || mutants::on(Mutant::KeepChangedFlag) {
            Status::SESSION_STATE_CHANGED
        } else {
            0
        };
        let status = self.status.0 & !Status::SESSION_STATE_CHANGED | changed;
        let mut out = vec![self.header];
        put_lenenc(&mut out, self.affected);
        put_lenenc(&mut out, self.insert_id);
        out.extend_from_slice(&status.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        let info = self.info.unwrap_or_default();
        if !info.is_empty() || kept_any {
            put_lenenc_bytes(&mut out, info);
        }
        if kept_any {
            put_lenenc_bytes(&mut out, kept);
        }
        out
    }
}

/// The OK to a write, in its frame, as if it had committed by itself: `commit` is the OK to the COMMIT after it.
pub fn ended(write: &[u8], commit: &[u8], capabilities: Capabilities) -> Vec<u8> {
    ended_ok(write, commit, capabilities).unwrap_or_else(|| write.to_vec())
}

fn ended_ok(write: &[u8], commit: &[u8], capabilities: Capabilities) -> Option<Vec<u8>> {
    let flags = |status: u16| status & !Status::IN_TRANS | Status::AUTOCOMMIT;
    let payload = write.get(HEADER..)?;
    if !capabilities.has(Capabilities::SESSION_TRACK) {
        let mut r = Reader::new(payload);
        let _ = (r.u8()?, r.lenenc()?, r.lenenc()?);
        let at = HEADER + r.position();
        let status = flags(r.u16()?);
        let mut out = write.to_vec();
        *out.get_mut(at..)?.first_chunk_mut()? = status.to_le_bytes();
        return Some(out);
    }
    let (ok, commit) = (OkPacket::parse(payload)?, OkPacket::parse(commit.get(HEADER..)?)?);
    let own = blocks(ok.blocks).flatten().filter(|block| block.kind != TRANSACTION);
    let gtids = blocks(commit.blocks).flatten().filter(|block| block.kind == GTIDS);
    let kept: Vec<u8> = own.chain(gtids).flat_map(|block| block.whole.to_vec()).collect();
    let status = Status(flags(ok.status.0 & !Status::SESSION_STATE_CHANGED));
    let kept = (!kept.is_empty()).then_some(kept);
    let mut out = Vec::new();
    put_frame(
        &mut out,
        *write.get(HEADER - 1)?,
        &OkPacket { status, ..ok }.encoded(kept.as_deref()),
    );
    Some(out)
}

/// What a client hears that has left its trackers at their defaults, where the server was asked for more.
#[derive(Debug)]
pub struct DefaultReports {
    tracks: bool,
    flavour: Flavour,
    /// MySQL tells where a transaction that was begun explicitly begins and ends, whether or not it is asked.
    explicit: bool,
}

impl DefaultReports {
    /// The reports for a client that speaks `client`, outside of a transaction.
    pub fn new(client: Capabilities, flavour: Flavour) -> Self {
        Self { tracks: client.has(Capabilities::SESSION_TRACK), flavour, explicit: false }
    }

    /// The connection was reset: there is no transaction.
    pub fn reset(&mut self) {
        self.explicit = false;
    }

    /// The blocks that the client hears; `None`: it hears that nothing has changed.
    fn kept(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut again = false;
        let mut kept: Vec<(usize, Cow<'_, [u8]>)> = Vec::new();
        for block in blocks(bytes).flatten().filter(|_| self.tracks) {
            let mysql = self.flavour == Flavour::MySql;
            // A transaction that follows another at once: it says that there is news, and none.
            again |= mysql && self.explicit && block.begins_again();
            if block.kind == TRANSACTION && mysql {
                let explicit = block.data.get(1) == Some(&b'T');
                if std::mem::replace(&mut self.explicit, explicit) != explicit {
                    // Of what else it does in the transaction it tells nothing, but for a snapshot's reading.
                    let state: &[u8] = match block.data.get(1..) {
                        Some(state @ b"T_R_____") => state,
                        _ if explicit => b"T_______",
                        _ => b"________",
                    };
                    kept.push((0, [&[TRANSACTION, 9, 8], state].concat().into()));
                }
            } else if let Some(place) = block.place() {
                kept.push((place, block.whole.into()));
            }
        }
        if self.flavour == Flavour::MariaDb {
            // Asked for all variables, it tells them in another order.
            kept.sort_by_key(|(place, _)| *place);
        }
        let any = again || !kept.is_empty();
        any.then(|| kept.into_iter().flat_map(|(_, block)| block.into_owned()).collect())
    }
}

/// One block: its kind, what it says, and all of its bytes.
struct Block<'a> {
    kind: u8,
    data: &'a [u8],
    whole: &'a [u8],
}

/// The blocks of a packet. `None` stands for bytes that are none, and is the last.
fn blocks(bytes: &[u8]) -> impl Iterator<Item = Option<Block<'_>>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut r = Reader::new(rest);
        let block = (|| Some((r.u8()?, r.lenenc_bytes()?)))();
        let (whole, after) = rest.split_at(r.position());
        rest = if block.is_some() { after } else { &[] };
        Some(block.map(|(kind, data)| Block { kind, data, whole }))
    })
}

impl Block<'_> {
    /// The block's place among the reports that a client gets unless it asks for something else; `None`: it is none of
    /// them.
    fn place(&self) -> Option<usize> {
        match self.kind {
            VARIABLE => {
                let name = Reader::new(self.data).lenenc_bytes()?;
                TOLD_BY_DEFAULT.iter().position(|told| *told == name)
            }
            SCHEMA => Some(TOLD_BY_DEFAULT.len()),
            _ => None,
        }
    }

    /// Whether an explicit transaction has begun, by its state or by the statement that would begin it.
    fn begins_again(&self) -> bool {
        match self.kind {
            TRANSACTION => self.data.get(1..) == Some(b"T_______"),
            CHARACTERISTICS => self.data.get(1..).is_some_and(|text| text.starts_with(b"START TR")),
            _ => false,
        }
    }

    fn read(&self, changes: &mut Vec<SessionChange>) -> Option<()> {
        let mut r = Reader::new(self.data);
        match self.kind {
            VARIABLE => {
                while !r.rest().is_empty() {
                    let (name, value) = (r.lenenc_bytes()?.into(), r.lenenc_bytes()?.into());
                    changes.push(SessionChange::Variable { name, value });
                }
            }
            SCHEMA => changes.push(SessionChange::Schema(r.lenenc_bytes()?.into())),
            // The value has no length of its own: that of the block is its length.
            STATE if self.data == b"1" => changes.push(SessionChange::Something),
            CHARACTERISTICS => {
                // The length of the text is that of the block, too.
                let text = r.lenenc_bytes()?.iter().copied().filter(|byte| *byte != 0);
                changes.push(SessionChange::Characteristics(text.collect()));
            }
            TRANSACTION => {
                let state = r.lenenc_bytes()?.try_into().ok()?;
                changes.push(SessionChange::Transaction(state));
            }
            // Of global transaction ids, and of what servers may yet come to tell.
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11 sends it after BEGIN, while the default schema is in utf32.
    #[test]
    fn reports_in_a_schema_of_wide_characters_are_read() {
        let text: Vec<u8> =
            b"\0START TRANSACTION;".iter().flat_map(|b| [*b, 0, 0, 0]).skip(1).collect();
        let mut characteristics = Vec::new();
        put_lenenc_bytes(&mut characteristics, &text);
        let mut blocks = vec![SCHEMA, 3, 2, b'd', b'4', CHARACTERISTICS];
        put_lenenc_bytes(&mut blocks, &characteristics);
        for zeros in [0, 1, 3] {
            let mut sent = vec![0, 0, 0, 1, 0x40, 0, 0, 0];
            sent.extend(vec![0; zeros]);
            put_lenenc_bytes(&mut sent, &blocks);
            let changes = OkPacket::parse(&sent).and_then(|ok| ok.changes());
            let expected = [
                SessionChange::Schema((*b"d4").into()),
                SessionChange::Characteristics((*b"START TRANSACTION;").into()),
            ];
            assert_eq!(changes.as_deref(), Some(&expected[..]));
        }
    }

    const TRACKS: Capabilities = Capabilities::SESSION_TRACK;

    fn told(client: Capabilities) -> DefaultReports {
        DefaultReports::new(client, Flavour::MySql)
    }

    fn variable(name: &[u8], value: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        put_lenenc_bytes(&mut data, name);
        put_lenenc_bytes(&mut data, value);
        let mut block = vec![VARIABLE];
        put_lenenc_bytes(&mut block, &data);
        block
    }

    fn ok(info: &[u8], blocks: &[&[u8]]) -> Vec<u8> {
        let mut out = b"\0\x01\x05\x02\x40\0\0".to_vec();
        put_lenenc_bytes(&mut out, info);
        put_lenenc_bytes(&mut out, &blocks.concat());
        out
    }

    #[test]
    fn a_client_gets_the_reports_that_it_asked_for() {
        let zone = variable(b"time_zone", b"+01:00");
        let mode = variable(b"sql_mode", b"ANSI");
        let schema = b"\x01\x03\x02db".as_slice();
        let state = b"\x02\x011".as_slice();
        let sent = ok(b"", &[&mode, &zone, state, schema]);
        let packet = OkPacket::parse(&sent).expect("an OK");
        assert_eq!(packet.insert_id, 5);
        assert_eq!(packet.for_client(&mut told(Capabilities(0))), b"\0\x01\x05\x02\0\0\0");
        assert_eq!(packet.for_client(&mut told(TRACKS)), ok(b"", &[&zone, schema]));
        let changes = packet.changes().expect("blocks");
        let variable = |name: &[u8], value: &[u8]| SessionChange::Variable {
            name: name.into(),
            value: value.into(),
        };
        let zone = variable(b"time_zone", b"+01:00");
        let schema = SessionChange::Schema((*b"db").into());
        let mode = variable(b"sql_mode", b"ANSI");
        assert_eq!(changes, [mode, zone, SessionChange::Something, schema]);
    }

    #[test]
    fn a_text_stays_and_an_empty_one_goes_with_the_blocks() {
        let mode = variable(b"sql_mode", b"ANSI");
        let sent = ok(b"Rows matched: 1", &[&mode]);
        let packet = OkPacket::parse(&sent).expect("an OK");
        let plain = b"\0\x01\x05\x02\0\0\0\x0fRows matched: 1";
        assert_eq!(packet.for_client(&mut told(TRACKS)), plain);
        assert_eq!(OkPacket::parse(plain).expect("an OK").for_client(&mut told(TRACKS)), plain);
        let none = b"\xfe\0\0\x22\0\0\0";
        assert_eq!(OkPacket::parse(none).expect("an OK").for_client(&mut told(TRACKS)), none);
    }

    #[test]
    fn transactions_are_told_by_letters() {
        let sent = ok(b"", &[b"\x05\x09\x08T____W__", b"\x04\x09\x08XA START"]);
        let changes = OkPacket::parse(&sent).and_then(|ok| ok.changes()).expect("blocks");
        let text = SessionChange::Characteristics((*b"XA START").into());
        assert_eq!(changes, [SessionChange::Transaction(*b"T____W__"), text]);
    }

    #[test]
    fn mysql_reports_explicit_transactions_unasked() {
        let mut told = told(TRACKS);
        let mut heard = |state: &[u8]| {
            let sent = ok(b"", &[&[b"\x05\x09\x08", state].concat()]);
            OkPacket::parse(&sent).expect("an OK").for_client(&mut told).ends_with(b"_")
        };
        assert!(heard(b"T_______") && !heard(b"T___W___") && heard(b"________"));
        assert!(!heard(b"I___W___") && !heard(b"________"));
    }

    #[test]
    fn mariadb_s_variables_are_told_in_its_order() {
        let connection = variable(b"character_set_connection", b"latin1");
        let client = variable(b"character_set_client", b"latin1");
        let sent = ok(b"", &[b"\x01\x03\x02db", &connection, &client]);
        let mut told = DefaultReports::new(TRACKS, Flavour::MariaDb);
        let heard = OkPacket::parse(&sent).expect("an OK").for_client(&mut told);
        assert_eq!(heard, ok(b"", &[&client, &connection, b"\x01\x03\x02db"]));
    }

    #[test]
    fn broken_packets_are_none() {
        let zone = variable(b"time_zone", b"+01:00");
        let sent = ok(b"text", &[&zone]);
        for cut in 0..sent.len() {
            // Where nothing but the text is missing, it is an OK without one.
            assert!(cut == 7 || OkPacket::parse(&sent[..cut]).is_none(), "cut at {cut}");
        }
        let broken = ok(b"", &[&zone[..zone.len() - 1]]);
        assert_eq!(OkPacket::parse(&broken).expect("an OK").changes(), None);
    }
}
