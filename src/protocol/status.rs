//! Server status flags, as OK and EOF packets carry them.

/// `SERVER_STATUS_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status(pub u16);

/// Named bits.
#[allow(missing_docs, reason = "each is MySQL's own name")]
impl Status {
    pub const IN_TRANS: u16 = 1;
    pub const AUTOCOMMIT: u16 = 2;
    pub const MORE_RESULTS: u16 = 8;
    pub const CURSOR_EXISTS: u16 = 0x40;
    pub const LAST_ROW_SENT: u16 = 0x80;
    pub const PS_OUT_PARAMS: u16 = 0x1000;
    /// A prepared statement has another number of columns than when it was prepared.
    pub const METADATA_CHANGED: u16 = 0x400;
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x200;
    pub const IN_TRANS_READONLY: u16 = 0x2000;
    pub const SESSION_STATE_CHANGED: u16 = 0x4000;
    /// Sent by MariaDB only.
    pub const ANSI_QUOTES: u16 = 0x8000;

    pub fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// The bits that describe the session, not the statement that has just run: what the reply to
    /// a statement without tables would show.
    pub fn lasting(self) -> u16 {
        self.0
            & (Self::IN_TRANS
                | Self::AUTOCOMMIT
                | Self::NO_BACKSLASH_ESCAPES
                | Self::IN_TRANS_READONLY
                | Self::ANSI_QUOTES)
    }
}
