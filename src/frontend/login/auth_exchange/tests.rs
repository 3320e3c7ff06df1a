//! Exchanges with a scripted client and a scripted server, from which the proxy learns.

use prometheus::IntCounter;
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::backend::learned::LearnedSecrets;
use crate::config::tls::{BackendMode, BackendTls, ClientCertificate, ClientTls, Offer};
use crate::net::certificates::{Acceptor, Behalf, Connector};
use crate::net::leg::Leg;
use crate::net::socket::Socket;
use crate::protocol::auth::{encrypted_password, proof};
use crate::types::LearnPasswords;

const USER: &[u8] = b"app";
const PASSWORD: &str = "a secret";
const IN_CLEAR: &[u8] = b"a secret\0";
const NONCE: &[u8] = b"abcdefghijklmnopqrst";
const LOGIN: &[u8] = b"the login";
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const DENIED: &[u8] = b"\xff\x15\x04#28000Access denied";

/// What a peer does, with a sequence id.
enum Step {
    Says(u8, Vec<u8>),
    Hears(u8, Vec<u8>),
    Leaves,
}

fn says(seq: u8, packet: &[u8]) -> Step {
    Step::Says(seq, packet.to_vec())
}

fn hears(seq: u8, packet: &[u8]) -> Step {
    Step::Hears(seq, packet.to_vec())
}

async fn play(mut leg: Leg, script: Vec<Step>) -> Leg {
    for step in script {
        match step {
            Step::Says(seq, packet) => {
                let mut frame = Vec::new();
                put_frame(&mut frame, seq, &packet);
                leg.send_all(&frame).await.expect("a peer that listens");
            }
            Step::Hears(seq, packet) => {
                let frame = leg.read_frame(MAX_LOGIN).await.expect("a packet");
                assert_eq!((frame[HEADER - 1], &frame[HEADER..]), (seq, &packet[..]));
            }
            Step::Leaves => leg.end(),
        }
    }
    leg
}

async fn connected() -> (Leg, Leg) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let (far, near) = tokio::join!(TcpStream::connect(address), listener.accept());
    let near = near.expect("a connection").0;
    (Leg::new(Socket::Tcp(far.expect("a connection"))), Leg::new(Socket::Tcp(near)))
}

async fn encrypted() -> (Leg, Leg) {
    let (mut far, mut near) = connected().await;
    let tls = ClientTls {
        offer: Offer::Prefer,
        pair: None,
        only_13: false,
        ca: None,
        asked: ClientCertificate::Off,
    };
    let acceptor = Acceptor::load(&tls, None).expect("a certificate");
    let tls = BackendTls { mode: BackendMode::Required, ca: None, pairs: Vec::new(), local: false };
    let connector = Connector::load(&tls, ["localhost"]).expect("no files");
    let begun = acceptor.start_tls().expect("a configuration");
    let (there, here) =
        tokio::join!(connector.encrypt(&mut far, Behalf::Nobody, "localhost"), near.encrypt(begun));
    there.expect("a handshake");
    here.expect("a handshake");
    (far, near)
}

fn secrets(policy: LearnPasswords) -> LearnedSecrets {
    let counter = IntCounter::new("unlocked", "of a test").expect("a counter");
    LearnedSecrets::new(policy, counter.clone(), counter).expect("a key")
}

/// One login with `caching_sha2_password`. The proof is learned, as callers do.
async fn log_in(
    secrets: &LearnedSecrets,
    tls: bool,
    client: Vec<Step>,
    server: Vec<Step>,
) -> Result<Verdict, Broken> {
    let (far_client, mut to_client) = if tls { encrypted().await } else { connected().await };
    let (far_server, mut to_server) = connected().await;
    let deadline = Instant::now() + Duration::from_secs(20);
    let server_script = [vec![hears(1, LOGIN)], server].concat_steps();
    let exchanged = async {
        let mut exchange = Exchange::new(
            Side { leg: &mut to_client, next: 2 },
            Side { leg: &mut to_server, next: 1 },
            None,
            deadline,
            Method { plugin: CACHING.to_vec(), nonce: NONCE.to_vec() },
        )
        .teaching(Learning { secrets, user: USER });
        let right = proof(CACHING, NONCE, PASSWORD);
        assert!(exchange.first(CACHING, &right).await.expect("a proof").is_none());
        let verdict = exchange.run(LOGIN).await;
        if let Some(proven) = exchange.proven() {
            assert!(matches!(verdict, Ok(Verdict::Accepted(_))));
            secrets.learn(USER, &proven);
        }
        verdict
    };
    let (_client, _server, verdict) =
        tokio::join!(play(far_client, client), play(far_server, server_script), exchanged);
    verdict
}

trait Scripts {
    fn concat_steps(self) -> Vec<Step>;
}

impl Scripts for [Vec<Step>; 2] {
    fn concat_steps(self) -> Vec<Step> {
        self.into_iter().flatten().collect()
    }
}

fn content() -> Vec<Step> {
    vec![says(2, FAST_IS_DONE), says(3, OK)]
}

fn assert_accepted(verdict: &Result<Verdict, Broken>, seq: u8) {
    let Ok(Verdict::Accepted(ok)) = verdict else { panic!("{verdict:?}") };
    assert_eq!((ok[HEADER - 1], &ok[HEADER..]), (seq, OK));
}

fn known(secrets: &LearnedSecrets) -> Option<Vec<u8>> {
    secrets.clear_for(USER).map(|password| password.to_vec())
}

#[tokio::test]
async fn a_client_with_tls_is_asked_for_its_password_once() {
    let secrets = secrets(LearnPasswords::Clear);
    let client = vec![hears(2, IN_FULL), says(3, IN_CLEAR)];
    assert_accepted(&log_in(&secrets, true, client, content()).await, 4);
    assert!(secrets.knows(USER) && known(&secrets).is_some());
    let client = vec![hears(2, FAST_IS_DONE)];
    assert_accepted(&log_in(&secrets, true, client, content()).await, 3);
}

#[tokio::test]
async fn a_client_that_asks_for_a_key_is_given_the_proxy_s() {
    let secrets = secrets(LearnPasswords::Clear);
    let own = secrets.own_key().expect("a key");
    let key = [&[MORE], own.pem()].concat();
    let sent = encrypted_password(own.pem(), NONCE, IN_CLEAR).expect("a key");
    let client = vec![hears(2, IN_FULL), says(3, &[2]), hears(4, &key), says(5, &sent)];
    assert_accepted(&log_in(&secrets, true, client, content()).await, 6);
    assert_eq!(known(&secrets), Some(PASSWORD.into()));
}

#[tokio::test]
async fn a_client_is_let_in_and_not_asked_again_with_any_first_answer() {
    for said in [&b"another\0"[..], b"a secret", b"\0", b""] {
        let secrets = secrets(LearnPasswords::Clear);
        let client = vec![hears(2, IN_FULL), says(3, said)];
        assert_accepted(&log_in(&secrets, true, client, content()).await, 4);
        assert_eq!(known(&secrets), None);
        let client = vec![hears(2, FAST_IS_DONE)];
        assert_accepted(&log_in(&secrets, true, client, content()).await, 3);
    }
}

#[tokio::test]
async fn a_client_that_leaves_at_the_question_is_not_asked_again() {
    let secrets = secrets(LearnPasswords::Clear);
    let client = vec![hears(2, IN_FULL), Step::Leaves];
    let server = [content(), vec![hears(0, &[Command::QUIT.0])]].concat_steps();
    let verdict = log_in(&secrets, true, client, server).await;
    assert!(matches!(verdict, Err(Broken::Io(_))), "{verdict:?}");
    let client = vec![hears(2, FAST_IS_DONE)];
    assert_accepted(&log_in(&secrets, true, client, content()).await, 3);
    assert!(!secrets.knows(USER));
}

#[tokio::test]
async fn a_refusal_after_a_good_proof_comes_as_the_server_says_it() {
    let secrets = secrets(LearnPasswords::Clear);
    let client = vec![hears(2, FAST_IS_DONE), hears(3, DENIED)];
    let server = vec![says(2, FAST_IS_DONE), says(3, DENIED)];
    let verdict = log_in(&secrets, true, client, server).await;
    assert!(matches!(verdict, Ok(Verdict::Denied)), "{verdict:?}");
    assert!(!secrets.knows(USER));
}

#[tokio::test]
async fn a_client_with_a_second_factor_teaches_nothing() {
    let secrets = secrets(LearnPasswords::Clear);
    let factor = b"\x02something_to_have\0a question";
    let client = vec![hears(2, FAST_IS_DONE), hears(3, factor), says(4, b"here it is")];
    let server = vec![says(2, FAST_IS_DONE), says(3, factor), hears(4, b"here it is"), says(5, OK)];
    assert_accepted(&log_in(&secrets, true, client, server).await, 5);
    assert!(!secrets.knows(USER));
}

#[tokio::test]
async fn without_learning_packets_pass_as_they_come() {
    let secrets = secrets(LearnPasswords::Off);
    // The OK is not waited for: the client's answer to the packet before lets it come.
    let client = vec![hears(2, FAST_IS_DONE)];
    assert_accepted(&log_in(&secrets, true, client, content()).await, 3);
    let key = [&[MORE], &b"the server's key"[..]].concat();
    let client =
        vec![hears(2, IN_FULL), says(3, &[2]), hears(4, &key), says(5, b"what it encrypts")];
    let server = vec![
        says(2, IN_FULL),
        hears(3, &[2]),
        says(4, &key),
        hears(5, b"what it encrypts"),
        says(6, OK),
    ];
    assert_accepted(&log_in(&secrets, false, client, server).await, 6);
    assert!(!secrets.knows(USER));
}

#[tokio::test]
async fn a_client_without_tls_encrypts_for_the_proxy_and_that_for_the_server() {
    let (secrets, servers) = (secrets(LearnPasswords::Clear), OwnKey::generate().expect("a key"));
    let own = secrets.own_key().expect("a key");
    let sent = encrypted_password(own.pem(), NONCE, IN_CLEAR).expect("a key");
    let own_pem = [&[MORE], own.pem()].concat();
    let client = vec![hears(2, IN_FULL), says(3, &[2]), hears(4, &own_pem), says(5, &sent)];
    let (far_client, mut to_client) = connected().await;
    let (far_server, mut to_server) = connected().await;
    let exchanged = async {
        let mut exchange = Exchange::new(
            Side { leg: &mut to_client, next: 2 },
            Side { leg: &mut to_server, next: 1 },
            None,
            Instant::now() + Duration::from_secs(20),
            Method { plugin: CACHING.to_vec(), nonce: NONCE.to_vec() },
        )
        .teaching(Learning { secrets: &secrets, user: USER });
        let verdict = exchange.run(LOGIN).await;
        (verdict, exchange.proven())
    };
    let server = async {
        let key = [&[MORE], servers.pem()].concat();
        let script = vec![hears(1, LOGIN), says(2, IN_FULL), hears(3, &[2]), says(4, &key)];
        let mut leg = play(far_server, script).await;
        let frame = leg.read_frame(MAX_LOGIN).await.expect("the password");
        let password = servers.decrypt(&frame[HEADER..], NONCE);
        assert_eq!((frame[HEADER - 1], password.as_deref()), (5, Some(IN_CLEAR)));
        play(leg, vec![says(6, OK)]).await
    };
    let (_client, _server, (verdict, proven)) =
        tokio::join!(play(far_client, client), server, exchanged);
    assert_accepted(&verdict, 6);
    assert!(secrets.learn(USER, &proven.expect("a password")));
    assert_eq!(known(&secrets), Some(PASSWORD.into()));
}

#[tokio::test]
async fn the_server_judges_an_answer_that_the_proxy_cannot_read() {
    let secrets = secrets(LearnPasswords::Clear);
    let servers = OwnKey::generate().expect("a key");
    let own_pem = [&[MORE], secrets.own_key().expect("a key").pem()].concat();
    let key = [&[MORE], servers.pem()].concat();
    // The client has the server's key already, and asks or does not.
    let sent = encrypted_password(servers.pem(), NONCE, IN_CLEAR).expect("a key");
    let asks = vec![hears(2, IN_FULL), says(3, &[2]), hears(4, &own_pem), says(5, &sent)];
    let server = |first: u8, more: Vec<Step>| {
        let judged = vec![hears(first, &sent), says(first + 1, OK)];
        [[vec![says(2, IN_FULL)], more].concat_steps(), judged].concat_steps()
    };
    let told = server(5, vec![hears(3, &[2]), says(4, &key)]);
    assert_accepted(&log_in(&secrets, false, asks, told).await, 6);
    let knows = vec![hears(2, IN_FULL), says(3, &sent)];
    assert_accepted(&log_in(&secrets, false, knows, server(3, Vec::new())).await, 4);
    // A key that is none the proxy can use.
    let odd = [&[MORE], &b"another kind of key"[..]].concat();
    let asks = vec![hears(2, IN_FULL), says(3, &[2]), hears(4, &odd), says(5, &sent)];
    let told = server(5, vec![hears(3, &[2]), says(4, &odd)]);
    assert_accepted(&log_in(&secrets, false, asks, told).await, 6);
    assert!(!secrets.knows(USER));
}
