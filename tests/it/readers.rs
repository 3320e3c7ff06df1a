//! Listeners that lead to replicas: where their sessions go, what they may not do there, and when they end.

use std::net::TcpStream;
use std::thread;

use crate::admin::{Folder, cache};
use crate::cli::text;
use crate::launch::{Launched, program, run};
use crate::own_server::OwnServer;
use crate::probes::greet;
use crate::proxy::{free_port, fresh_schema};
use crate::replicas::{again, attach, attach_from_now_on, detach};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{PATIENCE, eventually, on_both};
use crate::wire::{Account, Client, Execute, Param};
use crate::writers::{Replicated, port_of, set_writable};

on_both! {
    a_listener_to_replicas_leads_to_one_beside_one_to_the_writer
    a_session_at_a_replica_is_not_taken_for_one_of_its_id_at_the_writer
    sessions_are_spread_over_replicas_and_one_that_fails_is_passed_over
    a_replica_that_stops_replicating_gets_no_more_clients
    lock_functions_are_refused_at_a_replica
    a_session_ends_when_its_replica_takes_writes
    a_session_at_a_replica_is_killed_there
    a_session_at_a_replica_is_not_in_the_way_of_a_switch
    probes_at_a_replica_are_no_errors
    settings_beside_which_a_replica_makes_no_sense_are_refused
}

const TO_REPLICAS: [&str; 2] = ["--role", "replica"];

fn place(server: &OwnServer) -> String {
    format!("127.0.0.1:{}", server.server.port)
}

/// A metric of one server.
fn of(proxy: &Launched, metric: &str, server: &OwnServer) -> u64 {
    let value = proxy.metric(&format!("lockstead_{metric}{{backend=\"{}\"}}", place(server)));
    value.to_string().parse().expect("a whole number")
}

fn until_replica(proxy: &Launched, server: &OwnServer, is: bool) {
    eventually("it is known whether it is a replica", || {
        (of(proxy, "server_replica", server) == u64::from(is)).then_some(())
    });
}

fn admin_of(folder: &Folder) -> String {
    format!("unix:{}", folder.socket().display())
}

/// A proxy with a socket for administrators, whose only listener leads to replicas.
fn to_replicas(both: &Replicated, folder: &Folder, extra: &[&str]) -> Launched {
    let admin = admin_of(folder);
    let proxy = both.proxy(&[&TO_REPLICAS, extra, &["--lease", "2s", "--admin", &admin]].concat());
    until_replica(&proxy, &both.second, true);
    proxy
}

/// What the administration prints of a SHOW.
fn shows(both: &Replicated, folder: &Folder, sql: &str) -> String {
    let client = if both.flavour == Flavour::MySql { "mysql" } else { "mariadb" };
    let output = std::process::Command::new(cache().join("bin").join(client))
        .args(["--no-defaults", "--batch", "-e", sql])
        .arg(format!("--socket={}", folder.socket().display()))
        .output();
    text(&output.expect("the client runs"))
}

/// A proxy with a listener to replicas and, after it, one to the writer with further settings.
struct TwoListeners {
    to_replica: u16,
    to_writer: u16,
    file: String,
    _proxy: lockstead_support::Proxy,
}

impl TwoListeners {
    fn start(both: &Replicated, folder: &Folder, extra: &str) -> Self {
        let [_, backends, _, store] = both.place();
        let list = backends.replace(',', "', '");
        let [to_writer, to_replica] = [(); 2].map(|()| free_port());
        let file = folder.file("settings.toml").display().to_string();
        let settings = format!(
            "backend = ['{list}']\nstore = '{store}'\nhttp = 'off'\nstate_dir = 'off'\nlease = '2s'\n\
             admin = 'unix:{}'\n[[listener]]\nlisten = '127.0.0.1:{to_replica}'\nrole = 'replica'\n\
             [[listener]]\nlisten = '127.0.0.1:{to_writer}'\n{extra}\n",
            folder.socket().display()
        );
        std::fs::write(&file, settings).expect("written");
        let launch = lockstead_support::Launch::by(|| program(&[])).configured(to_replica);
        let proxy = launch.arguments(&["--config", &file]).start().expect("a proxy");
        Self { to_replica, to_writer, file, _proxy: proxy }
    }
}

/// The line of a table that has this in it.
fn line_of<'a>(shown: &'a str, part: &str) -> &'a str {
    let line = shown.lines().find(|line| line.contains(part));
    line.unwrap_or_else(|| panic!("no {part}: {shown}"))
}

fn a_listener_to_replicas_leads_to_one_beside_one_to_the_writer(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let proxy = TwoListeners::start(&both, &folder, "pooling = 'transaction'");
    let TwoListeners { to_replica, to_writer, file, _proxy } = &proxy;
    let (first, second) = (both.first.server.port, both.second.server.port);
    let mut reader = Session::at(*to_replica);
    let mut writer = Session::at(*to_writer);
    assert_eq!((port_of(&mut writer), port_of(&mut reader)), (first, second));
    writer.ask_for("k");
    writer.gets_it();
    let refused = reader.client.query(b"INSERT INTO mysql.servers VALUES ()");
    if both.flavour == Flavour::MySql {
        assert_eq!(refused.error(), Some(1290), "{refused:?}");
    }
    let shown = shows(&both, &folder, "SHOW BACKENDS");
    let line = |port: u16| line_of(&shown, &format!("127.0.0.1:{port}\t"));
    assert!(line(first).ends_with("\twriter\ttakes writes\t0"), "{shown}");
    assert!(line(second).ends_with("\treplica\tis read-only\t1"), "{shown}");
    let checked = text(&run(&["check", "--config", file]));
    let says =
        format!("replicas        127.0.0.1:{second} for the clients of 127.0.0.1:{to_replica}");
    assert!(checked.contains(&says), "{checked}");
    detach(&both.second.server);
    let checked = text(&run(&["check", "--config", file]));
    assert!(checked.contains("replicas        FAILED: none for the clients of"), "{checked}");
}

/// Each of two servers may have a connection of the same id.
fn a_session_at_a_replica_is_not_taken_for_one_of_its_id_at_the_writer(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let TwoListeners { to_replica, to_writer, .. } = &TwoListeners::start(&both, &folder, "");
    let (mut reader, mut writer) = (Session::at(*to_replica), Session::at(*to_writer));
    while reader.id() != writer.id() {
        // Ids only grow.
        if reader.id() < writer.id() {
            reader = Session::at(*to_replica);
        } else {
            writer = Session::at(*to_writer);
        }
    }
    writer.ask_for("k");
    writer.gets_it();
    eventually("only the two are left", || {
        let shown = shows(&both, &folder, "SHOW SESSIONS");
        let ends = |session: &mut Session, locks| {
            let line = format!("\t{locks}\tNULL\t127.0.0.1:{}\n", port_of(session));
            shown.contains(&line)
        };
        let two = shown.lines().count() == 3;
        (two && ends(&mut writer, 1) && ends(&mut reader, 0)).then_some(())
    });
    let id = writer.id();
    let killed = run(&["kill", &id.to_string(), "--admin", &admin_of(&folder)]);
    assert_eq!(killed.status.code(), Some(1), "{}", text(&killed));
    assert!(text(&killed).contains(&format!("several servers have a session {id} each")));
    for session in [&mut reader, &mut writer] {
        assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
    }
}

fn sessions_are_spread_over_replicas_and_one_that_fails_is_passed_over(server: &Server) {
    let both = Replicated::start(server);
    let third = OwnServer::start(both.flavour, &["--server-id=3"]);
    attach(&both.first.server, &third.server);
    set_writable(&third.server, both.flavour, false);
    let [_, backends, _, store] = both.place();
    let backends = format!("{backends},{}", place(&third));
    let proxy = Launched::start_with_pages(&backends, &store, &TO_REPLICAS);
    for replica in [&both.second, &third] {
        until_replica(&proxy, replica, true);
    }
    assert_eq!(of(&proxy, "server_replica", &both.first), 0);
    let counts = || [&both.first, &both.second, &third].map(|s| of(&proxy, "replica_sessions", s));
    let (second, other) = (both.second.server.port, third.server.port);
    let mut sessions: Vec<Session> = (0..6).map(|_| Session::at(proxy.port)).collect();
    assert_eq!(counts(), [0, 3, 3]);
    sessions.retain_mut(|session| port_of(session) == second);
    eventually("those that have ended are not counted", || (counts() == [0, 3, 0]).then_some(()));
    let mut more: Vec<Session> = (0..3).map(|_| Session::at(proxy.port)).collect();
    assert!(more.iter_mut().all(|session| port_of(session) == other), "the fewest first");
    // A client, or the next question, finds the replica dead.
    both.second.kill();
    let mut late: Vec<Session> = (0..4).map(|_| Session::at(proxy.port)).collect();
    assert!(late.iter_mut().all(|session| port_of(session) == other));
    for mut lost in sessions {
        assert_eq!(lost.last_words().map(|words| words.code), None);
    }
    until_replica(&proxy, &both.second, false);
}

fn a_replica_that_stops_replicating_gets_no_more_clients(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let proxy = to_replicas(&both, &folder, &["--writer-wait", "1s"]);
    let mut session = Session::at(proxy.port);
    detach(&both.second.server);
    until_replica(&proxy, &both.second, false);
    let refused = Client::connect("127.0.0.1", proxy.port, &account()).expect("a connection");
    let error = refused.login.packets.last().expect("an error");
    let said = String::from_utf8_lossy(&error.payload);
    assert_eq!(error.payload[1..3], 1429_u16.to_le_bytes());
    for words in [
        "for 1s (writer_wait) no server can be a replica",
        &format!("{} takes writes", place(&both.first)),
        &format!("{} is read-only, and applies no changes of another", place(&both.second)),
        "use a listener to the writer",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(session.value("SELECT 1").as_deref(), Some("1"), "it stays");
    let lines = proxy.log().matches("new clients of listeners with role").count();
    assert_eq!(lines, 1, "{}", proxy.log());
    let waits = thread::spawn({
        let port = proxy.port;
        // Each try waits a second.
        move || {
            eventually("a session", || {
                let client = Client::connect("127.0.0.1", port, &account()).ok()?;
                client.login.succeeded().then_some(())
            });
        }
    });
    again(&both.second.server);
    waits.join().expect("a session");
    eventually("the log says so", || {
        proxy.log().contains("there is a replica again").then_some(())
    });
}

fn lock_functions_are_refused_at_a_replica(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    for (mode, unsupported) in [("durable", "native"), ("coexist", "refuse")] {
        let settings = ["--mode", mode, "--unsupported", unsupported];
        let proxy = to_replicas(&both, &folder, &settings);
        let mut session = Session::at(proxy.port);
        for sql in [
            "SELECT GET_LOCK('k', 0)",
            "DO RELEASE_LOCK('k')",
            "SELECT IS_FREE_LOCK('k')",
            "SELECT IS_USED_LOCK('k')",
            "SELECT 1 + GET_LOCK('k', 0) AS n",
            "SELECT user, IS_FREE_LOCK(user) FROM mysql.user",
            // Not covered: the server would run it.
            "SELECT GET_LOCK(user, 0) FROM mysql.user",
            &format!("SELECT GET_LOCK('k', 0) /* {} */", "long ".repeat(20_000)),
        ] {
            let response = session.client.query(sql.as_bytes());
            let shown = &sql[..sql.len().min(60)];
            assert_eq!(response.error(), Some(1290), "{mode}, {shown}: {response:?}");
        }
        let prepared = session.client.prepare(b"SELECT GET_LOCK(?, 0)");
        let id = prepared.packets[0].payload[1..5].try_into().expect("four bytes");
        let name = Execute { params: vec![Param::Text(b"k".to_vec())], ..Execute::default() };
        let executed = session.client.execute(u32::from_le_bytes(id), &name);
        assert_eq!(executed.error(), Some(1290), "{mode}: {executed:?}");
        session.run("PREPARE s FROM 'SELECT GET_LOCK(\\'k\\', 0)'");
        assert_eq!(session.client.query(b"EXECUTE s").error(), Some(1290), "{mode}");
        assert_eq!(session.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("0"));
        assert_eq!(session.value("SELECT 'IS_FREE_LOCK'").as_deref(), Some("IS_FREE_LOCK"));
        let free =
            both.second.server.root().column("SELECT IS_FREE_LOCK('k') AND IS_FREE_LOCK('root')");
        assert_eq!(free, ["1"], "the replica has none either");
        let calls = "lockstead_lock_calls_total{function=\"get_lock\",outcome=\"unsupported\"}";
        assert!(proxy.metric(calls) >= 3.0, "{}", proxy.page("/metrics"));
        assert!(proxy.log().contains("a lock call at a replica"), "{}", proxy.log());
    }
}

fn a_session_ends_when_its_replica_takes_writes(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let proxy = to_replicas(&both, &folder, &[]);
    let mut idle = Session::at(proxy.port);
    let mut busy = Session::at(proxy.port);
    busy.send("SELECT SLEEP(600)");
    // The server is no writer, since another one is.
    set_writable(&both.second.server, both.flavour, true);
    for left in [&mut idle, &mut busy] {
        assert_eq!(left.last_words().map(|words| words.code), Some(1053));
    }
    set_writable(&both.second.server, both.flavour, false);
    until_replica(&proxy, &both.second, true);
    let mut idle = Session::at(proxy.port);
    // A planned switch: the former writer becomes the replica of the new one.
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    assert_eq!(idle.last_words().map(|words| words.code), Some(1053));
    attach_from_now_on(&both.second.server, &both.first.server);
    let mut late = Session::at(proxy.port);
    assert_eq!(port_of(&mut late), both.first.server.port);
    let closed = "lockstead_sessions_closed_total{reason=\"writer\"}";
    assert_eq!(proxy.metric(closed).to_string(), "3");
}

fn a_session_at_a_replica_is_killed_there(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let proxy = to_replicas(&both, &folder, &[]);
    // MySQL lets nobody end sessions of root who is not as privileged.
    let user = fresh_schema().replace("lockstead_t", "lockstead_d");
    both.first.server.root().run(&format!("CREATE USER {user}@'%' IDENTIFIED BY ''"));
    let users = format!("SELECT COUNT(*) FROM mysql.user WHERE user='{user}'");
    eventually("the replica has the account", || {
        (both.second.server.root().column(&users) == ["1"]).then_some(())
    });
    let account = Account { user, password: String::new(), ..account() };
    let mut session = Session::of(proxy.port, &account);
    let id = session.id();
    // The writer has another connection of this id, or had one.
    let mut there: Vec<Session> = Vec::new();
    while there.last().is_none_or(|session| session.id() < id) {
        there.push(Session::at(both.first.server.port));
    }
    session.send("SELECT SLEEP(600)");
    until_busy(&mut both.second.server.root(), id);
    let admin = admin_of(&folder);
    let killed = run(&["kill", &id.to_string(), "--admin", &admin]);
    assert_eq!(killed.status.code(), Some(0), "{}", text(&killed));
    session.last_words();
    eventually("the replica has ended it", || {
        let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id={id}");
        (both.second.server.root().column(&sql) == ["0"]).then_some(())
    });
    for session in &mut there {
        assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
    }
}

fn a_session_at_a_replica_is_not_in_the_way_of_a_switch(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let proxy = to_replicas(&both, &folder, &[]);
    let mut session = Session::at(proxy.port);
    session.run("BEGIN");
    assert_eq!(session.value("SELECT COUNT(*) > 0 FROM mysql.user").as_deref(), Some("1"));
    let mut other = Session::at(proxy.port);
    let admin = admin_of(&folder);
    let ready = run(&["drain-primary", "--hold", "60s", "--admin", &admin]);
    assert_eq!(ready.status.code(), Some(0), "{}", text(&ready));
    assert!(text(&ready).contains("ready: switch now"), "{}", text(&ready));
    assert!(proxy.metric("lockstead_switchover_state") > 1.0);
    assert_eq!(other.value("SELECT 1").as_deref(), Some("1"), "nothing waits");
    assert_eq!(Session::at(proxy.port).value("SELECT 1").as_deref(), Some("1"));
    let cancelled = run(&["drain-primary", "--cancel", "--admin", &admin]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", text(&cancelled));
}

fn probes_at_a_replica_are_no_errors(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let proxy = to_replicas(&both, &folder, &[]);
    let aborted = || {
        let sql = "SHOW GLOBAL STATUS LIKE 'Aborted_connects'";
        let response = both.second.server.root().run(sql);
        format!("{:?}", response.packets.iter().map(|p| &p.payload).collect::<Vec<_>>())
    };
    let before = aborted();
    for _ in 0..200 {
        let stream = TcpStream::connect(("127.0.0.1", proxy.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        drop(greet(stream));
    }
    // The next client would use it.
    eventually("no connection is left over", || {
        (of(&proxy, "replica_sessions", &both.second) == 0).then_some(())
    });
    assert_eq!(aborted(), before, "failed connections");
}

fn settings_beside_which_a_replica_makes_no_sense_are_refused(server: &Server) {
    let port = server.port;
    let (one, two) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{port},127.0.0.1:1"));
    for (backend, extra, says) in [
        (&one, &[][..], "needs several servers"),
        (&two, &["--mode", "observe"], "cannot be used with mode = \"observe\""),
        (&two, &["--pooling", "transaction"], "cannot be used with pooling = \"transaction\""),
    ] {
        let place = ["serve", "--backend", backend, "--store", "mysql://a:b@/x"];
        let refused = run(&[&place, &TO_REPLICAS[..], extra].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        let said = text(&refused);
        assert!(said.contains("`role`: \"replica\"") && said.contains(says), "{says}: {said}");
    }
}
