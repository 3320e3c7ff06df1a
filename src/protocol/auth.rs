//! Password proofs. The proxy needs them for its own logins, with which it ends greeted connections that no client
//! wants. Where a client's password is encrypted on one leg and not on the other, the proxy makes a proof, too.

use std::fmt;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};
use mysql_common::scramble::{create_response_for_ed25519, scramble_native, scramble_sha256};
use pem::{EncodeConfig, LineEnding, Pem, encode_config};

use super::capabilities::Capabilities;
use super::handshake::{Greeting, Login};

/// The first answer of a login with an account of the proxy's own. With TLS, its first
/// [`LOGIN_HEAD`](super::handshake::LOGIN_HEAD) bytes ask for that.
pub fn own_login(greeting: &Greeting, user: &str, proof: &[u8], tls: bool) -> Vec<u8> {
    let asked = Capabilities::MYSQL
        .with(Capabilities::PROTOCOL_41)
        .with(Capabilities::SECURE_CONNECTION)
        .with(Capabilities::PLUGIN_AUTH);
    let bits = if tls { asked.with(Capabilities::SSL) } else { asked }.0.to_le_bytes();
    let mut p = bits[..4].to_vec();
    p.extend_from_slice(&0x00ff_ffff_u32.to_le_bytes());
    p.push(45);
    p.extend_from_slice(&[0; 23]);
    p.extend_from_slice(user.as_bytes());
    p.push(0);
    p.push(u8::try_from(proof.len()).unwrap_or(0));
    p.extend_from_slice(proof);
    p.extend_from_slice(&greeting.plugin);
    p.push(0);
    p
}

/// The user of a login that gives nothing away.
pub const NOBODY: &str = "lockstead_probe";

/// A login that gives nothing away, in place of another one that begins with `head`. A server that has read `head` in a
/// question for TLS takes its capabilities for those of the login.
pub fn anonymous_login(head: &[u8]) -> Vec<u8> {
    let asked = Login::bits(head);
    let mut p = head.to_vec();
    p.extend_from_slice(NOBODY.as_bytes());
    // The name's end, and no proof.
    p.extend_from_slice(&[0, 0]);
    if asked.has(Capabilities::CONNECT_WITH_DB) {
        p.push(0);
    }
    if asked.has(Capabilities::PLUGIN_AUTH) {
        p.extend_from_slice(b"mysql_native_password\0");
    }
    if asked.has(Capabilities::CONNECT_ATTRS) {
        p.push(0);
    }
    if asked.has(Capabilities::ZSTD) {
        p.push(3);
    }
    p
}

/// The proof a plugin wants; empty for a plugin the proxy does not know or an empty password.
pub fn proof(plugin: &[u8], nonce: &[u8], password: &str) -> Vec<u8> {
    let password = password.as_bytes();
    let nonce = nonce.get(..20).unwrap_or(nonce);
    match plugin {
        b"caching_sha2_password" => scramble_sha256(nonce, password).map(|p| p.to_vec()),
        b"mysql_native_password" => scramble_native(nonce, password).map(|p| p.to_vec()),
        _ => None,
    }
    .unwrap_or_default()
}

/// The plugin of MariaDB that signs its nonce.
const ED25519: &[u8] = b"client_ed25519";
/// Bytes of the nonce that is signed.
const SIGNED: usize = 32;

/// Whether a plugin signs its nonce.
pub fn signs(plugin: &[u8]) -> bool {
    plugin == ED25519
}

/// The answer by a plugin that signs the nonce. `None`: it is another plugin, or that is no nonce.
pub fn signature(plugin: &[u8], nonce: &[u8], password: &[u8]) -> Option<Vec<u8>> {
    // A NUL may follow.
    let nonce = nonce.get(..SIGNED).filter(|_| signs(plugin))?;
    Some(create_response_for_ed25519(password, nonce).to_vec())
}

/// A clear password, NUL included, for a server on a leg without TLS: masked with the nonce,
/// encrypted with the server's public key. `None`: that is no key, there is no nonce, or the password
/// is longer than the key can take.
pub fn encrypted_password(public_key: &[u8], nonce: &[u8], password: &[u8]) -> Option<Vec<u8>> {
    let nonce = nonce.first_chunk()?;
    let key = read_key(public_key)?;
    let mut room = vec![0; key.ciphertext_size()];
    let done = key.encrypt(&OAEP_SHA1_MGF1SHA1, &masked(password, nonce), &mut room, None);
    done.ok().map(|bytes| bytes.to_vec())
}

fn read_key(public_key: &[u8]) -> Option<OaepPublicEncryptingKey> {
    let pem = pem::parse(public_key).ok().filter(|pem| pem.tag() == "PUBLIC KEY")?;
    OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(pem.contents()).ok()?).ok()
}

/// Bytes of the nonce that count.
pub const NONCE: usize = 20;

fn masked(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    password.iter().zip(nonce.iter().cycle()).map(|(a, b)| a ^ b).collect()
}

/// The proxy's own key, under which clients on a leg without TLS send a password that the server
/// wants in clear, because the leg to it has TLS.
pub struct OwnKey {
    private: OaepPrivateDecryptingKey,
    pem: Vec<u8>,
}

impl OwnKey {
    /// A new one.
    pub fn generate() -> Result<Self, Unspecified> {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048)?;
        let der = private.public_key().as_der()?;
        let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
        let pem = encode_config(&Pem::new("PUBLIC KEY", der.as_ref()), lines).into_bytes();
        Ok(Self { private: OaepPrivateDecryptingKey::new(private)?, pem })
    }

    /// What clients see.
    pub fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// Whether every password fits under this key that fits under a server's.
    pub fn can_stand_in_for(&self, public_key: &[u8]) -> bool {
        read_key(public_key)
            .is_some_and(|key| key.ciphertext_size() <= self.private.min_output_size())
    }

    /// The password, NUL included, that a client has encrypted. `None` if it was for another key.
    pub fn decrypt(&self, encrypted: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
        let nonce = nonce.first_chunk()?;
        let mut room = vec![0; self.private.min_output_size()];
        let done = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None);
        done.ok().map(|bytes| masked(bytes, nonce))
    }
}

impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnKey")
    }
}

/// How a user proves to be one, as the server has asked last.
#[derive(Debug, Clone, Default)]
pub struct Method {
    /// The authentication plugin.
    pub plugin: Vec<u8>,
    /// The scramble.
    pub nonce: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_comes_back_from_under_the_proxy_s_key() {
        let key = OwnKey::generate().expect("a key");
        let nonce = [7; NONCE];
        let sent = encrypted_password(key.pem(), &nonce, b"secret\0").expect("a PEM");
        assert_eq!(key.decrypt(&sent, &nonce).as_deref(), Some(&b"secret\0"[..]));
        assert!(key.can_stand_in_for(key.pem()) && !key.can_stand_in_for(b"no key"));
        assert_eq!(key.decrypt(&sent[1..], &nonce), None);
        assert_eq!(key.decrypt(&sent, &nonce[1..]), None);
        assert_eq!(encrypted_password(b"no key", &nonce, b"secret\0"), None);
        let no_key = b"-----BEGIN PUBLIC KEY-----\nbm8ga2V5\n-----END PUBLIC KEY-----\n";
        assert_eq!(encrypted_password(no_key, &nonce, b"secret\0"), None);
        let unended = b"-----BEGIN PUBLIC KEY-----\n";
        assert_eq!(encrypted_password(unended, &nonce, b"secret\0"), None);
        assert_eq!(encrypted_password(key.pem(), &nonce, &[b'x'; 300]), None);
    }
}
