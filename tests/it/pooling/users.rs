//! Accounts whose passwords the configuration gives: `[[users]]`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use super::ground::{Suited, Tenant, options, pins};
use crate::admin::Desk;
use crate::cli::{install, text};
use crate::launch::run;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::Client;

on_both! {
    a_given_password_need_not_be_learned
    a_wrong_one_harms_no_login
    a_reload_gives_changes_and_takes_passwords
    one_that_a_reload_makes_wrong_is_tried_once
    a_change_of_user_to_a_given_account_needs_no_lesson
    a_signature_shows_a_given_password
    check_says_which_of_them_can_log_in
}

const PASSWORD: &str = "a password that is given";
const WRONG: &str = "another one, which is wrong";

/// No client teaches anything, and each login is the server's to judge.
const NOTHING_IS_LEARNED: [&str; 4] = ["--learn-passwords", "off", "--login-check-ttl", "0s"];

fn entry(tenant: &Tenant, password: &str) -> String {
    format!("[[users]]\nname = '{}'\npassword = '{password}'\n", tenant.name)
}

/// A proxy with a configuration file, whose sessions share one connection.
fn desk(server: &Server, settings: &str, extra: &[&str]) -> Desk {
    let shares = ["--pooling", "transaction", "--pool-size", "1", "--idle-keep", "50ms"];
    Desk::of(&server.url, settings, &[&shares, extra].concat())
}

/// The settings are read again. What has changed.
fn reload(desk: &Desk, settings: &str) -> Vec<String> {
    fs::write(desk.folder.file("settings.toml"), settings).expect("written");
    let rows = desk.rows(&["reload"]);
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().expect("text").to_owned();
    rows.iter().map(|row| format!("{}: {}", text(row, "what"), text(row, "result"))).collect()
}

fn session(desk: &Desk, tenant: &Tenant) -> Session {
    let mut session = Session::of(desk.proxy.port, &tenant.account);
    session.run("DO 0");
    session
}

/// Sessions share a connection: none of them loses what is its own.
fn assert_share(desk: &Desk, sessions: &mut [Session]) {
    for round in 0..3 {
        for (n, session) in sessions.iter_mut().enumerate() {
            if round == 0 {
                session.run(&format!("SET @mine = {n}"));
            }
            assert_eq!(session.value("SELECT @mine"), Some(n.to_string()), "round {round}");
        }
    }
    assert_eq!(pins(&desk.proxy), [""; 0]);
}

/// Ends the connections that sessions share, when no session has them.
fn end_connections(desk: &Desk, server: &Server, tenant: &Tenant) {
    let metric = |name: &str| desk.proxy.metric(name);
    eventually("no session has a connection", || {
        let [open, free] =
            ["connections", "free_connections"].map(|n| metric(&format!("lockstead_pool_{n}")));
        (open - free).abs().lt(&0.5).then_some(())
    });
    eventually("its connections are gone", || {
        let ids = tenant.connections();
        let mut root = server.root();
        for id in &ids {
            // One may have ended by itself.
            root.try_run(&format!("KILL {id}"));
        }
        ids.is_empty().then_some(())
    });
}

fn wrong_ones(desk: &Desk) -> f64 {
    desk.proxy.metric("lockstead_given_passwords_wrong_total")
}

fn a_given_password_need_not_be_learned(server: &Server) {
    let suited = Suited::to(server);
    let tenant = Tenant::create(suited.server(), PASSWORD);
    // MySQL asks a client without TLS for no more than its answer then, from which nothing can be learned.
    suited.server().warm_up(&tenant.name, PASSWORD);
    let folder = crate::admin::Folder::new();
    let file = folder.file("password");
    fs::write(&file, format!("{PASSWORD}\n")).expect("written");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("its own file");
    let given =
        format!("[[users]]\nname = '{}'\npassword_file = '{}'\n", tenant.name, file.display());
    let desk = desk(suited.server(), &given, &NOTHING_IS_LEARNED);
    let mut sessions: Vec<Session> = (0..3).map(|_| session(&desk, &tenant)).collect();
    assert_share(&desk, &mut sessions);
    end_connections(&desk, suited.server(), &tenant);
    // MySQL asks for the password itself then.
    suited.server().root().run("FLUSH PRIVILEGES");
    assert_share(&desk, &mut sessions);
    assert!(wrong_ones(&desk) < 0.5);
    for answer in [desk.ask(&["config"]), desk.ask(&["pool"])] {
        assert!(!text(&answer).contains(PASSWORD), "{}", text(&answer));
    }
    assert!(!desk.proxy.log().contains(PASSWORD), "{}", desk.proxy.log());
    // Another account has no entry.
    let other = Tenant::create(suited.server(), "of another one");
    let _kept = session(&desk, &other);
    assert_eq!(pins(&desk.proxy), ["{reason=\"auth\"} 1"]);
}

fn a_wrong_one_harms_no_login(server: &Server) {
    let suited = Suited::to(server);
    let tenant = Tenant::create(suited.server(), PASSWORD);
    suited.server().warm_up(&tenant.name, PASSWORD);
    if flavour_of(server) == Flavour::MySql {
        // One wrong login, and no other succeeds.
        let locks = "FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME UNBOUNDED";
        suited.server().root().run(&format!("ALTER USER {} {locks}", tenant.name));
    }
    let desk = desk(suited.server(), &entry(&tenant, WRONG), &NOTHING_IS_LEARNED);
    let mut sessions: Vec<Session> = (0..3).map(|_| session(&desk, &tenant)).collect();
    for session in &mut sessions {
        assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
    }
    assert_eq!(pins(&desk.proxy), ["{reason=\"auth\"} 3"], "as without an entry");
    assert!((wrong_ones(&desk) - 1.0).abs() < 0.5);
    let log = desk.proxy.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("is not used")).collect();
    assert!(lines.len() == 1 && lines[0].contains(&tenant.name), "{log}");
    assert!(!log.contains(WRONG) && !log.contains(PASSWORD), "{log}");
    // The given one is no password by which a client gets in.
    let mut wrong = tenant.account.clone();
    WRONG.clone_into(&mut wrong.password);
    let client = Client::connect("127.0.0.1", desk.proxy.port, &wrong).expect("a connection");
    assert!(!client.login.succeeded());
}

fn a_reload_gives_changes_and_takes_passwords(server: &Server) {
    let suited = Suited::to(server);
    let mut tenant = Tenant::create(suited.server(), PASSWORD);
    let desk = desk(suited.server(), "", &NOTHING_IS_LEARNED);
    let kept = session(&desk, &tenant);
    assert_eq!(pins(&desk.proxy), ["{reason=\"auth\"} 1"]);
    let what = format!("[[users]] {}", tenant.name);
    let said = |result: &str| [format!("{what}: {result}"), "certificates: read again".to_owned()];
    let given = entry(&tenant, PASSWORD);
    assert_eq!(reload(&desk, &given), said("new"));
    assert_eq!(reload(&desk, &given)[0], "configuration: unchanged");
    // The next login shows that it is right; for those that are there, too.
    let mut sessions = vec![kept, session(&desk, &tenant)];
    assert_share(&desk, &mut sessions);
    tenant.change_password(WRONG);
    assert_eq!(reload(&desk, &entry(&tenant, WRONG)), said("another password"));
    end_connections(&desk, suited.server(), &tenant);
    // Nobody has logged in with it.
    assert_share(&desk, &mut sessions);
    assert!(wrong_ones(&desk) < 0.5, "{}", desk.proxy.log());
    assert_eq!(reload(&desk, ""), said("gone"));
    sessions.push(session(&desk, &tenant));
    assert_eq!(pins(&desk.proxy), ["{reason=\"auth\"} 1"]);
    // A wrong entry is refused, and nothing changes.
    fs::write(desk.folder.file("settings.toml"), "[[users]]\nname = 'x'\n").expect("written");
    let refused = desk.ask(&["reload"]);
    let said = text(&refused);
    assert!(said.contains("nothing was changed") && said.contains("[[users]]"), "{said}");
}

fn one_that_a_reload_makes_wrong_is_tried_once(server: &Server) {
    let suited = Suited::to(server);
    let tenant = Tenant::create(suited.server(), PASSWORD);
    // The server's own verifiers would teach the right one again.
    let desk = desk(suited.server(), &entry(&tenant, PASSWORD), &["--login-check-ttl", "0s"]);
    let mut sessions: Vec<Session> = (0..2).map(|_| session(&desk, &tenant)).collect();
    assert_share(&desk, &mut sessions);
    reload(&desk, &entry(&tenant, WRONG));
    for _ in 0..3 {
        end_connections(&desk, suited.server(), &tenant);
        assert_share(&desk, &mut sessions);
    }
    assert!((wrong_ones(&desk) - 1.0).abs() < 0.5, "{}", desk.proxy.log());
    assert!(desk.proxy.log().contains("the server has refused it"), "{}", desk.proxy.log());
}

fn a_change_of_user_to_a_given_account_needs_no_lesson(server: &Server) {
    let suited = Suited::to(server);
    let [first, second] = [(); 2].map(|()| Tenant::create(suited.server(), PASSWORD));
    let given = entry(&first, PASSWORD) + &entry(&second, PASSWORD);
    let desk = desk(suited.server(), &given, &NOTHING_IS_LEARNED);
    let mut sessions: Vec<Session> = (0..2).map(|_| session(&desk, &first)).collect();
    for session in &mut sessions {
        let changed = session.client.change_user(&second.account);
        assert_eq!(changed.error(), None);
    }
    assert_share(&desk, &mut sessions);
    let who = sessions[0].value("SELECT CURRENT_USER()");
    assert_eq!(who, Some(format!("{}@%", second.name)));
}

fn a_signature_shows_a_given_password(server: &Server) {
    if flavour_of(server) == Flavour::MySql {
        // MySQL has no such plugin.
        return;
    }
    let plugins = [options(Flavour::MariaDb), &["--plugin-load-add=auth_ed25519"]].concat();
    let suited = Suited::alone(&Arc::new(OwnServer::start(Flavour::MariaDb, &plugins)));
    let tenant = Tenant::create(suited.server(), PASSWORD);
    let signs =
        format!("ALTER USER {} IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')", tenant.name);
    suited.server().root().run(&signs);
    let given = desk(suited.server(), &entry(&tenant, PASSWORD), &[]);
    let mut sessions: Vec<Session> = (0..3).map(|_| session(&given, &tenant)).collect();
    assert_share(&given, &mut sessions);
    end_connections(&given, suited.server(), &tenant);
    assert_share(&given, &mut sessions);
    drop((sessions, given));
    let wrong = desk(suited.server(), &entry(&tenant, WRONG), &[]);
    let _session = session(&wrong, &tenant);
    assert_eq!(pins(&wrong.proxy), ["{reason=\"auth\"} 1"]);
    assert!((wrong_ones(&wrong) - 1.0).abs() < 0.5);
}

fn check_says_which_of_them_can_log_in(server: &Server) {
    let suited = Suited::to(server);
    let server = suited.server();
    let [right, wrong] = [(); 2].map(|()| Tenant::create(server, PASSWORD));
    let folder = crate::admin::Folder::new();
    let file = folder.file("settings.toml");
    let schema = fresh_schema();
    install(server, &schema);
    let check = |settings: &str, extra: &[&str]| {
        fs::write(&file, settings).expect("written");
        let (backend, store) =
            (format!("127.0.0.1:{}", server.port), format!("{}{schema}", server.url));
        let file = file.display().to_string();
        let place = ["check", "--config", &file, "--backend", &backend, "--store", &store];
        let answer = run(&[&place[..], &["--state-dir", "off"], extra].concat());
        (answer.status.code(), text(&answer))
    };
    let shares = ["--pooling", "transaction"];
    let (status, said) = check(&entry(&right, PASSWORD), &shares);
    assert!(
        status == Some(0) && said.contains(&format!("users           ok: {}", right.name)),
        "{said}"
    );
    let (status, said) = check(&(entry(&right, PASSWORD) + &entry(&wrong, WRONG)), &shares);
    let line = format!("users           FAILED: {}: error 1045: Access denied", wrong.name);
    assert!(status == Some(1) && said.contains(&line), "{said}");
    assert!(said.contains(&format!("ok: {}", right.name)), "{said}");
    assert!(!said.contains(PASSWORD) && !said.contains(WRONG), "{said}");
    let (status, said) = check(&entry(&right, PASSWORD), &[]);
    assert!(status == Some(0) && said.contains("warning: [[users]] has no effect"), "{said}");
    let (status, said) = check("[[users]]\nname = 'app'\npassword = 5\n", &shares);
    assert!(status == Some(2) && said.contains("name = \"app\": password is no text"), "{said}");
    server.root().run(&format!("DROP DATABASE {schema}"));
}
