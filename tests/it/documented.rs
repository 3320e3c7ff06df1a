//! What docs/differences-reference.md says that a client sees and a server alone would not show.

use std::time::{Duration, Instant};

use crate::launch::Launched;
use crate::link::Link;
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{Database, eventually, on_both};
use crate::wire::{Account, End, Execute, Param, Response, Shape, capability};

on_both! {
    a_bulk_execution_of_a_lock_call_is_refused
    a_moment_that_does_not_exist_is_refused
    a_text_that_is_never_the_same_takes_the_server_s_own_lock
    a_statement_that_is_executed_elsewhere_is_refused
    a_name_that_could_not_be_prepared_anew_takes_no_lock_of_the_server_s
    named_statements_that_are_not_allowed_are_refused
    larger_statements_that_are_not_allowed_are_refused
    a_call_whose_argument_fails_takes_nothing
    a_waiter_of_a_proxy_that_shuts_down_gets_an_error
    a_proxy_that_grants_nothing_says_that_a_free_lock_is_not_available
    lock_tables_that_do_not_answer_are_an_error
    lock_tables_that_refuse_are_an_error
    an_expired_password_does_not_keep_a_lock_from_being_taken
    an_analysed_function_that_opens_a_cursor_ends_the_session
}

fn until_waiting(proxy: &Proxy) {
    eventually("a session waits", || {
        (proxy.metric("lockstead_locks_waiting") >= 1.0).then_some(())
    });
}

fn error(session: &mut Session, sql: &str) -> Option<u16> {
    session.send(sql);
    session.client.read_response(Shape::Query).error()
}

/// The server alone knows that it has expired, and says so after the row is written.
fn an_expired_password_does_not_keep_a_lock_from_being_taken(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--mode", "durable"]);
    let name = fresh_schema().replace("lockstead_t", "e");
    let mut root = server.root();
    root.run(&format!("CREATE USER {name}@'%' IDENTIFIED BY ''"));
    root.run(&format!("ALTER USER {name}@'%' PASSWORD EXPIRE"));
    let usual = account();
    let capabilities = usual.capabilities | capability::CAN_HANDLE_EXPIRED_PASSWORDS;
    let account = Account { user: name.clone(), password: String::new(), capabilities, ..usual };
    let mut expired = Session::of(proxy.port, &account);
    let mut other = Session::at(proxy.port);
    assert_eq!(error(&mut expired, "SELECT 1"), Some(1820));
    assert_eq!(error(&mut expired, "SELECT GET_LOCK('k',0)"), Some(1820));
    assert!(!other.is_free("k"));
    drop(expired);
    eventually("it ends with its session", || other.is_free("k").then_some(()));
    root.run(&format!("DROP USER {name}@'%'"));
}

/// The servers say that a cursor has the rows, and send rows at once (MariaDB: the definitions of two results). A client at
/// the server is out of step then.
fn an_analysed_function_that_opens_a_cursor_ends_the_session(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let name = &database.name;
    let mut root = server.root();
    root.run(&format!(
        "CREATE FUNCTION {name}.f() RETURNS INT DETERMINISTIC READS SQL DATA BEGIN DECLARE x INT; \
         DECLARE c CURSOR FOR SELECT 1; OPEN c; FETCH c INTO x; CLOSE c; RETURN x; END"
    ));
    let word = if flavour_of(server) == Flavour::MySql { "EXPLAIN ANALYZE" } else { "ANALYZE" };
    let text = format!("{word} SELECT {name}.f()");
    for (cursor, eofs, lives) in [(1, true, false), (0, true, true), (1, false, true)] {
        let mut account = account();
        if eofs {
            account.capabilities &= !capability::DEPRECATE_EOF;
        }
        let mut session = Session::of(proxy.port, &account);
        let id = session.client.prepare(text.as_bytes()).statement_id().expect("prepared");
        let executed = session.client.execute(id, &Execute { cursor, ..Execute::default() });
        let goes_on =
            executed.end == End::Complete && session.client.query(b"SELECT 1").end == End::Complete;
        assert_eq!(goes_on, lives, "{cursor} {eofs}");
    }
    assert!(proxy.metric("lockstead_sessions_closed_total{reason=\"response\"}") >= 1.0);
}

fn a_bulk_execution_of_a_lock_call_is_refused(server: &Server) {
    const BULK_EXECUTE: u8 = 0xfa;
    if flavour_of(server) == Flavour::MySql {
        return;
    }
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let prepared = session.client.prepare(b"DO GET_LOCK(?, 0)");
    // The statement, "types follow", one type, and rows of one value that is not NULL.
    let head = [&prepared.packets[0].payload[1..5], &[128, 0, 253, 0]].concat();
    for rows in [2, 30_000] {
        let body = [&head[..], &b"\0\x01k".repeat(rows)].concat();
        let refused = session.client.command(BULK_EXECUTE, &body, Shape::One);
        assert_eq!(refused.error(), Some(1235), "{rows} rows");
        assert!(session.is_free("k"));
        assert_eq!(server.root().column("SELECT IS_FREE_LOCK('k')"), ["1"]);
    }
}

/// Prepares a statement and returns its id.
fn prepare(session: &mut Session, sql: &str) -> u32 {
    let response = session.client.prepare(sql.as_bytes());
    let id = response.packets[0].payload.get(1..5).expect("an id");
    u32::from_le_bytes(id.try_into().expect("four bytes"))
}

fn a_moment_that_does_not_exist_is_refused(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let id = prepare(&mut session, "SELECT GET_LOCK(?, ?)");
    let time = || Param::DateTime([2024, 2, 30, 3, 4, 5]);
    let name = || Param::Text(b"k".to_vec());
    for params in [vec![time(), Param::Long(0)], vec![name(), time()]] {
        let execute = Execute { params, ..Execute::default() };
        assert_eq!(session.client.execute(id, &execute).error(), Some(1235));
    }
    assert!(session.is_free("k"));
}

fn a_text_that_is_never_the_same_takes_the_server_s_own_lock(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let mut other = Session::at(proxy.port);
    let name = fresh_schema();
    let nonce = "IF(RAND()<0,'x','GET_')";
    let run = match flavour_of(server) {
        Flavour::MySql => {
            let run = format!(
                "CREATE PROCEDURE {name}.run() BEGIN \
                 SET @x=CONCAT('SELECT ',{nonce},'LOCK(''{name}'',0)'); \
                 PREPARE s FROM @x; EXECUTE s; END"
            );
            server.root().run(&format!("CREATE DATABASE {name}"));
            server.root().run(&run);
            format!("CALL {name}.run()")
        }
        Flavour::MariaDb => {
            format!("EXECUTE IMMEDIATE CONCAT('SELECT ',{nonce},'LOCK(''{name}'',0)')")
        }
    };
    session.run(&run);
    assert!(other.is_free(&name), "a lock of the server's own is none of the proxy's");
    let native = server.root().column(&format!("SELECT IS_USED_LOCK('{name}')"));
    assert_eq!(native, [session.id().to_string()]);
    if flavour_of(server) == Flavour::MySql {
        server.root().run(&format!("DROP DATABASE {name}"));
    }
}

fn a_name_that_could_not_be_prepared_anew_takes_no_lock_of_the_server_s(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let name = fresh_schema();
    let check = |session: &mut Session, holder: &str, id: Option<String>| {
        let native = server.root().column(&format!("SELECT IS_FREE_LOCK('{name}')"));
        assert_eq!(native, ["1"], "{holder}: not the server's");
        let held = session.value(&format!("SELECT IS_USED_LOCK('{name}')"));
        assert_eq!(held, id, "{holder}");
        session.run("DO RELEASE_ALL_LOCKS()");
    };
    let mine = Some(session.id().to_string());
    session.run(&format!("PREPARE s FROM 'SELECT GET_LOCK(''{name}'',0)'"));
    session.run("EXECUTE s");
    check(&mut session, "prepared", mine.clone());
    let refused = "PREPARE s FROM 'CREATE TABLE mysql.t SELECT GET_LOCK(''k'',0)'";
    assert_eq!(error(&mut session, refused), Some(1235));
    session.run("EXECUTE s");
    check(&mut session, "after a refusal", mine);
    if flavour_of(server) == Flavour::MariaDb {
        let compound = "BEGIN NOT ATOMIC EXECUTE s; END";
        assert_eq!(error(&mut session, compound), Some(1235));
        check(&mut session, "in a block", None);
        // The server refuses the expression, not the name.
        assert_eq!(
            error(&mut session, "PREPARE s FROM (SELECT 'SELECT GET_LOCK(1,0)')"),
            Some(1970)
        );
    } else {
        assert_eq!(error(&mut session, "PREPARE s FROM @none"), Some(1064));
    }
    assert_eq!(error(&mut session, "EXECUTE s"), Some(1243));
    check(&mut session, "after an error", None);
}

fn named_statements_that_are_not_allowed_are_refused(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let name = fresh_schema();
    let call = format!("SELECT GET_LOCK(''{name}'',0)");
    session.run(&format!("PREPARE s FROM '{call}'"));
    session.run(&format!("SET @x='{call}', @long=CONCAT('{call} -- ',REPEAT('x',300000))"));
    let mut refused = vec![
        // One name with s to MySQL.
        "EXECUTE `\u{15b}`".to_owned(),
        "PREPARE `\u{15b}` FROM 'SELECT 1'".to_owned(),
        "DEALLOCATE PREPARE `\u{15b}`".to_owned(),
        format!("EXECUTE s /* {} */", "x".repeat(70_000)),
        "PREPARE s FROM @long".to_owned(),
    ];
    let computed = "GET_LOCK(CONCAT(1/3),0)";
    if flavour_of(server) == Flavour::MariaDb {
        let set = "SET STATEMENT max_statement_time=9 FOR";
        refused.extend([
            format!("{set} EXECUTE s"),
            format!("{set} EXECUTE IMMEDIATE @x"),
            format!("{set} PREPARE t FROM @x"),
            format!("EXECUTE IMMEDIATE CONCAT('{call},',RAND())"),
            format!("SET STATEMENT div_precision_increment=2 FOR SELECT {computed}"),
            "SET sql_mode=ORACLE".to_owned(),
            format!("BEGIN SELECT GET_LOCK('{name}',0); END"),
            format!("EXECUTE IMMEDIATE 'SELECT GET_LOCK(:1,0)' USING '{name}'"),
        ]);
        let block = session.client.prepare(b"BEGIN NOT ATOMIC EXECUTE s; END");
        assert_eq!(block.error(), Some(1235));
    } else {
        refused.push(format!("SELECT /*+ SET_VAR(div_precision_increment=2) */ {computed}"));
    }
    for sql in refused {
        let expected = if sql.ends_with("ORACLE") { None } else { Some(1235) };
        assert_eq!(error(&mut session, &sql), expected, "{sql:.80}");
        let native = server.root().column(&format!("SELECT IS_FREE_LOCK('{name}')"));
        assert_eq!(native, ["1"], "{sql:.80}: not the server's");
    }
    assert_eq!(session.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("0"));
}

fn a_statement_that_is_executed_elsewhere_is_refused(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let (here, there) = (fresh_schema(), fresh_schema());
    for schema in [&here, &there] {
        server.root().run(&format!("CREATE DATABASE {schema}"));
        server.root().run(&format!("CREATE TABLE {schema}.t SELECT '{schema}' v"));
    }
    let text = "SELECT v, IS_FREE_LOCK('k') FROM t";
    session.run(&format!("USE {here}"));
    let id = prepare(&mut session, text);
    session.run(&format!("PREPARE s FROM \"{text}\""));
    assert_eq!(session.value("EXECUTE s").as_deref(), Some(here.as_str()));
    session.run("DO RELEASE_ALL_LOCKS()");
    session.run(&format!("USE {there}"));
    assert_eq!(error(&mut session, "EXECUTE s"), Some(1235));
    assert_eq!(session.client.execute(id, &Execute::default()).error(), Some(1235));
    assert!(session.is_free("k"));
    session.run(&format!("USE {here}"));
    assert_eq!(session.value("EXECUTE s").as_deref(), Some(here.as_str()));
    for schema in [&here, &there] {
        server.root().run(&format!("DROP DATABASE {schema}"));
    }
}

fn larger_statements_that_are_not_allowed_are_refused(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let mut several = Session::at(proxy.port);
    session.lock("k");
    let often = "SELECT NULLIF(RELEASE_LOCK('k'), 5), GET_LOCK('l', 0)";
    assert_eq!(error(&mut session, often), Some(1235), "evaluated twice");
    assert!(!several.is_free("k") && several.is_free("l"));
    // With so many locks, a name from a column is not compared with all of them.
    let by_column = "SELECT IS_FREE_LOCK(n) FROM (SELECT 'k' n UNION SELECT 'm') d";
    assert_eq!(error(&mut session, by_column), None);
    for n in 0..50 {
        let names = (0..20).map(|m| format!("GET_LOCK('many-{n}-{m}', 0)"));
        session.run(&format!("DO {}", names.collect::<Vec<_>>().join(",")));
    }
    assert_eq!(error(&mut session, by_column), Some(1235), "more than 1,000 held");
    // Statements in front of a call may change how it reads.
    several.client.set_option(0);
    let modes = "SET sql_mode='ANSI_QUOTES'; SELECT \"GET_LOCK\"('a', 0) + 0";
    assert_eq!(error(&mut several, modes), Some(1235));
    assert!(session.is_free("a"));
}

/// MySQL takes the lock of a call whose timeout is a call that fails.
fn a_call_whose_argument_fails_takes_nothing(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let name = fresh_schema();
    let sql = format!("SELECT 1, GET_LOCK('{name}', GET_LOCK(REPEAT('x',300), 0))");
    assert!(error(&mut session, &sql).is_some());
    let native = server.root().column(&format!("SELECT IS_FREE_LOCK('{name}')"));
    assert_eq!(native, ["1"], "at the server");
    assert!(session.is_free(&name), "at the proxy");
}

fn a_waiter_of_a_proxy_that_shuts_down_gets_an_error(server: &Server) {
    let mut proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    until_waiting(&proxy);
    // A statement that runs is let run: the proxy goes on while it does.
    holder.send("SELECT SLEEP(2)");
    until_busy(&mut server.root(), holder.id());
    proxy.signal("TERM");
    assert_eq!(waiter.last_words().expect("a reason").code, 1053);
    assert_eq!(holder.reply().as_deref(), Some("0"), "the statement was let run");
    assert_eq!(proxy.wait(), Some(0));
}

fn a_proxy_that_grants_nothing_says_that_a_free_lock_is_not_available(server: &Server) {
    let mut dead = Proxy::start(&server.url, &[]);
    dead.signal("KILL");
    dead.wait();
    let proxy = Proxy::start_on(&server.url, &dead.schema, &[]);
    let mut session = Session::at(proxy.port);
    assert_eq!(session.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"));
    assert!(session.is_free("k"));
    assert_eq!(session.value("SELECT GET_LOCK('k', 1)").as_deref(), Some("0"));
    assert!(!proxy.page("/readyz").starts_with("HTTP/1.1 200"));
}

fn lock_tables_that_do_not_answer_are_an_error(server: &Server) {
    let link = Link::start(server.port, std::net::Ipv4Addr::LOCALHOST);
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{}", link.port(), fresh_schema());
    let backend = format!("127.0.0.1:{}", server.port);
    let proxy = Launched::start(&backend, &store, &["--create-schema"]);
    let mut sessions: Vec<Session> = (0..3).map(|_| Session::at(proxy.port)).collect();
    sessions[0].lock("before");
    link.stall();
    let texts = ["SELECT GET_LOCK('k', 0)", "SELECT IS_FREE_LOCK('k')", "SELECT GET_LOCK('l', 1)"];
    for (session, text) in sessions.iter_mut().zip(texts) {
        session.send(text);
    }
    let responses: Vec<Response> =
        sessions.iter_mut().map(|s| s.client.read_response(Shape::Query)).collect();
    assert_eq!(responses[0].error(), Some(1105), "a lock that is free");
    assert!(responses[0].took.as_secs() >= 9, "{:?}", responses[0].took);
    assert_eq!(responses[1].error(), Some(1105), "a question");
    assert_eq!(responses[2].error(), None, "a wait that is over");
    link.heal();
}

fn lock_tables_that_refuse_are_an_error(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    session.lock("before");
    let rename = |from: &str, to: &str| {
        let schema = &proxy.schema;
        server.root().run(&format!("RENAME TABLE {schema}.{from} TO {schema}.{to}"));
    };
    rename("locks", "elsewhere");
    for sql in ["GET_LOCK('k', 0)", "GET_LOCK('k', 600)", "IS_FREE_LOCK('k')", "IS_USED_LOCK('k')"]
    {
        assert_eq!(error(&mut session, &format!("SELECT {sql}")), Some(1105), "{sql}");
    }
    // A release goes on being tried, at leisure.
    let batches = || proxy.metric("lockstead_store_batch_keys_count");
    session.send("SELECT RELEASE_LOCK('before')");
    let (before, began) = (batches(), Instant::now());
    eventually("it is tried again", || (batches() >= before + 5.0).then_some(()));
    assert!(began.elapsed() > Duration::from_millis(200), "5 tries within {:?}", began.elapsed());
    assert_eq!(
        proxy.log().matches("a batch failed at the lock store").count(),
        1,
        "{}",
        proxy.log()
    );
    rename("elsewhere", "locks");
    session.gets_it();
    session.lock("k");
}
