//! Doors between accounts: a login is like another one only where the server would say so.

use std::path::PathBuf;

use super::ground::{Suited, Tenant, pins, pooling, teach, until_all_have_left};
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Client};

on_both! {
    the_same_bytes_in_another_character_set_are_another_account
    a_change_to_the_same_bytes_is_one_to_another_account
    a_password_opens_no_account_whose_name_has_the_same_bytes
    a_session_of_the_same_bytes_is_not_one_s_own_to_kill
    names_that_a_server_makes_one_take_no_place
    a_login_without_what_the_account_requires_is_refused
    a_certificate_that_was_shown_counts_for_nobody_else
    a_session_with_a_certificate_gets_other_connections_with_it
    a_connection_from_before_a_change_of_accounts_is_nobody_s
}

/// Longer than any test: a login counts for all like it.
const LONG: [&str; 4] = ["--login-check-ttl", "1h", "--idle-keep", "50ms"];
const LATIN1: u16 = 8;
const SWE7: u16 = 10;

/// The account, as the server says it: in digits, since clients read results in their own character sets.
const WHOSE: &str = "SELECT HEX(CONVERT(CURRENT_USER() USING utf8mb4))";

fn called(user: &str) -> String {
    hex::encode_upper(format!("{user}@%"))
}

/// An account with a name that needs quotes.
struct Named {
    name: String,
    password: String,
    server: Server,
}

impl Named {
    fn create(server: &Server, name: String, password: &str) -> Self {
        let how = match flavour_of(server) {
            Flavour::MySql => format!("IDENTIFIED WITH caching_sha2_password BY '{password}'"),
            Flavour::MariaDb => {
                format!("IDENTIFIED VIA mysql_native_password USING PASSWORD('{password}')")
            }
        };
        server.root().run(&format!("CREATE USER `{name}`@`%` {how}"));
        Self { name, password: password.to_owned(), server: server.clone() }
    }

    /// A login in which the name is these bytes.
    fn by(&self, bytes: &[u8], collation: u16) -> Account {
        let raw_user = Some(bytes.to_vec());
        let (user, password) = (self.name.clone(), self.password.clone());
        Account { user, raw_user, password, collation, ..account() }
    }

    fn account(&self) -> Account {
        self.by(self.name.as_bytes(), 45)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP USER `{}`@`%`", self.name));
        }
    }
}

/// Pairs of accounts whose names have the same bytes in two character sets, and the second one's.
fn pairs(server: &Server, password: [&str; 2]) -> [(Named, Named, u16); 2] {
    let unique = fresh_schema().replace("lockstead_t", "p");
    let pair = |names: [&str; 2], collation| {
        let [first, second] = names.map(|name| format!("{name}{unique}"));
        let first = Named::create(server, first, password[0]);
        (first, Named::create(server, second, password[1]), collation)
    };
    [pair(["\u{e9}", "\u{c3}\u{a9}"], LATIN1), pair(["a[", "a\u{c4}"], SWE7)]
}

fn refusal(port: u16, account: &Account) -> Option<u16> {
    let client = Client::connect("127.0.0.1", port, account).expect("a connection");
    let last = client.login.packets.last().expect("an answer").payload.clone();
    (!client.login.succeeded()).then(|| u16::from_le_bytes([last[1], last[2]]))
}

fn the_same_bytes_in_another_character_set_are_another_account(server: &Server) {
    let suited = Suited::to(server);
    for (first, second, collation) in pairs(suited.server(), ["the same", "the same"]) {
        let proxy = pooling(suited.server(), 3, &LONG);
        teach(&proxy, &first.account());
        let other = second.by(first.name.as_bytes(), collation);
        let mut sessions: Vec<(&Named, Session)> = (0..4)
            .map(|n| match n % 2 {
                0 => (&first, Session::of(proxy.port, &first.account())),
                _ => (&second, Session::of(proxy.port, &other)),
            })
            .collect();
        for round in 0..4 {
            for (who, session) in &mut sessions {
                assert_eq!(session.value(WHOSE), Some(called(&who.name)), "round {round}");
            }
        }
        assert_eq!(pins(&proxy), ["{reason=\"auth\"} 2"]);
    }
}

fn a_change_to_the_same_bytes_is_one_to_another_account(server: &Server) {
    let suited = Suited::to(server);
    for (first, second, collation) in pairs(suited.server(), ["the same", "the same"]) {
        // One connection is that of the session that changes.
        let proxy = pooling(suited.server(), 2, &LONG);
        teach(&proxy, &first.account());
        let mut changed = Session::of(proxy.port, &first.account());
        let mut own: Vec<_> = (0..2).map(|_| Session::of(proxy.port, &first.account())).collect();
        // There, and back.
        for (account, name) in [
            (second.by(first.name.as_bytes(), collation), &second.name),
            (first.account(), &first.name),
        ] {
            changed.client.change_user(&account);
            for round in 0..3 {
                for session in &mut own {
                    assert_eq!(session.value(WHOSE), Some(called(&first.name)), "round {round}");
                }
                assert_eq!(changed.value(WHOSE), Some(called(name)), "round {round}");
            }
        }
    }
}

fn a_password_opens_no_account_whose_name_has_the_same_bytes(server: &Server) {
    let suited = Suited::to(server);
    for (first, second, collation) in pairs(suited.server(), ["of the first", "of the second"]) {
        let proxy = pooling(suited.server(), 2, &LONG);
        let bytes = first.name.as_bytes();
        let other = second.by(bytes, collation);
        // By turns: whose password is known of the bytes?
        for _ in 0..3 {
            for account in [&other, &first.account()] {
                let mut session = Session::of(proxy.port, account);
                session.run("DO 0");
                session.client.quit();
            }
            let wrong = Account { password: first.password.clone(), ..other.clone() };
            assert_eq!(refusal(proxy.port, &wrong), Some(1045), "{}", second.name);
        }
    }
}

fn a_session_of_the_same_bytes_is_not_one_s_own_to_kill(server: &Server) {
    let suited = Suited::to(server);
    for (first, second, collation) in pairs(suited.server(), ["the same", "the same"]) {
        let proxy = pooling(suited.server(), 2, &LONG);
        teach(&proxy, &first.account());
        let mut victim = Session::of(proxy.port, &second.by(first.name.as_bytes(), collation));
        victim.run("DO 0");
        let mut killer = Session::of(proxy.port, &first.account());
        let mut own = Session::of(proxy.port, &first.account());
        own.run("DO 0");
        eventually("the killer's own session has no connection", || {
            (proxy.metric("lockstead_pool_free_connections") > 0.5).then_some(())
        });
        let kill = format!("KILL {}", victim.id());
        assert_eq!(killer.client.query(kill.as_bytes()).error(), Some(1095));
        assert_eq!(victim.value("SELECT 7").as_deref(), Some("7"));
        killer.run(&format!("KILL {}", own.id()));
    }
}

fn names_that_a_server_makes_one_take_no_place(server: &Server) {
    let suited = Suited::to(server);
    let unique = fresh_schema().replace("lockstead_t", "p");
    let plain = Named::create(suited.server(), unique.clone(), "a password");
    let marked = Named::create(suited.server(), format!("?{unique}"), "a password");
    let mut names = vec![
        plain.by(format!("'{unique}'").as_bytes(), 45),
        marked.by(format!("\u{1f600}{unique}").as_bytes(), 45),
        marked.by(format!("\u{1f601}{unique}").as_bytes(), 45),
    ];
    if flavour_of(server) == Flavour::MySql {
        names.push(plain.by(&[unique.as_bytes(), b"\xc3"].concat(), 45));
    }
    let proxy = pooling(suited.server(), 2, &LONG);
    for named in [&plain, &marked] {
        teach(&proxy, &named.account());
    }
    for name in names {
        for _ in 0..2 {
            let mut session = Session::of(proxy.port, &name);
            assert_eq!(session.value(WHOSE), Some(called(&name.user)));
            assert_eq!(pins(&proxy), ["{reason=\"auth\"} 1"], "{:?}", name.raw_user);
            session.client.quit();
            eventually("it has ended", || pins(&proxy).is_empty().then_some(()));
        }
    }
}

/// The files of a client's certificate that `dev/server.sh` has made.
fn certificate(server: &Server, name: &str) -> [PathBuf; 2] {
    let ca = server.root().column("SELECT @@ssl_ca").pop().expect("a value");
    let folder = PathBuf::from(ca).parent().expect("a folder").to_owned();
    ["cert", "key"].map(|what| folder.join(format!("{name}-{what}.pem")))
}

/// A proxy that has both clients' certificates.
fn certified(server: &Server, size: u32) -> Proxy {
    let pairs = ["client", "other"].map(|name| certificate(server, name));
    let ca = pairs[0][0].with_file_name("ca.pem").display().to_string();
    let files = [0, 1].map(|n| {
        let names: Vec<String> = pairs.iter().map(|pair| pair[n].display().to_string()).collect();
        names.join(",")
    });
    let [certs, keys] = files.each_ref().map(String::as_str);
    let certificates = ["--backend-tls-cert", certs, "--backend-tls-key", keys];
    let asks = ["--tls-client-ca", &ca, "--tls-client-cert", "request"];
    let extra = [&certificates[..], &asks, &LONG].concat();
    pooling(server, size, &extra)
}

fn shows(account: &Account, tls: bool, certificate: Option<[PathBuf; 2]>) -> Account {
    let mut shows = Account { certificate, ..account.clone() };
    shows.wrap.tls = tls;
    shows
}

fn a_login_without_what_the_account_requires_is_refused(server: &Server) {
    let suited = Suited::to(server);
    let server = suited.server();
    let app = Some(certificate(server, "client"));
    let other = Some(certificate(server, "other"));
    let proxy = certified(server, 2);
    for (require, good, bad) in [
        ("SSL", (true, None), (false, None)),
        ("X509", (true, app.clone()), (true, None)),
        ("X509", (true, app.clone()), (false, None)),
        ("SUBJECT '/O=Lockstead tests/CN=app'", (true, app.clone()), (true, None)),
        ("SUBJECT '/O=Lockstead tests/CN=app'", (true, app), (true, other.clone())),
        ("ISSUER '/O=Lockstead tests/CN=authority'", (true, other), (true, None)),
    ] {
        let tenant = Tenant::create(server, "a password");
        server.root().run(&format!("ALTER USER {} REQUIRE {require}", tenant.name));
        let [good, bad] = [good, bad].map(|(tls, shown)| shows(&tenant.account, tls, shown));
        teach(&proxy, &good);
        for (account, expected) in
            [(&good, None), (&bad, Some(1045)), (&good, None), (&bad, Some(1045))]
        {
            assert_eq!(refusal(server.port, account), expected, "directly: {require}");
            assert_eq!(refusal(proxy.port, account), expected, "{require}");
        }
    }
}

fn a_certificate_that_was_shown_counts_for_nobody_else(server: &Server) {
    let suited = Suited::to(server);
    let server = suited.server();
    let shown = Some(certificate(server, "client"));
    let proxy = certified(server, 1);
    let tenant = Tenant::create(server, "a password");
    let strict = Tenant::create(server, "another password");
    server.root().run(&format!("ALTER USER {} REQUIRE X509", strict.name));
    let with = shows(&tenant.account, true, shown);
    let without = shows(&tenant.account, true, None);
    for account in [&with, &without] {
        teach(&proxy, account);
    }
    let mut stranger = Session::of(proxy.port, &without);
    stranger.run("DO 0");
    let mut certified = Session::of(proxy.port, &with);
    certified.run("DO 0");
    certified.client.quit();
    // On whichever connection it is now.
    stranger.run("DO 0");
    let change = shows(&strict.account, true, None);
    assert_eq!(stranger.client.change_user(&change).error(), Some(1045));
}

fn a_session_with_a_certificate_gets_other_connections_with_it(server: &Server) {
    let suited = Suited::to(server);
    let server = suited.server();
    let proxy = certified(server, 1);
    let tenant = Tenant::create(server, "a password");
    server.root().run(&format!("ALTER USER {} REQUIRE X509", tenant.name));
    let account = shows(&tenant.account, true, Some(certificate(server, "client")));
    teach(&proxy, &account);
    let mut sessions: Vec<Session> = (0..3).map(|_| Session::of(proxy.port, &account)).collect();
    for round in 0..3 {
        for (n, session) in sessions.iter_mut().enumerate() {
            if round == 0 {
                session.run(&format!("SET @mine = {n}"));
            }
            assert_eq!(session.value("SELECT @mine"), Some(n.to_string()), "round {round}");
        }
        until_all_have_left(&proxy);
        for id in tenant.connections() {
            server.root().try_run(&format!("KILL {id}"));
        }
        eventually("its connections are gone", || tenant.connections().is_empty().then_some(()));
    }
    assert_eq!(pins(&proxy), [""; 0]);
}

fn a_connection_from_before_a_change_of_accounts_is_nobody_s(server: &Server) {
    let suited = Suited::to(server);
    let server = suited.server();
    let proxy = pooling(server, 8, &LONG);
    let tenant = Tenant::create(server, "a password");
    let name = &tenant.name;
    server.root().run(&format!("GRANT RELOAD ON *.* TO {name}"));
    teach(&proxy, &tenant.account);
    // All but the first of them begin without a connection of their own. They end when they have none any more: what
    // they leave is known then, and no role is set on it, with which the server would look at privileges.
    let errors = || -> Vec<Option<u16>> {
        let mut sessions: Vec<_> = (0..4)
            .map(|_| {
                let mut session = Session::of(proxy.port, &tenant.account);
                session.run("BEGIN");
                session
            })
            .collect();
        let said = sessions.iter_mut().map(|s| s.client.query(b"FLUSH STATUS").error()).collect();
        for session in &mut sessions {
            session.run("ROLLBACK");
            // MariaDB keeps errors where no table is used.
            assert_eq!(session.value("SELECT 1 FROM (SELECT 1) t").as_deref(), Some("1"));
        }
        until_all_have_left(&proxy);
        for mut session in sessions {
            session.client.quit();
        }
        said
    };
    assert_eq!(errors(), [None; 4]);
    let revoke = format!("REVOKE RELOAD ON *.* FROM {name}");
    let grant = format!("GRANT RELOAD ON *.* TO {name}");
    let there = format!("RENAME USER {name} TO {name}_away");
    let back = format!("RENAME USER {name}_away TO {name}");
    let schema = &tenant.database.name;
    let routine = format!("CREATE PROCEDURE {schema}.change_rights() {grant}");
    let call = format!("CALL {schema}.change_rights()");
    let prepare = format!("PREPARE change_rights FROM '{revoke}'");
    let execute = "EXECUTE change_rights".to_owned();
    for (changes, expected) in [
        (vec![&revoke], Some(1227)),
        (vec![&grant], None),
        (vec![&there, &back, &revoke], Some(1227)),
        (vec![&routine, &call], None),
        (vec![&prepare, &execute], Some(1227)),
        (vec![&call], None),
    ] {
        let mut root = Session::at(proxy.port);
        for change in &changes {
            root.run(change);
        }
        root.client.quit();
        // At once, though changes come faster than connections are closed for them.
        assert_eq!(errors(), [expected; 4], "{changes:?}");
    }
}
