//! Commands, and the shape of the response that each is owed.

use super::frame::{FrameHeader, HEADER, at_most};
use super::params::wants_cursor;
use crate::types::Flavour;

/// A command byte. The names are MySQL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command(pub u8);

/// Named bytes that the proxy treats specially or counts by name.
#[allow(missing_docs, reason = "each is MySQL's or MariaDB's own name")]
impl Command {
    pub const QUIT: Self = Self(0x01);
    pub const INIT_DB: Self = Self(0x02);
    pub const QUERY: Self = Self(0x03);
    pub const FIELD_LIST: Self = Self(0x04);
    pub const STATISTICS: Self = Self(0x09);
    pub const PROCESS_KILL: Self = Self(0x0c);
    pub const PING: Self = Self(0x0e);
    pub const CHANGE_USER: Self = Self(0x11);
    pub const BINLOG_DUMP: Self = Self(0x12);
    pub const TABLE_DUMP: Self = Self(0x13);
    pub const STMT_PREPARE: Self = Self(0x16);
    pub const STMT_EXECUTE: Self = Self(0x17);
    pub const STMT_SEND_LONG_DATA: Self = Self(0x18);
    pub const STMT_CLOSE: Self = Self(0x19);
    pub const STMT_RESET: Self = Self(0x1a);
    pub const SET_OPTION: Self = Self(0x1b);
    pub const STMT_FETCH: Self = Self(0x1c);
    pub const BINLOG_DUMP_GTID: Self = Self(0x1e);
    pub const RESET_CONNECTION: Self = Self(0x1f);
    pub const CLONE: Self = Self(0x20);
    pub const MARIADB_BULK_EXECUTE: Self = Self(0xfa);

    /// The label in metrics: a closed set, everything rare is `other`.
    pub fn label(self) -> &'static str {
        match self {
            Self::QUIT => "quit",
            Self::INIT_DB => "init_db",
            Self::QUERY => "query",
            Self::FIELD_LIST => "field_list",
            Self::STATISTICS => "statistics",
            Self::PING => "ping",
            Self::CHANGE_USER => "change_user",
            Self::BINLOG_DUMP | Self::BINLOG_DUMP_GTID => "binlog_dump",
            Self::STMT_PREPARE => "stmt_prepare",
            Self::STMT_EXECUTE | Self::MARIADB_BULK_EXECUTE => "stmt_execute",
            Self::STMT_SEND_LONG_DATA => "stmt_send_long_data",
            Self::STMT_CLOSE => "stmt_close",
            Self::STMT_RESET => "stmt_reset",
            Self::STMT_FETCH => "stmt_fetch",
            Self::SET_OPTION => "set_option",
            Self::RESET_CONNECTION => "reset_connection",
            _ => "other",
        }
    }

    /// Whether a statement's id follows.
    pub fn is_for_statement(self) -> bool {
        matches!(
            self,
            Self::STMT_EXECUTE
                | Self::STMT_SEND_LONG_DATA
                | Self::STMT_CLOSE
                | Self::STMT_RESET
                | Self::STMT_FETCH
                | Self::MARIADB_BULK_EXECUTE
        )
    }

    /// Whether the server says nothing to it.
    pub fn is_unanswered(self) -> bool {
        matches!(self, Self::QUIT | Self::STMT_SEND_LONG_DATA | Self::STMT_CLOSE)
    }

    /// Whether a packet with so many bytes is too short for its ids, and has no response if it is whole.
    pub fn is_cut(self, length: usize) -> bool {
        match self {
            Self::STMT_CLOSE => length < 5,
            Self::STMT_SEND_LONG_DATA => length < 7,
            _ => false,
        }
    }
}

/// How many bytes of a packet decide what the response to it looks like: up to the flags of an execution.
pub const TELLING: usize = HEADER + 6;

/// The grammar of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No packet at all.
    Nothing,
    /// OK, ERR, EOF, or result sets, as long as MORE_RESULTS says so.
    Results,
    /// Results of an execution that asks for a cursor: the rows may stay at the server.
    CursorResults,
    /// A prepared statement's header, its parameters and columns; or ERR.
    Prepare,
    /// Rows up to EOF, without a header (`COM_STMT_FETCH`).
    Rows,
    /// Column definitions up to EOF.
    FieldList,
    /// A single packet of any content.
    OnePacket,
    /// Both sides talk freely until one closes the connection (replication).
    Endless,
}

impl Shape {
    /// Of the response to a packet of the client's: MySQL refuses what MariaDB passes over in silence.
    pub fn of_clients(packet: &[u8], flavour: Flavour) -> Self {
        let len = FrameHeader::peek(packet).map_or(0, |frame| frame.len);
        let command = Command(packet.get(HEADER).copied().unwrap_or(0));
        let refused = flavour == Flavour::MySql && len > 0 && command.is_cut(len);
        if refused { Self::Results } else { Self::of(packet) }
    }

    /// Of the response to a packet, of which the first [`TELLING`] bytes are there, or all.
    pub fn of(packet: &[u8]) -> Self {
        let len = FrameHeader::peek(packet).map_or(0, |frame| frame.len);
        let payload = at_most(packet.get(HEADER..).unwrap_or_default(), len);
        let command = Command(payload.first().copied().unwrap_or(0));
        match command {
            _ if command.is_unanswered() => Self::Nothing,
            Command::STMT_PREPARE => Self::Prepare,
            // In procedures, and in functions, cursors come and go whatever the client asked for.
            Command::STMT_EXECUTE if payload.get(5).is_some_and(|flags| wants_cursor(*flags)) => {
                Self::CursorResults
            }
            Command::STMT_FETCH => Self::Rows,
            Command::FIELD_LIST => Self::FieldList,
            Command::STATISTICS => Self::OnePacket,
            Command::BINLOG_DUMP
            | Command::BINLOG_DUMP_GTID
            | Command::TABLE_DUMP
            | Command::CLONE => Self::Endless,
            _ => Self::Results,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::capabilities::Capabilities;
    use crate::protocol::packet;

    #[test]
    fn the_flags_of_an_execution_decide_whether_rows_may_stay_away() {
        assert_eq!(Shape::of(&packet::execute(1, 0)), Shape::Results);
        for flags in [1, 1 | 8] {
            assert_eq!(Shape::of(&packet::execute(1, flags)), Shape::CursorResults);
            assert_eq!(Shape::of(&packet::execute(1, flags)[..TELLING]), Shape::CursorResults);
        }
        // The servers look at no other flag, and at none of other commands.
        assert_eq!(Shape::of(&packet::execute(1, 2 | 4 | 8 | 0x80)), Shape::Results);
        assert_eq!(
            Shape::of(&packet::query(b"\x01\x01\x01\x01\x01", Capabilities(0))),
            Shape::Results
        );
        assert_eq!(Shape::of(&[6, 0, 0, 0, 0xfa, 1, 0, 0, 0, 1]), Shape::Results);
        // Bytes after a short packet are those of another one.
        assert_eq!(Shape::of(&[5, 0, 0, 0, 0x17, 1, 0, 0, 0, 1, 0, 0, 0]), Shape::Results);
        assert_eq!(Shape::of(&[0, 0, 0, 0]), Shape::Results);
    }

    #[test]
    fn mysql_answers_what_is_too_short() {
        let packet = |command: u8, more: usize| {
            let len = u8::try_from(more + 1).expect("short");
            [&[len, 0, 0, 0, command], vec![1; more].as_slice()].concat()
        };
        for (command, more, cut) in
            [(0x19, 0, true), (0x19, 3, true), (0x19, 4, false), (0x18, 5, true), (0x18, 6, false)]
        {
            let packet = packet(command, more);
            let expected = if cut { Shape::Results } else { Shape::Nothing };
            assert_eq!(Shape::of_clients(&packet, Flavour::MySql), expected, "{packet:?}");
            assert_eq!(Shape::of_clients(&packet, Flavour::MariaDb), Shape::Nothing);
        }
        assert_eq!(Shape::of_clients(&packet(3, 9), Flavour::MySql), Shape::Results);
    }
}
