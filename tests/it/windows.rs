//! What is served over HTTP: the page, the tables as JSON, and to whom.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::admin::Desk;
use crate::cli::text;
use crate::launch::{program, run};
use crate::link::Link;
use crate::own_server::OwnServer;
use crate::proxy::{Proxy, free_port, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, join, on_both};

mod past;
mod waits;
mod walk;

on_both! {
    the_page_and_the_tables_are_served
    metrics_and_probes_name_nobody
    others_than_this_machine_need_token_and_tls
    a_page_of_another_site_gets_no_answer
    a_flood_of_connections_leaves_room_for_clients
    a_request_that_does_not_end_is_cut
    idle_connections_give_way_to_requests
    metrics_that_name_locks_are_for_this_machine
    a_server_that_cannot_be_reached_is_reported
    a_hung_server_blinds_nobody
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Status code, headers, body.
struct Answer {
    code: u16,
    head: String,
    body: String,
}

fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let code = code.unwrap_or_else(|| panic!("no answer: {text:?}"));
    Answer { code, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn request(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n")
}

fn get_with(port: u16, path: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("http listens");
    stream.write_all(request(path, headers).as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    answer(&text)
}

fn get(port: u16, path: &str) -> Answer {
    get_with(port, path, "Host: localhost\r\n")
}

/// What is told as JSON.
pub(crate) fn json(port: u16, path: &str) -> Value {
    let Answer { code, body, .. } = get(port, path);
    assert_eq!(code, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {e}: {body}"))
}

fn the_page_and_the_tables_are_served(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    let mut other = Session::at(proxy.port);
    let name = "<script>alert(1)</script>";
    holder.lock(name);
    other.ask_for(name);
    eventually("somebody waits", || {
        (json(proxy.http, "/api/v1/waiters").as_array().map(Vec::len) == Some(1)).then_some(())
    });
    let page = get(proxy.http, "/");
    assert!(page.code == 200 && page.body.contains("<title>Lockstead</title>"));
    // Nothing from elsewhere; a namespace is only a name.
    for part in ["/", "/page.css", "/page.js"] {
        let part = get(proxy.http, part);
        let text = part.body.replace("http://www.w3.org/2000/svg", "");
        assert!(part.code == 200 && !text.contains("://"), "{text}");
    }
    for rule in ["default-src 'none'", "x-content-type-options: nosniff", "cache-control: no-store"]
    {
        assert!(page.head.contains(rule), "{}", page.head);
    }
    assert!(!page.head.contains("access-control"), "{}", page.head);
    // A second later, for it is made once a second.
    let status = eventually("the status shows the wait", || {
        let status = json(proxy.http, "/api/v1/status");
        (status["contended"].as_array().map(Vec::len) == Some(1)).then_some(status)
    });
    let lock = &status["contended"][0];
    assert_eq!((&lock["name"], &lock["waiters_here"]), (&name.into(), &1.into()));
    // Other tests take locks at the server itself.
    let locks = status["locks"].as_array().expect("a list");
    let held = locks.iter().find(|lock| lock["name"] == name).expect("it is listed");
    assert_eq!(held["connection_id"], holder.id());
    assert!(held["token"].is_string(), "browsers would round it");
    assert_eq!(status["waiters"][0]["connection_id"], other.id());
    assert_eq!(
        (&status["clusters"][0]["problem"], &status["draining"]),
        (&Value::Null, &false.into())
    );
    assert!(status["clusters"][0]["held"].as_u64() >= Some(1), "{status}");
    assert_eq!(status["clusters"][0]["waiting"], 1);
    eventually("rates are kept", || {
        let status = json(proxy.http, "/api/v1/status");
        (status["clusters"][0]["rates"]["held"].as_array()?.last()?.as_u64() >= Some(1))
            .then_some(())
    });
    for table in ["locks", "sessions", "proxies", "deadlocks", "history", "lease", "backends"] {
        assert!(json(proxy.http, &format!("/api/v1/{table}")).is_array(), "{table}");
    }
    assert_eq!(get(proxy.http, "/api/v1/nonsense").code, 404);
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.http)).expect("http listens");
    let post = "POST /api/v1/locks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(post.as_bytes()).expect("sent");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("an answer");
    assert_eq!(answer(&said).code, 405, "nothing is changed here");
}

fn metrics_and_probes_name_nobody(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("a name of somebody");
    for path in ["/metrics", "/readyz", "/livez"] {
        let said = get_with(proxy.http, path, "Host: metrics.example\r\n");
        assert_eq!(said.code, 200, "{path} is for every host");
        for word in ["a name of somebody", "root"] {
            assert!(!said.body.contains(word), "{path}: {}", said.body);
        }
    }
}

/// Files of one test's, gone with it.
struct Files(PathBuf);

impl Files {
    /// A folder with a certificate, its key, and a token.
    fn new() -> Self {
        let dir = std::env::temp_dir().join(fresh_schema());
        let dev = std::env::var("LOCKSTEAD_DEV_DIR").expect("LOCKSTEAD_DEV_DIR");
        let made = Command::new(format!("{dev}/certificates.sh")).arg(&dir).status();
        assert!(made.expect("certificates.sh runs").success());
        let files = Self(dir);
        files.token(&format!("{TOKEN}\n"), 0o600);
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn token(&self, text: &str, mode: u32) {
        fs::write(self.0.join("token"), text).expect("written");
        fs::set_permissions(self.0.join("token"), Permissions::from_mode(mode)).expect("set");
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is served to a client that checks the certificate.
fn encrypted(files: &Files, port: u16, path: &str, headers: &str) -> Answer {
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_quiet", "-verify_return_error", "-CAfile"])
        .arg(files.path("ca.pem"))
        .args(["-connect", &format!("127.0.0.1:{port}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("openssl runs");
    let mut input = client.stdin.take().expect("piped");
    input.write_all(request(path, headers).as_bytes()).expect("sent");
    let output = client.wait_with_output().expect("an answer");
    answer(&String::from_utf8_lossy(&output.stdout))
}

fn others_than_this_machine_need_token_and_tls(server: &Server) {
    let files = Files::new();
    let (cert, key, token) =
        (files.path("server-cert.pem"), files.path("server-key.pem"), files.path("token"));
    let guarded = ["--http-token-file", &token, "--http-tls-cert", &cert, "--http-tls-key", &key];
    let http = format!("0.0.0.0:{}", free_port());
    let store = format!("{}{}", server.url, fresh_schema());
    let backend = format!("127.0.0.1:{}", server.port);
    let refused = |more: &[&str]| {
        let fixed = ["serve", "--backend", &backend, "--store", &store, "--listen", "127.0.0.1:0"];
        let more = [&fixed[..], &["--create-schema", "--state-dir", "off", "--http", &http], more];
        let output = run(&more.concat());
        assert_eq!(output.status.code(), Some(2), "another start comes to the same");
        text(&output)
    };
    for part in [&[][..], &guarded[..2], &guarded[2..]] {
        let said = refused(&[part, &["--http-page", "on"]].concat());
        assert!(said.contains("http_page") && said.contains("http_token_file"), "{said}");
    }
    for (line, mode, complaint) in [
        (TOKEN, 0o640, "chmod 600"),
        ("short", 0o600, "at least 16"),
        ("with a space in the middle", 0o600, "at least 16"),
    ] {
        files.token(line, mode);
        let said = refused(&guarded);
        assert!(said.contains(complaint) && !said.contains(line), "{said}");
    }
    files.token(TOKEN, 0o600);
    let proxy = Proxy::start(&server.url, &guarded);
    let host = "Host: proxy.example\r\n";
    let bearer = |token: &str| format!("{host}Authorization: Bearer {token}\r\n");
    for (path, headers, code) in [
        ("/", host.to_owned(), 401),
        ("/api/v1/locks", bearer("0123456789abcdef0123456789abcdeX"), 401),
        ("/", bearer(TOKEN), 200),
        ("/api/v1/locks", bearer(TOKEN), 200),
        ("/metrics", host.to_owned(), 200),
        ("/readyz", host.to_owned(), 200),
    ] {
        let said = encrypted(&files, proxy.http, path, &headers);
        assert_eq!(said.code, code, "{path}: {}", said.head);
        assert_eq!(said.head.contains("www-authenticate: basic"), code == 401);
    }
    assert!(!proxy.log().contains(TOKEN));
    // Both are read again. The new files do not trust the old certificate.
    let other: String = TOKEN.chars().rev().collect();
    let dev = std::env::var("LOCKSTEAD_DEV_DIR").expect("LOCKSTEAD_DEV_DIR");
    let made = Command::new(format!("{dev}/certificates.sh")).arg(&files.0).status();
    assert!(made.expect("certificates.sh runs").success());
    files.token(&other, 0o600);
    proxy.signal("HUP");
    eventually("they are read again", || {
        proxy.log().contains("certificates: read again").then_some(())
    });
    for (token, code) in [(TOKEN, 401), (&other, 200)] {
        assert_eq!(encrypted(&files, proxy.http, "/", &bearer(token)).code, code);
    }
    files.token("short", 0o600);
    proxy.signal("HUP");
    eventually("that is refused", || proxy.log().contains("at least 16").then_some(()));
    assert_eq!(encrypted(&files, proxy.http, "/", &bearer(&other)).code, 200);
    // Without them metrics and probes are served to all, and nothing else.
    let proxy = Proxy::start(&server.url, &["--http-page", "off"]);
    assert_eq!((get(proxy.http, "/").code, get(proxy.http, "/api/v1/locks").code), (404, 404));
    assert_eq!(get(proxy.http, "/metrics").code, 200);
}

fn a_flood_of_connections_leaves_room_for_clients(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let descriptors = || {
        let folder = format!("/proc/{}/fd", proxy.pid());
        fs::read_dir(folder).expect("the proxy runs").count()
    };
    let before = descriptors();
    let flood: Vec<TcpStream> = (0..600)
        .map(|_| {
            TcpStream::connect(("127.0.0.1", proxy.http)).expect("the system's queue has room")
        })
        .collect();
    // As many as are let in are in.
    eventually("they are let in", || (descriptors() >= before + 200).then_some(()));
    let mut client = Session::at(proxy.port);
    client.lock("k");
    assert!(descriptors() < before + 300, "{} descriptors", descriptors());
    drop(flood);
    assert_eq!(get(proxy.http, "/metrics").code, 200);
}

fn idle_connections_give_way_to_requests(server: &Server) {
    let files = Files::new();
    let (cert, key, token) =
        (files.path("server-cert.pem"), files.path("server-key.pem"), files.path("token"));
    let tls = ["--http-token-file", &token, "--http-tls-cert", &cert, "--http-tls-key", &key];
    for (extra, asks) in [
        (&[][..], &(|port| get(port, "/livez")) as &dyn Fn(u16) -> Answer),
        (&tls[..], &|port| encrypted(&files, port, "/livez", "Host: localhost\r\n")),
    ] {
        let proxy = Proxy::start(&server.url, extra);
        let idle: Vec<TcpStream> = (0..600)
            .map(|_| TcpStream::connect(("127.0.0.1", proxy.http)).expect("it listens"))
            .collect();
        for _ in 0..8 {
            assert_eq!(asks(proxy.http).code, 200);
        }
        // The requests have not only waited for idle connections to end: many are still open.
        let is_open = |stream: &&TcpStream| {
            let mut stream: &TcpStream = stream;
            stream.set_nonblocking(true).expect("set");
            stream.read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
        };
        let open = idle.iter().filter(is_open).count();
        assert!(open >= 200, "{open} are open");
        // The oldest are gone.
        assert!(idle[..300].iter().filter(is_open).count() == 0);
    }
}

fn a_request_that_does_not_end_is_cut(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut slow = TcpStream::connect(("127.0.0.1", proxy.http)).expect("connects");
    slow.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").expect("sent");
    // However much of it comes.
    eventually("it is cut", || {
        let cut = slow.write_all(b"x").is_err();
        cut.then_some(())
    });
}

fn metrics_that_name_locks_are_for_this_machine(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--metrics-locks", "job:*"]);
    for (headers, code) in [
        ("Host: attacker.example\r\n", 421),
        ("Host: localhost:6080\r\n", 200),
        ("Host: 127.0.0.1\r\n", 200),
    ] {
        assert_eq!(get_with(proxy.http, "/metrics", headers).code, code, "{headers}");
        assert_eq!(get_with(proxy.http, "/readyz", headers).code, 200, "{headers}");
    }
}

/// A process that is killed with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_server_that_cannot_be_reached_is_reported(server: &Server) {
    let to_server = Link::start(free_port(), Ipv4Addr::LOCALHOST);
    let (backend, http) = (format!("127.0.0.1:{}", to_server.port()), free_port());
    let (store, windows) =
        (format!("{}{}", server.url, fresh_schema()), format!("127.0.0.1:{http}"));
    let place = ["serve", "--backend", &backend, "--store", &store, "--http", &windows];
    let rest = ["--create-schema", "--state-dir", "off", "--listen", "127.0.0.1:0"];
    let proxy = program(&[&place[..], &rest].concat()).spawn().expect("the program runs");
    let _proxy = Ended(proxy);
    let says = |what: &str| {
        eventually(what, || {
            let mut stream = TcpStream::connect(("127.0.0.1", http)).ok()?;
            stream.write_all(request("/readyz", "Host: localhost\r\n").as_bytes()).ok()?;
            let mut said = String::new();
            stream.read_to_string(&mut said).ok()?;
            said.contains(what).then_some(answer(&said).code)
        })
    };
    assert_eq!(says("cannot check whether `backend` (127.0.0.1:"), 503);
    assert_eq!(json(http, "/api/v1/backends")[0]["backend_answers"], "no");
    // The server comes back while no client tries.
    to_server.lead_to(server.port);
    assert_eq!(says("ok"), 200);
    let metrics = get(http, "/metrics").body;
    assert!(metrics.contains("\nlockstead_backend_up 1"), "{metrics}");
}

fn a_page_of_another_site_gets_no_answer(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    for (headers, code) in [
        ("Host: attacker.example\r\n", 421),
        ("Host: attacker.example:6080\r\n", 421),
        ("Host: [::1]:6080\r\n", 200),
        ("Host: 127.0.0.1\r\n", 200),
    ] {
        assert_eq!(get_with(proxy.http, "/api/v1/locks", headers).code, code, "{headers}");
    }
}

#[test]
fn a_store_that_does_not_answer_is_reported() {
    let own = OwnServer::start(Flavour::MariaDb, &[]);
    let proxy = Proxy::start(&own.server.url, &["--lease", "3s", "--connect-timeout", "1s"]);
    own.kill();
    let status = eventually("the problem is shown", || {
        let status = json(proxy.http, "/api/v1/status");
        status["clusters"][0]["problem"].is_string().then_some(status)
    });
    assert!(
        status["failed"].is_string() && status["backends"][0]["store_answers"] == "no",
        "{status}"
    );
    let locks = get(proxy.http, "/api/v1/locks");
    assert!(locks.code == 503 && locks.body.contains("error"), "{}", locks.body);
    assert_eq!(get(proxy.http, "/readyz").code, 503);
    assert_eq!(get(proxy.http, "/").code, 200);
}

/// The server is suspended, and answers nothing.
fn a_hung_server_blinds_nobody(server: &Server) {
    let to_server = Link::start(server.port, Ipv4Addr::LOCALHOST);
    let url = server.url.replace(&format!(":{}", server.port), &format!(":{}", to_server.port()));
    let desk = Desk::of(&url, "", &["--lease", "1m"]);
    let other = join(server, &desk.proxy, &["--lease", "1m"]);
    let (mut mine, mut others) = (Session::at(desk.proxy.port), Session::at(other.port));
    mine.lock("mine");
    others.lock("theirs");
    assert_eq!(desk.rows(&["locks"]).len(), 2);
    assert_eq!(desk.rows(&["proxies"]).len(), 2);
    mine.lock("mine, later");
    to_server.stall();
    let named = |rows: &[Value], name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("{name} is not shown: {rows:?}")).clone()
    };
    let are_shown = |rows: &[Value], at: &str| {
        for name in ["mine", "mine, later"] {
            let lock = named(rows, name);
            assert_eq!(lock["connection_id"], mine.id(), "{at}: {lock}");
            assert_eq!(lock["owner"], "root@127.0.0.1", "{at}: {lock}");
            assert_eq!(lock["seen_seconds_ago"], Value::Null, "{at}: {lock}");
        }
        let theirs = named(rows, "theirs");
        assert!(theirs["seen_seconds_ago"].is_f64(), "{at}: {theirs}");
        assert_eq!(theirs["proxy"], format!("127.0.0.1:{}", other.port), "{at}");
    };
    are_shown(&desk.rows(&["locks"]), "the shell");
    assert_eq!(desk.rows(&["locks", "--like", "THE%"]).len(), 1);
    assert!(desk.rows(&["proxies"])[1]["seen_seconds_ago"].is_f64());
    let said = desk.ask(&["locks"]);
    let complaint = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(complaint.contains("no answer within") && complaint.contains("s old"), "{complaint}");
    let told = json(desk.proxy.http, "/api/v1/locks");
    are_shown(told.as_array().expect("a list"), "the API");
    let status = json(desk.proxy.http, "/api/v1/status");
    are_shown(status["locks"].as_array().expect("a list"), "the status");
    assert!(status["seen_seconds_ago"].is_u64(), "{status}");
    assert!(status["failed"].as_str().is_some_and(|why| why.contains("no answer")), "{status}");
    assert_eq!(status["clusters"][0]["held"], 3);
    assert_eq!(status["backends"][0]["store_answers"], "no");
    let (out, _) = desk.client("mysql", "SHOW LOCKS; SHOW WARNINGS");
    assert!(out.contains("theirs") && out.contains("the lock tables do not answer"), "{out}");
    // Every question shows that it is back.
    to_server.heal();
    eventually("all is of this moment", || {
        let rows = desk.rows(&["locks"]);
        rows.iter().all(|row| row["seen_seconds_ago"].is_null()).then_some(())
    });
}
