//! Kinds of packets, and the OK and EOF packets that end a result or a response.

use super::reader::Reader;
use super::status::Status;

/// Payload bytes needed to read an OK packet's status and warnings: a header, two lengths of up to
/// nine bytes, two numbers.
pub(super) const HEAD: usize = 23;

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// OK or EOF, with its status flags and warning count.
    Ok {
        /// Status flags.
        status: Status,
        /// Number of warnings.
        warnings: u16,
    },
    /// ERR, with its number.
    Err {
        /// The server's error number.
        code: u16,
    },
    /// A packet that carries no status (`COM_STATISTICS`).
    Plain,
}

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketKind {
    /// OK, also in place of an EOF.
    Ok,
    /// EOF.
    Eof,
    /// ERR, with its number.
    Error(u16),
    /// MariaDB's report of progress.
    Report,
    /// A request for the client's file.
    File,
    /// A number of columns, which begins a result set.
    ColumnCount,
    /// A column definition of a result set.
    Column,
    /// The first packet of the response to a PREPARE.
    Prepared,
    /// A packet without meaning here, such as a row.
    Other,
}

impl Ending {
    /// Whether the server refused.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Err { .. })
    }
}

/// An EOF packet has five bytes. A longer one is an OK packet in disguise.
pub(super) fn eof(head: &[u8]) -> PacketKind {
    if head.len() >= 7 { PacketKind::Ok } else { PacketKind::Eof }
}

/// Whether an OK packet is long enough to have status flags and a number of warnings.
pub(super) fn has_status(kind: PacketKind, head: &[u8]) -> bool {
    status_at(kind, head).is_some_and(|at| head.len() >= at + 4)
}

/// Where an OK or EOF packet has its status flags.
pub(super) fn status_at(kind: PacketKind, head: &[u8]) -> Option<usize> {
    let mut r = Reader::new(head);
    r.u8()?;
    match kind {
        PacketKind::Ok => {
            r.lenenc()?;
            r.lenenc()?;
        }
        PacketKind::Eof => {
            r.u16()?;
        }
        _ => return None,
    }
    Some(r.position())
}

/// Reads status and warnings of an OK or EOF packet.
pub(super) fn ending(kind: PacketKind, head: &[u8]) -> Ending {
    let number = |at: usize| head.get(at..)?.first_chunk().copied().map(u16::from_le_bytes);
    let at = status_at(kind, head);
    let status = at.and_then(number);
    // An EOF has them before the flags.
    let warnings = match kind {
        PacketKind::Eof => number(1),
        _ => at.and_then(|at| number(at + 2)),
    };
    match status {
        Some(status) => Ending::Ok { status: Status(status), warnings: warnings.unwrap_or(0) },
        None => Ending::Ok { status: Status(0), warnings: 0 },
    }
}
