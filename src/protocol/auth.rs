//! Password proofs, for the one login that the proxy performs on a client's greeting: completing
//! a greeted connection nobody wants with its own account.

use mysql_common::scramble::{scramble_native, scramble_sha256};

use super::capabilities::Capabilities;
use super::handshake::Greeting;

/// The first answer of a login with the proxy's own account.
pub fn own_login(greeting: &Greeting, user: &str, password: &str) -> Vec<u8> {
    let bits = Capabilities::MYSQL
        .with(Capabilities::PROTOCOL_41)
        .with(Capabilities::SECURE_CONNECTION)
        .with(Capabilities::PLUGIN_AUTH)
        .0
        .to_le_bytes();
    let mut p = bits[..4].to_vec();
    p.extend_from_slice(&0x00ff_ffff_u32.to_le_bytes());
    p.push(45);
    p.extend_from_slice(&[0; 23]);
    p.extend_from_slice(user.as_bytes());
    p.push(0);
    let proof = proof(&greeting.plugin, &greeting.nonce, password);
    p.push(u8::try_from(proof.len()).unwrap_or(0));
    p.extend_from_slice(&proof);
    p.extend_from_slice(&greeting.plugin);
    p.push(0);
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

/// The password for the full exchange of caching_sha2_password on a connection without TLS:
/// masked with the nonce, encrypted with the server's public key.
pub fn encrypted_password(public_key: &[u8], nonce: &[u8], password: &str) -> Vec<u8> {
    let mut masked = password.as_bytes().to_vec();
    masked.push(0);
    for (i, byte) in masked.iter_mut().enumerate() {
        *byte ^= nonce[i % 20];
    }
    mysql_common::crypto::encrypt(&masked, public_key)
}
