//! A raw, blocking MySQL client for tests: it shows packets as they came, headers included.
//!
//! A driver would hide exactly what the differential tests are about: the order of packets,
//! their sequence ids, flags and warning counts. So this client parses only as much as it needs
//! to find the end of a response, and keeps everything else verbatim.

pub mod client;
pub mod decode;
pub mod frame;
pub mod library;
pub mod login;
pub mod params;
pub mod reader;
pub mod render;
pub mod response;
pub mod second;
pub mod wrap;

pub use client::Client;
pub use library::Library;
pub use login::{Account, Login};
pub use params::{Execute, Param};
pub use response::{End, Kind, Packet, Response, Shape};

/// Capability bits by their names in the protocol manual.
pub mod capability {
    pub const LONG_PASSWORD: u64 = 1;
    pub const FOUND_ROWS: u64 = 1 << 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const NO_SCHEMA: u64 = 1 << 4;
    pub const COMPRESS: u64 = 1 << 5;
    pub const ODBC: u64 = 1 << 6;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const IGNORE_SPACE: u64 = 1 << 8;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const INTERACTIVE: u64 = 1 << 10;
    pub const SSL: u64 = 1 << 11;
    pub const IGNORE_SIGPIPE: u64 = 1 << 12;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const RESERVED: u64 = 1 << 14;
    pub const RESERVED2: u64 = 1 << 15;
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const CONNECT_ATTRS: u64 = 1 << 20;
    pub const PLUGIN_AUTH_LENENC_DATA: u64 = 1 << 21;
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u64 = 1 << 22;
    pub const SESSION_TRACK: u64 = 1 << 23;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    pub const OPTIONAL_RESULTSET_METADATA: u64 = 1 << 25;
    pub const ZSTD: u64 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
    pub const MULTI_FACTOR_AUTHENTICATION: u64 = 1 << 28;
    pub const SSL_VERIFY_SERVER_CERT: u64 = 1 << 30;
    pub const REMEMBER_OPTIONS: u64 = 1 << 31;
    /// MariaDB's extended capabilities, which travel in a field of their own, are the upper half.
    pub const MARIADB_PROGRESS: u64 = 1 << 32;
    pub const MARIADB_COM_MULTI: u64 = 1 << 33;
    pub const MARIADB_BULK: u64 = 1 << 34;
    pub const MARIADB_EXTENDED_METADATA: u64 = 1 << 35;
    pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;
    pub const MARIADB_BULK_UNIT_RESULTS: u64 = 1 << 37;
    pub const MARIADB_EXTENDED: u64 = u64::MAX << 32;

    /// What a plain libmysqlclient asks for, less TLS and compression.
    pub const DEFAULT: u64 = LONG_PASSWORD
        | LONG_FLAG
        | PROTOCOL_41
        | TRANSACTIONS
        | RESERVED2
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC_DATA
        | SESSION_TRACK
        | DEPRECATE_EOF;

    /// The bit of a name as scripts write it.
    pub fn by_name(name: &str) -> Option<u64> {
        Some(match name {
            "FOUND_ROWS" => FOUND_ROWS,
            "LONG_FLAG" => LONG_FLAG,
            "LOCAL_FILES" => LOCAL_FILES,
            "IGNORE_SPACE" => IGNORE_SPACE,
            "INTERACTIVE" => INTERACTIVE,
            "IGNORE_SIGPIPE" => IGNORE_SIGPIPE,
            "TRANSACTIONS" => TRANSACTIONS,
            "MULTI_STATEMENTS" => MULTI_STATEMENTS,
            "MULTI_RESULTS" => MULTI_RESULTS,
            "PS_MULTI_RESULTS" => PS_MULTI_RESULTS,
            "PLUGIN_AUTH" => PLUGIN_AUTH,
            "CONNECT_ATTRS" => CONNECT_ATTRS,
            "PLUGIN_AUTH_LENENC_DATA" => PLUGIN_AUTH_LENENC_DATA,
            "CAN_HANDLE_EXPIRED_PASSWORDS" => CAN_HANDLE_EXPIRED_PASSWORDS,
            "SESSION_TRACK" => SESSION_TRACK,
            "DEPRECATE_EOF" => DEPRECATE_EOF,
            "OPTIONAL_RESULTSET_METADATA" => OPTIONAL_RESULTSET_METADATA,
            "MARIADB_PROGRESS" => MARIADB_PROGRESS,
            "MARIADB_BULK" => MARIADB_BULK,
            "MARIADB_EXTENDED_METADATA" => MARIADB_EXTENDED_METADATA,
            "MARIADB_CACHE_METADATA" => MARIADB_CACHE_METADATA,
            "QUERY_ATTRIBUTES" => QUERY_ATTRIBUTES,
            _ => return None,
        })
    }
}

/// Command bytes by their names in the protocol manual.
pub mod command {
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const STATISTICS: u8 = 0x09;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// Status flags that decide where a response ends.
pub mod status {
    pub const MORE_RESULTS: u16 = 0x0008;
    pub const CURSOR_EXISTS: u16 = 0x0040;
    pub const PS_OUT_PARAMS: u16 = 0x1000;
}
