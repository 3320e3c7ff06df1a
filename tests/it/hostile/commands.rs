//! Commands that are broken, cut or out of order.

use rand::RngExt;
use rand::rngs::StdRng;

use super::stage::{Enemy, Stage, any_library, mutated, noise};
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::scripted::packet;
use crate::session::Session;
use crate::wire::capability::{MULTI_STATEMENTS, QUERY_ATTRIBUTES};
use crate::wire::command;
use crate::wire::library::OWN;
use crate::wire::login::change_user_body;
use crate::wire::params::attribute_block;
use crate::wire::{Execute, Param, Shape};

const TEXTS: [&str; 8] = [
    "SELECT GET_LOCK('a', 0)",
    "SELECT RELEASE_LOCK('a'), 1",
    "DO IS_FREE_LOCK(CONCAT('a', ?))",
    "PREPARE p FROM 'SELECT GET_LOCK(?, 0)'",
    "EXECUTE p USING @a, @b",
    "SELECT IS_USED_LOCK('\\'\"`')/*!1 */; SELECT RELEASE_ALL_LOCKS()",
    "SET SESSION sql_mode = 'ANSI_QUOTES', character_set_client = gbk",
    "SELECT 1",
];
/// One, two, and in a larger statement.
const TO_PREPARE: [&str; 3] = [
    "SELECT GET_LOCK(?, ?)",
    "SELECT RELEASE_LOCK(?)",
    "SELECT ?, IS_FREE_LOCK(?) + IS_FREE_LOCK('a')",
];

pub(super) fn commands(server: &Server) {
    let stage = Stage::start(server, &["--login-timeout", "2s"]);
    stage.attack(500, |stage, random| {
        let attributes = random.random_bool(0.5);
        let more = if attributes { QUERY_ATTRIBUTES } else { 0 } | MULTI_STATEMENTS;
        let (mut enemy, greeting, capabilities) =
            Enemy::log_in(stage, any_library(random), more, &[]);
        let attributes = capabilities & QUERY_ATTRIBUTES != 0;
        for _ in 0..random.random_range(1..12) {
            let bytes = match random.random_range(0..8) {
                0..4 => prepared(&mut enemy, random, attributes),
                4 => {
                    let mut body = vec![command::CHANGE_USER];
                    body.extend(change_user_body(&stage.account, &greeting, capabilities));
                    packet(0, &mutated(random, &body))
                }
                _ => other(random, attributes),
            };
            if !enemy.send(&bytes) {
                break;
            }
        }

        if random.random_bool(0.2) {
            enemy.send(&unfinished(random));
        }
        enemy.leave(random);
    });
    stage.assert_unharmed(64 << 20);
}

/// MySQL answers what is too short, MariaDB does not: what comes next must get its own answer.
pub(super) fn short_packets_are_answered_as_by_the_server(server: &Server) {
    let mysql = flavour_of(server) == Flavour::MySql;
    for mode in ["durable", "coexist"] {
        let stage = Stage::start(server, &["--mode", mode]);
        for short in [
            &[command::STMT_CLOSE][..],
            &[command::STMT_CLOSE, 1, 0, 0],
            &[command::STMT_SEND_LONG_DATA, 1, 0, 0, 0],
        ] {
            let (mut enemy, ..) = Enemy::log_in(&stage, &OWN, 0, &[]);
            for _ in 0..2 {
                enemy.send(&[packet(0, short), packet(0, &[command::PING])].concat());
                if mysql {
                    let error = enemy.frame().expect("an error");
                    assert_eq!(error[4..7], [0xff, 0x2b, 0x07], "{}", error.escape_ascii());
                }
                let answer = enemy.frame().expect("an answer");
                assert_eq!(answer[4], 0, "{}", answer.escape_ascii());
            }
        }
        stage.assert_unharmed(64 << 20);
    }
}

/// Some of these a server reads nevertheless.
pub(super) fn executions_that_cannot_be_read_take_no_lock(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let name = fresh_schema();
    let first = [&[u8::try_from(name.len()).expect("short")], name.as_bytes()].concat();
    let whole = [&first[..], &[0; 8]].concat();
    let execution = |count: &[u8], types: &[u8], values: &[u8]| {
        [&[0, 1, 0, 0, 0], count, &[0], types, values].concat()
    };
    // A name in characters and a timeout in eight bytes.
    let types = [1, 253, 0, 8, 0];
    let broken = [
        // MySQL takes this for bound types.
        execution(&[], &[2, 253, 0, 8, 0], &whole),
        // A TIME in place of the timeout, which is cut short; MariaDB reads what there is of it.
        execution(&[], &[1, 253, 0, 11, 0], &[&first[..], &[8, 0, 0]].concat()),
        execution(&[], &[1, 253, 0, 99, 0], &whole),
        execution(&[], &[0], &whole),
        execution(&[], &types, &whole[..whole.len() - 1]),
        execution(&[], &types, &first),
        execution(&[], &types[..4], &[]),
        execution(&[], &types, &[&[252], &whole[..]].concat()),
        execution(&[], &types, &[]),
        vec![0, 1, 0, 0, 0],
        vec![0],
    ];
    for execution in &broken {
        let text = "SELECT GET_LOCK(?, ?)";
        let id = session.client.prepare(text.as_bytes()).statement_id().expect("an id");
        let body = [&id.to_le_bytes()[..], execution].concat();
        let answer = session.client.command(command::STMT_EXECUTE, &body, Shape::Execute);
        let error = answer.error();
        assert!(matches!(error, Some(1835 | 1210)), "{execution:?}: {error:?}");
        session.client.close_statement(id);
        assert_eq!(session.value("SELECT 'next'").as_deref(), Some("next"), "{execution:?}");
        let free = format!("SELECT IS_FREE_LOCK('{name}')");
        assert_eq!(server.root().column(&free), ["1"], "{execution:?} took the server's lock");
        assert_eq!(session.value(&free).as_deref(), Some("1"), "{execution:?} took the lock");
    }
}

fn other(random: &mut StdRng, attributes: bool) -> Vec<u8> {
    let sequence = if random.random_bool(0.9) { 0 } else { random.random() };
    let body = match random.random_range(0..7) {
        // No replication: its end is the connection's.
        0 => [&[random.random::<u8>()], &noise(random, 60)[..]].concat(),
        1 => vec![],
        2 => [&[command::SET_OPTION], &noise(random, 4)[..]].concat(),
        3 => [&[command::FIELD_LIST], &noise(random, 60)[..]].concat(),
        _ => {
            let text = TEXTS[random.random_range(0..TEXTS.len())].as_bytes().to_vec();
            let text = if random.random_bool(0.5) { mutated(random, &text) } else { text };
            let mut body = vec![command::QUERY];
            if attributes {
                let values = [("a".to_owned(), Param::Text(b"b".to_vec()))];
                let block = attribute_block(&values[..random.random_range(0..2)]);
                let broken = random.random_bool(0.5);
                body.extend(if broken { mutated(random, &block) } else { block });
            }
            body.extend(text);
            body
        }
    };
    packet(sequence, &body)
}

/// Prepares a lock call, and says something about it that is mostly wrong.
fn prepared(enemy: &mut Enemy, random: &mut StdRng, attributes: bool) -> Vec<u8> {
    let text = TO_PREPARE[random.random_range(0..TO_PREPARE.len())].as_bytes();
    // The statement's number is the server's; the first few are likely.
    enemy.send(&packet(0, &[&[command::STMT_PREPARE], text].concat()));
    let id = random.random_range(0_u32..4).to_le_bytes();
    let commands = [
        command::STMT_EXECUTE,
        command::STMT_EXECUTE,
        command::STMT_EXECUTE,
        command::STMT_SEND_LONG_DATA,
        command::STMT_CLOSE,
        command::STMT_RESET,
        command::STMT_FETCH,
        0xfa,
    ];
    let byte = commands[random.random_range(0..commands.len())];
    let params = vec![Param::Text(b"a".to_vec()), Param::LongLong(0)];
    let execute = Execute { params, ..Execute::default() }.body(attributes);
    let body = match random.random_range(0..4) {
        0 => noise(random, 60),
        1 => execute,
        _ => mutated(random, &execute),
    };
    let mut whole = [&[byte], &id[..], &body].concat();
    if random.random_bool(0.1) {
        whole.truncate(random.random_range(1..6));
    }
    packet(0, &whole)
}

/// A command whose length promises more than ever arrives.
fn unfinished(random: &mut StdRng) -> Vec<u8> {
    let bytes = [
        command::QUERY,
        command::STMT_PREPARE,
        command::STMT_EXECUTE,
        command::STMT_SEND_LONG_DATA,
        command::CHANGE_USER,
        command::SET_OPTION,
        command::RESET_CONNECTION,
        command::INIT_DB,
    ];
    let byte = bytes[random.random_range(0..bytes.len())];
    let length: u32 =
        if random.random_bool(0.5) { 0x00ff_ffff } else { random.random_range(5..70_000) };
    let mut out = length.to_le_bytes();
    out[3] = 0;
    let sent = random.random_range(0..(length as usize).min(3_000_000));
    [&out[..], &[byte], &vec![b' '; sent]].concat()
}
