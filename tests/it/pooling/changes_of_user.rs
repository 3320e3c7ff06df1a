//! COM_CHANGE_USER in sessions that share their connections.

use std::sync::Arc;
use std::time::Instant;

use super::ground::{Ground, Suited, Tenant, options, pins, pooling, teach};
use crate::own_server::{OwnServer, flavour_of};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{Account, End};

on_both! {
    a_change_of_user_keeps_nobody_waiting
    a_change_to_another_account_keeps_nobody_waiting
    a_connection_whose_account_was_changed_goes_to_nobody
    a_change_of_user_is_proved_by_the_nonce_that_the_client_knows
    a_change_to_a_new_account_is_proved_by_the_nonce_that_the_client_knows
    a_denied_change_of_user_is_the_server_s
    denied_changes_of_user_hinder_no_other_session
    wrong_passwords_cause_few_looks_at_the_server_s_accounts
    a_change_of_user_teaches_as_a_login_does
}

fn until_free_of_pins(ground: &Ground) {
    eventually("no session is pinned", || ground.pins().is_empty().then_some(()));
}

/// To the same account, as frameworks do instead of a reset.
fn a_change_of_user_keeps_nobody_waiting(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "1s"]);
    let (mut one, mut other) = (ground.session(), ground.session());
    one.run("SET @x = 1");
    assert_eq!(one.client.change_user(&ground.tenant.account).error(), None);
    assert_eq!(one.value("SELECT 7").as_deref(), Some("7"));
    assert_eq!(other.value("SELECT 8").as_deref(), Some("8"));
    let schema = Some(ground.tenant.database.name.clone());
    assert_eq!(one.value("SELECT DATABASE()"), schema);
    assert_eq!(one.value("SELECT @x IS NULL").as_deref(), Some("1"));
    let id = Some(one.id().to_string());
    assert_eq!(one.value("SELECT CONNECTION_ID()"), id);
    until_free_of_pins(&ground);
}

/// Who a session is, and where.
fn who(session: &mut Session) -> Option<String> {
    session
        .value("SELECT CONCAT_WS(' ', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), DATABASE(), @mine)")
}

fn a_change_to_another_account_keeps_nobody_waiting(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "2s"]);
    let second = Tenant::create(ground.server(), "of the second");
    teach(&ground.proxy, &second.account);
    let first = &ground.tenant;
    let mut sessions =
        [ground.session(), ground.session(), Session::of(ground.proxy.port, &second.account)];
    for round in 0..4 {
        let (now, account) =
            if round % 2 == 0 { (&second, &second.account) } else { (first, &first.account) };
        assert_eq!(sessions[0].client.change_user(account).error(), None, "round {round}");
        let mine = sessions[0].id();
        sessions[0].run(&format!("SET @mine = {mine}"));
        for _ in 0..2 {
            let is = |tenant: &Tenant| format!("{} {}", tenant.name, tenant.database.name);
            assert_eq!(who(&mut sessions[0]), Some(format!("{} {mine}", is(now))), "round {round}");
            assert_eq!(who(&mut sessions[1]), Some(is(first)), "round {round}");
            assert_eq!(who(&mut sessions[2]), Some(is(&second)), "round {round}");
        }
    }
    until_free_of_pins(&ground);
}

fn a_connection_whose_account_was_changed_goes_to_nobody(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "1h"]);
    let second = Tenant::create(ground.server(), "of the second");
    teach(&ground.proxy, &second.account);
    let mut session = ground.session();
    session.run("DO 1");
    let connection = ground.tenant.only_connection();
    assert_eq!(session.client.change_user(&second.account).error(), None);
    assert!(second.connections().contains(&connection));
    // Others need it: of the first account, and of the second.
    for account in [&ground.tenant.account, &second.account] {
        Session::of(ground.proxy.port, account).run("DO 1");
    }
    let mut other = Session::of(ground.proxy.port, &second.account);
    eventually("it has ended", || {
        other.run("DO 1");
        let left = [second.connections(), ground.tenant.connections()].concat();
        (!left.contains(&connection)).then_some(())
    });
    assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
}

/// Some clients know only the nonce of their login, and have never had the connection on which that was greeted.
fn a_change_of_user_is_proved_by_the_nonce_that_the_client_knows(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "2s"]);
    let second = Tenant::create(ground.server(), "of the second");
    teach(&ground.proxy, &second.account);
    let first = &ground.tenant;
    for tls in [false, true] {
        let of = |tenant: &Tenant| {
            let mut account = Account { keeps_nonce: true, ..tenant.account.clone() };
            account.wrap.tls = tls;
            account
        };
        let wrong = Account { password: "another".to_owned(), ..of(first) };
        let mut sessions = [(); 2].map(|()| Session::of(ground.proxy.port, &of(first)));
        for round in 0..4 {
            for (n, session) in sessions.iter_mut().enumerate() {
                let now = if round % 2 == n { &second } else { first };
                let changed = session.client.change_user(&of(now));
                assert_eq!(changed.error(), None, "TLS {tls}, round {round}, session {n}");
                let is = format!("{} {}", now.name, now.database.name);
                assert_eq!(who(session), Some(is), "TLS {tls}, round {round}, session {n}");
            }
        }
        let [mut session, _other] = sessions;
        assert_eq!(session.client.change_user(&wrong).error(), Some(1045), "TLS {tls}");
    }
    until_free_of_pins(&ground);
}

fn a_change_to_a_new_account_is_proved_by_the_nonce_that_the_client_knows(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "2s"]);
    let keeping = |tenant: &Tenant| Account { keeps_nonce: true, ..tenant.account.clone() };
    let mut session = Session::of(ground.proxy.port, &keeping(&ground.tenant));
    for password in ["of the second", "of the third"] {
        let mut new = Tenant::create(ground.server(), password);
        assert_eq!(session.client.change_user(&keeping(&new)).error(), None, "{password}");
        assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
        assert_eq!(session.client.change_user(&keeping(&ground.tenant)).error(), None);
        new.change_password("another one");
        assert_eq!(session.client.change_user(&keeping(&new)).error(), None, "{password}");
        assert_eq!(session.client.change_user(&keeping(&ground.tenant)).error(), None);
    }
}

/// MariaDB takes no change of user any more on a connection on which it has denied three.
fn denied_changes_of_user_hinder_no_other_session(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "2s"]);
    let wrong = Account { password: "another".to_owned(), ..ground.tenant.account.clone() };
    for _ in 0..4 {
        let mut session = ground.session();
        assert_eq!(session.client.change_user(&wrong).error(), Some(1045));
    }
    let mut session = ground.session();
    assert_eq!(session.client.change_user(&ground.tenant.account).error(), None);
    assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
}

/// Sessions at once.
const MANY: u32 = 16;

/// Each may be a new one of the account, which only the server's tables show.
fn wrong_passwords_cause_few_looks_at_the_server_s_accounts(server: &Server) {
    if flavour_of(server) == Flavour::MySql {
        // MySQL does not show what it keeps of passwords.
        return;
    }
    // Proxies of other tests look, too.
    let own = Arc::new(OwnServer::start(Flavour::MariaDb, options(Flavour::MariaDb)));
    let mut ground = Ground::before(Suited::alone(&own), MANY, &["--pool-wait", "5s"]);
    let keeping = Account { keeps_nonce: true, ..ground.tenant.account.clone() };
    let wrong = Account { password: "another".to_owned(), ..keeping.clone() };
    let looks = || -> u64 {
        let sql = "SELECT COALESCE(SUM(count_star),0) FROM performance_schema.events_statements_summary_by_digest \
                   WHERE digest_text LIKE '%global_priv%' AND digest_text NOT LIKE '%count_star%'";
        own.server.root().column(sql)[0].parse().expect("a number")
    };
    let (before, begun) = (looks(), Instant::now());
    assert!(before > 0, "they are counted");
    // The server takes its time with each, so there are many at once.
    std::thread::scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|| {
                let mut session = Session::of(ground.proxy.port, &keeping);
                for _ in 0..3 {
                    assert_eq!(session.client.change_user(&wrong).error(), Some(1045));
                }
            });
        }
    });
    // One that begins each second, one of those that come by themselves, and one for the second that is not over.
    let seen = looks() - before;
    let may = begun.elapsed().as_secs() + begun.elapsed().as_secs() / 10 + 2;
    assert!(seen <= may, "{seen} looks in {:?}", begun.elapsed());
    // A right one is not kept from being seen.
    let mut session = Session::of(ground.proxy.port, &keeping);
    assert_eq!(session.client.change_user(&wrong).error(), Some(1045));
    ground.tenant.change_password("a new one");
    let right = Account { keeps_nonce: true, ..ground.tenant.account.clone() };
    assert_eq!(session.client.change_user(&right).error(), None);
    assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
}

fn a_denied_change_of_user_is_the_server_s(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "2s"]);
    let (mut session, mut other) = (ground.session(), ground.session());
    session.lock("k");
    session.run("SET @x = 5");
    other.run("DO 1");
    let wrong = Account { password: "another".to_owned(), ..ground.tenant.account.clone() };
    assert_eq!(session.client.change_user(&wrong).error(), Some(1045));
    match flavour_of(ground.server()) {
        Flavour::MySql => assert_eq!(session.client.read_until_closed().end, End::Closed),
        Flavour::MariaDb => {
            let schema = Some(ground.tenant.database.name.clone());
            for _ in 0..2 {
                assert_eq!(session.value("SELECT @x IS NULL").as_deref(), Some("1"));
                assert_eq!(session.value("SELECT DATABASE()"), schema);
                other.run("DO 1");
            }
        }
    }
    eventually("the lock is free", || other.is_free("k").then_some(()));
    until_free_of_pins(&ground);
}

fn a_change_of_user_teaches_as_a_login_does(server: &Server) {
    let suited = Suited::to(server);
    let proxy = pooling(suited.server(), 1, &[]);
    // MySQL asks for a password only until an account has logged in once.
    let [first, second] =
        ["of the first", "of the second"].map(|password| Tenant::create(suited.server(), password));
    teach(&proxy, &first.account);
    let mut session = Session::of(proxy.port, &first.account);
    // MariaDB's verifiers are read beside.
    eventually("the proxy knows the account", || {
        assert_eq!(session.client.change_user(&second.account).error(), None);
        session.run("DO 1");
        pins(&proxy).is_empty().then_some(())
    });
    Session::of(proxy.port, &first.account).run("DO 1");
    assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
}
