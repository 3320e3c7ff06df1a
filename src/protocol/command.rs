//! Commands, and the shape of the response that each is owed.

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

    /// The shape of the server's response.
    pub fn response(self) -> Shape {
        match self {
            Self::QUIT | Self::STMT_SEND_LONG_DATA | Self::STMT_CLOSE => Shape::Nothing,
            Self::STMT_PREPARE => Shape::Prepare,
            Self::STMT_FETCH => Shape::Rows,
            Self::FIELD_LIST => Shape::FieldList,
            Self::STATISTICS => Shape::OnePacket,
            Self::BINLOG_DUMP | Self::BINLOG_DUMP_GTID | Self::TABLE_DUMP | Self::CLONE => {
                Shape::Endless
            }
            _ => Shape::Results,
        }
    }
}

/// The grammar of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No packet at all.
    Nothing,
    /// OK, ERR, EOF, or result sets, as long as MORE_RESULTS says so.
    Results,
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
