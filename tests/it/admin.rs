//! The administration: what a proxy answers on its socket for administrators, to several clients.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::cli::text;
use crate::launch::run;
use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{Database, eventually, join, on_both};

on_both! {
    locks_and_waiters_are_shown_with_who_they_are
    locks_are_chosen_by_pattern
    the_servers_own_command_line_clients_ask_too
    wrong_words_get_an_error_of_mysqls
    a_session_is_killed_and_its_locks_are_freed
    a_lock_is_released_by_force_at_whatever_proxy
    a_forced_release_waits_for_the_servers_own_work
    a_forced_release_of_a_silent_proxys_lock_frees_nothing
    deadlocks_are_shown_with_their_circle
    a_proxy_set_aside_is_not_ready_and_serves_on
    nobody_is_asked_where_nobody_answers
    top_shows_locks_as_they_come_and_go
}

/// A folder for a proxy's state, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("lockstead-{:08x}", rand::random::<u32>()));
        std::fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.file("admin.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A proxy with a socket for administrators.
pub(crate) struct Desk {
    pub(crate) folder: Folder,
    pub(crate) proxy: Proxy,
}

impl Desk {
    fn open(server: &Server) -> Self {
        Self::with(server, "", &[])
    }

    /// One with a configuration file, whose text is given, beside its arguments.
    pub(crate) fn with(server: &Server, settings: &str, extra: &[&str]) -> Self {
        Self::of(&server.url, settings, extra)
    }

    /// A desk before the server at a URL.
    pub(crate) fn of(url: &str, settings: &str, extra: &[&str]) -> Self {
        let folder = Folder::new();
        let (state, file) = (folder.0.display().to_string(), folder.file("settings.toml"));
        std::fs::write(&file, settings).expect("written");
        let fixed = ["--state-dir", &state, "--config", &file.display().to_string()];
        let proxy = Proxy::start(url, &[&fixed, extra].concat());
        Self { folder, proxy }
    }

    /// Asks from the shell.
    pub(crate) fn ask(&self, words: &[&str]) -> Output {
        let socket = format!("--admin=unix:{}", self.folder.socket().display());
        run(&[words, &[&socket]].concat())
    }

    /// The rows of an answer.
    pub(crate) fn rows(&self, words: &[&str]) -> Vec<Value> {
        let output = self.ask(&[words, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        rows.as_array().expect("a list").clone()
    }

    /// What a command line client that comes with a server prints, and what it complains of.
    pub(crate) fn client(&self, client: &str, sql: &str) -> (String, String) {
        let output = Command::new(cache().join("bin").join(client))
            .args(["--no-defaults", "--user=somebody", "--batch", "-e", sql])
            .arg(format!("--socket={}", self.folder.socket().display()))
            .output()
            .expect("the client runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    }
}

/// Where dev/install.sh puts servers and clients.
pub(crate) fn cache() -> PathBuf {
    let given = std::env::var_os("LOCKSTEAD_CACHE").map(PathBuf::from);
    given.unwrap_or_else(|| {
        Path::new(&std::env::var_os("HOME").expect("a home")).join(".cache/lockstead")
    })
}

fn locks_and_waiters_are_shown_with_who_they_are(server: &Server) {
    let desk = Desk::open(server);
    let mut holder = Session::at(desk.proxy.port);
    let mut other = Session::at(desk.proxy.port);
    holder.lock("it''s a \t lock");
    let token = holder.value(&format!("SELECT token FROM {}.held_locks", desk.proxy.schema));
    other.ask_for("it''s a \t lock");
    let waiters = eventually("somebody waits", || {
        Some(desk.rows(&["waiters"])).filter(|rows| !rows.is_empty())
    });
    assert_eq!(waiters[0]["name"], "it's a \t lock");
    assert_eq!(waiters[0]["connection_id"], other.id());
    assert_eq!(waiters[0]["holder"], holder.id());
    assert_eq!(waiters[0]["holder_owner"], "root@127.0.0.1");
    assert_eq!(waiters[0]["certain"], "yes");
    assert_eq!(waiters[0]["place"], 1);
    let locks = desk.rows(&["locks"]);
    assert_eq!(locks.len(), 1, "{locks:?}");
    let lock = &locks[0];
    assert_eq!(lock["name"], "it's a \t lock");
    assert_eq!(lock["token"].as_str(), token.as_deref());
    assert_eq!((&lock["connection_id"], &lock["waiters_here"]), (&holder.id().into(), &1.into()));
    assert_eq!(lock["proxy"], format!("127.0.0.1:{}", desk.proxy.port));
    assert_eq!((&lock["proxy_state"], &lock["owner"]), (&"live".into(), &"root@127.0.0.1".into()));
    assert!(lock["held_seconds"].as_f64().is_some_and(|s| s < 60.0), "{lock}");
    let shown = text(&desk.ask(&["locks"]));
    assert!(shown.contains("it's a \\t lock") && !shown.contains("cluster"), "{shown}");
    let sessions = desk.rows(&["sessions"]);
    let of = |id: u64| {
        sessions.iter().find(|row| row["connection_id"] == id).expect("the session is shown")
    };
    assert_eq!(
        (&of(holder.id())["locks"], &of(holder.id())["waits_for"]),
        (&1.into(), &Value::Null)
    );
    assert_eq!(
        (&of(other.id())["locks"], &of(other.id())["waits_for"]),
        (&0.into(), &lock["name"])
    );
    assert_eq!(of(other.id())["tls"], "no");
    holder.unlock("it''s a \t lock");
    other.gets_it();
    assert!(desk.rows(&["waiters"]).is_empty());
    assert_eq!(desk.rows(&["locks"])[0]["connection_id"], other.id());
    let second = join(server, &desk.proxy, &[]);
    let proxies = desk.rows(&["proxies"]);
    let of = |port: u16| {
        let address = format!("127.0.0.1:{port}");
        proxies.iter().find(|row| row["address"] == *address).expect("the proxy is shown")
    };
    assert_eq!(
        (&of(desk.proxy.port)["this_one"], &of(second.port)["this_one"]),
        (&"yes".into(), &"no".into())
    );
    assert_eq!(of(second.port)["state"], "live");
    let lease = &desk.rows(&["lease"])[0];
    assert_eq!((&lease["grants"], &lease["problem"]), (&"yes".into(), &Value::Null));
}

fn locks_are_chosen_by_pattern(server: &Server) {
    let desk = Desk::open(server);
    let mut holder = Session::at(desk.proxy.port);
    for name in ["job 1", "job_2", "jab 3", r"back\slash"] {
        holder.lock(&name.replace('\\', r"\\"));
    }
    for (pattern, expected) in [
        ("job%", &["job 1", "job_2"][..]),
        (r"job\_%", &["job_2"]),
        ("j_b 3", &["jab 3"]),
        (r"back\\%", &[r"back\slash"]),
        ("'; DROP TABLE locks; --", &[]),
    ] {
        let rows = desk.rows(&["locks", "--like", pattern]);
        let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
        assert_eq!(names, expected, "{pattern}");
    }
}

fn the_servers_own_command_line_clients_ask_too(server: &Server) {
    let desk = Desk::open(server);
    let mut holder = Session::at(desk.proxy.port);
    holder.lock("k");
    for client in ["mysql", "mariadb"] {
        let (out, complaint) =
            desk.client(client, "SHOW LOCKS LIKE 'k'; SHOW BACKENDS; SHOW CONFIG");
        assert!(complaint.is_empty(), "{client}: {complaint}");
        assert!(out.contains(&format!("\t{}\troot@127.0.0.1\t", holder.id())), "{client}: {out}");
        assert!(out.contains("drain_timeout\t30s"), "{client}: {out}");
        assert!(out.contains(":***@") && !out.contains("rootpw"), "a password is shown: {out}");
        let (out, _) = desk.client(client, "SHOW METRICS");
        assert!(out.contains("lockstead_locks_held\t1\n"), "{client}: {out}");
        let (out, _) = desk.client(client, "SHOW COMMANDS");
        assert!(out.contains("KILL id"), "{client}: {out}");
    }
}

fn wrong_words_get_an_error_of_mysqls(server: &Server) {
    let desk = Desk::open(server);
    for (sql, says) in [
        ("SHOW TABLES", "ERROR 1064 (42000) at line 1: this is not a command of Lockstead"),
        ("SHOW LOCKS LIKE x", "ERROR 1064 (42000) at line 1: x needs quotes"),
        ("KILL x", "ERROR 1064 (42000) at line 1: x is not a number"),
        ("KILL 4294967295", "ERROR 1094 (HY000) at line 1: Unknown thread id: 4294967295"),
        ("SELECT @@nonsense", "ERROR 1193 (HY000) at line 1: \"@@nonsense\" is unknown"),
    ] {
        let (_, complaint) = desk.client("mysql", sql);
        assert!(complaint.contains(says), "{sql}: {complaint}");
    }
    let output = desk.ask(&["kill", "4294967295"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("Unknown thread id"), "{}", text(&output));
}

fn a_session_is_killed_and_its_locks_are_freed(server: &Server) {
    let desk = Desk::open(server);
    let mut holder = Session::at(desk.proxy.port);
    let mut other = Session::at(desk.proxy.port);
    holder.lock("k");
    other.ask_for("k");
    let output = desk.ask(&["kill", &holder.id().to_string()]);
    assert_eq!((output.status.code(), text(&output).trim()), (Some(0), "done"));
    other.gets_it();
    let audit = desk.proxy.log();
    assert!(audit.contains("lockstead::audit") && audit.contains("KILL "), "{audit}");
}

fn a_lock_is_released_by_force_at_whatever_proxy(server: &Server) {
    let desk = Desk::open(server);
    let second = join(server, &desk.proxy, &[]);
    for (name, port) in [("job 1", desk.proxy.port), ("job 2", second.port)] {
        let mut holder = Session::at(port);
        let mut waiter = Session::at(desk.proxy.port);
        holder.lock(name);
        waiter.ask_for(name);
        let lock = desk.rows(&["locks"]).remove(0);
        let stale = desk.ask(&["release", name, "--token", "1"]);
        assert_eq!(stale.status.code(), Some(1));
        assert!(text(&stale).contains("token changed"), "{}", text(&stale));
        let token = lock["token"].as_str().expect("a token");
        let row = desk.rows(&["release", name, "--token", token]).remove(0);
        assert_eq!((&row["result"], &row["token"]), (&"released".into(), &lock["token"]));
        waiter.gets_it();
        let last = holder.last_words().expect("an error");
        assert!(
            last.code == 4031 && String::from_utf8_lossy(&last.message).contains(&format!("lock '{name}'"))
                // Both servers send an error for the KILL, which may come first.
                || [1927, 3169].contains(&last.code),
            "{last:?}"
        );
        waiter.unlock(name);
    }
    let free = desk.rows(&["release", "job 1"]).remove(0);
    assert_eq!((&free["result"], &free["token"]), (&"already free".into(), &Value::Null));
    let log = desk.proxy.log() + &second.log();
    assert_eq!(log.matches("a lock is released by force").count(), 2, "{log}");
    assert!(desk.proxy.log().contains("RELEASE LOCK 'job 1' TOKEN "), "{log}");
    let left = Session::at(server.port)
        .value(&format!("SELECT COUNT(*) FROM {}.releases", desk.proxy.schema));
    assert_eq!(
        left.as_deref(),
        Some("1"),
        "what means nothing any more goes with the next request"
    );
}

/// The statement that runs is killed; what it did is undone before the next holder comes.
fn a_forced_release_waits_for_the_servers_own_work(server: &Server) {
    let desk = Desk::open(server);
    let table = Database::create(server);
    let mut holder = Session::at(desk.proxy.port);
    let mut waiter = Session::at(desk.proxy.port);
    waiter.run(&format!("CREATE TABLE {}.t (v INT PRIMARY KEY) ENGINE=InnoDB", table.name));
    holder.lock("job");
    holder.run("BEGIN");
    holder.run(&format!("INSERT INTO {}.t VALUES (1)", table.name));
    holder.send("DO SLEEP(600)");
    waiter.ask_for("job");
    eventually("it waits", || (!desk.rows(&["waiters"]).is_empty()).then_some(()));
    let row = desk.rows(&["release", "job"]).remove(0);
    assert_eq!(row["result"], "released");
    waiter.gets_it();
    // A row lock of the holder's would make this wait for ever.
    waiter.run(&format!("INSERT INTO {}.t VALUES (1)", table.name));
}

fn a_forced_release_of_a_silent_proxys_lock_frees_nothing(server: &Server) {
    let desk = Desk::open(server);
    let second = join(server, &desk.proxy, &["--lease", "1h"]);
    let mut holder = Session::at(second.port);
    holder.lock("job");
    second.signal("STOP");
    let output = desk.ask(&["release", "job"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("owner silent"), "{}", text(&output));
    assert!(!Session::at(desk.proxy.port).is_free("job"), "nobody may free it but its proxy");
    second.signal("CONT");
    let mut next = Session::at(desk.proxy.port);
    eventually("its proxy learns of it", || next.is_free("job").then_some(()));
    assert!(holder.last_words().is_some());
}

fn deadlocks_are_shown_with_their_circle(server: &Server) {
    let desk = Desk::open(server);
    let mut one = Session::at(desk.proxy.port);
    let mut two = Session::at(desk.proxy.port);
    one.lock("a");
    two.lock("b");
    one.ask_for("b");
    eventually("the first waits", || (!desk.rows(&["waiters"]).is_empty()).then_some(()));
    two.ask_for("a");
    let rows = eventually("the deadlock is told", || {
        Some(desk.rows(&["deadlocks"])).filter(|rows| !rows.is_empty())
    });
    assert_eq!(rows.len(), 2, "{rows:?}");
    for (waiter, lock, holder, gave_up) in
        [(one.id(), "b", two.id(), "no"), (two.id(), "a", one.id(), "yes")]
    {
        let row = rows.iter().find(|row| row["connection_id"] == waiter).expect("it is shown");
        assert_eq!((&row["waited_for"], &row["held_by"]), (&lock.into(), &holder.into()));
        assert_eq!((&row["gave_up"], &row["over"]), (&gave_up.into(), &"this proxy".into()));
    }
}

fn a_proxy_set_aside_is_not_ready_and_serves_on(server: &Server) {
    let desk = Desk::open(server);
    let ready = || desk.proxy.page("/readyz");
    assert!(ready().contains("200 OK"), "{}", ready());
    assert_eq!(desk.ask(&["drain"]).status.code(), Some(0));
    assert!(ready().contains("503") && ready().contains("draining"), "{}", ready());
    Session::at(desk.proxy.port).lock("k");
    let lease = &desk.rows(&["lease"])[0];
    assert_eq!((&lease["grants"], &lease["ready"]), (&"yes".into(), &"no".into()));
    assert_eq!(lease["problem"], "draining");
    assert_eq!(desk.ask(&["resume"]).status.code(), Some(0));
    assert!(ready().contains("200 OK"), "{}", ready());
}

fn nobody_is_asked_where_nobody_answers(server: &Server) {
    let Desk { folder, proxy } = Desk::open(server);
    assert!(folder.socket().exists());
    drop(proxy);
    for socket in [folder.socket(), folder.0.join("nowhere")] {
        let socket = format!("--admin=unix:{}", socket.display());
        let output = run(&["locks", &socket]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("no proxy answers at unix:/"), "{}", text(&output));
    }
    assert_eq!(run(&["locks", "--admin=off"]).status.code(), Some(2));
    assert!(text(&run(&["locks", "--admin=here"])).contains("unix:/run/lockstead/admin.sock"));
}

/// In a terminal, which `script` makes.
fn top_shows_locks_as_they_come_and_go(server: &Server) {
    let desk = Desk::open(server);
    let mut holder = Session::at(desk.proxy.port);
    holder.lock("first job");
    let program = env!("CARGO_BIN_EXE_lockstead");
    let command =
        format!("{program} top --every 1 --admin unix:{}", desk.folder.socket().display());
    let mut terminal = Command::new("script")
        .args(["--quiet", "--flush", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script, of util-linux, runs");
    let mut screen = terminal.stdout.take().expect("piped");
    let seen = Arc::new(Mutex::new(String::new()));
    let copy = Arc::clone(&seen);
    let reader = std::thread::spawn(move || {
        let mut room = [0; 4096];
        while let Ok(n @ 1..) = screen.read(&mut room) {
            copy.lock().expect("seen").push_str(&String::from_utf8_lossy(&room[..n]));
        }
    });
    let shows = |text: &str| {
        eventually("it is on the screen", || {
            seen.lock().expect("seen").contains(text).then_some(())
        });
    };
    shows("first job");
    holder.lock("second job");
    shows("second job");
    // If the locks cannot be read, an earlier answer is not shown in their place.
    let locks = format!("{}.locks", desk.proxy.schema);
    server.root().run(&format!("RENAME TABLE {locks} TO {locks}_away"));
    shows("(the lock tables do not answer");
    server.root().run(&format!("RENAME TABLE {locks}_away TO {locks}"));
    // Keys are heard while a question is open.
    desk.proxy.signal("STOP");
    shows("OLD: this was ");
    terminal.stdin.take().expect("piped").write_all(b"q").expect("sent");
    assert!(terminal.wait().expect("it ends").success());
    desk.proxy.signal("CONT");
    reader.join().expect("read");
    assert!(seen.lock().expect("seen").contains("\u{1b}[?1049l"), "the old screen is back");
    assert_eq!(desk.ask(&["top"]).status.code(), Some(2), "without a terminal");
}
