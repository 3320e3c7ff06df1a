//! The log says which client came and why it left, but never what it sent.

use serde_json::Value;

use crate::admin::Desk;
use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Client, Shape};

on_both! {
    each_connection_has_a_line_when_it_opens_and_one_when_it_ends
    connections_are_not_logged_at_info
    statements_of_clients_are_not_logged
}

const JSON: [&str; 2] = ["--log-format", "json"];

/// The events of sessions so far: level, and fields.
fn events(proxy: &Proxy) -> Vec<Value> {
    let log = proxy.log();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    events.filter(|event| event["target"] == "lockstead::sessions").collect()
}

/// Log lines of a connection: the message, and the reason of its end. Each line must name the client.
fn told(proxy: &Proxy, connection: u64, peer: &str) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let id = connection.to_string();
    let of_it = |event: &&Value| event["fields"]["connection"] == id;
    let tell = |event: &Value| {
        assert_eq!(event["level"], "DEBUG", "{event}");
        let fields = &event["fields"];
        assert_eq!((&fields["owner"], &fields["peer"]), (&"root@127.0.0.1".into(), &peer.into()));
        (text(&fields["message"]).expect("a message"), text(&fields["reason"]))
    };
    events(proxy).iter().filter(of_it).map(tell).collect()
}

fn peer(session: &Session) -> String {
    session.client.local_address().to_string()
}

fn each_connection_has_a_line_when_it_opens_and_one_when_it_ends(server: &Server) {
    let level = ["--log-level", "info,lockstead::sessions=debug"];
    let mut desk = Desk::with(server, "", &[JSON, level].concat());
    let [left, killed, mut revoked, stays] = [(); 4].map(|()| Session::at(desk.proxy.port));
    let all = [&left, &killed, &revoked, &stays].map(|session| (session.id(), peer(session)));
    let opened = ("opened".to_owned(), None);
    for (id, peer) in &all {
        eventually("its line is there", || {
            (told(&desk.proxy, *id, peer) == [opened.clone()]).then_some(())
        });
    }
    revoked.lock("job");
    drop(left);
    server.root().run(&format!("KILL {}", killed.id()));
    desk.ask(&["release", "job"]);
    for ((id, peer), reason) in all.iter().zip(["client", "server", "revoked"]) {
        let closed = ("closed".to_owned(), Some(reason.to_owned()));
        let lines = [opened.clone(), closed];
        eventually(reason, || (told(&desk.proxy, *id, peer) == lines).then_some(()));
    }
    let turned_away = Client::connect("127.0.0.1", desk.proxy.port, &Account::new("root", "wrong"));
    let turned_away = turned_away.expect("a connection").local_address().to_string();
    eventually("the refusal is told", || {
        let events = events(&desk.proxy);
        let it = events.iter().find(|event| event["fields"]["peer"] == turned_away)?;
        assert_eq!(
            (&it["level"], &it["fields"]["message"]),
            (&"DEBUG".into(), &"turned away".into())
        );
        assert_eq!(it["fields"]["reason"], "login_failed");
        Some(())
    });
    desk.proxy.signal("TERM");
    desk.proxy.wait();
    let closed = ("closed".to_owned(), Some("drained".to_owned()));
    let (id, peer) = &all[3];
    eventually("the last line", || {
        (told(&desk.proxy, *id, peer) == [opened.clone(), closed.clone()]).then_some(())
    });
    // One line each, and no more.
    assert_eq!(events(&desk.proxy).len(), 2 * all.len() + 1, "{}", desk.proxy.log());
}

fn connections_are_not_logged_at_info(server: &Server) {
    let mut proxy = Proxy::start(&server.url, &JSON);
    for n in 0..3 {
        Session::at(proxy.port).lock(&format!("job{n}"));
    }
    proxy.signal("TERM");
    proxy.wait();
    eventually("its last line", || proxy.log().contains("stopped").then_some(()));
    assert!(events(&proxy).is_empty(), "{}", proxy.log());
}

fn statements_of_clients_are_not_logged(server: &Server) {
    for level in ["info", "debug"] {
        let proxy = Proxy::start(&server.url, &["--log-level", level]);
        let password = format!("Xyzzy-{:08x}", rand::random::<u32>());
        let user = format!("u{:08x}", rand::random::<u32>());
        let mut root = server.root();
        root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{password}'"));
        say_much(
            &proxy,
            &Account { capabilities: account().capabilities, ..Account::new(&user, &password) },
        );
        root.run(&format!("DROP USER {user}@'%'"));
        // The last thing that it does has gone through the log before this is looked at.
        eventually("a line", || proxy.log().contains("is not covered").then_some(()));
        for never in ["Xyzzy", "rootpw", "Plugh", "PLUGH"] {
            let log = proxy.log();
            let lines: Vec<&str> = log.lines().filter(|line| line.contains(never)).collect();
            assert!(lines.is_empty(), "{never} at {level}: {lines:#?}");
        }
    }
}

/// Logins that succeed and one that does not, and statements that do, fail, wait and are refused.
fn say_much(proxy: &Proxy, account: &Account) {
    let wrong =
        Account { capabilities: account.capabilities, ..Account::new(&account.user, "Xyzzy") };
    let refused = Client::connect("127.0.0.1", proxy.port, &wrong).expect("a connection");
    assert!(!refused.login.succeeded());
    let mut session = Session::of(proxy.port, account);
    session.run("SELECT 'Plugh'");
    session.run("SELECT 'Plugh', GET_LOCK('job', 0), 'Plugh'");
    session.run("SET @plugh = 'Plugh'");
    for fails in
        ["SELEKT 'Plugh'", "SELECT * FROM Plugh.Plugh", "SELECT GET_LOCK('job', 0) FROM 'Plugh'"]
    {
        session.send(fails);
        assert!(session.client.read_response(Shape::Query).error().is_some(), "{fails}");
    }
    assert!(session.client.prepare(b"SELECT 'Plugh', GET_LOCK(?, 0)").error().is_none());
    assert!(session.client.change_user(account).error().is_none());
    session.send("SELECT IF(RAND(), GET_LOCK('Plugh', 0), 'Plugh')");
    assert_eq!(session.client.read_response(Shape::Query).error(), Some(1235));
}
