//! What must hold of any bytes as a key, a nonce, a password or a proof. Nothing panics, and a password that was
//! encrypted with the proxy's own key comes back.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::auth::{OwnKey, encrypted_password, own_login, proof};
use lockstead::protocol::handshake::{Greeting, LOGIN_HEAD, Login};

static KEY: LazyLock<OwnKey> = LazyLock::new(|| OwnKey::generate().expect("a key"));
const BEGIN: &[u8] = b"-----BEGIN PUBLIC KEY-----\n";
const END: &[u8] = b"\n-----END PUBLIC KEY-----\n";

fuzz_target!(|data: &[u8]| {
    let Some((&[how, cut], rest)) = data.split_first_chunk() else { return };
    let (first, second) = rest.split_at(usize::from(cut).min(rest.len()));
    match how % 5 {
        0 => drop(encrypted_password(second, first, b"secret\0")),
        // In the frame of one, and the proxy's own with some of its bytes changed.
        1 => drop(encrypted_password(&[BEGIN, second, END].concat(), &[7; 20], first)),
        2 => {
            let mut key = KEY.pem().to_vec();
            for change in second.chunks_exact(2) {
                let at = usize::from(change[0]) * 2 % key.len();
                key[at] = change[1];
            }
            let _ = encrypted_password(&key, &[7; 20], first);
        }
        3 => {
            assert_eq!(KEY.decrypt(second, first), None);
            let long = first.len() > 200;
            let sent = encrypted_password(KEY.pem(), &[9; 20], first).filter(|_| !long);
            assert!(long || sent.is_some_and(|s| KEY.decrypt(&s, &[9; 20]).as_deref() == Some(first)));
        }
        _ => {
            let password = String::from_utf8_lossy(first);
            for plugin in [&b"caching_sha2_password"[..], b"mysql_native_password", b"dialog"] {
                assert!(proof(plugin, second, &password).len() <= 32);
            }
            if let Some(greeting) = Greeting::parse(second) {
                let user = password.replace('\0', "");
                let (tls, proof) = (cut & 1 > 0, proof(&greeting.plugin, &greeting.nonce, "secret"));
                let packet = own_login(&greeting, &user, &proof, tls);
                assert_eq!(Login::asks_for_tls(&packet[..LOGIN_HEAD]), tls);
                let login = Login::parse(&packet).expect("a login");
                assert_eq!((login.user, login.proof), (user.as_bytes(), &*proof));
            }
        }
    }
});
