//! KILL of sessions that share their connections, by the ids that their clients know.

use serde_json::Value;

use super::ground::{Ground, Tenant, teach, until_queued, until_waiting};
use crate::admin::Folder;
use crate::launch::run;
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::response::ErrPacket;
use crate::wire::{End, Execute, Param, Response, Shape, render};

on_both! {
    a_kill_ends_a_session_without_a_connection
    a_kill_ends_a_session_that_does_nothing_with_its_connection
    a_kill_query_of_an_idle_session_touches_nothing
    a_kill_query_ends_a_wait_for_a_lock_as_on_the_server
    a_kill_ends_a_session_that_waits_for_a_lock
    a_kill_query_ends_a_wait_for_a_connection
    the_server_judges_who_may_kill_a_session_without_a_connection
    a_prepared_kill_takes_a_session_s_id
    a_kill_takes_an_id_that_the_server_computes
    an_id_that_is_no_session_s_ends_nobody
    a_kill_by_a_parameter_takes_the_server_s_ids
    a_kill_of_itself_ends_the_session_as_on_the_server
    com_process_kill_takes_a_session_s_id_where_the_server_knows_the_command
    a_hold_that_ends_by_kill_says_so
}

const COM_PROCESS_KILL: u8 = 0x0c;

fn until_free(session: &mut Session, lock: &str) {
    eventually("the lock is free", || session.is_free(lock).then_some(()));
}

/// The error's number and text.
fn error(response: &Response) -> (u16, String) {
    let packet = response.packets.last().expect("an answer");
    assert!(response.error().is_some(), "{}", render::response(response));
    let error = ErrPacket::parse(&packet.payload);
    (error.code, String::from_utf8_lossy(&error.message).into_owned())
}

fn a_kill_ends_a_session_without_a_connection(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "50ms"]);
    let (mut victim, mut killer) = (ground.session(), ground.session());
    victim.lock("k");
    ground.until_all_have_left();
    killer.run(&format!("KILL {}", victim.id()));
    assert_eq!(victim.last_words().map(|error| error.code), None, "as servers do");
    until_free(&mut killer, "k");
    let again = killer.client.query(format!("KILL {}", victim.id()).as_bytes());
    assert_eq!(error(&again), (1094, format!("Unknown thread id: {}", victim.id())));
}

fn a_hold_that_ends_by_kill_says_so(server: &Server) {
    let folder = Folder::new();
    let admin = format!("unix:{}", folder.socket().display());
    let ground = Ground::new(server, 1, &["--idle-keep", "50ms", "--admin", &admin]);
    let (mut victim, mut killer) = (ground.session(), ground.session());
    victim.lock("k");
    ground.until_all_have_left();
    killer.run(&format!("KILL {}", victim.id()));
    let how = eventually("the hold is over", || {
        let output = run(&["history", "--json", "--admin", &admin]);
        let rows: Value = serde_json::from_slice(&output.stdout).ok()?;
        rows.get(0).map(|row| row["ended_by"].clone())
    });
    assert_eq!(how, "killed");
}

fn a_kill_ends_a_session_that_does_nothing_with_its_connection(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "1h"]);
    let (mut victim, mut killer) = (ground.session(), ground.session());
    victim.lock("k");
    killer.run(&format!("KILL CONNECTION {}", victim.id()));
    assert_eq!(victim.last_words().map(|error| error.code), None, "as servers do");
    until_free(&mut killer, "k");
}

fn a_prepared_kill_takes_a_session_s_id(server: &Server) {
    for keep in ["50ms", "1h"] {
        let ground = Ground::new(server, 4, &["--idle-keep", keep]);
        let (mut victim, mut killer) = (ground.session(), ground.session());
        victim.lock("k");
        let response = killer.client.prepare(format!("KILL {}", victim.id()).as_bytes());
        let kill = response.statement_id().expect("prepared");
        if keep == "50ms" {
            ground.until_all_have_left();
        }
        let ended = killer.client.execute(kill, &Execute::default());
        assert_eq!(render::summary(&ended), "OK");
        assert_eq!(victim.last_words().map(|error| error.code), None, "as servers do");
        until_free(&mut killer, "k");
        let again = killer.client.execute(kill, &Execute::default());
        assert_eq!(error(&again), (1094, format!("Unknown thread id: {}", victim.id())));
    }
}

/// Expressions whose value is the id `%`.
const IDS: [&str; 9] = [
    "@x",
    "@x + 0",
    "(@x)",
    "'%'",
    "(SELECT %)",
    "(SELECT @x)",
    "CAST('%' AS UNSIGNED)",
    "%.0",
    "CONNECTION_ID() - CONNECTION_ID() + @@pseudo_thread_id - @@session.pseudo_thread_id + %",
];

/// Numbers differ between server and proxy.
fn without_numbers(text: &str) -> String {
    let sign = |c: char| if c.is_ascii_digit() { '#' } else { c };
    let mut signs: Vec<char> = text.chars().map(sign).collect();
    signs.dedup_by(|a, b| *a == '#' && *b == '#');
    signs.into_iter().collect()
}

/// An error without the ids in it.
fn outcome(response: &Response) -> String {
    match response.error() {
        Some(_) => without_numbers(&format!("{:?}", error(response))),
        None => render::summary(response),
    }
}

fn a_kill_takes_an_id_that_the_server_computes(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "50ms"]);
    let ways = IDS.iter().flat_map(|id| ["", "CONNECTION ", "QUERY "].map(|kind| (*id, kind)));
    for (nth, (id, kind)) in ways.enumerate() {
        let prepared = nth % 2 == 1;
        let [direct, proxied] = [ground.server().port, ground.proxy.port].map(|port| {
            let of = || Session::of(port, &ground.tenant.account);
            let (mut victim, mut killer) = (of(), of());
            let number = victim.id().to_string();
            victim.run("SET @y = 5");
            killer.run(&format!("SET @x = {number}"));
            let text = format!("KILL {kind}{}", id.replace('%', &number));
            let answer = if prepared {
                let kill = killer.client.prepare(text.as_bytes());
                match kill.statement_id() {
                    Some(kill) => killer.client.execute(kill, &Execute::default()),
                    None => kill,
                }
            } else {
                killer.client.query(text.as_bytes())
            };
            let ends = answer.error().is_none() && kind != "QUERY ";
            if ends {
                assert_eq!(victim.last_words().map(|error| error.code), None, "{text}");
            } else {
                assert_eq!(victim.value("SELECT @y").as_deref(), Some("5"), "{text}");
            }
            (outcome(&answer), ends)
        });
        assert_eq!(proxied, direct, "KILL {kind}{id}, prepared: {prepared}");
    }
}

fn an_id_that_is_no_session_s_ends_nobody(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "1h"]);
    // The connections of other sessions have ids that are not far from each other.
    let mut others: Vec<Session> = (0..3).map(|_| ground.session()).collect();
    for session in &mut others {
        session.run("SET @y = 5");
    }
    for id in [
        "CONNECTION_ID() + 500000000",
        "@@pseudo_thread_id + 500000000",
        "@nothing",
        "NULL",
        "-5",
        "'no number'",
        "no_column",
        "(SELECT MAX(id) FROM information_schema.processlist)",
        "1 FROM DUAL",
        "5 AS id",
        "5 LIMIT 1",
        "SELECT 5",
        "(SELECT 5, 6)",
        "(@z := CONNECTION_ID() + 500000000)",
    ] {
        let [direct, proxied] = [ground.server().port, ground.proxy.port].map(|port| {
            let mut killer = Session::of(port, &ground.tenant.account);
            outcome(&killer.client.query(format!("KILL {id}").as_bytes()))
        });
        assert_eq!(proxied, direct, "KILL {id}");
        for session in &mut others {
            assert_eq!(session.value("SELECT @y").as_deref(), Some("5"), "KILL {id}");
        }
    }
    // At the server they may be next to each other's.
    for id in (1..5)
        .flat_map(|n| [format!("CONNECTION_ID() + {n}"), format!("(@z := CONNECTION_ID() + {n})")])
    {
        let mut killer = ground.session();
        let answer = killer.client.query(format!("KILL {id}").as_bytes());
        assert_eq!(error(&answer).0, 1094, "KILL {id}");
        for session in &mut others {
            assert_eq!(session.value("SELECT @y").as_deref(), Some("5"), "KILL {id}");
        }
    }
    // Of itself it ends the statement alone.
    let [direct, proxied] = [ground.server().port, ground.proxy.port].map(|port| {
        let mut killer = Session::of(port, &ground.tenant.account);
        let answer = killer.client.query(b"KILL QUERY CONNECTION_ID()");
        assert_eq!(killer.value("SELECT 7").as_deref(), Some("7"));
        outcome(&answer)
    });
    assert_eq!(proxied, direct);
}

fn a_kill_by_a_parameter_takes_the_server_s_ids(server: &Server) {
    let ground = Ground::new(server, 2, &[]);
    let (mut victim, mut killer) = (ground.session(), ground.session());
    assert_eq!(killer.client.set_option(0).error(), None);
    let unknown = |id: &str| (1094, format!("Unknown thread id: {id}"));
    let id = victim.id().to_string();
    let several = killer.client.query(format!("DO 1; KILL {id}").as_bytes());
    assert_eq!(error(&several), unknown(&id));
    let mut direct = Session::of(ground.server().port, &ground.tenant.account);
    let [direct, prepared] = [&mut direct, &mut killer].map(|s| s.client.prepare(b"KILL ?"));
    assert_eq!(direct.error(), prepared.error(), "MySQL cannot prepare it");
    if let Some(kill) = prepared.statement_id() {
        let number = Execute { params: vec![Param::ULongLong(victim.id())], ..Execute::default() };
        assert_eq!(error(&killer.client.execute(kill, &number)), unknown(&id));
    }
    assert_eq!(victim.value("SELECT 7").as_deref(), Some("7"));
}

/// Ways in which a session kills itself.
const ITSELF: [&str; 6] = [
    "KILL CONNECTION_ID()",
    "kill connection connection_id ( );",
    "KILL %",
    "KILL @@pseudo_thread_id",
    "KILL CONNECTION (SELECT CONNECTION_ID())",
    "KILL CONNECTION_ID() + 0",
];

fn a_kill_of_itself_ends_the_session_as_on_the_server(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "50ms"]);
    let port = ground.proxy.port;
    for (text, prepared) in ITSELF.iter().flat_map(|text| [(text, false), (text, true)]) {
        let [direct, proxied] = [ground.server().port, port].map(|port| {
            let mut victim = Session::of(port, &ground.tenant.account);
            let text = text.replace('%', &victim.id().to_string());
            let lock = format!("{text} {prepared}");
            victim.lock(&lock);
            // A statement that is kept keeps the session on its connection.
            let kill = prepared.then(|| victim.client.prepare(text.as_bytes()));
            if port == ground.proxy.port {
                ground.until_all_have_left();
            }
            let answer = match kill.map(|prepared| prepared.statement_id().expect("prepared")) {
                Some(kill) => victim.client.execute(kill, &Execute::default()),
                None => victim.client.query(text.as_bytes()),
            };
            let after = victim.client.query(b"SELECT 7");
            assert_eq!(after.end, End::Closed, "{text} {prepared}");
            let mut other = Session::of(port, &ground.tenant.account);
            until_free(&mut other, &lock);
            answer.error()
        });
        // MariaDB tells the session's end or does not.
        let told = [Some(1317), Some(1927), None];
        assert!(told.contains(&direct) && told.contains(&proxied), "{text}: {proxied:?}");
    }
    assert!(ground.pins().is_empty());
}

fn a_kill_query_of_an_idle_session_touches_nothing(server: &Server) {
    for keep in ["50ms", "1h"] {
        let ground = Ground::new(server, 2, &["--idle-keep", keep]);
        let (mut victim, mut killer) = (ground.session(), ground.session());
        victim.lock("k");
        victim.run("SET @x = 5");
        if keep == "50ms" {
            ground.until_all_have_left();
        }
        killer.run(&format!("KILL QUERY {}", victim.id()));
        assert!(!killer.is_free("k"));
        assert_eq!(victim.value("SELECT @x").as_deref(), Some("5"));
        victim.unlock("k");
    }
}

/// Statements that wait for the lock `%`.
const WAITS: [&str; 5] = [
    "SELECT GET_LOCK('%', 600)",
    "SELECT 1, GET_LOCK('%', 600) AS got, 2",
    "SELECT 1 FROM DUAL WHERE GET_LOCK('%', 600) = 1",
    "DO GET_LOCK('%', 600)",
    "SET @got = GET_LOCK('%', 600)",
];

/// The replies of sessions whose waits for a lock KILL QUERY has ended, as texts and as prepared statements.
fn killed_waits(port: u16, tenant: &Tenant, until_waiting: impl Fn(&Session)) -> Vec<String> {
    let mut sessions: Vec<Session> = (0..3).map(|_| Session::of(port, &tenant.account)).collect();
    let lock = format!("wait {}", tenant.name);
    sessions[0].lock(&lock);
    let mut heard = Vec::new();
    for text in WAITS.map(|text| text.replace('%', &lock)) {
        for prepared in [false, true] {
            let client = &mut sessions[1].client;
            if prepared {
                let statement = client.prepare(text.as_bytes()).statement_id().expect("prepared");
                client.send_execute(statement, &Execute::default());
            } else {
                client.send_query(text.as_bytes(), &[]);
            }
            until_waiting(&sessions[1]);
            let id = sessions[1].id();
            sessions[2].run(&format!("KILL QUERY {id}"));
            let shape = if prepared { Shape::Execute } else { Shape::Query };
            let client = &mut sessions[1].client;
            let answer = client.read_response(shape);
            let warnings = render::summary(&client.query(b"SHOW WARNINGS"));
            heard.push(format!("{text} {prepared}\n{}{warnings}", render::packets(&answer)));
        }
    }
    sessions[1].run("DO 1");
    sessions[0].unlock(&lock);
    heard
}

fn a_kill_query_ends_a_wait_for_a_lock_as_on_the_server(server: &Server) {
    let ground = Ground::new(server, 3, &[]);
    let direct = killed_waits(ground.server().port, &ground.tenant, |session| {
        let id = u32::try_from(session.id()).expect("an id");
        let mut root = ground.server().root();
        eventually("it waits", || root.waits(id).then_some(()));
    });
    let proxied = killed_waits(ground.proxy.port, &ground.tenant, |_| {
        until_waiting(&ground.proxy, 1);
    });
    for (proxied, direct) in proxied.iter().zip(&direct) {
        assert_eq!(proxied, direct);
    }
}

fn a_kill_ends_a_session_that_waits_for_a_lock(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let (mut holder, mut waiter) = (ground.session(), ground.session());
    holder.lock("k");
    waiter.ask_for("k");
    until_waiting(&ground.proxy, 1);
    holder.run(&format!("KILL {}", waiter.id()));
    // As at the server.
    assert_eq!(waiter.last_words().map(|error| error.code), None);
    holder.unlock("k");
    holder.lock("k");
}

fn a_kill_query_ends_a_wait_for_a_connection(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "1h"]);
    let (mut waiter, mut busy) = (ground.session(), ground.session());
    waiter.run("SET @x = 5");
    busy.run("BEGIN");
    ground.until_none_is_surplus();
    let waits = ground.proxy.metric("lockstead_pool_waits_total");
    waiter.send("SELECT 7");
    until_queued(&ground.proxy, waits + 1.0);
    busy.run(&format!("KILL QUERY {}", waiter.id()));
    let heard = waiter.client.read_response(Shape::Query);
    assert_eq!(error(&heard), (1317, "Query execution was interrupted".to_owned()));
    busy.run("COMMIT");
    assert_eq!(waiter.value("SELECT @x").as_deref(), Some("5"));
}

fn the_server_judges_who_may_kill_a_session_without_a_connection(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "50ms"]);
    let stranger = Tenant::create(ground.server(), "of a stranger");
    teach(&ground.proxy, &stranger.account);
    let mut victim = ground.session();
    victim.lock("k");
    let mut other = Session::of(ground.proxy.port, &stranger.account);
    for what in ["", "QUERY "] {
        ground.until_all_have_left();
        let refused = other.client.query(format!("KILL {what}{}", victim.id()).as_bytes());
        let expected = format!("You are not owner of thread {}", victim.id());
        assert_eq!(error(&refused), (1095, expected));
        // A session keeps its connection as long as it may ask what the error was.
        other.run("SELECT COUNT(*) FROM information_schema.engines");
    }
    assert_eq!(victim.value("SELECT 7").as_deref(), Some("7"));
    ground.until_all_have_left();
    // The pool may not even have a connection of that account.
    other.run("DO 1");
    let mut root = Session::of(ground.proxy.port, &account());
    root.run(&format!("KILL {}", victim.id()));
    assert_eq!(victim.last_words().map(|error| error.code), None);
    // Root's own connection is the only one, and MySQL does not say root's password to every proxy.
    root.client.quit();
    until_free(&mut other, "k");
}

fn com_process_kill_takes_a_session_s_id_where_the_server_knows_the_command(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "50ms"]);
    let mut direct = Session::of(ground.server().port, &ground.tenant.account);
    let unknown = 1_073_741_823_u32.to_le_bytes();
    let answer = direct.client.command(COM_PROCESS_KILL, &unknown, Shape::Query);
    let knows = answer.error() == Some(1094);
    let mut killer = ground.session();
    let same = killer.client.command(COM_PROCESS_KILL, &unknown, Shape::Query);
    assert_eq!(render::summary(&same), render::summary(&answer));
    for leaves in [true, false] {
        let mut victim = ground.session();
        victim.lock("k");
        if leaves {
            // A session keeps its connection as long as it may ask what the error was.
            killer.run("SELECT COUNT(*) FROM information_schema.engines");
            ground.until_all_have_left();
        }
        let id = victim.client.connection_id().to_le_bytes();
        let answer = killer.client.command(COM_PROCESS_KILL, &id, Shape::Query);
        assert_eq!(answer.error(), (!knows).then_some(1047), "{}", render::response(&answer));
        if knows {
            assert_eq!(victim.last_words().map(|error| error.code), None);
        } else {
            victim.unlock("k");
        }
        until_free(&mut killer, "k");
    }
}
