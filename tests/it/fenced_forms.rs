//! A COMMIT is fenced in whatever form it reaches the server, and its answer is the server's own.

use crate::fenced_commit::{Table, commits, late_commit, pass_on};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::on_both;
use crate::wire::capability::{DEFAULT, DEPRECATE_EOF};
use crate::wire::{Account, End, Execute, Packet, Param, Response, Shape, render};

on_both! {
    a_prepared_commit_after_the_lock_has_passed_on_is_not_made
    nothing_prepared_is_committed_after_a_takeover
    prepared_statements_that_commit_are_fenced_and_no_others
    a_fenced_prepared_commit_looks_like_any_other
    a_prepared_commit_whose_rows_are_busy_can_be_executed_again
    a_name_that_means_another_statement_is_not_fenced
    a_name_for_a_commit_keeps_no_other_statement_from_the_server
    a_later_commit_after_the_lock_has_passed_on_is_not_made
    no_later_commit_is_made_after_a_takeover
    later_statements_that_commit_are_fenced_and_no_others
    a_later_commit_whose_rows_are_busy_ends_the_text_and_can_be_repeated
}

/// How a statement reaches the server.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// As a text.
    Text(&'static str),
    /// `COM_STMT_EXECUTE`
    Prepared(&'static str),
    /// `COM_STMT_EXECUTE` with the number 1 for its parameter.
    WithOne(&'static str),
    /// `PREPARE`, and `EXECUTE` with this after the name.
    Named(&'static str),
    /// `PREPARE` from a variable, and `EXECUTE` with this after the name.
    Variable(&'static str),
}

/// A statement that a session will send.
struct Ready(Form, u32);

impl Form {
    /// Has a session prepare it.
    fn ready(self, session: &mut Session) -> Ready {
        let mut prepare = |text: &str| {
            let response = session.client.prepare(text.as_bytes());
            response.statement_id().unwrap_or_else(|| panic!("{text}: {response:?}"))
        };
        let id = match self {
            Self::Text(_) => 0,
            Self::Prepared(text) | Self::WithOne(text) => prepare(text),
            Self::Named(text) => {
                session.run(&format!("PREPARE c FROM '{text}'"));
                0
            }
            Self::Variable(text) => {
                session.run(&format!("SET @c = '{text}'"));
                session.run("PREPARE c FROM @c");
                0
            }
        };
        Ready(self, id)
    }
}

impl Ready {
    fn send(&self, session: &mut Session) {
        let Self(form, id) = self;
        match form {
            Form::Text(text) => session.send(text),
            Form::Prepared(_) => session.client.send_execute(*id, &Execute::default()),
            Form::WithOne(_) => {
                let params = vec![Param::LongLong(1)];
                session.client.send_execute(*id, &Execute { params, ..Execute::default() });
            }
            Form::Named(_) | Form::Variable(_) => session.send("EXECUTE c"),
        }
    }

    fn run(&self, session: &mut Session) -> Response {
        self.send(session);
        session.client.read_response(Shape::Query)
    }
}

/// Statements that commit, in forms in which the server takes them.
fn forms(flavour: Flavour) -> Vec<Form> {
    let mut forms = vec![
        Form::Prepared("COMMIT"),
        Form::Prepared("/* a */ commit work"),
        Form::Prepared("-- a\nCOMMIT AND CHAIN"),
        Form::Prepared("/*! COMMIT */"),
        Form::Named("COMMIT"),
        Form::Named("# a\nCOMMIT AND NO CHAIN"),
        Form::Variable("COMMIT"),
        Form::Text("-- a\nCOMMIT"),
        Form::Text("/*!50000 COMMIT */"),
        Form::Text("# a\nBEGIN"),
    ];
    if flavour == Flavour::MariaDb {
        forms.extend([
            Form::Prepared("BEGIN"),
            Form::Prepared("START TRANSACTION READ ONLY"),
            Form::Named("START TRANSACTION"),
            Form::Text("EXECUTE IMMEDIATE 'COMMIT'"),
            Form::Text("EXECUTE IMMEDIATE CONCAT('COM', 'MIT')"),
            Form::Text("SET STATEMENT max_statement_time=10 FOR COMMIT"),
        ]);
    }
    forms
}

/// Those that commit where autocommit is off.
const SWITCHES: [Form; 4] = [
    Form::Prepared("SET autocommit=1"),
    Form::WithOne("SET @a=1, autocommit=?"),
    Form::Named("SET @@autocommit=ON"),
    Form::Text("-- a\nSET autocommit=1"),
];

fn poolings() -> [Vec<&'static str>; 2] {
    ["session", "transaction"].map(|pooling| vec!["--lease", "10m", "--pooling", pooling])
}

fn a_prepared_commit_after_the_lock_has_passed_on_is_not_made(server: &Server) {
    // Where the proxies find each other's connections.
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    for settings in poolings() {
        let proxy = Proxy::start(&server.url, &settings);
        let (mut n, mut lost) = (0, 0);
        let forms = forms(flavour_of(server));
        for form in forms.into_iter().chain(SWITCHES) {
            n += 1;
            let mut holder = Session::at(proxy.port);
            let ready = form.ready(&mut holder);
            let name = format!("k{n}");
            holder.lock(&name);
            holder.run("SET autocommit=0");
            holder.run(&format!("INSERT INTO {} VALUES ({n})", table.name));
            pass_on(&mut server.root(), &proxy.schema, &name);
            ready.send(&mut holder);
            let words = holder.last_words().map(|words| words.code);
            assert_eq!(words, Some(4031), "{form:?} {settings:?}");
            assert!(!table.has(n), "{form:?} {settings:?}");
            lost += 1;
            assert_eq!(commits(&proxy, "lost"), lost.to_string(), "{form:?}");
        }
    }
}

fn nothing_prepared_is_committed_after_a_takeover(server: &Server) {
    for form in [Form::Prepared("COMMIT"), Form::Named("COMMIT")] {
        let proxy = Proxy::start(&server.url, &[]);
        let late = late_commit(server, &proxy, |session, _, _| form.ready(session).send(session));
        assert_eq!(late, None, "{form:?}");
    }
}

fn prepared_statements_that_commit_are_fenced_and_no_others(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &[]);
    let mut asked = 0;
    let others = [
        Form::Prepared("ROLLBACK"),
        Form::Prepared("SELECT 'commit'"),
        Form::Prepared("SET autocommit=1"),
        Form::Named("SET @x=0"),
        Form::Variable("ROLLBACK"),
    ];
    let commits_by = forms(flavour_of(server)).into_iter().map(|form| (form, true));
    let others = others.into_iter().map(|form| (form, false));
    for (n, (form, fences)) in (0..).zip(commits_by.chain(others)) {
        let mut session = Session::at(proxy.port);
        let ready = form.ready(&mut session);
        let run = |session: &mut Session| {
            let response = ready.run(session);
            assert_eq!(response.error(), None, "{form:?}");
        };
        // Without a lock nothing is asked.
        table.insert(&mut session, n);
        run(&mut session);
        session.run("ROLLBACK");
        session.run(&format!("DELETE FROM {} WHERE n={n}", table.name));
        session.lock("k");
        // Without a transaction neither.
        run(&mut session);
        session.run("ROLLBACK");
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{form:?}");
        for _ in 0..2 {
            table.insert(&mut session, n);
            run(&mut session);
            asked += u32::from(fences);
            assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{form:?}");
            session.run("ROLLBACK");
            assert_eq!(table.has(n), fences, "{form:?}");
            session.run(&format!("DELETE FROM {} WHERE n={n}", table.name));
        }
        session.unlock("k");
    }
    for form in SWITCHES {
        let mut session = Session::at(proxy.port);
        let ready = form.ready(&mut session);
        session.run("SET autocommit=0");
        session.lock("k");
        session.run(&format!("INSERT INTO {} VALUES (100)", table.name));
        // A SET that leaves it off commits nothing.
        session.run("SET autocommit=0");
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{form:?}");
        assert_eq!(ready.run(&mut session).error(), None, "{form:?}");
        asked += 1;
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{form:?}");
        session.run(&format!("DELETE FROM {}", table.name));
        session.unlock("k");
    }
}

/// Compares the response, and all that a session can ask for afterwards.
fn a_fenced_prepared_commit_looks_like_any_other(server: &Server) {
    let flavour = flavour_of(server);
    let own = OwnServer::start(flavour, &["--performance-schema=ON"]);
    let server = &own.server;
    let forms = [forms(flavour), SWITCHES.to_vec()].concat();
    let table = Table::on(server);
    for settings in poolings() {
        let proxy = Proxy::start(&server.url, &settings);
        for form in &forms {
            for capabilities in [DEFAULT, DEFAULT & !DEPRECATE_EOF] {
                let account = Account { capabilities, ..account() };
                let [direct, through] = [server.port, proxy.port]
                    .map(|port| said(*form, &table, Session::of(port, &account), flavour));
                for (through, direct) in through.iter().zip(&direct) {
                    assert_eq!(through, direct, "{form:?} {settings:?}");
                }
            }
        }
        let asked = 2 * 2 * forms.len();
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{settings:?}");
    }
}

/// The responses to a statement that commits and to what is asked afterwards.
fn said(form: Form, table: &Table, mut session: Session, flavour: Flavour) -> Vec<String> {
    let mysql = flavour == Flavour::MySql;
    // Not '*', which has numbers of transactions and statements.
    let more = if mysql { "" } else { ",max_statement_time,innodb_snapshot_isolation" };
    session.run(&format!(
        "SET session_track_transaction_info='CHARACTERISTICS', session_track_state_change=ON, \
         session_track_system_variables='autocommit,sql_mode,lock_wait_timeout{more}'"
    ));
    let ready = form.ready(&mut session);
    session.run("SELECT GET_LOCK('k', 0)");
    let mut said = Vec::new();
    // MariaDB loses both: docs/differences-reference.md.
    let rows = if mysql { "SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1" } else { "1" };
    let warns = if mysql { "'a'" } else { "'7'" };
    for _ in 0..2 {
        session.run(&format!("DELETE FROM {}", table.name));
        session.run("SET autocommit=0");
        session.run(&format!("INSERT INTO {} VALUES (1)", table.name));
        let before = [
            format!("SELECT CAST({warns} AS SIGNED), LAST_INSERT_ID(7)"),
            format!("SELECT {rows}"),
        ];
        let after = [
            "SELECT ROW_COUNT(), LAST_INSERT_ID(), FOUND_ROWS(), @@lock_wait_timeout",
            "SHOW WARNINGS",
            "ROLLBACK",
            &format!("SELECT COUNT(*) FROM {}", table.name),
        ];
        for statement in before {
            said.push(session.client.query(statement.as_bytes()));
        }
        said.push(ready.run(&mut session));
        for statement in after {
            said.push(session.client.query(statement.as_bytes()));
        }
        session.run("ROLLBACK");
        session.run("SET autocommit=1");
    }
    session.run("SELECT RELEASE_LOCK('k')");
    // Without the time that they took.
    let words = |response: &Response| {
        let words = render::response(response);
        words.rsplit_once(" after ").map_or(words.clone(), |(all, _)| all.to_owned())
    };
    said.iter().map(words).collect()
}

fn a_prepared_commit_whose_rows_are_busy_can_be_executed_again(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    for (n, form) in (1..).zip([Form::Prepared("COMMIT"), Form::Named("COMMIT")]) {
        let mut root = server.root();
        let mut holder = Session::at(proxy.port);
        let ready = form.ready(&mut holder);
        holder.run("SET innodb_lock_wait_timeout=1");
        holder.lock("k");
        table.insert(&mut holder, n);
        root.run("BEGIN");
        root.run(&format!("SELECT * FROM {}.locks FOR UPDATE", proxy.schema));
        assert_eq!(ready.run(&mut holder).error(), Some(1205), "{form:?}");
        assert!(!table.has(n));
        root.run("ROLLBACK");
        assert_eq!(ready.run(&mut holder).error(), None);
        assert!(table.has(n));
        holder.unlock("k");
    }
}

fn a_name_that_means_another_statement_is_not_fenced(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    session.lock("k");
    session.run("PREPARE c FROM 'COMMIT'");
    session.run("PREPARE `d` FROM 'COMMIT'");
    session.run("PREPARE C FROM 'SELECT 1'");
    table.insert(&mut session, 1);
    session.run("EXECUTE c");
    assert_eq!((commits(&proxy, "fenced"), table.has(1)), ("0".into(), false));
    session.run("EXECUTE D");
    assert_eq!((commits(&proxy, "fenced"), table.has(1)), ("1".into(), true));
    // The server forgets the name when it cannot prepare another.
    table.insert(&mut session, 2);
    assert_eq!(session.client.query(b"PREPARE d FROM 'COMMITS'").error(), Some(1064));
    assert_eq!(session.client.query(b"EXECUTE d").error(), Some(1243));
    session.run("PREPARE d FROM 'COMMIT'");
    session.run("DEALLOCATE PREPARE d");
    assert_eq!(session.client.query(b"EXECUTE d").error(), Some(1243));
    assert!(!table.has(2));
    session.run("ROLLBACK");
    session.unlock("k");
}

/// Where it cannot be seen what is executed.
fn a_name_for_a_commit_keeps_no_other_statement_from_the_server(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    session.lock("k");
    session.run("PREPARE c FROM 'COMMIT'");
    session.run("PREPARE d FROM 'SELECT 7'");
    let long = format!("/* {} */ EXECUTE d", "x".repeat(70_000));
    assert_eq!(session.value(&long).as_deref(), Some("7"));
    if flavour_of(server) == Flavour::MariaDb {
        assert_eq!(session.value("BEGIN NOT ATOMIC EXECUTE d; END").as_deref(), Some("7"));
    }
    session.unlock("k");
}

/// A session whose texts may hold several statements.
fn several(port: u16) -> Session {
    let mut session = Session::at(port);
    assert_eq!(session.client.set_option(0).error(), None);
    session
}

/// The client has had the answers to the statements before it.
fn a_later_commit_after_the_lock_has_passed_on_is_not_made(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    for settings in poolings() {
        let proxy = Proxy::start(&server.url, &settings);
        let mut times = 0;
        for (n, end) in (1..).zip(["COMMIT", "# a\nCOMMIT; SELECT 2", "SELECT 2; BEGIN; SELECT 3"])
        {
            let mut holder = several(proxy.port);
            let name = format!("k{n}");
            holder.lock(&name);
            pass_on(&mut server.root(), &proxy.schema, &name);
            let insert = format!("INSERT INTO {} VALUES ({n})", table.name);
            holder.send(&format!("BEGIN; {insert}; SELECT 1; {end}"));
            let response = holder.client.read_until_closed();
            let numbers: Vec<u8> = response.packets.iter().map(Packet::sequence).collect();
            let counted: Vec<u8> = (1..).take(numbers.len()).collect();
            assert_eq!(numbers, counted, "{}", render::response(&response));
            let last = response.packets.last().map(|p| p.payload[..3].to_vec());
            let error = [&[0xff][..], &4031_u16.to_le_bytes()].concat();
            assert_eq!(last, Some(error), "{end} {}", render::response(&response));
            let rows = [&b"\x011"[..], b"\x012", b"\x013"];
            let rows = response.packets.iter().filter(|p| rows.contains(&&p.payload[..])).count();
            // Those of the statements after it have not come.
            assert_eq!(rows, if end.starts_with("SELECT 2") { 2 } else { 1 }, "{end}");
            assert!(!table.has(n), "{end}");
            times += 1;
            assert_eq!(commits(&proxy, "lost"), times.to_string(), "{end}");
        }
    }
}

fn no_later_commit_is_made_after_a_takeover(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let late = late_commit(server, &proxy, |session, table, round| {
        session.client.set_option(0);
        session
            .send(&format!("DO 1; UPDATE {0} SET n={round} WHERE n={round}; COMMIT", table.name));
    });
    assert_eq!(late, None);
}

fn later_statements_that_commit_are_fenced_and_no_others(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    let mut session = several(proxy.port);
    let (mut asked, name) = (0, &table.name);
    for (text, times) in [
        (format!("BEGIN; INSERT INTO {name} VALUES (1); COMMIT"), 1),
        (format!("INSERT INTO {name} VALUES (1); COMMIT; DO 1; COMMIT; DO 2"), 0),
        (format!("BEGIN; INSERT INTO {name} VALUES (1); BEGIN; DO 1; COMMIT"), 2),
        (format!("SET autocommit=0; INSERT INTO {name} VALUES (1); SET autocommit=1; DO 1"), 1),
        (format!("BEGIN; INSERT INTO {name} VALUES (1); ROLLBACK; COMMIT"), 0),
        (format!("INSERT INTO {name} VALUES (1); DO 'a; COMMIT'; SELECT 1"), 0),
    ] {
        // Without a lock, nothing is asked.
        session.run(&text);
        session.run(&format!("DELETE FROM {name}"));
        session.lock("k");
        session.run(&text);
        asked += times;
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{text}");
        session.run(&format!("DELETE FROM {name}"));
        session.unlock("k");
    }
    // A lock that the text itself takes counts.
    let text = format!("BEGIN; INSERT INTO {name} VALUES (1); SELECT GET_LOCK('l', 0); COMMIT");
    session.run(&text);
    assert_eq!((commits(&proxy, "fenced"), table.has(1)), ((asked + 1).to_string(), true));
    session.unlock("l");
}

/// The statements before it have run, and those after it have not.
fn a_later_commit_whose_rows_are_busy_ends_the_text_and_can_be_repeated(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    let mut root = server.root();
    let mut holder = several(proxy.port);
    holder.run("SET innodb_lock_wait_timeout=1");
    holder.lock("k");
    root.run("BEGIN");
    root.run(&format!("SELECT * FROM {}.locks FOR UPDATE", proxy.schema));
    let [one, two] = [1, 2].map(|n| format!("INSERT INTO {} VALUES ({n})", table.name));
    let response = holder.client.query(format!("BEGIN; {one}; COMMIT; {two}").as_bytes());
    assert_eq!((response.error(), response.packets.len()), (Some(1205), 3));
    assert_eq!(response.end, End::Complete);
    root.run("ROLLBACK");
    holder.run("COMMIT");
    assert!(table.has(1) && !table.has(2));
    holder.unlock("k");
}
