//! A client's answer to the greeting, as the proxy makes it itself for an account of a client's.

use super::capabilities::Capabilities;
use super::handshake::LOGIN_HEAD;
use super::reader::put_lenenc_bytes;

/// What a login says besides its proof.
#[derive(Debug, Clone, Copy)]
pub struct AccountLogin<'a> {
    /// User name, in the character set of the collation.
    pub user: &'a [u8],
    /// What the connection is to be able to do, as far as the server offers it.
    pub capabilities: Capabilities,
    /// The first collation.
    pub collation: u8,
    /// The default database.
    pub schema: Option<&'a [u8]>,
    /// Connection attributes: names and values, without the length of the list.
    pub attributes: &'a [u8],
}

/// The level of zstd that clients ask for without a wish of their own.
const ZSTD_LEVEL: u8 = 3;
/// The largest packet, as MySQL's library says it.
const MAX_PACKET: u32 = 1 << 30;

impl AccountLogin<'_> {
    /// What is asked of a server with this offer.
    pub fn asked(&self, offered: Capabilities, tls: bool) -> Capabilities {
        // The client's family does not depend on the offer. MySQL's clients have no extended capabilities.
        let mysql = self.capabilities.has(Capabilities::MYSQL);
        let known = if mysql { Capabilities(0xffff_ffff) } else { Capabilities(u64::MAX) };
        let optional =
            Capabilities::SSL.with(Capabilities::CONNECT_WITH_DB).with(Capabilities::CONNECT_ATTRS);
        let wanted = self.capabilities.both(known).without(optional);
        let mut asked = wanted
            .both(offered.with(Capabilities::MYSQL))
            .with(Capabilities::PROTOCOL_41)
            .with(Capabilities::SECURE_CONNECTION)
            .with(Capabilities::PLUGIN_AUTH);
        if tls {
            asked = asked.with(Capabilities::SSL);
        }
        if self.schema.is_some_and(|schema| !schema.is_empty()) {
            asked = asked.with(Capabilities::CONNECT_WITH_DB);
        }
        if !self.attributes.is_empty() && offered.has(Capabilities::CONNECT_ATTRS) {
            asked = asked.with(Capabilities::CONNECT_ATTRS);
        }
        asked
    }

    /// The packet. With TLS, its first [`LOGIN_HEAD`] bytes ask for that.
    pub fn packet(&self, asked: Capabilities, plugin: &[u8], proof: &[u8]) -> Vec<u8> {
        let bits = asked.0.to_le_bytes();
        let mut p = bits[..4].to_vec();
        p.extend_from_slice(&MAX_PACKET.to_le_bytes());
        p.push(self.collation);
        p.extend_from_slice(&[0; 19]);
        p.extend_from_slice(&bits[4..]);
        debug_assert_eq!(p.len(), LOGIN_HEAD);
        p.extend_from_slice(self.user);
        p.push(0);
        // A proof is shorter than what a length of more bytes is for.
        put_lenenc_bytes(&mut p, proof);
        if asked.has(Capabilities::CONNECT_WITH_DB) {
            p.extend_from_slice(self.schema.unwrap_or_default());
            p.push(0);
        }
        p.extend_from_slice(plugin);
        p.push(0);
        if asked.has(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(&mut p, self.attributes);
        }
        if asked.has(Capabilities::ZSTD) {
            p.push(ZSTD_LEVEL);
        }
        p
    }
}

#[cfg(test)]
mod tests {
    use super::super::handshake::{Login, TAG_ATTRIBUTE, tagged_attributes};
    use super::*;

    #[test]
    fn a_login_says_what_it_was_told_and_the_server_offers() {
        let attributes = tagged_attributes(b"", b"42");
        let login = AccountLogin {
            user: b"app",
            capabilities: Capabilities::MYSQL
                .with(Capabilities::FOUND_ROWS)
                .with(Capabilities::SESSION_TRACK)
                .with(Capabilities::ZSTD)
                .with(Capabilities::MARIADB_CACHE_METADATA),
            collation: 45,
            schema: Some(b"shop"),
            attributes: &attributes,
        };
        let all = Capabilities(u64::MAX);
        let asked = login.asked(all.without(Capabilities::SESSION_TRACK), true);
        let packet = login.packet(asked, b"mysql_native_password", &[7; 20]);
        assert!(Login::asks_for_tls(&packet[..LOGIN_HEAD]));
        let said = Login::parse(&packet).expect("a login");
        assert_eq!((said.user, said.database, said.collation), (&b"app"[..], &b"shop"[..], 45));
        assert_eq!((said.plugin, said.proof), (&b"mysql_native_password"[..], &[7; 20][..]));
        assert_eq!(said.attribute(TAG_ATTRIBUTE), Some(&b"42"[..]));
        assert_eq!((said.capabilities, said.zstd_level()), (asked, 3));
        assert!(asked.has(Capabilities::FOUND_ROWS));
        assert!(!asked.has(Capabilities::SESSION_TRACK), "not offered");
        assert!(!asked.has(Capabilities::MARIADB_CACHE_METADATA), "not MySQL's");
    }

    #[test]
    fn capabilities_that_are_not_wanted_are_not_asked_for() {
        let extended = Capabilities::MARIADB_CACHE_METADATA;
        let optional = Capabilities::CONNECT_WITH_DB.with(Capabilities::CONNECT_ATTRS);
        let login = AccountLogin {
            user: b"app",
            capabilities: extended.with(optional).with(Capabilities::SSL),
            collation: 45,
            schema: None,
            attributes: b"",
        };
        let asked = login.asked(Capabilities(u64::MAX), false);
        for unwanted in [Capabilities::SSL, optional, Capabilities::MYSQL, Capabilities::ZSTD] {
            assert!(!asked.has(unwanted), "{unwanted:?}");
        }
        let packet = login.packet(asked, b"caching_sha2_password", &[]);
        let said = Login::parse(&packet).expect("a login");
        assert_eq!((said.capabilities, said.database), (asked, &b""[..]));
        assert!(said.capabilities.has(extended));
    }
}
