//! What is sent before a login and in its place.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use super::stage::{Enemy, Stage, any_library, mutated, noise};
use crate::script::Server;
use crate::scripted::packet;
use crate::session::Session;
use crate::wire::Account;
use crate::wire::capability::{CONNECT_WITH_DB, DEFAULT, SSL};
use crate::wire::login::{Greeting, handshake_response};

const PLUGINS: [&[u8]; 9] = [
    b"mysql_native_password",
    b"caching_sha2_password",
    b"sha256_password",
    b"mysql_clear_password",
    b"client_ed25519",
    b"dialog",
    b"auth_gssapi_client",
    b"mysql_old_password",
    b"",
];

pub(super) fn bytes_in_place_of_a_login(server: &Server) {
    let stage = Stage::start(server, &["--login-timeout", "2s"]);
    stage.attack(700, instead_of_a_login);
    stage.assert_unharmed(64 << 20);
}

fn instead_of_a_login(stage: &Stage, random: &mut StdRng) {
    let mut enemy = Enemy::connect(stage);
    if random.random_bool(0.1) {
        enemy.send(&noise(random, 200));
        return enemy.leave(random);
    }
    let greeting = enemy.greeting();
    let sequence = if random.random_bool(0.9) { 1 } else { random.random() };
    let whole = login(stage, random, &greeting);
    let bytes = match random.random_range(0..12) {
        0 => noise(random, 300),
        1 => packet(sequence, &noise(random, 300)),
        // Announced and never sent.
        2 => [&[0xff, 0xff, 0xff, sequence], &whole[..]].concat(),
        3 => {
            let cut = random.random_range(0..whole.len());
            packet(sequence, &whole)[..cut].to_vec()
        }
        4 => for_tls(random, &whole),
        5 => packet(sequence, &whole),
        6 => packet(sequence, &vec![b'x'; random.random_range(60_000..90_000)]),
        _ => {
            let mut changed = mutated(random, &whole);
            // In which bytes are no characters, only the server knows of other character sets.
            if let Some(collation) = changed.get_mut(8) {
                *collation = 45;
            }
            packet(sequence, &changed)
        }
    };
    enemy.send(&bytes);
    match random.random_range(0..10) {
        // As long as the proxy lets it.
        0 => while enemy.frame().is_some_and(|frame| frame.get(4) != Some(&0)) {},
        1 => {}
        _ => enemy.leave(random),
    }
}

/// A login with fields that do not belong together.
fn login(stage: &Stage, random: &mut StdRng, greeting: &Greeting) -> Vec<u8> {
    let mut account = stage.account.clone();
    if random.random_bool(0.3) {
        account.user = "x".repeat(random.random_range(0..300));
    }
    if random.random_bool(0.3) {
        account.database = Some("d".repeat(random.random_range(0..300)));
    }
    if random.random_bool(0.3) {
        account.attributes = vec![("k".repeat(random.random_range(0..300)), "v".to_owned()); 3];
    }
    account.collation = if random.random_bool(0.7) { 45 } else { random.random() };
    let mut capabilities = stage.capabilities(any_library(random));
    if account.database.is_some() {
        capabilities |= CONNECT_WITH_DB;
    }
    if random.random_bool(0.2) {
        capabilities ^= 1 << random.random_range(0..32);
    }
    if random.random_bool(0.5) {
        return handshake_response(&account, greeting, capabilities);
    }
    of_a_plugin(&account, random, capabilities)
}

/// With a proof of any length.
fn of_a_plugin(account: &Account, random: &mut StdRng, capabilities: u64) -> Vec<u8> {
    let mut out = capabilities.to_le_bytes()[..4].to_vec();
    out.extend_from_slice(&[0, 0, 0, 64, 45]);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(account.user.as_bytes());
    out.push(0);
    let lengths = [0, 1, 8, 19, 20, 21, 32, 250];
    let length = lengths[random.random_range(0..lengths.len())];
    out.push(length);
    out.extend((0..length).map(|_| random.random::<u8>()));
    if capabilities & CONNECT_WITH_DB != 0 {
        out.extend_from_slice(b"information_schema\0");
    }
    out.extend_from_slice(PLUGINS[random.random_range(0..PLUGINS.len())]);
    if random.random_bool(0.8) {
        out.push(0);
        out.extend_from_slice(&noise(random, 40));
    }
    out
}

/// A question for TLS, and what is no TLS after it, or not all of it.
fn for_tls(random: &mut StdRng, login: &[u8]) -> Vec<u8> {
    let mut question = login.to_vec();
    question.resize(32, 0);
    question[..4].copy_from_slice(&(DEFAULT | SSL).to_le_bytes()[..4]);
    let mut hello = Vec::new();
    let mut tls = tls();
    tls.write_tls(&mut hello).expect("a hello");
    let rest = match random.random_range(0..5) {
        0 => noise(random, 500),
        1 => hello[..random.random_range(0..hello.len())].to_vec(),
        2 => mutated(random, &hello),
        3 => packet(2, login),
        _ => [hello, noise(random, 500)].concat(),
    };
    [packet(1, &question), rest].concat()
}

fn tls() -> ClientConnection {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let config = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    ClientConnection::new(config.into(), name).expect("a client")
}

pub(super) fn logins_byte_by_byte(server: &Server) {
    let stage = Stage::start(server, &["--login-timeout", "2s"]);
    let mut enemies: Vec<Enemy> = (0..150).map(|_| Enemy::connect(&stage)).collect();
    let greeting = enemies[0].greeting();
    let login = packet(1, &handshake_response(&stage.account, &greeting, DEFAULT));
    let mut fed = 0;
    for byte in &login {
        enemies.retain_mut(|enemy| enemy.send(&[*byte]));
        fed += 1;
        if enemies.is_empty() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(100));
        // Others get in all the while.
        if fed % 10 == 0 {
            drop(Session::at(stage.seen.proxy.port));
        }
    }
    assert!(fed < login.len(), "nobody has cut them off");
    stage.assert_unharmed(32 << 20);
}
