//! The login conversation: greeting, response, and the authentication plugins' exchanges.

use std::path::PathBuf;
use std::time::Duration;

use mysql_common::{crypto, scramble};

use super::capability::{
    COMPRESS, CONNECT_ATTRS, CONNECT_WITH_DB, LONG_PASSWORD, MARIADB_EXTENDED, PLUGIN_AUTH, SSL,
    ZSTD,
};
use super::decode::{Cursor, put_lenenc, put_lenenc_bytes};
use super::frame::Frames;
use super::library::{Library, OWN};
use super::reader::Reader;
use super::response::{End, Kind, Packet};
use super::wrap::Wrap;
use crate::Flavour;
use crate::patience::Deadline;

const NATIVE: &[u8] = b"mysql_native_password";
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
const ED25519: &[u8] = b"client_ed25519";
const SHA256: &[u8] = b"sha256_password";
const CLEAR: &[u8] = b"mysql_clear_password";

/// Who logs in, where to, and with which options.
#[derive(Debug, Clone)]
pub struct Account {
    pub user: String,
    /// What is sent as the user's name, if that is no text.
    pub raw_user: Option<Vec<u8>>,
    pub password: String,
    pub database: Option<String>,
    /// Capabilities asked for; the server's greeting may lack some.
    pub capabilities: u64,
    /// All of them are asked for, offered or not, as most libraries do.
    pub insists: bool,
    /// The collation id of the handshake; above 255 only COM_CHANGE_USER can carry it.
    pub collation: u16,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// What is wrapped around the connection.
    pub wrap: Wrap,
    /// The files of a certificate and its key, which are shown if there is TLS.
    pub certificate: Option<[PathBuf; 2]>,
    /// The plugin by which it answers first; `None`: the one that the server greets with.
    pub plugin: Option<&'static str>,
    /// What says that there is no password, where a plugin takes more than one way: nothing, or a NUL.
    pub no_password: &'static [u8],
    /// The first answer is the password in clear.
    pub clear_first: bool,
    /// A change of user by mysql_native_password is proved by the nonce of the login, whichever the server asks by:
    /// so does MariaDB's C library.
    pub keeps_nonce: bool,
    /// What is sent before anything is heard.
    pub preamble: Vec<u8>,
}

impl Account {
    /// A login with default capabilities under utf8mb4_general_ci.
    pub fn new(user: &str, password: &str) -> Self {
        Account {
            user: user.to_owned(),
            raw_user: None,
            password: password.to_owned(),
            database: None,
            capabilities: super::capability::DEFAULT,
            insists: false,
            collation: 45,
            attributes: vec![("program_name".to_owned(), "lockstead-tests".to_owned())],
            wrap: Wrap::default(),
            certificate: None,
            plugin: None,
            no_password: &[],
            clear_first: false,
            keeps_nonce: false,
            preamble: Vec::new(),
        }
    }

    /// The login as a library does it.
    #[must_use]
    pub fn by(self, library: &Library, flavour: Flavour) -> Self {
        let insists = *library != OWN;
        Account { capabilities: library.capabilities(flavour), insists, ..self }
    }

    fn user_bytes(&self) -> &[u8] {
        self.raw_user.as_deref().unwrap_or(self.user.as_bytes())
    }

    /// The answer to a nonce.
    fn answer(&self, plugin: &[u8], salt: &[u8]) -> Vec<u8> {
        let says_so = matches!(plugin, CACHING_SHA2 | SHA256) && self.password.is_empty();
        if says_so {
            self.no_password.to_vec()
        } else {
            proof(plugin, salt, self.password.as_bytes())
        }
    }

    fn attribute_bytes(&self) -> Vec<u8> {
        let mut pairs = Vec::new();
        for (name, value) in &self.attributes {
            put_lenenc_bytes(&mut pairs, name.as_bytes());
            put_lenenc_bytes(&mut pairs, value.as_bytes());
        }
        let mut out = Vec::new();
        put_lenenc_bytes(&mut out, &pairs);
        out
    }
}

/// The fields of the server's first packet.
#[derive(Debug, Clone, Default)]
pub struct Greeting {
    pub version: Vec<u8>,
    pub connection_id: u32,
    pub salt: Vec<u8>,
    pub capabilities: u64,
    pub collation: u8,
    pub status: u16,
    pub plugin: Vec<u8>,
}

impl Greeting {
    pub fn parse(payload: &[u8]) -> Option<Greeting> {
        let mut c = Cursor(payload.strip_prefix(&[10])?);
        let version = c.nul_bytes().to_vec();
        let connection_id = c.u32()?;
        let mut salt = c.take(8)?.to_vec();
        c.take(1)?;
        let low = c.u16()?;
        let collation = c.u8()?;
        let status = c.u16()?;
        let high = c.u16()?;
        let salt_length = usize::from(c.u8()?);
        c.take(6)?;
        let extended = c.u32()?;
        salt.extend_from_slice(c.take(salt_length.max(21) - 9)?);
        c.take(1)?;
        let mut capabilities = u64::from(low) | (u64::from(high) << 16);
        if capabilities & LONG_PASSWORD == 0 {
            capabilities |= u64::from(extended) << 32;
        }
        let plugin = c.nul_bytes().to_vec();
        Some(Greeting { version, connection_id, salt, capabilities, collation, status, plugin })
    }
}

/// What happened up to the final OK or ERR.
#[derive(Debug, Clone)]
pub struct Login {
    /// `None` when the server refused before greeting.
    pub greeting: Option<Greeting>,
    /// The server's packets after the greeting.
    pub packets: Vec<Packet>,
    /// The capabilities both sides have.
    pub capabilities: u64,
    pub end: End,
}

impl Login {
    pub fn succeeded(&self) -> bool {
        self.packets.last().is_some_and(|p| p.kind == Kind::Ok)
    }

    /// The nonce by which the client has proved itself.
    pub fn salt(&self) -> Vec<u8> {
        let asked = self.packets.iter().rev().find_map(|packet| method(&packet.payload));
        let greeted = || self.greeting.as_ref().map(|greeting| greeting.salt.clone());
        asked.map(|(_, salt)| salt).or_else(greeted).unwrap_or_default()
    }

    pub fn connection_id(&self) -> u32 {
        self.greeting.as_ref().map_or(0, |g| g.connection_id)
    }
}

/// Logs in over a fresh connection.
pub fn log_in(frames: &mut Frames, account: &Account, patience: Duration) -> Login {
    let deadline = Deadline::after(patience);
    let mut reader =
        Reader { frames, capabilities: 0, deadline, cursor: false, packets: Vec::new() };
    let first = reader.next(|p| if p.first() == Some(&0xff) { Kind::Err } else { Kind::Auth });
    let mut packets = reader.packets;
    let greeting = first.as_ref().ok().and_then(|p| Greeting::parse(&p.payload));
    let (Ok(first), Some(greeting)) = (first.clone(), greeting) else {
        let end = first.err().unwrap_or(End::Complete);
        return Login { greeting: None, packets, capabilities: 0, end };
    };
    packets.clear();
    let wanted =
        account.capabilities | if account.database.is_some() { CONNECT_WITH_DB } else { 0 };
    let wrap = account.wrap;
    let mut wrapping = if wrap.tls { SSL } else { 0 };
    wrapping |= if wrap.zlib { COMPRESS } else { 0 } | if wrap.zstd { ZSTD } else { 0 };
    assert_eq!(greeting.capabilities & wrapping, wrapping, "the wrapping is not offered");
    let capabilities = wanted & greeting.capabilities;
    let sent = if account.insists { wanted } else { capabilities };
    let mut response = handshake_response(account, &greeting, sent | wrapping);
    if wrap.zstd {
        response.push(3);
    }
    let mut sequence = first.sequence().wrapping_add(1);
    let mut sent = Ok(sequence);
    if wrap.tls {
        sent = frames.write(&response[..32], sequence);
        sequence = sequence.wrapping_add(1);
        sent = sent.and_then(|n| frames.wrapped.encrypt(account.certificate.as_ref()).map(|()| n));
    }
    sent = sent.and_then(|_| frames.write(&response, sequence));
    let end = if sent.is_ok() {
        converse(frames, account, &greeting, false, deadline, &mut packets)
    } else {
        End::Closed
    };
    if wrap.zlib || wrap.zstd {
        frames.wrapped.pack(!wrap.zlib);
    }
    Login { greeting: Some(greeting), packets, capabilities, end }
}

/// The login's payload, without what follows the attributes.
pub fn handshake_response(account: &Account, greeting: &Greeting, capabilities: u64) -> Vec<u8> {
    let extended = capabilities & MARIADB_EXTENDED;
    // Without this bit, the server looks for those.
    let plain = if extended == 0 { capabilities } else { capabilities & !LONG_PASSWORD };
    let mut out = plain.to_le_bytes()[..4].to_vec();
    out.extend_from_slice(&(1_u32 << 30).to_le_bytes());
    out.push(account.collation.to_le_bytes()[0]);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&extended.to_le_bytes()[4..]);
    out.extend_from_slice(account.user_bytes());
    out.push(0);
    let (plugin, proof) = if account.clear_first {
        (CLEAR.to_vec(), [account.password.as_bytes(), &[0]].concat())
    } else {
        let plugin = account.plugin.map_or(&greeting.plugin[..], str::as_bytes);
        (plugin.to_vec(), account.answer(plugin, &greeting.salt))
    };
    put_lenenc(&mut out, proof.len() as u64);
    out.extend_from_slice(&proof);
    if capabilities & CONNECT_WITH_DB != 0 {
        out.extend_from_slice(account.database.as_deref().unwrap_or_default().as_bytes());
        out.push(0);
    }
    if capabilities & PLUGIN_AUTH != 0 {
        out.extend_from_slice(&plugin);
        out.push(0);
    }
    if capabilities & CONNECT_ATTRS != 0 {
        out.extend_from_slice(&account.attribute_bytes());
    }
    out
}

/// The body of COM_CHANGE_USER after the command byte.
pub fn change_user_body(account: &Account, greeting: &Greeting, capabilities: u64) -> Vec<u8> {
    let mut out = account.user_bytes().to_vec();
    out.push(0);
    let proof = proof(&greeting.plugin, &greeting.salt, account.password.as_bytes());
    out.push(u8::try_from(proof.len()).expect("a proof is short"));
    out.extend_from_slice(&proof);
    out.extend_from_slice(account.database.as_deref().unwrap_or_default().as_bytes());
    out.push(0);
    out.extend_from_slice(&account.collation.to_le_bytes());
    if capabilities & PLUGIN_AUTH != 0 {
        out.extend_from_slice(&greeting.plugin);
        out.push(0);
    }
    if capabilities & CONNECT_ATTRS != 0 {
        out.extend_from_slice(&account.attribute_bytes());
    }
    out
}

/// Plugin and nonce of a packet that asks by another method.
fn method(payload: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let mut c = Cursor(payload.strip_prefix(&[0xfe])?);
    let plugin = c.nul_bytes();
    let nonce = match plugin {
        // A signature's nonce may end with any byte.
        ED25519 => c.0.get(..32)?,
        _ => c.0.strip_suffix(&[0]).unwrap_or(c.0),
    };
    Some((plugin, nonce.to_vec()))
}

/// Answers the server's authentication packets until it says OK or ERR; with `keeps_nonce` by the nonce of the greeting
/// where the plugin is mysql_native_password.
pub fn converse(
    frames: &mut Frames,
    account: &Account,
    greeting: &Greeting,
    keeps_nonce: bool,
    deadline: Deadline,
    packets: &mut Vec<Packet>,
) -> End {
    let password = account.password.as_bytes();
    let mut salt = greeting.salt.clone();
    loop {
        let mut reader =
            Reader { frames, capabilities: 0, deadline, cursor: false, packets: Vec::new() };
        let read = reader.next(|payload| match payload.first() {
            Some(0x00) => Kind::Ok,
            Some(0xff) => Kind::Err,
            _ => Kind::Auth,
        });
        packets.append(&mut reader.packets);
        let packet = match read {
            Ok(packet) => packet,
            Err(end) => return end,
        };
        if packet.kind != Kind::Auth {
            return End::Complete;
        }
        let answer = match packet.payload.as_slice() {
            payload @ [0xfe, ..] => {
                let Some((plugin, asked)) = method(payload) else { return End::Complete };
                if !keeps_nonce || plugin != NATIVE {
                    salt = asked;
                }
                match plugin {
                    SHA256 if frames.wrapped.is_secure() => [password, &[0]].concat(),
                    SHA256 => vec![0x01],
                    _ => account.answer(plugin, &salt),
                }
            }
            [0x01, 0x03] => continue,
            [0x01, 0x04] if frames.wrapped.is_secure() => [password, &[0]].concat(),
            [0x01, 0x04] => vec![0x02],
            [0x01, key @ ..] => encrypted(password, &salt, key),
            _ => return End::Complete,
        };
        if frames.write(&answer, packet.sequence().wrapping_add(1)).is_err() {
            return End::Closed;
        }
    }
}

fn proof(plugin: &[u8], salt: &[u8], password: &[u8]) -> Vec<u8> {
    if plugin == NATIVE {
        scramble::scramble_native(salt, password).map(Vec::from).unwrap_or_default()
    } else if plugin == CACHING_SHA2 {
        scramble::scramble_sha256(salt, password).map(Vec::from).unwrap_or_default()
    } else if plugin == ED25519 {
        scramble::create_response_for_ed25519(password, salt).to_vec()
    } else {
        Vec::new()
    }
}

/// The password as caching_sha2_password wants it on a connection without TLS.
fn encrypted(password: &[u8], salt: &[u8], key: &[u8]) -> Vec<u8> {
    let masked: Vec<u8> = password
        .iter()
        .chain(&[0])
        .zip(salt.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    crypto::encrypt(&masked, key)
}
