//! Logins that the proxy judges, since the server has judged one like it a short time ago: `login_check_ttl`.

use std::sync::Arc;

use super::ground::{Ground, Suited, Tenant, options, pooling};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::capability::{DEFAULT, SESSION_TRACK};
use crate::wire::{Account, Client, Execute};

on_both! {
    a_login_like_one_before_costs_the_server_none
    such_a_session_is_as_the_server_would_have_begun_it
    another_answer_is_judged_by_the_server
    each_login_is_judged_by_the_server_if_none_may_count
    a_change_of_the_account_in_passing_counts_at_once
    a_change_that_another_text_makes_counts_at_once
    a_call_that_changes_no_account_ends_nothing
    a_schema_that_was_dropped_in_passing_is_unknown_at_once
    a_change_of_the_account_elsewhere_counts_after_the_time
    a_server_with_init_connect_judges_every_login
}

/// Longer than any test.
pub(super) const LONG: [&str; 2] = ["--login-check-ttl", "1h"];

pub(super) fn judged_by(proxy: &Proxy, judge: &str) -> f64 {
    proxy.metric(&format!("lockstead_logins_total{{judge=\"{judge}\"}}"))
}

/// Logs in until the proxy lets clients like this one in by itself.
pub(super) fn until_known(proxy: &Proxy, account: &Account) {
    eventually("the proxy lets a client in", || {
        let before = judged_by(proxy, "proxy");
        let mut session = Session::of(proxy.port, account);
        session.run("DO 0");
        session.client.say_quit();
        (judged_by(proxy, "proxy") > before).then_some(())
    });
}

/// Logins that the server has seen of an account.
pub(super) fn logins_at(server: &Server, tenant: &Tenant) -> u64 {
    let sql = format!(
        "SELECT COALESCE(SUM(total_connections),0) FROM performance_schema.accounts WHERE user='{}'",
        tenant.name
    );
    server.root().column(&sql)[0].parse().expect("a number")
}

fn login_packets(client: &Client) -> Vec<Vec<u8>> {
    client.login.packets.iter().map(|p| p.payload.clone()).collect()
}

fn a_login_like_one_before_costs_the_server_none(server: &Server) {
    let ground = Ground::new(server, 2, &LONG);
    until_known(&ground.proxy, &ground.tenant.account);
    let (before, known) =
        (logins_at(ground.server(), &ground.tenant), judged_by(&ground.proxy, "proxy"));
    for n in 0..20 {
        let mut session = ground.session();
        assert_eq!(session.value("SELECT 7"), Some("7".to_owned()), "{n}");
        session.client.quit();
    }
    assert!((judged_by(&ground.proxy, "proxy") - known - 20.0).abs() < 0.5);
    // The pool may open the second of its connections.
    let more = logins_at(ground.server(), &ground.tenant) - before;
    assert!(more <= 2, "the server has seen {more} logins");
}

fn such_a_session_is_as_the_server_would_have_begun_it(server: &Server) {
    let ground = Ground::new(server, 1, &LONG);
    let tenant = &ground.tenant;
    let role = format!("{}_r", tenant.name);
    let mut root = ground.server().root();
    root.run(&format!("CREATE ROLE {role}"));
    root.run(&format!("GRANT {role} TO {}", tenant.name));
    root.run(&match flavour_of(server) {
        Flavour::MySql => format!("SET DEFAULT ROLE {role} TO {}", tenant.name),
        Flavour::MariaDb => format!("SET DEFAULT ROLE {role} FOR {}", tenant.name),
    });
    for (collation, capabilities) in [(45, DEFAULT), (8, DEFAULT | SESSION_TRACK), (224, DEFAULT)] {
        let account = Account { collation, capabilities, ..tenant.account.clone() };
        until_known(&ground.proxy, &account);
        let mut stranger = Session::of(ground.proxy.port, &account);
        stranger.run("SET ROLE NONE");
        stranger.run("SET NAMES utf8mb4 COLLATE utf8mb4_bin, @mine=1, wait_timeout=77");
        stranger.run("USE information_schema");
        let known = judged_by(&ground.proxy, "proxy");
        let mut session = Session::of(ground.proxy.port, &account);
        assert!(judged_by(&ground.proxy, "proxy") > known);
        let mut direct = Session::of(ground.server().port, &account);
        let sent = login_packets(&direct.client);
        // In full or not: the server has judged another client's password before.
        assert_eq!(login_packets(&session.client).last(), sent.last(), "{collation}");
        let state = "SELECT CONCAT_WS(' ', DATABASE(), CURRENT_ROLE(), CURRENT_USER(), @@character_set_client, \
             @@character_set_connection, @@character_set_results, @@collation_connection, @@wait_timeout, @@sql_mode, \
             @@autocommit, IFNULL(@mine,'unset'))";
        assert_eq!(session.value(state), direct.value(state), "{collation}");
        assert_eq!(session.value("SELECT CONNECTION_ID()"), Some(session.id().to_string()));
        session.lock("k");
        session.unlock("k");
    }
    root.run(&format!("DROP ROLE {role}"));
}

/// Those of another password, of an account that is not known, and of one that needs another plugin.
fn another_answer_is_judged_by_the_server(server: &Server) {
    let ground = Ground::new(server, 2, &LONG);
    let other = Tenant::create(ground.server(), "of the other");
    until_known(&ground.proxy, &ground.tenant.account);
    let wrong = Account { password: "not it".to_owned(), ..ground.tenant.account.clone() };
    let nobody = Account { user: "nobody_here".to_owned(), ..wrong.clone() };
    for account in [&wrong, &nobody] {
        let refused = |port| {
            let client = Client::connect("127.0.0.1", port, account).expect("a connection");
            assert!(!client.login.succeeded(), "{}", account.user);
            login_packets(&client).last().cloned()
        };
        assert_eq!(refused(ground.proxy.port), refused(ground.server().port), "{}", account.user);
    }
    let mut session = Session::of(ground.proxy.port, &other.account);
    assert_eq!(session.value("SELECT DATABASE()"), Some(other.database.name.clone()));
    assert!(judged_by(&ground.proxy, "server_again") >= 1.0);
    let mut session = Session::at(ground.proxy.port);
    session.run("DO 0");
}

fn each_login_is_judged_by_the_server_if_none_may_count(server: &Server) {
    let ground = Ground::new(server, 2, &["--login-check-ttl", "0s"]);
    let before = logins_at(ground.server(), &ground.tenant);
    for _ in 0..5 {
        let mut session = ground.session();
        session.run("DO 0");
        session.client.quit();
    }
    assert!(logins_at(ground.server(), &ground.tenant) >= before + 5);
    assert!(judged_by(&ground.proxy, "proxy") + judged_by(&ground.proxy, "server_again") < 0.5);
}

fn a_change_of_the_account_in_passing_counts_at_once(server: &Server) {
    let ground = Ground::new(server, 2, &LONG);
    let mut account = ground.tenant.account.clone();
    let mut root = Session::at(ground.proxy.port);
    let name = &ground.tenant.name;
    until_known(&ground.proxy, &account);
    root.run(&format!("ALTER USER {name} ACCOUNT LOCK"));
    let client = Client::connect("127.0.0.1", ground.proxy.port, &account).expect("a connection");
    assert!(!client.login.succeeded(), "a locked account is let in");
    root.run(&format!("ALTER USER {name} ACCOUNT UNLOCK"));
    until_known(&ground.proxy, &account);
    let statement = match flavour_of(server) {
        Flavour::MySql => format!("ALTER USER {name} IDENTIFIED BY 'a new one'"),
        Flavour::MariaDb => format!("SET PASSWORD FOR {name} = PASSWORD('a new one')"),
    };
    root.run(&statement);
    let client = Client::connect("127.0.0.1", ground.proxy.port, &account).expect("a connection");
    assert!(!client.login.succeeded(), "an old password is let in");
    "a new one".clone_into(&mut account.password);
    until_known(&ground.proxy, &account);
}

/// Ways to run the statement `%` in the schema `$`: what goes before, and what runs it.
const WAYS: [(&[&str], &str); 6] = [
    (&[], "/*! % */"),
    (&["PREPARE s FROM '%'"], "EXECUTE s"),
    (&["SET @text = '%'", "PREPARE s FROM @text"], "EXECUTE s"),
    (&["CREATE PROCEDURE $.locks() %"], "CALL $.locks()"),
    (&["CREATE PROCEDURE $.calls() CALL $.locks()"], "/* a */ CALL `$`.calls"),
    (&["CREATE PROCEDURE $.text() BEGIN PREPARE s FROM '%'; EXECUTE s; END"], "CALL $.text()"),
];
/// Ways that only MariaDB has.
const MARIADB_WAYS: [(&[&str], &str); 2] =
    [(&[], "EXECUTE IMMEDIATE '%'"), (&[], "BEGIN NOT ATOMIC %; END")];

fn a_change_that_another_text_makes_counts_at_once(server: &Server) {
    let ground = Ground::new(server, 4, &LONG);
    let Tenant { name, account, database, .. } = &ground.tenant;
    let locks = format!("ALTER USER {name} ACCOUNT LOCK");
    let mut direct = ground.server().root();
    let mut assert_counts = |way: &str, change: &mut dyn FnMut()| {
        until_known(&ground.proxy, account);
        change();
        let client = Client::connect("127.0.0.1", ground.proxy.port, account);
        assert!(!client.expect("a connection").login.succeeded(), "{way}");
        direct.run(&format!("ALTER USER {name} ACCOUNT UNLOCK"));
    };
    let own: &[(&[&str], &str)] = match flavour_of(server) {
        Flavour::MySql => &[],
        Flavour::MariaDb => &MARIADB_WAYS,
    };
    for (before, way) in WAYS.iter().chain(own) {
        let text = |text: &str| text.replace('%', &locks).replace('$', &database.name);
        let mut root = Session::at(ground.proxy.port);
        for prepares in *before {
            root.run(&text(prepares));
        }
        assert_counts(way, &mut || drop(root.run(&text(way))));
    }
    let mut root = Session::at(ground.proxy.port);
    let statement = root.client.prepare(locks.as_bytes()).statement_id().expect("prepared");
    assert_counts("a prepared statement", &mut || {
        assert_eq!(root.client.execute(statement, &Execute::default()).error(), None);
    });
    assert_eq!(root.client.set_option(0).error(), None);
    assert_counts("several statements", &mut || {
        root.run(&format!("DO 1; {locks}"));
    });
}

fn a_call_that_changes_no_account_ends_nothing(server: &Server) {
    let ground = Ground::new(server, 2, &LONG);
    let Tenant { account, database, .. } = &ground.tenant;
    let mut root = Session::at(ground.proxy.port);
    root.run(&format!("CREATE PROCEDURE {}.reads() SELECT 7", database.name));
    // The proxy reads it some time after that.
    eventually("a login counts after a call", || {
        until_known(&ground.proxy, account);
        root.run(&format!("CALL {}.reads()", database.name));
        let before = judged_by(&ground.proxy, "proxy");
        Session::of(ground.proxy.port, account).client.say_quit();
        (judged_by(&ground.proxy, "proxy") > before).then_some(())
    });
}

fn a_schema_that_was_dropped_in_passing_is_unknown_at_once(server: &Server) {
    let ground = Ground::new(server, 2, &LONG);
    let schema = format!("{}_dropped", ground.tenant.name);
    let mut root = Session::at(ground.proxy.port);
    root.run(&format!("CREATE DATABASE {schema}"));
    root.run(&format!("GRANT ALL ON {schema}.* TO {}", ground.tenant.name));
    let account = Account { database: Some(schema.clone()), ..ground.tenant.account.clone() };
    until_known(&ground.proxy, &account);
    root.run(&format!("DROP DATABASE {schema}"));
    let refused = [ground.server().port, ground.proxy.port].map(|port| {
        let client = Client::connect("127.0.0.1", port, &account).expect("a connection");
        assert!(!client.login.succeeded(), "the schema is gone");
        login_packets(&client).last().cloned()
    });
    assert_eq!(refused[0], refused[1]);
}

fn a_change_of_the_account_elsewhere_counts_after_the_time(server: &Server) {
    let ground = Ground::new(server, 2, &["--login-check-ttl", "1s"]);
    until_known(&ground.proxy, &ground.tenant.account);
    let mut root = ground.server().root();
    root.run(&format!("ALTER USER {} ACCOUNT LOCK", ground.tenant.name));
    eventually("the account is locked here, too", || {
        let client = Client::connect("127.0.0.1", ground.proxy.port, &ground.tenant.account);
        (!client.expect("a connection").login.succeeded()).then_some(())
    });
}

fn a_server_with_init_connect_judges_every_login(server: &Server) {
    let own = Arc::new(OwnServer::start(flavour_of(server), options(flavour_of(server))));
    own.server.root().run("SET GLOBAL init_connect='SET @of_login=1'");
    let suited = Suited::alone(&own);
    let tenant = Tenant::create(suited.server(), "its password");
    let proxy = pooling(suited.server(), 2, &LONG);
    for _ in 0..5 {
        let mut session = Session::of(proxy.port, &tenant.account);
        assert_eq!(session.value("SELECT @of_login"), Some("1".to_owned()));
        session.client.quit();
    }
    assert!(judged_by(&proxy, "proxy") < 0.5);
}
