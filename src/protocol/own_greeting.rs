//! A greeting with the proxy's own nonce, and the same client's login for a server that has greeted with another one.

use super::auth::NONCE;
use super::capabilities::Capabilities;
use super::handshake::LOGIN_HEAD;
use super::reader::{Reader, put_lenenc_bytes};

/// A plugin that no account has: a server asks a client that names it for an answer by the account's own.
const NO_PLUGIN: &[u8] = b"lockstead_none";
/// Bytes of a nonce's first part.
const FIRST: usize = 8;
/// Between the two parts of a nonce: a filler, capabilities, collation, status, capabilities, a length, and a reserve.
const BETWEEN: usize = 1 + 2 + 1 + 2 + 2 + 1 + 10;

/// A nonce's bytes of random ones. As servers make it: letters of 7 bits, of which hashes in tables need two.
pub fn nonce(random: [u8; NONCE]) -> [u8; NONCE] {
    random.map(|byte| match byte & 0x7f {
        0 | b'$' => b'+',
        letter => letter,
    })
}

/// Puts another nonce into a greeting's payload. False: it has no room for one.
pub fn renew_nonce(payload: &mut [u8], nonce: &[u8; NONCE]) -> bool {
    let Some((first, second)) = nonce_places(payload) else { return false };
    first.copy_from_slice(&nonce[..FIRST]);
    second.copy_from_slice(&nonce[FIRST..]);
    true
}

/// Where a greeting's payload has the two parts of its nonce.
fn nonce_places(payload: &mut [u8]) -> Option<(&mut [u8; FIRST], &mut [u8; NONCE - FIRST])> {
    let version = memchr::memchr(0, payload)?;
    let (first, rest) = payload.get_mut(version + 1 + 4..)?.split_first_chunk_mut()?;
    Some((first, rest.get_mut(BETWEEN..)?.first_chunk_mut()?))
}

/// A login's payload with another proof, and as by that plugin. `None`: it cannot be read.
pub fn with_proof(payload: &[u8], proof: &[u8], plugin: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut r = Reader::new(payload);
    let bits = Capabilities(u64::from(r.u32()?));
    r.take(LOGIN_HEAD - 4)?;
    r.nul_bytes()?;
    let mut out = payload.get(..r.position())?.to_vec();
    if bits.has(Capabilities::PLUGIN_AUTH_LENENC) {
        r.lenenc_bytes()?;
        put_lenenc_bytes(&mut out, proof);
    } else {
        let n = usize::from(r.u8()?);
        r.take(n)?;
        out.push(u8::try_from(proof.len()).ok()?);
        out.extend_from_slice(proof);
    }
    let rest = r.position();
    if bits.has(Capabilities::CONNECT_WITH_DB) {
        r.nul_bytes()?;
    }
    if let Some(plugin) = plugin.filter(|_| bits.has(Capabilities::PLUGIN_AUTH)) {
        out.extend_from_slice(payload.get(rest..r.position())?);
        r.nul_bytes()?;
        out.extend_from_slice(plugin);
        out.push(0);
        out.extend_from_slice(r.rest());
    } else {
        out.extend_from_slice(payload.get(rest..)?);
    }
    Some(out)
}

/// The login without an answer, so that the server asks for one by the account's plugin, with its own nonce.
pub fn without_answer(payload: &[u8]) -> Option<Vec<u8>> {
    with_proof(payload, &[], Some(NO_PLUGIN))
}

#[cfg(test)]
mod tests {
    use super::super::handshake::{Greeting, Login};
    use super::super::serve::greeting;
    use super::*;

    #[test]
    fn a_greeting_gets_another_nonce_and_nothing_else() {
        let mut payload = greeting("9.0.0-x", 77, &[b'a'; NONCE], Capabilities::MYSQL);
        let mut before = Greeting::parse(&payload).expect("a greeting");
        let random = std::array::from_fn(|n| u8::try_from(n * 13).expect("a byte"));
        let own = nonce(random);
        assert!(own.iter().all(|b| (1..128).contains(b) && *b != b'$'));
        assert!(renew_nonce(&mut payload, &own));
        let after = Greeting::parse(&payload).expect("a greeting");
        before.nonce = own.to_vec();
        assert_eq!(after, before);
        assert!(!renew_nonce(&mut b"\x0a9.0\0\0\0\0\0aaaaaaaa\0".to_vec(), &own));
    }

    #[test]
    fn a_login_loses_its_answer_and_keeps_all_else() {
        let base = Capabilities::PROTOCOL_41
            .with(Capabilities::SECURE_CONNECTION)
            .with(Capabilities::PLUGIN_AUTH)
            .with(Capabilities::CONNECT_WITH_DB)
            .with(Capabilities::CONNECT_ATTRS);
        for bits in [base, base.with(Capabilities::PLUGIN_AUTH_LENENC)] {
            let mut payload = bits.0.to_le_bytes()[..4].to_vec();
            payload.extend_from_slice(&[0; LOGIN_HEAD - 4]);
            payload.extend_from_slice(b"app\0\x03xyzdb\0mysql_native_password\0\x04\x01a\x01b");
            let before = Login::parse(&payload).expect("a login");
            let changed = without_answer(&payload).expect("a login");
            let after = Login::parse(&changed).expect("a login");
            assert_eq!((after.user, after.database), (before.user, before.database));
            assert_eq!((after.proof, after.plugin), (&b""[..], NO_PLUGIN));
            assert_eq!(after.attribute(b"a"), Some(&b"b"[..]));
            let other = with_proof(&payload, b"another", None).expect("a login");
            let other = Login::parse(&other).expect("a login");
            assert_eq!((other.proof, other.plugin), (&b"another"[..], before.plugin));
        }
        assert_eq!(without_answer(b"short"), None);
    }
}
