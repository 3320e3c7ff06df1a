//! The session settings that change how the server's lexer reads a statement.

use crate::types::Flavour;

/// How bytes beyond ASCII pair up in the client's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multibyte {
    /// No trail byte looks like ASCII (utf8, latin1, euc …).
    Safe,
    /// gbk, gb18030, big5: lead 0x81-0xfe, any trail.
    Gbk,
    /// sjis, cp932: lead 0x81-0x9f and 0xe0-0xfc, any trail.
    Sjis,
}

impl Multibyte {
    /// From `@@character_set_client`.
    pub fn from_charset(name: &str) -> Self {
        match name {
            "gbk" | "gb18030" | "big5" => Self::Gbk,
            "sjis" | "cp932" => Self::Sjis,
            _ => Self::Safe,
        }
    }

    /// Whether `byte` may end one.
    pub fn trails(byte: u8) -> bool {
        matches!(byte, 0x40..=0x7e | 0x80..=0xfe)
    }

    /// Whether `byte` starts a two-byte character.
    pub fn leads(self, byte: u8) -> bool {
        match self {
            Self::Safe => false,
            Self::Gbk => (0x81..=0xfe).contains(&byte),
            Self::Sjis => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
        }
    }
}

/// One way of reading.
#[allow(clippy::struct_excessive_bools, reason = "each is a mode of the server's")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// MySQL or MariaDB.
    pub flavour: Flavour,
    /// The server's version, `90704`, for versioned comments.
    pub version: u32,
    /// `"` quotes an identifier.
    pub ansi_quotes: bool,
    /// A backslash in a string is only a backslash.
    pub no_backslash_escapes: bool,
    /// `[` quotes an identifier (MariaDB's MSSQL mode).
    pub brackets: bool,
    /// Trail bytes that look like ASCII.
    pub multibyte: Multibyte,
}

impl Dialect {
    /// Whether the server executes the content of `/*!<version>` (`mariadb_only`: `/*M!`).
    pub fn executes(&self, version: Option<u32>, mariadb_only: bool) -> bool {
        match (self.flavour, version) {
            (Flavour::MySql, _) if mariadb_only => false,
            (_, None) => true,
            // MariaDB takes these numbers for versions of MySQL that it does not follow.
            (Flavour::MariaDb, Some(50_700..=99_999)) if !mariadb_only => false,
            (Flavour::MySql | Flavour::MariaDb, Some(v)) => v <= self.version,
        }
    }

    /// All readings of `text` that the proxy cannot tell apart without asking the server:
    /// modes that the status flags do not show, or may not show yet.
    pub fn readings(&self, text: &[u8]) -> Vec<Self> {
        let has = |b| memchr::memchr(b, text).is_some();
        let mut all = vec![*self];
        let mut vary = |change: &dyn Fn(Self) -> Self| {
            let more: Vec<Self> = all.iter().map(|d| change(*d)).collect();
            all.extend(more);
        };
        if has(b'"') {
            vary(&|d| Self { ansi_quotes: !d.ansi_quotes, ..d });
        }
        if has(b'\\') {
            vary(&|d| Self { no_backslash_escapes: !d.no_backslash_escapes, ..d });
        }
        if has(b'[') && self.flavour == Flavour::MariaDb {
            vary(&|d| Self { brackets: !d.brackets, ..d });
        }
        if text.windows(2).any(|w| w[0] >= 0x81 && w[1] < 0x80) {
            let base = all.clone();
            for multibyte in [Multibyte::Safe, Multibyte::Gbk, Multibyte::Sjis] {
                if multibyte != self.multibyte {
                    all.extend(base.iter().map(|d| Self { multibyte, ..*d }));
                }
            }
        }
        all
    }
}
