//! The capability bits of the handshake, on which client and server agree.

/// MySQL's 32 capability bits, and MariaDB's extended ones in the upper half.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html>,
/// <https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities(pub u64);

/// Named bits.
#[allow(missing_docs, reason = "each is MySQL's or MariaDB's own name")]
impl Capabilities {
    /// Set by MySQL; MariaDB clears it to announce extended capabilities.
    pub const MYSQL: Self = Self(1);
    pub const FOUND_ROWS: Self = Self(1 << 1);
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    pub const COMPRESS: Self = Self(1 << 5);
    pub const LOCAL_FILES: Self = Self(1 << 7);
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const SSL: Self = Self(1 << 11);
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    pub const SESSION_TRACK: Self = Self(1 << 23);
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    pub const OPTIONAL_METADATA: Self = Self(1 << 25);
    pub const ZSTD: Self = Self(1 << 26);
    pub const QUERY_ATTRIBUTES: Self = Self(1 << 27);
    pub const MARIADB_PROGRESS: Self = Self(1 << 32);
    pub const MARIADB_EXTENDED_METADATA: Self = Self(1 << 35);
    pub const MARIADB_CACHE_METADATA: Self = Self(1 << 36);

    /// Bits that the proxy negotiates separately with each side: how bytes are wrapped.
    pub const HOPS: Self = Self(Self::SSL.0 | Self::COMPRESS.0 | Self::ZSTD.0);

    pub fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    #[must_use]
    pub fn without(self, bits: Self) -> Self {
        Self(self.0 & !bits.0)
    }

    #[must_use]
    pub fn with(self, bits: Self) -> Self {
        Self(self.0 | bits.0)
    }

    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
