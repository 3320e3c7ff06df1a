//! What is said to a server that asks for a proof.

use rand::RngExt;
use rand::rngs::StdRng;

use super::stage::{Enemy, Stage, any_library, noise};
use crate::script::Server;
use crate::scripted::packet;
use crate::wire::Account;
use crate::wire::command;
use crate::wire::login::{change_user_body, handshake_response};

pub(super) fn answers_in_a_login(server: &Server) {
    let stage = Stage::start(server, &["--login-timeout", "2s"]);
    stage.attack(250, |stage, random| {
        let mut enemy = Enemy::connect(stage);
        let greeting = enemy.greeting();
        let account = somebody(stage, random);
        let login =
            handshake_response(&account, &greeting, stage.capabilities(any_library(random)));
        let login = without_proof(random, &login, &account);
        enemy.send(&packet(1, &login));
        converse(enemy, random);
    });
    stage.assert_unharmed(64 << 20);
}

pub(super) fn answers_in_a_change_of_user(server: &Server) {
    let stage = Stage::start(server, &["--login-timeout", "2s"]);
    stage.attack(250, |stage, random| {
        let (mut enemy, greeting, capabilities) = Enemy::log_in(stage, any_library(random), 0, &[]);
        let account = somebody(stage, random);
        let mut body = vec![command::CHANGE_USER];
        body.extend(change_user_body(&account, &greeting, capabilities));
        enemy.send(&packet(0, &body));
        converse(enemy, random);
    });
    stage.assert_unharmed(64 << 20);
}

/// Known or not, with a password that is right or not.
fn somebody(stage: &Stage, random: &mut StdRng) -> Account {
    let mut account = stage.account.clone();
    match random.random_range(0..4) {
        0 => "nobody".clone_into(&mut account.user),
        1 => "wrong".clone_into(&mut account.password),
        2 => "root".clone_into(&mut account.user),
        _ => {}
    }
    account
}

/// The packet with its proof left out, or with another plugin's name after it.
fn without_proof(random: &mut StdRng, login: &[u8], account: &Account) -> Vec<u8> {
    let mut login = login.to_vec();
    let at = 32 + account.user.len() + 1;
    let length = usize::from(login[at]);
    if random.random_bool(0.5) {
        login.splice(at..=at + length, [0]);
    }
    if random.random_bool(0.4)
        && let Some(name) = login.windows(9).position(|w| w == b"_password")
    {
        login[name] = b'x';
    }
    login
}

/// Answers each packet in a way that no client expects.
fn converse(mut enemy: Enemy, random: &mut StdRng) {
    for _ in 0..4 {
        let Some(frame) = enemy.frame() else { return };
        if matches!(frame[4], 0 | 0xff) {
            break;
        }
        if frame[4..] == [1, 3] {
            continue;
        }
        let next = frame[3].wrapping_add(1);
        let answer = match random.random_range(0..10) {
            0 => packet(next, &[]),
            1 => packet(random.random(), &noise(random, 40)),
            2 => packet(next, &vec![b'x'; random.random_range(70_000..100_000)]),
            3 => vec![0xff, 0xff, 0xff, next, 1, 2, 3],
            4 => packet(next, &[2]),
            // Silence, as long as the proxy bears it.
            5 => return enemy.until_end(),
            6 => return,
            7 => {
                let length = random.random_range(0..260);
                packet(next, &vec![7; length])
            }
            _ => packet(next, &noise(random, 300)),
        };
        enemy.send(&answer);
    }
    enemy.leave(random);
}
