//! The administration over TCP: accounts, roles, TLS.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::admin::{Folder, cache};
use crate::cli::text;
use crate::launch::{program, run};
use crate::proxy::{Proxy, free_port, fresh_schema};
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::render::summary;
use crate::wire::{Account, Client};

on_both! {
    only_accounts_get_in
    viewers_ask_and_operators_act
    two_greetings_differ
    an_empty_query_is_answered_as_by_a_server
    silent_connections_and_many_administrators_keep_no_one_out
    bytes_that_are_no_login_get_an_error
    a_port_without_accounts_or_with_open_ones_is_refused
}

pub(crate) const VIEWER: &str = "a viewer's long password";
const OPERATOR: &str = "an operator's long password";

/// The line of an account, as the program prints it.
fn line(name: &str, role: &str, password: &str) -> String {
    let mut child = program(&["admin-account", name, "--role", role])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    writeln!(child.stdin.take().expect("piped"), "{password}").expect("sent");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output));
    assert!(!text(&output).contains(password));
    text(&output)
}

/// A file of accounts, gone with it.
pub(crate) struct Accounts(PathBuf);

impl Accounts {
    pub(crate) fn new() -> Self {
        let accounts = Self(std::env::temp_dir().join(fresh_schema()));
        accounts
            .write(&(line("eve", "viewer", VIEWER) + &line("ops", "operator", OPERATOR)), 0o600);
        accounts
    }

    fn write(&self, text: &str, mode: u32) {
        fs::write(&self.0, format!("# accounts\n{text}")).expect("written");
        fs::set_permissions(&self.0, Permissions::from_mode(mode)).expect("set");
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A proxy with a port for administrators.
pub(crate) fn proxy(server: &Server, accounts: &Accounts) -> (Proxy, u16) {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let file = accounts.0.display().to_string();
    (Proxy::start(&server.url, &["--admin-listen", &listen, "--admin-accounts", &file]), port)
}

/// What a command line client that comes with a server says.
pub(crate) fn client(
    name: &str,
    port: u16,
    (user, password): (&str, &str),
    more: &[&str],
    sql: &str,
) -> Output {
    Command::new(cache().join("bin").join(name))
        .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--batch"])
        .args([
            format!("--port={port}"),
            format!("--user={user}"),
            format!("--password={password}"),
        ])
        .args(more)
        .args(["-e", sql])
        .output()
        .expect("the client runs")
}

fn only_accounts_get_in(server: &Server) {
    let accounts = Accounts::new();
    let (proxy, port) = proxy(server, &accounts);
    for (name, more) in [
        ("mysql", &["--ssl-mode=REQUIRED"][..]),
        ("mysql", &["--ssl-mode=DISABLED"]),
        ("mariadb", &["--ssl"]),
        ("mariadb", &["--skip-ssl"]),
        // A client that begins with another plugin is told which.
        ("mariadb", &["--skip-ssl", "--default-auth=mysql_native_password"]),
    ] {
        let said = client(name, port, ("eve", VIEWER), more, "SHOW PROXIES");
        assert!(
            said.status.success() && text(&said).contains("this_one"),
            "{name} {more:?}: {}",
            text(&said)
        );
    }
    for (user, password) in [
        ("eve", "wrong"),
        ("eve", ""),
        ("eve", OPERATOR),
        ("nobody", VIEWER),
        ("", ""),
        ("root", "rootpw"),
    ] {
        let said = client("mysql", port, (user, password), &[], "SHOW PROXIES");
        let said = text(&said);
        assert!(said.contains("ERROR 1045 (28000): Access denied for user"), "{user}: {said}");
    }
    let log = proxy.log();
    assert!(
        log.contains("who=\"nobody@127.0.0.1\"") && log.contains("refused as an administrator"),
        "{log}"
    );
    assert!(!log.contains(VIEWER) && !log.contains("wrong"), "{log}");
    // The file is read at each login.
    accounts.write(&line("new", "viewer", VIEWER), 0o600);
    assert!(client("mysql", port, ("new", VIEWER), &[], "SHOW LEASE").status.success());
    assert!(!client("mysql", port, ("eve", VIEWER), &[], "SHOW LEASE").status.success());
}

fn viewers_ask_and_operators_act(server: &Server) {
    let accounts = Accounts::new();
    let (proxy, port) = proxy(server, &accounts);
    let mut holder = Session::at(proxy.port);
    holder.lock("job");
    let kill = format!("KILL {}", holder.id());
    for sql in
        [kill.as_str(), "RELEASE LOCK 'job'", "DRAIN", "RESUME", "RELOAD", "UPGRADE IF NEEDED"]
    {
        let said = text(&client("mysql", port, ("eve", VIEWER), &[], sql));
        assert!(said.contains("ERROR 1227 (42000)"), "{sql}: {said}");
    }
    assert_eq!(holder.value("SELECT IS_USED_LOCK('job')"), Some(holder.id().to_string()));
    let said = client("mysql", port, ("ops", OPERATOR), &[], "RELEASE LOCK 'job'");
    assert!(text(&said).contains("released"), "{}", text(&said));
    let log = proxy.log();
    assert!(
        log.contains(
            "who=\"ops@127.0.0.1\" command=\"RELEASE LOCK 'job'\" result=\"released: token "
        ),
        "{log}"
    );
    assert!(
        log.contains("who=\"eve@127.0.0.1\" command=\"DRAIN\" result=\"Access denied"),
        "{log}"
    );
}

fn an_empty_query_is_answered_as_by_a_server(server: &Server) {
    let accounts = Accounts::new();
    let (_proxy, port) = proxy(server, &accounts);
    let mut here = Session::of(port, &Account::new("eve", VIEWER));
    let mut there = Session::of(server.port, &account());
    for sql in ["-- c", "# c", "/* c */", "-- c\n", "", " \n", ";"] {
        let [here, there] =
            [&mut here, &mut there].map(|of| summary(&of.client.query(sql.as_bytes())));
        assert_eq!(here, there, "{sql:?}");
    }
}

fn silent_connections_and_many_administrators_keep_no_one_out(server: &Server) {
    let accounts = Accounts::new();
    let folder = Folder::new();
    let (port, file) = (free_port(), accounts.0.display().to_string());
    let (listen, admin) =
        (format!("127.0.0.1:{port}"), format!("unix:{}", folder.socket().display()));
    let extra = ["--admin-listen", &listen, "--admin-accounts", &file, "--admin", &admin];
    let proxy = Proxy::start(&server.url, &extra);
    let silent: Vec<_> =
        (0..100).map(|_| TcpStream::connect(&listen).expect("the port listens")).collect();
    let eve = Account::new("eve", VIEWER);
    let come = || Client::connect("127.0.0.1", port, &eve).expect("the port listens");
    let inside: Vec<_> = (0..32).map(|_| come()).collect();
    assert!(inside.iter().all(|client| client.login.succeeded()));
    let refused = || proxy.metric("lockstead_limits_met_total{limit=\"admin_connections\"}");
    let before = refused();
    assert!(before >= 1.0, "the oldest silent ones have given way");
    let said = client("mysql", port, ("eve", VIEWER), &[], "SHOW LEASE");
    assert!(text(&said).contains("ERROR 1040"), "{}", text(&said));
    assert!(refused() > before);
    assert!(proxy.log().contains("administrators are refused"), "{}", proxy.log());
    let said = run(&["lease", "--admin", &admin]);
    assert_eq!(said.status.code(), Some(0), "{}", text(&said));
    drop(inside);
    eventually("there is room again", || {
        client("mysql", port, ("eve", VIEWER), &[], "SHOW LEASE").status.success().then_some(())
    });
    drop(silent);
}

fn bytes_that_are_no_login_get_an_error(server: &Server) {
    let accounts = Accounts::new();
    let (proxy, port) = proxy(server, &accounts);
    let too_long = [&[0x70, 0x11, 1, 1][..], &vec![b'x'; 70_000]].concat();
    for bytes in [&b"\x05\0\0\x01hello"[..], &too_long] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the port listens");
        stream.write_all(bytes).expect("sent");
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("#08S01Bad handshake"), "{said:?}");
    }
    let endless = Account::new(&"y".repeat(2000), VIEWER);
    let client_of = Client::connect("127.0.0.1", port, &endless).expect("the port listens");
    assert!(!client_of.login.succeeded());
    let log = proxy.log();
    assert!(log.contains(&format!("\"{}@127.0.0.1\"", "y".repeat(64))), "{log}");
    let mut eve =
        Client::connect("127.0.0.1", port, &Account::new("eve", VIEWER)).expect("it listens");
    let said = summary(&eve.query(b"-- x\nSHOW LEASE"));
    assert!(!said.is_empty() && !said.contains("ERR"), "{said}");
    let said = client("mysql", port, ("eve", VIEWER), &[], "SELECT CURRENT_USER()");
    assert!(text(&said).contains("eve@127.0.0.1"), "{}", text(&said));
}

fn two_greetings_differ(server: &Server) {
    let accounts = Accounts::new();
    let (_proxy, port) = proxy(server, &accounts);
    let greeting = || {
        let nobody = Account::new("nobody", "a password of some length");
        let client = Client::connect("127.0.0.1", port, &nobody).expect("the port listens");
        assert!(!client.login.succeeded());
        let greeting = client.login.greeting.expect("a greeting");
        (greeting.connection_id, greeting.salt)
    };
    let (one, two) = (greeting(), greeting());
    assert!(one.0 != two.0 && one.1 != two.1, "{one:?} {two:?}");
    assert!(!one.1.contains(&0), "a nonce has no zero");
}

fn a_port_without_accounts_or_with_open_ones_is_refused(server: &Server) {
    let accounts = Accounts::new();
    let file = accounts.0.display().to_string();
    let store = format!("{}{}", server.url, fresh_schema());
    let backend = format!("127.0.0.1:{}", server.port);
    let refused = |more: &[&str]| {
        let fixed = ["serve", "--backend", &backend, "--store", &store, "--listen", "127.0.0.1:0"];
        let fixed =
            [&fixed[..], &["--http", "off", "--state-dir", "off", "--create-schema"]].concat();
        let output = run(&[&fixed, more].concat());
        assert_ne!(output.status.code(), Some(0));
        text(&output)
    };
    let everywhere = ["--admin-listen", "0.0.0.0:0", "--admin-accounts", &file, "--tls", "off"];
    for (more, complaint) in [
        (&["--admin-listen", "127.0.0.1:0"][..], "admin_accounts"),
        (&["--admin-accounts", &file], "admin_listen"),
        (&everywhere, "TLS only"),
    ] {
        assert!(refused(more).contains(complaint), "{more:?}: {}", refused(more));
    }
    let good = line("eve", "viewer", VIEWER);
    for (lines, mode, complaint) in [
        (good.clone(), 0o644, "chmod 600"),
        (String::new(), 0o600, "has no account"),
        (format!("{good}{good}"), 0o600, "eve is listed twice"),
        (format!("{good}eve:viewer:abc"), 0o600, "line 3 is not an account"),
    ] {
        accounts.write(&lines, mode);
        let said = refused(&["--admin-listen", "127.0.0.1:0", "--admin-accounts", &file]);
        assert!(said.contains(complaint) && !said.contains(good.trim()), "{said}");
    }
}
