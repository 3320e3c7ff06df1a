//! The login packets the proxy looks into: the server's greeting and the client's answer.
//!
//! Both pass through; only capability bits that the proxy cannot honour are cleared, and the
//! proxy's own connection attribute is put first.

use std::ops::Range;

use super::capabilities::Capabilities;
use super::reader::{Reader, put_lenenc_bytes};
use crate::types::{BackendId, ConnectionId, Flavour, ProxyId, version_number};

/// The connection attribute that tags every server session with the proxy that owns it.
pub const TAG_ATTRIBUTE: &[u8] = b"_lockstead";

/// The value of that attribute; with `session` if nothing else tells which connection works for that session.
pub fn tag(proxy: Option<ProxyId>, session: Option<ConnectionId>) -> String {
    let proxy = proxy.unwrap_or(ProxyId(0));
    session.map_or_else(|| proxy.to_string(), |session| format!("{proxy}/{session}"))
}

/// The parts of a greeting that the proxy needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The server's version text.
    pub version: String,
    /// MySQL or MariaDB.
    pub flavour: Flavour,
    /// The server's id of the connection, which a client that is shown the greeting sees.
    pub connection: BackendId,
    /// The server's offer.
    pub capabilities: Capabilities,
    /// The scramble's 20 bytes.
    pub nonce: Vec<u8>,
    /// The authentication plugin the server names first.
    pub plugin: Vec<u8>,
    /// Where the capability fields are in the payload.
    offsets: Offsets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offsets {
    low: usize,
    high: usize,
}

impl Greeting {
    /// Reads a protocol 10 greeting; `None` when the packet is anything else.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != 10 {
            return None;
        }
        let version = String::from_utf8_lossy(r.nul_bytes()?).into_owned();
        let flavour = Flavour::from_version(&version);
        let connection = BackendId(u64::from(r.u32()?));
        let mut nonce = r.take(8)?.to_vec();
        r.u8()?;
        let low = r.position();
        let mut bits = u64::from(r.u16()?);
        r.take(3)?;
        let high = r.position();
        bits |= u64::from(r.u16()?) << 16;
        let auth_len = usize::from(r.u8()?);
        r.take(6)?;
        let extended = u64::from(r.u32()?);
        if bits & Capabilities::MYSQL.0 == 0 {
            bits |= extended << 32;
        }
        let rest = auth_len.saturating_sub(8).max(13);
        let tail = r.take(rest.min(r.rest().len()))?;
        nonce.extend_from_slice(tail.strip_suffix(&[0]).unwrap_or(tail));
        let plugin = r.nul_bytes().unwrap_or_else(|| r.rest()).to_vec();
        let capabilities = Capabilities(bits);
        let offsets = Offsets { low, high };
        Some(Self { version, flavour, connection, capabilities, nonce, plugin, offsets })
    }

    /// Puts what the proxy offers into the payload that this was parsed from. `None`: it is another payload.
    #[must_use]
    pub fn offer(&self, payload: &mut [u8], offered: Capabilities) -> Option<()> {
        let [a, b, c, d, ..] = offered.0.to_le_bytes();
        *payload.get_mut(self.offsets.low..)?.first_chunk_mut()? = [a, b];
        *payload.get_mut(self.offsets.high..)?.first_chunk_mut()? = [c, d];
        Some(())
    }

    /// Puts another id of the connection into the payload that this was parsed from.
    pub fn rename(&self, payload: &mut [u8], connection: ConnectionId) {
        // The id stands after the version and its NUL.
        let at = self.offsets.low.saturating_sub(13);
        let [a, b, c, d, ..] = connection.0.to_le_bytes();
        if let Some(id) = payload.get_mut(at..at + 4) {
            id.copy_from_slice(&[a, b, c, d]);
        }
    }

    /// Whether the server itself has greeted, or a proxy that passes on the id of one connection. One that lends
    /// connections in turn has none to tell: MySQL Router with `connection_sharing` greets with 0.
    pub fn has_id(&self) -> bool {
        self.connection != BackendId(0)
    }

    /// The server's version as one number, `90704` for 9.7.4, for versioned comments.
    pub fn version_number(&self) -> u32 {
        version_number(&self.version)
    }
}

/// A client's answer to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login<'a> {
    /// The client's request.
    pub capabilities: Capabilities,
    /// The client's first collation.
    pub collation: u8,
    /// User name, in the client's character set.
    pub user: &'a [u8],
    /// The default database; empty for none.
    pub database: &'a [u8],
    /// The authentication plugin that `proof` is made for; empty if it is not named.
    pub plugin: &'a [u8],
    /// The first answer to the server's scramble.
    pub proof: &'a [u8],
    /// Where the proof stands, its length included.
    proof_at: Range<usize>,
    /// From the start of the packet to the attributes: kept verbatim.
    body: &'a [u8],
    attributes: &'a [u8],
    /// The bytes after the attributes (zstd level).
    tail: &'a [u8],
}

/// Bytes of a handshake response up to the user's name. Alone, they ask for TLS.
pub const LOGIN_HEAD: usize = 32;

impl<'a> Login<'a> {
    /// Reads a protocol 4.1 handshake response; `None` for older or broken ones, as servers judge
    /// that: what they call broken, they count against this host.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        let mut bits = u64::from(r.u32()?);
        if !Capabilities(bits).has(Capabilities::PROTOCOL_41) {
            return None;
        }
        r.u32()?;
        let collation = r.u8()?;
        r.take(19)?;
        let extended = u64::from(r.u32()?);
        if bits & Capabilities::MYSQL.0 == 0 {
            bits |= extended << 32;
        }
        let capabilities = Capabilities(bits);
        let user = r.nul_bytes()?;
        let start = r.position();
        let proof = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            r.lenenc_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let n = usize::from(r.u8()?);
            r.take(n)?
        } else {
            // Proofs of that age are refused everywhere.
            return None;
        };
        let proof_at = start..r.position();
        let mut database = &[][..];
        if capabilities.has(Capabilities::CONNECT_WITH_DB) {
            database = r.nul_bytes()?;
        }
        let mut plugin = &[][..];
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            plugin = r.nul_bytes()?;
        }
        let body = payload.get(..r.position())?;
        let attributes = if capabilities.has(Capabilities::CONNECT_ATTRS) {
            // None of a broken list: its rest is nothing else either.
            r.lenenc_bytes().or_else(|| r.take(r.rest().len()).map(|_| &[][..]))?
        } else {
            &[]
        };
        Some(Self {
            capabilities,
            collation,
            user,
            database,
            plugin,
            proof,
            proof_at,
            body,
            attributes,
            tail: r.rest(),
        })
    }

    /// Whether a payload asks for TLS, before anything is said of the user.
    pub fn asks_for_tls(payload: &[u8]) -> bool {
        payload.len() == LOGIN_HEAD && Self::bits(payload).has(Capabilities::SSL)
    }

    /// The capabilities at the start of a payload of [`LOGIN_HEAD`] bytes or more.
    pub fn bits(payload: &[u8]) -> Capabilities {
        Capabilities(Reader::new(payload).u32().map_or(0, u64::from))
    }

    /// Whether the client can speak of plugins.
    pub fn names_plugin(&self) -> bool {
        self.capabilities.has(Capabilities::PLUGIN_AUTH)
    }

    /// The level of zstd that the client wants.
    pub fn zstd_level(&self) -> u8 {
        self.tail.first().copied().unwrap_or(3)
    }

    /// A connection attribute.
    pub fn attribute(&self, key: &[u8]) -> Option<&'a [u8]> {
        attribute(self.attributes, key)
    }

    /// The packet for the server, which offered what `server` says. The new packet has other ways to wrap bytes, and
    /// another proof if need be. `tag` is its first attribute, if there is one and the server takes attributes.
    pub fn for_server(
        &self,
        server: Capabilities,
        hops: Capabilities,
        proof: Option<&[u8]>,
        tag: Option<&[u8]>,
    ) -> Vec<u8> {
        let asked = self.capabilities.without(Capabilities::HOPS).with(hops);
        let tag = tag.filter(|_| server.has(Capabilities::CONNECT_ATTRS));
        let bits = if tag.is_some() { asked.with(Capabilities::CONNECT_ATTRS) } else { asked };
        let mut out = Vec::with_capacity(self.body.len());
        out.extend_from_slice(&bits.0.to_le_bytes()[..4]);
        out.extend(self.body.iter().skip(4));
        if let Some(proof) = proof {
            let lenenc = bits.has(Capabilities::PLUGIN_AUTH_LENENC);
            out.splice(self.proof_at.clone(), counted_proof(proof, lenenc, true));
        }
        if let Some(tag) = tag {
            put_attributes(&mut out, self.attributes, tag);
        } else if bits.has(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(&mut out, self.attributes);
        }
        if !self.capabilities.has(Capabilities::ZSTD) {
            out.extend_from_slice(self.tail);
        }
        if hops.has(Capabilities::ZSTD) {
            out.push(self.zstd_level());
        }
        out
    }
}

/// A proof as written in a packet.
fn counted_proof(proof: &[u8], lenenc: bool, counted: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(proof.len() + 9);
    match u8::try_from(proof.len()) {
        _ if lenenc => put_lenenc_bytes(&mut out, proof),
        Ok(n) if counted => {
            out.push(n);
            out.extend_from_slice(proof);
        }
        _ => {
            out.extend_from_slice(proof);
            out.push(0);
        }
    }
    out
}

/// A `COM_CHANGE_USER` packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The new user's name.
    pub user: &'a [u8],
    /// The default database; empty for none.
    pub database: &'a [u8],
    /// The authentication plugin that `proof` is made for; empty if it is not named.
    pub plugin: &'a [u8],
    /// The first answer to the scramble.
    pub proof: &'a [u8],
    /// The collation; `None` if the packet ends before it.
    pub collation: Option<u16>,
    proof_at: Range<usize>,
    /// The proof has a length before it, instead of a NUL after it.
    counted: bool,
    /// The proof comes after a plugin's name, so that attributes may follow.
    named: bool,
    body: &'a [u8],
    /// What follows the body as it was sent: an empty list of attributes is a byte too.
    after_body: &'a [u8],
    attributes: &'a [u8],
}

impl<'a> ChangeUser<'a> {
    /// Reads the payload, command byte included.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Option<Self> {
        let mut r = Reader::new(payload);
        r.u8()?;
        let user = r.nul_bytes()?;
        let start = r.position();
        let proof = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let n = usize::from(r.u8()?);
            r.take(n)?
        } else {
            r.nul_bytes()?
        };
        let proof_at = start..r.position();
        let database = nul_or_rest(&mut r)?;
        let mut plugin = &[][..];
        let mut named = false;
        let collation = r.u16();
        if collation.is_none() {
            // Half a character set is the server's to refuse.
            r.take(r.rest().len())?;
        } else if capabilities.has(Capabilities::PLUGIN_AUTH) && !r.rest().is_empty() {
            plugin = nul_or_rest(&mut r)?;
            named = payload.get(..r.position())?.last() == Some(&0);
        }
        let (body, after_body) = payload.split_at(r.position());
        let attributes = r.lenenc_bytes().unwrap_or_default();
        let counted = capabilities.has(Capabilities::SECURE_CONNECTION);
        Some(Self {
            user,
            database,
            plugin,
            proof,
            collation,
            proof_at,
            counted,
            named,
            body,
            after_body,
            attributes,
        })
    }

    /// A connection attribute.
    pub fn attribute(&self, key: &[u8]) -> Option<&'a [u8]> {
        attribute(self.attributes, key)
    }

    /// Whether the packet has a place for the proxy's tag: without a plugin name it has none for attributes.
    pub fn takes_tag(&self) -> bool {
        self.named
    }

    /// The packet for the server: with another proof if need be, and the tag, if there is one, as its first attribute. A
    /// change without attributes would wipe the tag of the login.
    pub fn for_server(&self, proof: Option<&[u8]>, tag: Option<&[u8]>) -> Vec<u8> {
        let mut out = self.body.to_vec();
        if let Some(proof) = proof {
            out.splice(self.proof_at.clone(), counted_proof(proof, false, self.counted));
        }
        match tag.filter(|_| self.named) {
            Some(tag) => put_attributes(&mut out, self.attributes, tag),
            // A server that was promised attributes refuses a packet without a list of them.
            None => out.extend_from_slice(self.after_body),
        }
        out
    }
}

fn attribute<'a>(list: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut r = Reader::new(list);
    while let (Some(key), Some(value)) = (r.lenenc_bytes(), r.lenenc_bytes()) {
        if key == wanted {
            return Some(value);
        }
    }
    None
}

fn nul_or_rest<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
    r.nul_bytes().or_else(|| r.take(r.rest().len()))
}

fn put_attributes(out: &mut Vec<u8>, client: &[u8], tag: &[u8]) {
    put_lenenc_bytes(out, &tagged_attributes(client, tag));
}

/// A list of attributes: the proxy's own first, since servers cut a long list at its end; then the
/// client's, less any that forges the tag.
pub fn tagged_attributes(client: &[u8], tag: &[u8]) -> Vec<u8> {
    let mut list = Vec::with_capacity(client.len() + 40);
    put_lenenc_bytes(&mut list, TAG_ATTRIBUTE);
    put_lenenc_bytes(&mut list, tag);
    let mut r = Reader::new(client);
    while let (Some(key), Some(value)) = (r.lenenc_bytes(), r.lenenc_bytes()) {
        if key != TAG_ATTRIBUTE {
            put_lenenc_bytes(&mut list, key);
            put_lenenc_bytes(&mut list, value);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(capabilities: u64, attributes: Option<&[u8]>) -> Vec<u8> {
        let mut p = capabilities.to_le_bytes()[..4].to_vec();
        p.extend_from_slice(&[0, 0, 0, 1, 255]);
        p.extend_from_slice(&[0; 23]);
        p.extend_from_slice(b"app\0\x03xyz");
        p.extend_from_slice(b"mysql_native_password\0");
        if let Some(a) = attributes {
            put_lenenc_bytes(&mut p, a);
        }
        p
    }

    const BASE: u64 = Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | 1;

    #[test]
    fn the_tag_comes_first_and_cannot_be_forged() {
        let forged = b"\x0a_lockstead\x01x\x01a\x01b";
        let packet = login(BASE | Capabilities::CONNECT_ATTRS.0, Some(forged));
        let out = Login::parse(&packet).expect("parses").for_server(
            Capabilities(u64::MAX),
            Capabilities(0),
            None,
            Some(b"42"),
        );
        let again = Login::parse(&out).expect("parses");
        assert_eq!(again.attributes, b"\x0a_lockstead\x0242\x01a\x01b");
        assert_eq!(again.user, b"app");
    }

    #[test]
    fn a_client_without_attributes_gets_the_tag_and_tls_is_masked() {
        let packet = login(BASE | Capabilities::SSL.0, None);
        let out = Login::parse(&packet).expect("parses").for_server(
            Capabilities(u64::MAX),
            Capabilities(0),
            None,
            Some(b"42"),
        );
        let again = Login::parse(&out).expect("parses");
        assert!(again.capabilities.has(Capabilities::CONNECT_ATTRS));
        assert!(!again.capabilities.has(Capabilities::SSL));
        assert_eq!(again.attributes, b"\x0a_lockstead\x0242");
    }

    #[test]
    fn without_a_tag_a_login_is_the_packet_as_it_was() {
        let attributes = b"\x0cprogram_name\x03app";
        let packet = login(BASE | Capabilities::CONNECT_ATTRS.0, Some(attributes));
        let parsed = Login::parse(&packet).expect("parses");
        let none = Capabilities(0);
        let for_server =
            |p: &Login<'_>, hops| p.for_server(Capabilities(u64::MAX), hops, None, None);
        assert_eq!(for_server(&parsed, none), packet);
        assert_eq!(parsed.attribute(b"program_name"), Some(&b"app"[..]));
        assert_eq!(parsed.attribute(b"_client_name"), None);
        let asks = BASE | Capabilities::COMPRESS.0 | Capabilities::ZSTD.0;
        let with_level = [&login(asks, None)[..], &[3]].concat();
        let parsed = Login::parse(&with_level).expect("parses");
        assert_eq!(for_server(&parsed, none), login(BASE, None));
        let zstd = [&login(BASE | Capabilities::ZSTD.0, None)[..], &[3]].concat();
        assert_eq!(for_server(&parsed, Capabilities::ZSTD), zstd);
    }

    #[test]
    fn of_broken_attributes_nothing_is_left() {
        let broken = [&login(BASE | Capabilities::CONNECT_ATTRS.0, None)[..], b"\x09ab"].concat();
        let parsed = Login::parse(&broken).expect("parses");
        let out = parsed.for_server(Capabilities(u64::MAX), Capabilities(0), None, Some(b"7"));
        let again = Login::parse(&out).expect("parses");
        assert_eq!((again.attributes, again.tail), (&b"\x0a_lockstead\x017"[..], &b""[..]));
    }

    #[test]
    fn another_proof_takes_the_place_of_the_first() {
        let packet = login(BASE, None);
        let parsed = Login::parse(&packet).expect("parses");
        assert_eq!((parsed.plugin, parsed.proof), (&b"mysql_native_password"[..], &b"xyz"[..]));
        let out = parsed.for_server(Capabilities(0), Capabilities(0), Some(b"\x01"), Some(b"1"));
        let again = Login::parse(&out).expect("parses");
        assert_eq!((again.plugin, again.proof), (parsed.plugin, &b"\x01"[..]));
        let change = b"\x11app\0\x03xyzdb\0\x2d\0sha256_password\0\x04\x01a\x01b";
        let capabilities = Capabilities(BASE);
        let parsed = ChangeUser::parse(change, capabilities).expect("parses");
        assert_eq!((parsed.plugin, parsed.proof), (&b"sha256_password"[..], &b"xyz"[..]));
        assert_eq!(parsed.collation, Some(45));
        assert_eq!(parsed.for_server(None, None), change);
        let unnamed = b"\x11app\0\0db\0\x2d\0sha256_password\0\0";
        let none = ChangeUser::parse(unnamed, capabilities).expect("parses");
        assert_eq!(none.for_server(None, None), unnamed, "an empty list of attributes");
        let out = parsed.for_server(Some(b"12345"), Some(b"7"));
        let again = ChangeUser::parse(&out, capabilities).expect("parses");
        assert_eq!(
            (again.user, again.proof, again.database),
            (&b"app"[..], &b"12345"[..], &b"db"[..])
        );
        assert_eq!(again.attribute(b"a"), Some(&b"b"[..]));
        assert_eq!(again.attribute(TAG_ATTRIBUTE), Some(&b"7"[..]));
        // Without a place for the tag, nothing replaces what is left out.
        for cut in [&b"\x11app\0\0"[..], b"\x11app\0\x01\0", b"\x11app\0\0db\0\0"] {
            let parsed = ChangeUser::parse(cut, capabilities).expect("parses");
            assert_eq!(parsed.for_server(None, Some(b"7")), cut);
        }
    }

    #[test]
    fn a_greeting_is_not_changed_beyond_its_end() {
        let payload = super::super::serve::greeting("9.0.0", 7, &[b'n'; 20], Capabilities(BASE));
        let greeting = Greeting::parse(&payload).expect("a greeting");
        let end = greeting.offsets.high + 2;
        for n in 0..=payload.len() {
            let offered = greeting.offer(&mut payload[..n].to_vec(), Capabilities(0));
            assert_eq!(offered.is_some(), n >= end, "{n} bytes");
        }
    }

    #[test]
    fn a_cut_login_is_refused_not_read_past_its_end() {
        let packet = login(BASE, None);
        assert!(Login::parse(&packet).is_some());
        for n in 0..packet.len() {
            assert_eq!(Login::parse(&packet[..n]), None, "{n} bytes");
        }
        let packet = login(BASE & !Capabilities::SECURE_CONNECTION.0, None);
        assert_eq!(Login::parse(&packet), None);
        let packet = login(BASE | Capabilities::CONNECT_WITH_DB.0, None);
        assert_eq!(Login::parse(&packet), None, "a plugin, or a database without its NUL");
    }
}
