//! A new process takes a running proxy's place: no client is refused, no lock has two holders.

use std::io;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::admin::{Desk, Folder};
use crate::cli::text;
use crate::launch::{Launched, program};
use crate::proxy::{fresh_schema, page};
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{PATIENCE, eventually, on_both};
use crate::wire::{Client, End, Response, Shape, render};

on_both! {
    no_client_is_refused_while_a_new_process_takes_over
    a_lock_stays_with_its_session_and_is_the_next_ones_after_it
    a_proxy_set_aside_stays_so_and_its_pages_are_the_new_ones
    sessions_that_stay_too_long_are_closed_and_their_locks_are_free
    a_program_that_fails_leaves_the_old_process_serving
    one_upgrade_is_under_way_at_a_time
    a_new_process_may_be_replaced_in_its_turn
    the_program_is_the_file_that_is_there_now
    systemd_is_told_which_process_is_the_service
    an_old_process_that_is_told_to_stop_drains_at_once
    a_new_process_that_dies_before_it_serves_costs_no_client
}

/// A process that nothing else ends; killed when dropped.
pub(crate) struct Process(pub(crate) u64);

impl Process {
    /// The `nth` process that the log reports to have taken over.
    pub(crate) fn taken(nth: usize, log: impl Fn() -> String) -> Self {
        eventually("a process has taken over", || {
            let log = log();
            let mut lines =
                log.lines().filter(|line| line.contains("the new process has taken over"));
            let (_, id) = lines.nth(nth - 1)?.rsplit_once("process=")?;
            id.trim().parse().ok().map(Self)
        })
    }

    pub(crate) fn signal(&self, name: &str) {
        let _ = Command::new("kill").args([&format!("-{name}"), &self.0.to_string()]).status();
    }

    pub(crate) fn is_there(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal("KILL");
    }
}

impl Desk {
    /// A proxy whose lease is soon seen to be renewed.
    fn short(server: &Server, extra: &[&str]) -> Self {
        Self::with(server, "lease = '9s'\n", extra)
    }

    fn upgrade(&self) -> Process {
        let rows = self.rows(&["upgrade"]);
        Process(rows[0]["process"].as_u64().expect("a process"))
    }
}

/// Between what a client asks: one that never waits keeps a small machine from all else.
const BREATH: Duration = Duration::from_millis(3);

fn is_good(answer: &Response) -> bool {
    answer.error().is_none() && answer.end == End::Complete
}

/// Clients that come and go, each with a statement, and that nobody may refuse.
pub(crate) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<u64, String>>>,
}

impl Clients {
    /// So many at once.
    pub(crate) fn start<C>(count: usize, connect: C) -> Self
    where
        C: Fn() -> io::Result<Client> + Clone + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |_| {
            let (stop, connect) = (Arc::clone(&stop), connect.clone());
            std::thread::spawn(move || {
                let mut answers = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    let mut client =
                        connect().map_err(|e| format!("refused after {answers} answers: {e}"))?;
                    client.patience = PATIENCE;
                    if !client.login.succeeded() {
                        return Err(format!(
                            "not let in after {answers} answers: {:?}",
                            client.login
                        ));
                    }
                    let answer = client.query(b"SELECT 1");
                    if !is_good(&answer) {
                        return Err(format!(
                            "after {answers} answers: {}",
                            render::response(&answer)
                        ));
                    }
                    client.quit();
                    answers += 1;
                    std::thread::park_timeout(BREATH);
                }
                Ok(answers)
            })
        };
        let threads = (0..count).map(client).collect();
        Self { stop, threads }
    }

    /// None of them was refused.
    pub(crate) fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.threads {
            let answers = client.join().expect("a thread").unwrap_or_else(|e| panic!("{e}"));
            assert!(answers > 0);
        }
    }
}

fn no_client_is_refused_while_a_new_process_takes_over(server: &Server) {
    let desk = Desk::short(server, &[]);
    let (port, http) = (desk.proxy.port, desk.proxy.http);
    let clients = Clients::start(4, move || Client::connect("127.0.0.1", port, &account()));
    let stop = Arc::new(AtomicBool::new(false));
    let pages = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let ready = page(http, "/livez").ok_or("no page")?;
                if !ready.contains("200 OK") {
                    return Err("a page that is cut short");
                }
                std::thread::park_timeout(BREATH);
            }
            Ok(())
        })
    };
    let new = desk.upgrade();
    let mut later = Session::at(port);
    assert_eq!(later.value("SELECT 2").as_deref(), Some("2"));
    eventually("the old process ends by itself", || {
        desk.proxy.log().contains("stopped").then_some(())
    });
    assert!(new.is_there());
    clients.end();
    stop.store(true, Ordering::Relaxed);
    pages.join().expect("a thread").expect("pages");
    // The file is the new process's, and so is the administrators' socket.
    assert_eq!(desk.rows(&["sessions"])[0]["connection_id"], later.id());
}

fn a_proxy_set_aside_stays_so_and_its_pages_are_the_new_ones(server: &Server) {
    let desk = Desk::short(server, &["--drain-timeout", "10m"]);
    let _stays = Session::at(desk.proxy.port);
    assert_eq!(desk.ask(&["drain"]).status.code(), Some(0));
    // As Prometheus keeps its connection.
    let mut kept = TcpStream::connect(("127.0.0.1", desk.proxy.http)).expect("connects");
    kept.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut answer = [0; 512];
    let length = kept.read(&mut answer).expect("an answer");
    assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
    let _new = desk.upgrade();
    let ready = desk.proxy.page("/readyz");
    assert!(ready.contains("503") && ready.contains("draining"), "{ready}");
    kept.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut last = String::new();
    kept.read_to_string(&mut last).expect("up to an end");
    assert!(last.contains("connection: close"), "{last}");
    assert_eq!(desk.ask(&["resume"]).status.code(), Some(0));
    assert!(desk.proxy.page("/readyz").contains("200 OK"));
}

fn a_lock_stays_with_its_session_and_is_the_next_ones_after_it(server: &Server) {
    let desk = Desk::short(server, &["--drain-timeout", "10m"]);
    let port = desk.proxy.port;
    let mut holder = Session::at(port);
    holder.lock("kept");
    let mut early = Session::at(port);
    early.ask_for("kept");
    let _new = desk.upgrade();
    let mut late = Session::at(port);
    assert!(!late.is_free("kept"));
    assert_eq!(late.value("SELECT IS_USED_LOCK('kept')"), Some(holder.id().to_string()));
    late.ask_for("kept");
    // The session works on as if nothing had happened, and may take more locks.
    holder.lock("another");
    assert_eq!(holder.value("SELECT GET_LOCK('kept', 0)").as_deref(), Some("1"));
    let states: Vec<_> = desk.rows(&["proxies"]).iter().map(|p| p["state"].clone()).collect();
    assert_eq!(states.iter().filter(|state| *state == "live").count(), 2, "{states:?}");
    holder.unlock("kept");
    holder.unlock("kept");
    early.gets_it();
    assert_eq!(holder.value("SELECT IS_USED_LOCK('kept')"), Some(early.id().to_string()));
    early.unlock("kept");
    late.gets_it();
    assert_eq!(holder.value("SELECT IS_USED_LOCK('kept')"), Some(late.id().to_string()));
    drop((holder, early));
    eventually("the old process ends with its last session", || {
        desk.proxy.log().contains("stopped").then_some(())
    });
    late.unlock("kept");
    late.lock("another");
}

fn sessions_that_stay_too_long_are_closed_and_their_locks_are_free(server: &Server) {
    let desk = Desk::short(server, &["--drain-timeout", "2s"]);
    let port = desk.proxy.port;
    let sessions: Vec<_> = (0..6).map(|_| Session::at(port)).collect();
    let mut sessions: Vec<_> = sessions.into_iter().enumerate().collect();
    for (n, holder) in sessions.iter_mut().step_by(2) {
        holder.lock(&format!("kept{n}"));
    }
    let _new = desk.upgrade();
    // Sessions are left alone before the limit.
    assert_eq!(sessions[1].1.value("SELECT 1").as_deref(), Some("1"));
    assert!(!sessions[1].1.is_free("kept0"));
    let mut late = Session::at(port);
    late.ask_for("kept0");
    let ends: Vec<_> = sessions
        .into_iter()
        .map(|(n, mut session)| {
            std::thread::spawn(move || {
                // Holders go on working, but for one.
                let works = n > 0 && n % 2 == 0;
                let mut last = Instant::now();
                while works && is_good(&session.client.query(b"SELECT 1")) {
                    last = Instant::now();
                }
                if !works {
                    assert_eq!(session.last_words().map(|e| e.code), Some(1053));
                    last = Instant::now();
                }
                (n, last)
            })
        })
        .collect();
    let ends: Vec<_> = ends.into_iter().map(|end| end.join().expect("a thread")).collect();
    let idle = ends.iter().filter(|(n, _)| n % 2 == 1).map(|(_, end)| end).max();
    let holder = ends.iter().filter(|(n, _)| n % 2 == 0).map(|(_, end)| end).min();
    assert!(holder > idle, "holders are the last");
    late.gets_it();
    eventually("the old process ends", || desk.proxy.log().contains("stopped").then_some(()));
    let log = desk.proxy.log();
    assert!(!log.contains("could not be released"), "{log}");
    assert!(late.is_free("kept2") && !late.is_free("kept0"));
}

fn a_program_that_fails_leaves_the_old_process_serving(server: &Server) {
    let desk = Desk::short(server, &[]);
    let mut open = Session::at(desk.proxy.port);
    open.lock("kept");
    // The settings are not fit for a start any more.
    std::fs::write(desk.folder.file("settings.toml"), "lease = 'never'\n").expect("written");
    let answer = desk.ask(&["upgrade"]);
    let said = text(&answer);
    assert_eq!(answer.status.code(), Some(1), "{said}");
    assert!(said.contains("the new process ended (exit status: 2)"), "{said}");
    assert_eq!(open.value("SELECT IS_USED_LOCK('kept')"), Some(open.id().to_string()));
    let mut new = Session::at(desk.proxy.port);
    assert!(!new.is_free("kept"));
    assert_eq!(desk.rows(&["sessions"]).len(), 2);
    assert!(desk.proxy.page("/readyz").contains("200 OK"));
}

fn one_upgrade_is_under_way_at_a_time(server: &Server) {
    let desk = Desk::short(server, &[]);
    let settings = desk.folder.file("settings.toml");
    // The new process reads until somebody has written.
    std::fs::remove_file(&settings).expect("removed");
    assert!(Command::new("mkfifo").arg(&settings).status().expect("mkfifo runs").success());
    let first = std::thread::scope(|threads| {
        let first = threads.spawn(|| desk.ask(&["upgrade"]));
        eventually("it is under way", || {
            desk.proxy.log().contains("starting a new process").then_some(())
        });
        let second = desk.ask(&["upgrade"]);
        assert_eq!(second.status.code(), Some(1));
        assert!(text(&second).contains("an upgrade is already under way"), "{}", text(&second));
        std::fs::write(&settings, "lease = 'never'\n").expect("written");
        first.join().expect("a thread")
    });
    assert!(text(&first).contains("the new process ended"), "{}", text(&first));
    // There may be another one.
    std::fs::remove_file(&settings).expect("removed");
    std::fs::write(&settings, "lease = '9s'\n").expect("written");
    assert!(desk.upgrade().is_there());
}

fn a_new_process_may_be_replaced_in_its_turn(server: &Server) {
    let desk = Desk::short(server, &[]);
    let port = desk.proxy.port;
    let first = desk.upgrade();
    let mut session = Session::at(port);
    session.lock("kept");
    first.signal("USR2");
    // Each of the two is announced by the process before it.
    let last = Process::taken(2, || desk.proxy.log());
    let serving =
        |log: String| log.matches("serving, with the sockets of the previous process").count() == 2;
    eventually("the next one serves", || serving(desk.proxy.log()).then_some(()));
    assert!(last.0 != first.0 && last.is_there());
    let mut later = Session::at(port);
    assert!(!later.is_free("kept"));
    session.send("SELECT RELEASE_LOCK('kept')");
    assert!(session.client.read_response(Shape::Query).error().is_none());
    later.lock("kept");
    drop(session);
    eventually("the first new process ends", || (!first.is_there()).then_some(()));
    last.signal("TERM");
    assert_eq!(later.last_words().map(|e| e.code), Some(1053));
    eventually("the last one ends", || (!last.is_there()).then_some(()));
    assert!(!desk.folder.file("admin.sock").exists(), "whose socket it was removes the file");
}

/// Puts a script in place of a program, as a package does.
pub(crate) fn replace(program: &Path, script: &str) {
    let text = program.with_extension("text");
    std::fs::write(&text, script).expect("written");
    place(program, &text);
}

/// The program that is tested.
pub(crate) const REAL: &str = env!("CARGO_BIN_EXE_lockstead");

/// Puts a copy of a file in a program's place, by a process of its own. A file that this process has open to write is
/// open in whatever another test starts at that moment, too, and cannot be run (ETXTBSY).
pub(crate) fn place(program: &Path, file: &Path) {
    let new = program.with_extension("new");
    let status = Command::new("install").args(["-m", "700"]).args([file, &new]).status();
    assert!(status.expect("install runs").success(), "no copy of {}", file.display());
    std::fs::rename(&new, program).expect("replaced");
}

/// A proxy without a desk, by a program of the test's own.
struct Bare {
    launched: Launched,
    schema: String,
    server: Server,
}

impl Bare {
    fn start(server: &Server, make: impl Fn() -> Command) -> Self {
        let schema = fresh_schema();
        let backend = format!("{}:{}", server.host, server.port);
        let store = format!("{}/{schema}", server.url.trim_end_matches('/'));
        let extra = ["--create-schema", "--lease", "9s"];
        let launched = Launched::start_as(make, &backend, &store, &extra);
        Self { launched, schema, server: server.clone() }
    }

    /// Asks for an upgrade, and waits until this is logged.
    fn ask(&self, says: &str) {
        self.ask_until(says, |log| log.contains(says));
    }

    fn ask_until(&self, what: &str, says: impl Fn(&str) -> bool) {
        self.launched.signal("USR2");
        eventually(what, || says(&self.launched.log()).then_some(()));
    }

    fn serves(&self) {
        assert!(Session::at(self.launched.port).is_free("a"));
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP DATABASE {}", self.schema));
        }
    }
}

fn the_program_is_the_file_that_is_there_now(server: &Server) {
    let folder = Folder::new();
    let file = folder.file("program");
    place(&file, REAL.as_ref());
    let proxy = Bare::start(server, || Command::new(&file));
    replace(&file, "#!/bin/sh\nexit 7\n");
    proxy.ask("the new process ended (exit status: 7)");
    proxy.serves();
    std::fs::remove_file(&file).expect("removed");
    proxy.ask("cannot start");
    proxy.serves();
    replace(&file, &format!("#!/bin/sh\necho the newer one >&2\nexec {REAL} \"$@\"\n"));
    proxy.ask("serving, with the sockets of the previous process");
    let _new = Process::taken(1, || proxy.launched.log());
    assert!(proxy.launched.log().contains("the newer one"));
    proxy.serves();
}

fn systemd_is_told_which_process_is_the_service(server: &Server) {
    let folder = Folder::new();
    let socket = UnixDatagram::bind(folder.file("notify")).expect("bound");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    let told = || {
        let mut text = [0; 100];
        let length = socket.recv(&mut text).expect("it is told");
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    let proxy = Bare::start(server, || {
        let mut command = program(&[]);
        command.env("NOTIFY_SOCKET", folder.file("notify"));
        command
    });
    assert_eq!(told(), "READY=1");
    proxy.ask("serving, with the sockets of the previous process");
    let new = Process::taken(1, || proxy.launched.log());
    assert_eq!(told(), format!("MAINPID={}", new.0));
}

fn an_old_process_that_is_told_to_stop_drains_at_once(server: &Server) {
    let desk = Desk::short(server, &["--drain-timeout", "10m"]);
    let mut holder = Session::at(desk.proxy.port);
    holder.lock("kept");
    let new = desk.upgrade();
    let mut late = Session::at(desk.proxy.port);
    late.ask_for("kept");
    desk.proxy.signal("TERM");
    assert_eq!(holder.last_words().map(|e| e.code), Some(1053));
    late.gets_it();
    eventually("the old process ends", || desk.proxy.log().contains("stopped").then_some(()));
    assert!(new.is_there());
    assert!(!Session::at(desk.proxy.port).is_free("kept"), "the new process serves on");
    assert_eq!(desk.rows(&["sessions"]).len(), 1);
}

/// A program that says that it is ready, and ends when it is let serve.
const DIES: &str = "#!/bin/sh
printf ready >&0
while said=$(dd bs=512 count=1 2>/dev/null) && [ -n \"$said\" ]; do
  [ \"$said\" != yours ] || exit 9
done
exit 8
";

fn a_new_process_that_dies_before_it_serves_costs_no_client(server: &Server) {
    let folder = Folder::new();
    let file = folder.file("program");
    place(&file, REAL.as_ref());
    let proxy = Bare::start(server, || Command::new(&file));
    let port = proxy.launched.port;
    let clients = Clients::start(4, move || Client::connect("127.0.0.1", port, &account()));
    replace(&file, DIES);
    for nth in 1..=3 {
        let ended = "the new process ended (exit status: 9) before it served";
        proxy.ask_until("it has ended", |log| log.matches(ended).count() == nth);
    }
    clients.end();
    proxy.serves();
}
