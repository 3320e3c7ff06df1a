//! Observing: everything passes as it is, and the report tells who uses which locks.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use serde_json::Value;

use crate::cli::{Person, text};
use crate::launch::run;
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::check::{Check, Recorded};
use crate::script::{Flavour, Server};
use crate::scripted::{Peer, greeting, login, ok, packet, query, version_like};
use crate::session::{Raw, Session, account, until_busy};
use crate::stage::{Database, eventually, on_both, own_address};
use crate::wire::command::STMT_PREPARE;
use crate::wire::library::OWN;
use crate::wire::wrap::Wrap;
use crate::wire::{Account, Execute, Param, Shape};

on_both! {
    every_answer_is_the_server_s
    logins_and_commands_arrive_byte_for_byte
    locks_are_the_server_s_own
    the_report_shows_who_waits_and_who_holds
    statements_that_the_report_calls_refused_are_refused
    the_report_is_kept_over_restarts
    names_beyond_the_most_are_counted_together
    prepared_statements_are_reported_with_their_parameters
    calls_that_cannot_be_observed_are_counted
    double_quotes_are_names_where_the_server_says_so
    holds_end_with_whatever_releases
    held_locks_are_not_guessed
    users_and_schemas_are_those_of_the_moment
    literals_stay_out_of_the_report
    an_observing_proxy_is_ready_and_drains
    checks_are_about_what_observing_needs
    probes_of_an_observing_proxy_are_no_errors
}

/// An observing proxy with a state directory, which goes with it.
struct Observing {
    proxy: Proxy,
    dir: PathBuf,
}

impl Observing {
    fn start(server: &Server) -> Self {
        let dir = std::env::temp_dir().join(fresh_schema());
        Self { proxy: Self::proxy(&server.url, &dir), dir }
    }

    fn proxy(url: &str, dir: &std::path::Path) -> Proxy {
        let dir = dir.to_str().expect("a plain path");
        Proxy::start(url, &["--mode", "observe", "--state-dir", dir])
    }

    fn port(&self) -> u16 {
        self.proxy.port
    }

    /// Ends the proxy; what it has observed.
    fn end(&mut self) -> Value {
        self.proxy.signal("TERM");
        assert_eq!(self.proxy.wait(), Some(0));
        self.report()
    }

    /// What is in the file now.
    fn report(&self) -> Value {
        let output = run(&["report", "--json", "--state-dir", self.dir.to_str().expect("plain")]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The report for display.
    fn tables(&self) -> String {
        let output = run(&["report", "--state-dir", self.dir.to_str().expect("plain")]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output)
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn lock<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut locks = report["locks"].as_array().expect("locks").iter();
    locks.find(|l| l["name"] == name).unwrap_or_else(|| panic!("no {name} in\n{report:#}"))
}

/// The statements that begin so.
fn statements<'a>(report: &'a Value, text: &str) -> Vec<&'a Value> {
    let all = report["statements"].as_array().expect("statements").iter();
    all.filter(|s| s["statement"].as_str().is_some_and(|t| t.starts_with(text))).collect()
}

fn statement<'a>(report: &'a Value, text: &str) -> &'a Value {
    let found = statements(report, text);
    assert_eq!(found.len(), 1, "{text} in\n{report:#}");
    found[0]
}

fn names(report: &Value) -> Vec<&str> {
    let locks = report["locks"].as_array().expect("locks").iter();
    let mut names: Vec<&str> = locks.filter_map(|l| l["name"].as_str()).collect();
    names.sort_unstable();
    names
}

/// A name of a lock that no other test takes.
fn fresh(prefix: &str) -> String {
    fresh_schema().replace("lockstead_t", prefix)
}

/// One script of those that pass an observing proxy; tests/differential has the others.
fn every_answer_is_the_server_s(server: &Server) {
    let observing = Observing::start(server);
    let (flavour, through) = (flavour_of(server), Some(observing.port()));
    let check =
        Check { server, flavour, wrap: Wrap::default(), learns: false, through, library: &OWN };
    check
        .run("shapes", include_str!("scripts/shapes.sql"), &mut Recorded::default())
        .expect("equal answers");
    let taken = "lockstead_lock_calls_total{function=\"get_lock\",outcome=\"one\"}";
    let taken = observing.proxy.metric(taken);
    assert!(taken >= 10.0, "{taken}");
}

fn logins_and_commands_arrive_byte_for_byte(server: &Server) {
    const CAPABILITIES: u32 = 0x0018_a201;
    let attributes = b"\x0cprogram_name\x03app\x01a\x01b";
    let length = [u8::try_from(attributes.len()).expect("short")];
    let hello = greeting(version_like(server), 0x0197_a687);
    let login = packet(1, &[&login(CAPABILITIES)[..], &length, attributes].concat());
    let mut commands = [
        query(b"SELECT GET_LOCK('a', 1)"),
        query(format!("SELECT GET_LOCK('a', 1) /* {} */", "x".repeat(70_000)).as_bytes()),
        query(b"\x81'_lock("),
        query(b""),
        packet(0, b"\x16SELECT GET_LOCK(?, 1)"),
        packet(0, b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x01a"),
        packet(0, b"\x18\x01\0\0\0\0\0data"),
        packet(0, b"\x17\x01\0"),
        packet(0, b"\x19\x01\0\0\0"),
        packet(0, b"\x1a\x01\0\0\0"),
        packet(0, b"\xfa\x01\0\0\0\x80\0"),
        packet(0, b"\x02shop"),
        packet(0, b"\x1b\0\0"),
        packet(0, b"\x1f"),
        packet(0, b""),
    ]
    .concat();
    commands.extend(query(b"USE `shop`; SELECT RELEASE_ALL_LOCKS()"));
    let (hello, asked, expected) = (packet(0, &hello), login.clone(), commands.clone());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut peer = Peer::new(stream);
            peer.send(&hello);
            if peer.frame() != asked {
                return;
            }
            peer.send(&ok(2));
            let seen = peer.receive(expected.len());
            peer.send(&packet(1, &[&[0xff, 1, 0], &seen[..]].concat()));
        }
    });
    let dir = std::env::temp_dir().join(fresh_schema());
    let url = format!("mysql://root:x@127.0.0.1:{port}/");
    let observing = Observing { proxy: Observing::proxy(&url, &dir), dir };
    for piece in [1, 7, 1021, 65_536] {
        let stream = TcpStream::connect(("127.0.0.1", observing.port())).expect("a connection");
        let mut client = Peer::new(stream);
        client.frame();
        client.send(&login);
        assert_eq!(client.frame(), ok(2), "the login is another");
        client.send_in_pieces(&commands, piece);
        let echo = client.receive(commands.len() + 7);
        assert!(echo[7..] == commands, "in pieces of {piece}");
    }
}

fn locks_are_the_server_s_own(server: &Server) {
    let observing = Observing::start(server);
    let name = fresh("ob");
    let mut holder = Session::at(observing.port());
    let mut direct = Session::at(server.port);
    holder.lock(&name);
    let user = direct.value(&format!("SELECT IS_USED_LOCK('{name}')"));
    assert_eq!(user, Some(holder.id().to_string()));
    direct.ask_for(&name);
    until_busy(&mut server.root(), direct.id());
    holder.unlock(&name);
    direct.gets_it();
    assert!(!holder.is_free(&name));
}

/// A session of this account, with the name of a program.
fn as_person(port: u16, person: &Person, program: &str, schema: Option<&str>) -> Session {
    let attributes = vec![(program.to_owned(), "biller".to_owned())];
    let (user, database) = (person.name.clone(), schema.map(str::to_owned));
    Session::of(port, &Account { user, password: "pw".into(), attributes, database, ..account() })
}

fn the_report_shows_who_waits_and_who_holds(server: &Server) {
    let mut observing = Observing::start(server);
    let database = Database::create(server);
    let rights = ["ALL ON $.*"];
    let holds = Person::create(server, &database.name, &rights);
    let waits = Person::create(server, &database.name, &rights);
    let name = fresh("ob");
    let schema = Some(database.name.as_str());
    let mut holder = as_person(observing.port(), &holds, "program_name", schema);
    let mut waiter = as_person(observing.port(), &waits, "_client_name", None);
    holder.lock(&name);
    holder.lock(&name);
    assert_eq!(waiter.value(&format!("SELECT GET_LOCK('{name}', 0)")).as_deref(), Some("0"));
    waiter.ask_for(&name);
    until_busy(&mut server.root(), waiter.id());
    assert_eq!(holder.value("SELECT SLEEP(0.5)").as_deref(), Some("0"));
    holder.unlock(&name);
    holder.unlock(&name);
    waiter.gets_it();
    assert_eq!(waiter.value(&format!("DO RELEASE_LOCK('{name}'); SELECT 1")).as_deref(), Some("1"));
    waiter.value("SELECT RELEASE_ALL_LOCKS()");
    let mut third = Session::at(server.port);
    third.lock(&name);
    assert_eq!(holder.value(&format!("SELECT RELEASE_LOCK('{name}')")).as_deref(), Some("0"));
    third.unlock(&name);
    assert_eq!(holder.value(&format!("SELECT RELEASE_LOCK('{name}')")), None);
    holder.client.query(b"SELECT GET_LOCK('', 1)");
    drop((holder, waiter));
    let report = observing.end();
    let seen = lock(&report, &name);
    let get = &seen["calls"]["get_lock"];
    assert_eq!((&get["one"], &get["zero"]), (&3.into(), &1.into()), "{report:#}");
    let release = &seen["calls"]["release_lock"];
    let one = release["one"].as_u64();
    let untold = release["untold"].as_u64();
    assert_eq!((one, untold), (Some(2), Some(1)), "{report:#}");
    assert_eq!((&release["zero"], &release["null"]), (&1.into(), &1.into()), "{report:#}");
    assert_eq!(seen["waits"]["count"], 4);
    let longest = seen["waits"]["max_seconds"].as_f64().expect("seconds");
    let held = seen["holds"]["max_seconds"].as_f64().expect("seconds");
    assert!(longest > 0.2 && held >= 0.5, "{report:#}");
    // The release of the waiter's is one of several statements: it is not known what it did.
    assert_eq!((&seen["holds"]["count"], &report["unobserved"]["hold"]), (&1.into(), &1.into()));
    let host = "127.0.0.1";
    let mut users = [&holds, &waits].map(|p| Value::from(format!("{}@{host}", p.name)));
    users.sort_by_key(Value::to_string);
    let mut told = seen["users"].as_array().expect("users").clone();
    told.sort_by_key(Value::to_string);
    assert_eq!(told, users);
    for (person, count, schema) in [(&holds, 3, &*database.name), (&waits, 2, "")] {
        let all = statements(&report, "SELECT GET_LOCK(?, ?)");
        let of: Vec<_> = all.iter().filter(|s| s["user"] == person.name).collect();
        assert_eq!(of.len(), 1, "{report:#}");
        let of = of[0];
        let kept = (&of["count"], &of["program"], &of["schema"], &of["host"], &of["verdict"]);
        let biller = Value::from("biller");
        let (count, schema) = (Value::from(count), Value::from(schema));
        assert_eq!(kept, (&count, &biller, &schema, &host.into(), &"covered".into()));
        assert!(of["locks"].as_array().expect("locks").contains(&name.as_str().into()));
    }
    let tables = observing.tables();
    for part in [&*name, &holds.name, "program biller", "STATEMENTS covered", "wait 50%"] {
        assert!(tables.contains(part), "{part}:\n{tables}");
    }
}

fn statements_that_the_report_calls_refused_are_refused(server: &Server) {
    let mut observing = Observing::start(server);
    let durable = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (v INT)"));
    server.root().run(&format!("INSERT INTO {table} VALUES (1), (2)"));
    let name = fresh("ob");
    let mut refusing = Session::at(durable.port);
    let texts = [
        "SELECT GET_LOCK('$', 0)",
        "SELECT GET_LOCK(\"$\", 0) AS l FROM DUAL",
        "SELECT GET_LOCK(CONCAT('$', 1), 0) + 1",
        "SET @v = RELEASE_LOCK('$')",
        "EXPLAIN SELECT GET_LOCK('$', 0)",
        "INSERT INTO % VALUES (GET_LOCK('$', 0))",
        "DO RELEASE_LOCK('$'); SELECT RELEASE_ALL_LOCKS()",
        "SELECT IS_FREE_LOCK(CONCAT('$', v)) FROM %",
        "SELECT GET_LOCK('$', 0) AS l, @w := 1, IF(@w, GET_LOCK('$', 0), 2)",
        "SELECT RELEASE_LOCK('$') FROM %",
        "SELECT GET_LOCK(CONCAT(v), 0) FROM %",
        "SELECT v FROM % WHERE v < 2 AND GET_LOCK(CONCAT('$', v), 0)",
        "SELECT GET_LOCK('$', 0), IF(SLEEP(0), RELEASE_LOCK('$'), 1)",
        "SHOW TABLES FROM % WHERE GET_LOCK('$', 0)",
        "PREPARE s FROM 'SELECT GET_LOCK(1, 0)'",
        "CREATE TABLE %2 AS SELECT GET_LOCK('$', 0) AS l",
        "SELECT GET_LOCK('$', 0) INTO @x",
    ];
    let mut verdicts = Vec::new();
    for (nth, text) in texts.into_iter().enumerate() {
        // SHOW TABLES takes a database.
        let place = if text.contains("SHOW") { &database.name } else { &table };
        let text = text.replace('$', &name).replace('%', place);
        let refused = refusing.client.query(text.as_bytes()).error() == Some(1235);
        // Each by a program of its own, to be told apart.
        let program = nth.to_string();
        let attributes = vec![("program_name".to_owned(), program.clone())];
        let mut watched = Session::of(observing.port(), &Account { attributes, ..account() });
        assert_ne!(watched.client.query(text.as_bytes()).error(), Some(1235), "{text}");
        verdicts.push((text, program, refused));
    }
    drop(refusing);
    let report = observing.end();
    let all = report["statements"].as_array().expect("statements");
    assert_eq!(all.len(), texts.len(), "{report:#}");
    let mut sure = 0;
    for (text, program, refused) in verdicts {
        let found = all.iter().find(|s| s["program"] == *program);
        let verdict = found.and_then(|s| s["verdict"].as_str()).expect("a verdict");
        let agrees = verdict == "perhaps" || verdict == if refused { "refused" } else { "covered" };
        assert!(agrees, "{text}: {verdict}, refused: {refused}");
        assert_eq!(found.is_some_and(|s| s["why"].is_null()), verdict == "covered");
        sure += usize::from(verdict != "perhaps");
        println!("{verdict}, refused: {refused}: {text}");
    }
    assert!(sure + 4 >= texts.len(), "{sure}");
    assert!(observing.tables().contains("would be refused with error 1235"));
}

fn the_report_is_kept_over_restarts(server: &Server) {
    let name = fresh("ob");
    let mut observing = Observing::start(server);
    let since = observing.report()["since"].clone();
    let mut session = Session::at(observing.port());
    session.lock(&name);
    // Written while the proxy runs.
    let seen = eventually("the report is written", || {
        let report = observing.report();
        let found = names(&report).contains(&name.as_str());
        found.then_some(report)
    });
    assert_eq!(lock(&seen, &name)["calls"]["get_lock"]["one"], 1);
    observing.proxy.signal("KILL");
    observing.proxy.wait();
    drop(session);
    observing.proxy = Observing::proxy(&server.url, &observing.dir);
    eventually("the server has ended the killed proxy's session", || {
        Session::at(server.port).is_free(&name).then_some(())
    });
    Session::at(observing.port()).lock(&name);
    let report = observing.end();
    let seen = lock(&report, &name);
    assert_eq!((&report["since"], &seen["calls"]["get_lock"]["one"]), (&since, &2.into()));
    assert_eq!(seen["holds"]["count"], 1);
    // A file that cannot be read is renamed.
    let file = observing.dir.join("observed.json");
    std::fs::write(&file, b"{\"format\": 1, ").expect("written");
    let path = observing.dir.to_str().expect("plain").to_owned();
    let output = run(&["report", "--state-dir", &path]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    observing.proxy = Observing::proxy(&server.url, &observing.dir);
    assert!(observing.proxy.log().contains("renamed"), "{}", observing.proxy.log());
    assert!(names(&observing.report()).is_empty());
    assert!(observing.dir.join("observed.json.broken").exists());
    // One proxy to a report.
    let backend = format!("127.0.0.1:{}", server.port);
    let place = ["--backend", &backend, "--state-dir", &path, "--http", "off"];
    let other = ["serve", "--mode", "observe", "--listen", "127.0.0.1:0"];
    let output = run(&[&other[..], &place].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("another proxy observes"), "{}", text(&output));
}

fn names_beyond_the_most_are_counted_together(server: &Server) {
    const MOST: usize = 2000;
    let mut observing = Observing::start(server);
    let mut raw = Raw::at(observing.port());
    let prefix = fresh("ob");
    for n in 0..MOST + 10 {
        raw.command(format!("\x03DO RELEASE_LOCK('{prefix}{n}')").as_bytes());
    }
    let over = "lockstead_observed_overflow_total{of=\"lock\"}";
    eventually("all are counted", || (observing.proxy.metric(over) >= 10.0).then_some(()));
    drop(raw);
    let report = observing.end();
    assert_eq!(names(&report).len(), MOST);
    assert_eq!(report["overflow"], 10);
    let others = &report["other_locks"]["calls"]["release_lock"]["untold"];
    assert_eq!(others, 10, "{}", report["other_locks"]);
    assert_eq!(statement(&report, "DO RELEASE_LOCK(?)")["count"], MOST + 10);
    let tables = observing.tables();
    assert!(tables.contains("\nothers ") && tables.contains("10 times counted"), "{tables}");
}

fn execute(session: &mut Session, id: u32, params: Vec<Param>, keep_types: bool) {
    let response =
        session.client.execute(id, &Execute { params, keep_types, ..Execute::default() });
    assert_eq!(response.error(), None);
}

fn prepared_statements_are_reported_with_their_parameters(server: &Server) {
    let mut observing = Observing::start(server);
    let [a, b, c] = [fresh("oa"), fresh("ob"), fresh("oc")];
    let bytes = |name: &str| Param::Text(name.as_bytes().to_vec());
    let mut session = Session::at(observing.port());
    let id = |response: crate::wire::Response| response.statement_id().expect("prepared");
    let other = id(session.client.prepare(b"SELECT ?"));
    let get = id(session.client.prepare(b"SELECT GET_LOCK(?, ?)"));
    let release = id(session.client.prepare(b"SELECT RELEASE_LOCK(?)"));
    let never = id(session.client.prepare(b"SELECT IF(SLEEP(0), GET_LOCK(?, 0), 1)"));
    for (name, keep) in [(&a, false), (&b, true)] {
        execute(&mut session, get, vec![bytes(name), Param::LongLong(0)], keep);
        execute(&mut session, other, vec![bytes(name)], keep);
    }
    execute(&mut session, release, vec![bytes(&a)], false);
    execute(&mut session, get, vec![bytes(&a), Param::Long(0)], false);
    // Sent ahead, the name is not kept.
    session.client.send_long_data(get, 0, c.as_bytes());
    execute(&mut session, get, vec![Param::LongData(253), Param::Long(0)], false);
    session.client.close_statement(never);
    if flavour_of(server) == Flavour::MariaDb {
        // The one prepared last, whose id the client does not know yet.
        session.client.send(&[&[STMT_PREPARE], &b"SELECT IS_USED_LOCK(?)"[..]].concat());
        let params = vec![bytes(&b)];
        session.client.send_execute(u32::MAX, &Execute { params, ..Execute::default() });
        assert_eq!(session.client.read_response(Shape::Prepare).error(), None);
        assert_eq!(session.client.read_response(Shape::Execute).error(), None);
    }
    let computed = format!("SELECT GET_LOCK(CONCAT('{c}', 'x'), 0)");
    assert_eq!(session.value(&computed).as_deref(), Some("1"));
    drop(session);
    let report = observing.end();
    let one = |name: &str| lock(&report, name)["calls"]["get_lock"]["one"].as_u64();
    assert_eq!((one(&a), one(&b)), (Some(2), Some(1)), "{report:#}");
    assert_eq!((one("<parameter>"), one("<computed>")), (Some(1), Some(1)), "{report:#}");
    assert_eq!(names(&report).len(), 4, "{report:#}");
    assert_eq!(lock(&report, &a)["calls"]["release_lock"]["one"], 1);
    if flavour_of(server) == Flavour::MariaDb {
        assert_eq!(lock(&report, &b)["calls"]["is_used_lock"]["one"], 1, "{report:#}");
    }
    assert_eq!(lock(&report, &a)["holds"]["count"], 1, "{report:#}");
    let of = statements(&report, "SELECT GET_LOCK(?, ?)");
    assert_eq!((of.len(), &of[0]["count"]), (1, &4.into()), "{report:#}");
    // Prepared and not run.
    let never = statement(&report, "SELECT IF(SLEEP(");
    assert_eq!((&never["count"], &never["verdict"]), (&0.into(), &"refused".into()));
}

fn calls_that_cannot_be_observed_are_counted(server: &Server) {
    let mut observing = Observing::start(server);
    let [name, long, held] = [fresh("oa"), fresh("ob"), fresh("oc")];
    let mut session = Session::at(observing.port());
    session.lock(&held);
    let text = format!("SELECT '{}', GET_LOCK('{long}', 0)", "x".repeat(100_000));
    session.run(&text);
    assert!(!Session::at(server.port).is_free(&long), "it was not run");
    // Without a call there is nothing to be told.
    session.run(&format!("SELECT '{}'", "x".repeat(100_000)));
    // Two in one go.
    session.send("SELECT SLEEP(0.2)");
    session.send(&format!("SELECT GET_LOCK('{name}', 0)"));
    session.reply();
    assert_eq!(session.reply().as_deref(), Some("1"));
    let mut pipelined = 1;
    if flavour_of(server) == Flavour::MySql {
        // MySQL's ids can be foretold: the session's next is 1.
        session.send("SELECT SLEEP(0.2)");
        session.client.send(&[&[STMT_PREPARE], &b"SELECT IS_FREE_LOCK('none')"[..]].concat());
        session.client.send_execute(1, &Execute::default());
        session.reply();
        assert_eq!(session.client.read_response(Shape::Prepare).error(), None);
        assert_eq!(session.client.read_response(Shape::Execute).error(), None);
        pipelined += 1;
    }
    drop(session);
    let report = observing.end();
    let unobserved = &report["unobserved"];
    assert_eq!((&unobserved["long"], &unobserved["pipelined"]), (&1.into(), &pipelined.into()));
    // The one before, perhaps the long one's, and the one after it.
    assert_eq!(unobserved["hold"], 3, "{report:#}");
    let seen = lock(&report, &name);
    assert_eq!(
        (&seen["calls"]["get_lock"]["one"], &seen["waits"]["count"]),
        (&1.into(), &0.into())
    );
    let long_one = statement(&report, "<longer than 64 KiB>");
    assert_eq!((&long_one["count"], &long_one["verdict"]), (&1.into(), &"refused".into()));
    assert!(!names(&report).contains(&long.as_str()));
    assert!(observing.tables().contains("NOT OBSERVED"));
}

fn double_quotes_are_names_where_the_server_says_so(server: &Server) {
    let mut observing = Observing::start(server);
    let [name, column] = [fresh("oa"), fresh("ob")];
    let mut session = Session::at(observing.port());
    assert_eq!(session.value(&format!("SELECT GET_LOCK(\"{name}\", 0)")).as_deref(), Some("1"));
    session.run("SET sql_mode='ANSI_QUOTES'");
    let refused = session.client.query(format!("SELECT GET_LOCK(\"{column}\", 0)").as_bytes());
    assert_eq!(refused.error(), Some(1054));
    drop(session);
    let report = observing.end();
    assert_eq!(lock(&report, &name)["calls"]["get_lock"]["one"], 1);
    assert!(!names(&report).contains(&column.as_str()), "{report:#}");
    assert_eq!(statement(&report, "SELECT GET_LOCK(?, ?)")["count"], 2);
}

/// Releases a lock.
type Ending = fn(&mut Session, &str);

fn holds_end_with_whatever_releases(server: &Server) {
    let mut observing = Observing::start(server);
    let name = fresh("ob");
    let mut session = Session::at(observing.port());
    let endings: Vec<Ending> = vec![
        |s, name| s.unlock(name),
        |s, name| drop(s.run(&format!("DO RELEASE_LOCK('{name}')"))),
        |s, _| drop(s.value("SELECT RELEASE_ALL_LOCKS()")),
        |s, _| drop(s.run("DO RELEASE_ALL_LOCKS()")),
        |s, _| drop(s.client.reset_connection()),
        |s, _| assert_eq!(s.client.change_user(&account()).error(), None),
    ];
    let count = endings.len() + 1;
    for end in endings {
        session.lock(&name);
        end(&mut session, &name);
        assert!(Session::at(server.port).is_free(&name));
    }
    session.lock(&name);
    drop(session);
    let report = observing.end();
    assert_eq!(lock(&report, &name)["holds"]["count"], count, "{report:#}");
    assert!(report["unobserved"].get("hold").is_none(), "{report:#}");
}

fn held_locks_are_not_guessed(server: &Server) {
    for (before, release) in [
        // The response does not tell whether these take the lock, so the release may not be the last.
        ("SELECT GET_LOCK('$', 0), 1", "SELECT RELEASE_LOCK('$')"),
        ("DO GET_LOCK('$', 0)", "SELECT RELEASE_LOCK('$')"),
        ("SELECT GET_LOCK(CONCAT('$', ''), 0)", "SELECT RELEASE_LOCK('$')"),
        // Nor whether this releases it.
        ("SELECT GET_LOCK('$', 0)", "SELECT RELEASE_LOCK('$'), 1"),
    ] {
        let mut observing = Observing::start(server);
        let name = fresh("ob");
        let mut session = Session::at(observing.port());
        session.run(&before.replace('$', &name));
        session.lock(&name);
        session.run(&release.replace('$', &name));
        assert!(!Session::at(server.port).is_free(&name), "{before}");
        session.run("SELECT RELEASE_ALL_LOCKS()");
        // From here on it is known again.
        session.lock(&name);
        session.unlock(&name);
        drop(session);
        let report = observing.end();
        assert_eq!(lock(&report, &name)["holds"]["count"], 1, "{before}: {report:#}");
        assert!(report["unobserved"]["hold"].as_u64() >= Some(1), "{before}: {report:#}");
    }
}

fn users_and_schemas_are_those_of_the_moment(server: &Server) {
    let mut observing = Observing::start(server);
    let database = Database::create(server);
    let person = Person::create(server, &database.name, &["ALL ON $.*"]);
    let mut session = Session::at(observing.port());
    session.run("SELECT IS_FREE_LOCK('none') AS a");
    session.run(&format!("USE {}", database.name));
    session.run("SELECT IS_FREE_LOCK('none') AS b");
    session.client.init_db(b"information_schema");
    session.run("SELECT IS_FREE_LOCK('none') AS c");
    session.client.query(b"USE no_such_schema_here");
    session.run("SELECT IS_FREE_LOCK('none') AS d");
    session.client.query(format!("SELECT 1; USE {}", database.name).as_bytes());
    session.run("SELECT IS_FREE_LOCK('none') AS e");
    let (user, password) = (person.name.clone(), "pw".to_owned());
    let attributes = vec![("program_name".to_owned(), "other".to_owned())];
    let database_name = Some(database.name.clone());
    let person_there = Account { user, password, attributes, database: database_name, ..account() };
    assert_eq!(session.client.change_user(&person_there).error(), None);
    session.run("SELECT IS_FREE_LOCK('none') AS f");
    session.client.reset_connection();
    session.run("SELECT IS_FREE_LOCK('none') AS g");
    drop(session);
    let report = observing.end();
    for (alias, user, program, schema) in [
        ("a", "root", "lockstead-tests", ""),
        ("b", "root", "lockstead-tests", &*database.name),
        ("c", "root", "lockstead-tests", "information_schema"),
        ("d", "root", "lockstead-tests", "information_schema"),
        ("e", "root", "lockstead-tests", "<unknown>"),
        ("f", &*person.name, "other", &*database.name),
        ("g", &*person.name, "other", &*database.name),
    ] {
        let seen = statement(&report, &format!("SELECT IS_FREE_LOCK(?) AS {alias}"));
        let kept = (&seen["user"], &seen["program"], &seen["schema"]);
        assert_eq!(kept, (&user.into(), &program.into(), &schema.into()), "{alias}");
    }
}

fn literals_stay_out_of_the_report(server: &Server) {
    let mut observing = Observing::start(server);
    let mut session = Session::at(observing.port());
    let secret = fresh("secret");
    for text in [
        "SELECT GET_LOCK('visible', 0), '$', \"$\", N'$', _latin1'$' /* $ */ -- $",
        "SELECT IF(IS_FREE_LOCK('visible'), '$\\'$', 'x''$') AS \"$\" # $",
        "DO RELEASE_LOCK(CONCAT('$', 'visible'))",
        "PREPARE s FROM 'SELECT GET_LOCK(\"$\", 0)'",
        "SELECT GET_LOCK('visible', 0), '$",
        "SELECT IS_FREE_LOCK('visible'), '\\', '$ \\', $'",
        "SELECT '\\', GET_LOCK('$', 0), '",
    ] {
        session.client.query(text.replace('$', &secret).as_bytes());
    }
    let id = session.client.prepare(b"SELECT ?, IS_FREE_LOCK(?)").statement_id().expect("an id");
    let [hidden, name] = [&secret, "visible"].map(|t| Param::Text(t.as_bytes().to_vec()));
    execute(&mut session, id, vec![hidden, name], false);
    drop(session);
    let report = observing.end();
    assert!(!report.to_string().contains(&secret), "{report:#}");
    assert!(names(&report).contains(&"visible"));
    assert!(statements(&report, "").len() >= 5, "{report:#}");
}

fn an_observing_proxy_is_ready_and_drains(server: &Server) {
    let mut observing = Observing::start(server);
    let ready = observing.proxy.page("/readyz");
    assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("observing"), "{ready}");
    let name = fresh("ob");
    let mut session = Session::at(observing.port());
    let taken = session.value(&format!("SELECT GET_LOCK('{name}', 1)"));
    assert_eq!(taken.as_deref(), Some("1"));
    session.run("BEGIN");
    session.unlock(&name);
    let metrics = eventually("the statements are counted", || {
        let page = observing.proxy.page("/metrics");
        let counted = "lockstead_observed_statements_total{verdict=\"covered\"} 2";
        page.contains(counted).then_some(page)
    });
    for (shown, is) in [
        ("lockstead_lock_calls_total{function=\"get_lock\",outcome=\"one\"} 1", true),
        ("lockstead_lock_wait_seconds_count 1", true),
        ("lockstead_lock_hold_seconds_count 1", true),
        ("lockstead_sessions 1", true),
        ("lockstead_store_up", false),
        ("lockstead_lease_good", false),
    ] {
        assert_eq!(metrics.contains(shown), is, "{shown}: {metrics}");
    }
    observing.proxy.signal("TERM");
    // An open transaction is waited for.
    eventually("it drains", || {
        observing.proxy.page("/readyz").starts_with("HTTP/1.1 503").then_some(())
    });
    session.run("COMMIT");
    assert_eq!(observing.proxy.wait(), Some(0));
    assert_eq!(lock(&observing.report(), &name)["holds"]["count"], 1);
}

fn checks_are_about_what_observing_needs(server: &Server) {
    let backend = format!("127.0.0.1:{}", server.port);
    let dir = std::env::temp_dir().join(fresh_schema());
    let dir = dir.to_str().expect("plain");
    let place = ["--mode", "observe", "--backend", &backend];
    let check = |arguments: &[&str]| run(&[&["check"], &place[..], arguments].concat());
    let output = check(&["--state-dir", dir]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("observe") && text(&output).contains(dir), "{}", text(&output));
    // A store that is not there yet is not looked for.
    let output = check(&["--state-dir", dir, "--store", "mysql://nobody:x@127.0.0.1:1/none"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("not checked"), "{}", text(&output));
    let output = check(&["--state-dir", "off"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("`state_dir`"), "{}", text(&output));
    for command in [&["schema", "install"][..], &["adopt", "--yes"], &["doctor"]] {
        let output = run(&[command, &place[..], &["--state-dir", dir]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output));
        assert!(text(&output).contains("store"), "{command:?}: {}", text(&output));
    }
    let account = format!("{}x", server.url);
    let output = run(&[&["doctor", "--account", &account], &place[..]].concat());
    assert!(text(&output).contains("checked as root"), "{}", text(&output));
    let output = run(&["report", "--state-dir", dir]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("there is no report"), "{}", text(&output));
    let output = run(&["report", "--state-dir", "off"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
}

fn probes_of_an_observing_proxy_are_no_errors(server: &Server) {
    // MariaDB shows its counts only with the performance schema, which is off by default.
    let own = (flavour_of(server) == Flavour::MariaDb)
        .then(|| OwnServer::start(Flavour::MariaDb, &["--performance-schema=ON"]));
    let server = own.as_ref().map_or(server, |own| &own.server);
    let address = own_address();
    let link = Link::start(server.port, address);
    let dir = std::env::temp_dir().join(fresh_schema());
    let url = format!("mysql://root:rootpw@127.0.0.1:{}/", link.port());
    let observing = Observing { proxy: Observing::proxy(&url, &dir), dir };
    drop(Session::at(observing.port()));
    let probe = || {
        let stream = TcpStream::connect(("127.0.0.1", observing.port())).expect("a connection");
        let mut peer = Peer::new(stream);
        assert_eq!(peer.frame()[4], 10);
        peer
    };
    let probes: Vec<Peer> = (0..120).map(|_| probe()).collect();
    drop(probes);
    let mut half = TcpStream::connect(("127.0.0.1", observing.port())).expect("a connection");
    half.write_all(&[1]).expect("sent");
    drop(half);
    assert_eq!(Session::at(observing.port()).value("SELECT 1").as_deref(), Some("1"));
    eventually("no connection is left over", || (link.open() == 0).then_some(()));
    let errors = server.root().column(&format!(
        "SELECT CONCAT_WS(' ', SUM_CONNECT_ERRORS, COUNT_HOST_BLOCKED_ERRORS, \
         COUNT_HANDSHAKE_ERRORS) FROM performance_schema.host_cache WHERE IP='{address}'"
    ));
    assert_eq!(errors, ["0 0 0"]);
}
