//! What must hold of any bytes as a greeting, a login or a change of user. Nothing panics, and what goes on to the
//! server says the same of the user.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::capabilities::Capabilities;
use lockstead::protocol::handshake::{ChangeUser, Greeting, Login, TAG_ATTRIBUTE};

fuzz_target!(|data: &[u8]| {
    let Some((&[how, a, b, c, d, proof], packet)) = data.split_first_chunk() else { return };
    let plain = u32::from_le_bytes([a, b, c, d]);
    let capabilities = Capabilities(u64::from(plain) | u64::from(how >> 3) << 32);
    let proof = (proof < 128).then(|| vec![proof; usize::from(proof)]);
    let tag = (how & 1 > 0).then_some(&b"42"[..]);
    match how / 2 % 3 {
        0 => greeting(packet, capabilities),
        1 => login(packet, capabilities, proof.as_deref(), tag),
        _ => change(packet, capabilities, proof.as_deref(), tag),
    }
});

fn greeting(packet: &[u8], offered: Capabilities) {
    let Some(greeting) = Greeting::parse(packet) else { return };
    let mut packet = packet.to_vec();
    greeting.offer(&mut packet, offered).expect("the packet that it was parsed from");
    let again = Greeting::parse(&packet).expect("a greeting still");
    assert_eq!((again.nonce, again.plugin), (greeting.nonce, greeting.plugin));
    assert_eq!(again.capabilities.0 as u32, offered.0 as u32);
    assert_eq!((again.version, again.connection), (greeting.version, greeting.connection));
}

fn login(packet: &[u8], server: Capabilities, proof: Option<&[u8]>, tag: Option<&[u8]>) {
    let _ = Login::asks_for_tls(packet);
    let Some(login) = Login::parse(packet) else { return };
    assert!(packet.len() >= 32, "too short to ask for TLS with its head");
    let hops = server.both(Capabilities::HOPS);
    let out = login.for_server(server, hops, proof, tag);
    let again = Login::parse(&out).expect("a login still");
    assert_eq!((again.user, again.database), (login.user, login.database));
    assert_eq!(again.plugin, login.plugin);
    assert_eq!(again.proof, proof.unwrap_or(login.proof));
    assert_eq!(again.capabilities.both(Capabilities::HOPS), hops);
    let tag = tag.filter(|_| server.has(Capabilities::CONNECT_ATTRS));
    for key in [&b"program_name"[..], b"a", b""] {
        assert_eq!(again.attribute(key), login.attribute(key));
    }
    if tag.is_some() {
        assert_eq!(again.attribute(TAG_ATTRIBUTE), tag);
    }
    // The proxy does not change a login that it has written itself.
    // A level of zstd replaces anything else that may follow.
    if !hops.has(Capabilities::ZSTD) {
        assert_eq!(again.for_server(server, hops, None, tag), out);
    }
}

fn change(packet: &[u8], agreed: Capabilities, proof: Option<&[u8]>, tag: Option<&[u8]>) {
    let Some(change) = ChangeUser::parse(packet, agreed) else { return };
    // One without a length ends with a NUL.
    let proof = proof.filter(|p| agreed.has(Capabilities::SECURE_CONNECTION) || !p.contains(&0));
    let out = change.for_server(proof, tag);
    let again = ChangeUser::parse(&out, agreed).expect("a change of user still");
    assert_eq!((again.user, again.database), (change.user, change.database));
    assert_eq!(again.plugin, change.plugin);
    assert_eq!(again.proof, proof.unwrap_or(change.proof));
    for key in [&b"program_name"[..], b"a", b""] {
        assert_eq!(again.attribute(key), change.attribute(key));
    }
    assert_eq!(again.for_server(None, tag), out);
}
