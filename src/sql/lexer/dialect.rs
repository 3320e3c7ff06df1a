//! The session settings that change how the server's lexer reads a statement.

use crate::types::Flavour;

const LATIN7_CONTROLS: &[u8] = b"\x81\x83\x88\x8a\x8c\x90\x98\x9a\x9c\x9f\xa1\xa5";

/// How bytes beyond ASCII read in the client's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multibyte {
    /// All are letters, and no trail byte looks like ASCII (utf8, euc …).
    Safe,
    /// Lead 0x81-0xfe, any trail.
    Gbk,
    /// Like gbk, and characters of four bytes.
    Gb18030,
    /// Lead 0xa1-0xf9, any trail.
    Big5,
    /// sjis, cp932: lead 0x81-0x9f and 0xe0-0xfc, any trail.
    Sjis,
    /// One byte a character, and none beyond ASCII is white space or a control character.
    Single,
    /// swe7: some bytes of ASCII are letters that are none elsewhere.
    Swe7,
    /// cp1251, cp1257, macce: nor is 0x7f.
    Cp1251,
    /// latin1 and others: 0xa0 is white space.
    Latin,
    /// Like latin1, but 0x7f is no control character.
    Latin2,
    /// Like latin1, with control characters.
    Hebrew,
    /// Like latin1, with control characters.
    Cp1250,
    /// Like latin1, with control characters.
    Latin7,
    /// cp852, cp866, keybcs2: 0xff is white space, 0x7f is no control character.
    Dos,
    /// 0xff is a control character.
    Cp850,
    /// With control characters.
    Hp8,
    /// With control characters, of which 0x7f is none.
    MacRoman,
}

impl Multibyte {
    const ALL: [Self; 17] = [
        Self::Safe,
        Self::Gbk,
        Self::Gb18030,
        Self::Big5,
        Self::Sjis,
        Self::Single,
        Self::Swe7,
        Self::Cp1251,
        Self::Latin,
        Self::Latin2,
        Self::Hebrew,
        Self::Cp1250,
        Self::Latin7,
        Self::Dos,
        Self::Cp850,
        Self::Hp8,
        Self::MacRoman,
    ];

    /// From `@@character_set_client`.
    pub fn from_charset(name: &str) -> Self {
        match name {
            "gbk" => Self::Gbk,
            "gb18030" => Self::Gb18030,
            "big5" => Self::Big5,
            "sjis" | "cp932" => Self::Sjis,
            "ascii" | "binary" | "tis620" | "koi8r" | "koi8u" | "cp1256" => Self::Single,
            "swe7" => Self::Swe7,
            "cp1251" | "cp1257" | "macce" => Self::Cp1251,
            "latin2" => Self::Latin2,
            "latin1" | "latin5" | "dec8" | "greek" | "armscii8" | "geostd8" => Self::Latin,
            "hebrew" => Self::Hebrew,
            "cp1250" => Self::Cp1250,
            "latin7" => Self::Latin7,
            "cp852" | "cp866" | "keybcs2" => Self::Dos,
            "cp850" => Self::Cp850,
            "hp8" => Self::Hp8,
            "macroman" => Self::MacRoman,
            _ => Self::Safe,
        }
    }

    /// Whether there are characters of two bytes that may end like ASCII.
    pub fn pairs(self) -> bool {
        matches!(self, Self::Gbk | Self::Gb18030 | Self::Big5 | Self::Sjis)
    }

    /// Whether `byte` may end one.
    pub fn trails(byte: u8) -> bool {
        matches!(byte, 0x40..=0x7e | 0x80..=0xfe)
    }

    /// Whether `byte` starts a two-byte character.
    pub fn leads(self, byte: u8) -> bool {
        match self {
            Self::Gbk | Self::Gb18030 => matches!(byte, 0x81..=0xfe),
            Self::Big5 => matches!(byte, 0xa1..=0xf9),
            Self::Sjis => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
            _ => false,
        }
    }

    /// Whether `byte`, elsewhere punctuation, is a letter; in the names of user variables more are.
    pub(in crate::sql) fn is_letter(self, byte: u8, variable: bool) -> bool {
        self == Self::Swe7
            && (matches!(byte, b'[' | b']' | b'^' | b'{' | b'}' | b'~')
                || (variable && matches!(byte, b'`' | b'|' | b'\\' | b'@')))
    }

    /// Whether a text has the meaning that it has in ASCII: all of it is ASCII, and no letter here.
    pub fn reads_as_ascii(self, text: &[u8]) -> bool {
        text.is_ascii() && !text.iter().any(|byte| self.is_letter(*byte, true))
    }

    /// Whether the name of a user variable takes a lead byte without its trail.
    pub(in crate::sql) fn splits(self, byte: u8) -> bool {
        match self {
            Self::Gbk => byte >= 0xa1,
            Self::Gb18030 | Self::Big5 => true,
            _ => false,
        }
    }

    /// Whether MySQL drops these bytes at the end of a name, when it converts the name: they begin
    /// a character, and do not end it.
    pub(in crate::sql) fn drops(self, tail: &[u8]) -> bool {
        match (self, tail) {
            (Self::Sjis, [0xa1..=0xdf]) => false,
            (_, [_]) => self.pairs() || self == Self::Safe,
            (Self::Safe, [0x8f, _]) | (Self::Gb18030, [_, b'0'..=b'9'] | [_, b'0'..=b'9', _]) => {
                true
            }
            (Self::Safe, _) => {
                std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none())
            }
            _ => false,
        }
    }

    /// Whether `byte` is white space, though it is not ASCII.
    pub fn is_blank(self, byte: u8) -> bool {
        match self {
            Self::Latin | Self::Latin2 | Self::Hebrew | Self::Cp1250 | Self::Latin7 => byte == 0xa0,
            Self::Dos => byte == 0xff,
            _ => false,
        }
    }

    /// Whether `byte` is white space in any character set.
    pub fn may_be_blank(byte: u8) -> bool {
        matches!(byte, 0xa0 | 0xff)
    }

    /// Whether `--` is a comment before `byte`, which is no white space of ASCII.
    pub fn ends_dashes(self, byte: u8) -> bool {
        self.is_blank(byte)
            || match self {
                Self::Latin2 | Self::Cp1251 | Self::Dos | Self::MacRoman if byte == 0x7f => false,
                _ if byte.is_ascii() => byte.is_ascii_control(),
                Self::Hebrew => matches!(byte, 0xfd | 0xfe),
                Self::Cp1250 => matches!(byte, 0x80 | 0x81 | 0x83 | 0x88 | 0x90 | 0x98),
                Self::Latin7 => memchr::memchr(byte, LATIN7_CONTROLS).is_some(),
                Self::Cp850 => byte == 0xff,
                Self::Hp8 => matches!(byte, 0x80..=0xa0 | 0xb1 | 0xb2 | 0xf2..=0xf5 | 0xff),
                Self::MacRoman => matches!(byte, 0x80 | 0xcb | 0xe5),
                _ => false,
            }
    }

    /// Kinds of character sets that read bytes of this text in another way than the rest.
    fn that_matter(text: &[u8]) -> impl Iterator<Item = Self> {
        let pairs = text.windows(2).any(|w| w[0] >= 0x81 && w[1] < 0x80);
        let has = |byte| memchr::memchr(byte, text).is_some();
        let (latin, dos) = (has(0xa0), has(0xff));
        let dashes = text.windows(3).any(|w| w[..2] == *b"--" && w[2] >= 0x7f);
        let any = pairs || latin || dos || dashes;
        let letters =
            text.iter().any(|b| Self::Swe7.is_letter(*b, false)) || (has(b'@') && has(b'`'));
        Self::ALL.into_iter().filter(move |set| match set {
            Self::Safe => any,
            _ if set.pairs() => pairs,
            Self::Single => pairs,
            Self::Swe7 => letters,
            Self::Latin => latin,
            Self::Dos => dos,
            _ => dashes,
        })
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
    /// Bytes beyond ASCII.
    pub multibyte: Multibyte,
}

#[cfg(test)]
impl Dialect {
    /// The dialect of a MySQL server as it comes.
    pub(in crate::sql) const MYSQL: Self = Self {
        flavour: Flavour::MySql,
        version: 90_704,
        ansi_quotes: false,
        no_backslash_escapes: false,
        brackets: false,
        multibyte: Multibyte::Safe,
    };
    /// The dialect of a MariaDB server as it comes.
    pub(in crate::sql) const MARIADB: Self =
        Self { flavour: Flavour::MariaDb, version: 101_119, ..Self::MYSQL };

    pub(crate) fn of(flavour: Flavour) -> Self {
        match flavour {
            Flavour::MySql => Self::MYSQL,
            Flavour::MariaDb => Self::MARIADB,
        }
    }
}

impl Dialect {
    /// The dialect of a server's sessions before they change anything.
    pub fn by_default(flavour: Flavour, version: u32) -> Self {
        Self {
            flavour,
            version,
            ansi_quotes: false,
            no_backslash_escapes: false,
            brackets: false,
            multibyte: Multibyte::Safe,
        }
    }

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

    /// How many digits a version in a comment may have, and whether the last of six counts only
    /// before white space.
    pub(in crate::sql) fn version_digits(&self) -> (usize, bool) {
        match self.flavour {
            Flavour::MySql if self.version < 80_100 => (5, false),
            Flavour::MySql => (6, true),
            Flavour::MariaDb => (6, false),
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
        let base = all.clone();
        for multibyte in Multibyte::that_matter(text).filter(|set| *set != self.multibyte) {
            all.extend(base.iter().map(|d| Self { multibyte, ..*d }));
        }
        all
    }
}
