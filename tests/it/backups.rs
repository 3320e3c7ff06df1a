//! Backups and read-only minutes: for longer than three leases nobody can write to the lock tables.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::admin::cache;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::render;

on_both! {
    a_read_lock_disturbs_no_session_in_coexist
    a_server_that_is_read_only_disturbs_no_session_in_coexist
    a_dump_of_all_tables_disturbs_no_session_in_coexist
    a_dump_by_threads_disturbs_no_session_in_coexist
    a_backup_of_the_files_disturbs_no_session
    with_a_durable_proxy_a_lock_without_a_row_is_refused
    a_durable_session_releases_a_lock_during_a_backup
    a_read_lock_costs_no_durable_session_its_locks
}

pub(crate) const LEASE: [&str; 2] = ["--lease", "5s"];
const COEXIST: [&str; 2] = ["--mode", "coexist"];
const THREE_LEASES: Duration = Duration::from_secs(15);

/// What keeps the lock tables from being written, and what ends that.
type Stop = (&'static str, &'static str);

const READ_LOCK: Stop = ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES");

fn read_only(server: &Server) -> Stop {
    match flavour_of(server) {
        Flavour::MySql => ("SET GLOBAL super_read_only=1", "SET GLOBAL read_only=0"),
        Flavour::MariaDb => ("SET GLOBAL read_only=1", "SET GLOBAL read_only=0"),
    }
}

/// A server, and a URL of its lock tables with an account that `read_only` binds.
fn start(server: &Server) -> (OwnServer, String, String) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let mut root = own.server.root();
    let schema = fresh_schema();
    root.run("CREATE USER keeper@'%' IDENTIFIED BY 'keeper'");
    root.run(&format!(
        "GRANT SELECT,INSERT,UPDATE,DELETE,CREATE,CREATE VIEW,ALTER ON {schema}.* TO keeper@'%'"
    ));
    root.run("GRANT PROCESS ON *.* TO keeper@'%'");
    if flavour_of(server) == Flavour::MySql {
        root.run("GRANT CONNECTION_ADMIN ON *.* TO keeper@'%'");
        root.run("GRANT SELECT ON performance_schema.* TO keeper@'%'");
    } else {
        root.run("GRANT CONNECTION ADMIN ON *.* TO keeper@'%'");
    }
    own.server.warm_up("keeper", "keeper");
    let url = own.server.url.replace("root:rootpw@", "keeper:keeper@");
    (own, url, schema)
}

fn proxy(url: &str, schema: &str, mode: &[&str]) -> Proxy {
    let proxy = Proxy::start_on(url, schema, &[mode, &LEASE].concat());
    eventually("it grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
    proxy
}

/// The connection that the row of a lock names, if it is held.
fn holder(server: &Server, schema: &str, name: &str) -> Option<u64> {
    let sql = format!("SELECT conn FROM {schema}.locks WHERE k='L{name}' AND holder<>0");
    server.root().column(&sql).first().map(|conn| conn.parse().expect("a number"))
}

fn a_read_lock_disturbs_no_session_in_coexist(server: &Server) {
    disturbs_nobody(server, |own| by_statements(own, READ_LOCK));
}

fn a_server_that_is_read_only_disturbs_no_session_in_coexist(server: &Server) {
    disturbs_nobody(server, |own| by_statements(own, read_only(own)));
}

fn a_dump_of_all_tables_disturbs_no_session_in_coexist(server: &Server) {
    disturbs_nobody(server, dump_of_all_tables);
}

fn a_dump_by_threads_disturbs_no_session_in_coexist(server: &Server) {
    disturbs_nobody(server, dump_by_threads);
}

/// What ends a backup.
type GoOn = Box<dyn FnOnce()>;

fn by_statements(server: &Server, (stop, go_on): Stop) -> GoOn {
    let mut backup = server.root();
    backup.run(stop);
    Box::new(move || drop(backup.run(go_on)))
}

/// `mysqldump --lock-all-tables` into a pipe that is read when the backup is to end.
fn dump_of_all_tables(server: &Server) -> GoOn {
    let mut root = server.root();
    root.run("CREATE DATABASE large");
    root.run("CREATE TABLE large.t (v LONGTEXT)");
    root.run("CREATE TABLE large.other (v INT)");
    // More than a pipe and the program's own memory for it hold.
    root.run("INSERT INTO large.t VALUES (REPEAT('x', 4000000)), (REPEAT('y', 4000000))");
    let mut dump = Command::new(cache().join("bin/mysqldump"))
        .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root"])
        .args([&format!("--port={}", server.port), "--password=rootpw", "--lock-all-tables"])
        .args(["--column-statistics=0", "--no-tablespaces", "--databases", "large"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("mysqldump");
    until_nobody_writes(server);
    Box::new(move || {
        let mut out = dump.stdout.take().expect("a pipe");
        let size = std::io::copy(&mut out, &mut std::io::sink()).expect("the dump");
        let end = dump.wait().expect("it ends");
        assert!(end.success() && size > 8_000_000, "{end}, {size} bytes");
    })
}

/// mydumper, whose FLUSH TABLES WITH READ LOCK waits for a long statement. All that want to write wait for it.
fn dump_by_threads(server: &Server) -> GoOn {
    let mut root = server.root();
    root.run("CREATE DATABASE large");
    root.run("CREATE TABLE large.t (v INT)");
    root.run("CREATE TABLE large.other (v INT)");
    root.run("INSERT INTO large.t VALUES (1)");
    let mut long = server.root();
    let id = long.column("SELECT CONNECTION_ID()").concat();
    let query = std::thread::spawn(move || long.try_run("UPDATE large.t SET v=v+SLEEP(1000)"));
    let runs =
        format!("SELECT COUNT(*) FROM {} WHERE id={id} AND info LIKE '%SLEEP%'", root.processes());
    eventually("the query runs", || (root.column(&runs) == ["1"]).then_some(()));
    let out = beside(server, "dump");
    let mut dump = Command::new(cache().join("bin/mydumper"))
        .args(["--host=127.0.0.1", "--user=root", "--password=rootpw", "--database=large"])
        .args([&format!("--port={}", server.port), "--long-query-guard=2000", "--verbose=0"])
        .args([OsStr::new("--outputdir"), out.as_os_str()])
        .spawn()
        .expect("mydumper");
    until_nobody_writes(server);
    Box::new(move || {
        root.run(&format!("KILL QUERY {id}"));
        query.join().expect("a query");
        let end = dump.wait().expect("it ends");
        let files = fs::read_dir(out).expect("the dump").count();
        assert!(end.success() && files > 2, "{end}, {files} files");
    })
}

/// A path that goes with the server.
fn beside(server: &Server, name: &str) -> PathBuf {
    PathBuf::from(server.root().column("SELECT @@tmpdir").concat()).join(name)
}

/// Waits until an INSERT is not let in.
fn until_nobody_writes(server: &Server) {
    let mut writer = Session::at(server.port);
    writer.run("SET lock_wait_timeout=1");
    eventually("the dump has the read lock", || {
        let written = writer.client.query(b"INSERT INTO large.other VALUES (1)");
        (written.error() == Some(1205)).then_some(())
    });
}

/// MariaDB's own tool, which copies the files of the running server. MySQL: what XtraBackup asks of the server, for three leases.
fn a_backup_of_the_files_disturbs_no_session(server: &Server) {
    let (own, url, schema) = start(server);
    let proxies = [&COEXIST[..], &["--mode", "durable"]].map(|mode| proxy(&url, &schema, mode));
    let mut sessions = proxies.each_ref().map(|proxy| Session::at(proxy.port));
    for (session, name) in sessions.iter_mut().zip(["kept by one", "kept by two"]) {
        session.lock(name);
    }
    let mut work = || {
        for (session, name) in sessions.iter_mut().zip(["turn of one", "turn of two"]) {
            session.lock(name);
            assert_eq!(session.value("SELECT 7").as_deref(), Some("7"));
            session.unlock(name);
        }
    };
    match flavour_of(server) {
        Flavour::MySql => {
            let mut backup = own.server.root();
            backup.run("LOCK INSTANCE FOR BACKUP");
            let began = Instant::now();
            while began.elapsed() < THREE_LEASES {
                work();
                backup.run("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS");
                backup.run("SELECT * FROM performance_schema.log_status");
            }
            backup.run("UNLOCK INSTANCE");
        }
        Flavour::MariaDb => {
            let log = beside(&own.server, "log");
            let data = own.server.root().column("SELECT @@datadir").concat();
            let mut backup = Command::new(cache().join("bin/mariadb-backup"))
                .args(["--no-defaults", "--backup", "--host=127.0.0.1", "--user=root"])
                .args(["--password=rootpw", &format!("--port={}", own.server.port)])
                .args([&format!("--datadir={data}"), "--target-dir"])
                .arg(beside(&own.server, "backup"))
                .stderr(fs::File::create(&log).expect("a log"))
                .spawn()
                .expect("mariadb-backup");
            let mut turns = 0;
            let end = loop {
                work();
                turns += 1;
                if let Some(end) = backup.try_wait().expect("it runs") {
                    break end;
                }
            };
            let log = fs::read_to_string(log).expect("a log");
            assert!(end.success() && log.contains("completed OK!") && turns > 1, "{turns}: {log}");
        }
    }
    work();
    for (session, name) in sessions.iter_mut().zip(["kept by one", "kept by two"]) {
        assert_eq!(holder(&own.server, &schema, name), Some(session.id()));
        session.unlock(name);
    }
    for proxy in &proxies {
        assert!(proxy.metric("lockstead_fenced_sessions_total") < 1.0);
        assert!(proxy.metric("lockstead_lease_good") >= 1.0, "it grants");
    }
}

fn disturbs_nobody(server: &Server, backup: impl FnOnce(&Server) -> GoOn) {
    let (own, url, schema) = start(server);
    let [one, two] = [0, 1].map(|_| proxy(&url, &schema, &COEXIST));
    let known = || one.metric("lockstead_live_peers") >= 1.0;
    eventually("the proxies see each other", || known().then_some(()));
    let mut busy = Session::at(one.port);
    let mut other = Session::at(two.port);
    busy.lock("before");
    other.lock("of the other");
    let written = |name: &str| holder(&own.server, &schema, name).is_some().then_some(());
    eventually("the rows are written", || written("before").and(written("of the other")));
    // One that was too slow at its start has taken itself over.
    let takeovers = || [&one, &two].map(|proxy| proxy.metric("lockstead_takeovers_total"));
    let before = takeovers();
    let go_on = backup(&own.server);
    let began = Instant::now();
    let mut turns = 0;
    while began.elapsed() < THREE_LEASES || turns < 3 {
        let name = format!("turn {turns}");
        busy.lock(&name);
        assert_eq!(other.value(&format!("SELECT GET_LOCK('{name}',0)")).as_deref(), Some("0"));
        assert_eq!(busy.value("SELECT 7").as_deref(), Some("7"));
        busy.unlock(&name);
        other.lock(&name);
        other.unlock(&name);
        turns += 1;
    }
    busy.lock("new");
    busy.unlock("before");
    assert_eq!(holder(&own.server, &schema, "before"), Some(busy.id()), "it could be written");
    assert_eq!(holder(&own.server, &schema, "new"), None, "it could be written");
    eventually("that is shown", || (one.metric("lockstead_store_unwritable") >= 1.0).then_some(()));
    let native = || one.metric("lockstead_claims_total{result=\"native\"}") >= 1.0;
    eventually("a lock has no row", || native().then_some(()));
    assert!(one.metric("lockstead_lease_good") >= 1.0, "it grants");
    assert!(one.page("/readyz").contains("200"), "{}", one.page("/readyz"));
    assert!(one.page("/api/v1/status").contains("cannot be written"));
    go_on();
    let rows = |name: &str| holder(&own.server, &schema, name);
    eventually("its row is written", || (rows("new") == Some(busy.id())).then_some(()));
    eventually("its row is free", || rows("before").is_none().then_some(()));
    assert_eq!(rows("of the other"), Some(other.id()));
    for proxy in [&one, &two] {
        let good = || proxy.metric("lockstead_store_unwritable") < 1.0;
        eventually("that is over", || good().then_some(()));
        assert!(proxy.metric("lockstead_fenced_sessions_total") < 1.0);
        assert!(proxy.log().contains("the lock tables cannot be written"), "{}", proxy.log());
    }
    let more = takeovers().iter().zip(&before).any(|(now, then)| now > then);
    assert!(!more, "a lock was taken over");
    busy.unlock("new");
    other.unlock("of the other");
}

/// A durable proxy would grant it by its row.
fn with_a_durable_proxy_a_lock_without_a_row_is_refused(server: &Server) {
    let (own, url, schema) = start(server);
    let native = proxy(&url, &schema, &COEXIST);
    let _rows = proxy(&url, &schema, &["--mode", "durable"]);
    let known = || native.metric("lockstead_live_peers") >= 1.0;
    eventually("the proxies see each other", || known().then_some(()));
    let mut a = Session::at(native.port);
    let mut backup = own.server.root();
    backup.run(READ_LOCK.0);
    let refused = a.client.query(b"SELECT GET_LOCK('k',0)");
    assert_eq!(refused.error(), Some(1105));
    backup.run("DO 1");
    assert_eq!(backup.column("SELECT IS_FREE_LOCK('k')"), ["1"], "given back");
    backup.run(READ_LOCK.1);
    a.lock("k");
}

fn a_read_lock_costs_no_durable_session_its_locks(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &["--mode", "durable", LEASE[0], LEASE[1]]);
    waits_for_the_backup(&own.server, &proxy, || Session::at(proxy.port));
}

/// Sessions at a durable proxy with [`LEASE`], during a read lock for four leases.
pub(crate) fn waits_for_the_backup(server: &Server, proxy: &Proxy, at: impl Fn() -> Session) {
    let [mut holder, mut other, mut releases] = [at(), at(), at()];
    holder.lock("kept");
    releases.lock("released");
    let mut backup = server.root();
    backup.run(READ_LOCK.0);
    let began = Instant::now();
    // The lease may be over already on a slow machine: then the answer comes after the backup.
    releases.send("SELECT RELEASE_LOCK('released')");
    let unwritable = || proxy.metric("lockstead_store_unwritable") >= 1.0;
    eventually("that is noticed", || unwritable().then_some(()));
    let refused = other.client.query(b"SELECT GET_LOCK('free',0)");
    assert_eq!(refused.error(), Some(1105));
    let refused = other.client.query(b"SELECT GET_LOCK('free',1)");
    assert_eq!(refused.error(), Some(1105));
    holder.send("SELECT IS_USED_LOCK('kept')");
    // Three, and the one before the suspension.
    let four_leases = THREE_LEASES + Duration::from_secs(5);
    eventually("four leases have passed", || (began.elapsed() >= four_leases).then_some(()));
    assert!(proxy.metric("lockstead_fenced_sessions_total") < 1.0, "{}", proxy.log());
    backup.run(READ_LOCK.1);
    assert_eq!(holder.reply(), Some(holder.id().to_string()));
    assert_eq!(releases.reply().as_deref(), Some("1"));
    eventually("the lock is free", || other.is_free("released").then_some(()));
    // One that does not wait may learn, on a slow machine, that the tables could not be written half a second ago.
    assert_eq!(other.value("SELECT GET_LOCK('free',600)").as_deref(), Some("1"));
    assert_eq!(other.value("SELECT GET_LOCK('kept',0)").as_deref(), Some("0"));
    holder.unlock("kept");
    assert!(proxy.metric("lockstead_fenced_sessions_total") < 1.0);
}

/// Before its lease is over.
fn a_durable_session_releases_a_lock_during_a_backup(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &["--mode", "durable", "--lease", "10m"]);
    let [mut holder, mut other] = [0, 1].map(|_| Session::at(proxy.port));
    holder.lock("k");
    let mut backup = own.server.root();
    backup.run(READ_LOCK.0);
    holder.unlock("k");
    assert_eq!(holder.value("SELECT 7").as_deref(), Some("7"));
    // Nobody has it, though its row says so, and nobody can get it, whether the proxy knows why or not yet.
    assert_eq!(holder.value("SELECT IS_USED_LOCK('k')"), None);
    let refused = holder.client.query(b"SELECT GET_LOCK('k',0)");
    assert_eq!(refused.error(), Some(1105), "{}", render::response(&refused));
    assert_eq!(holder.value("SELECT IS_USED_LOCK('k')"), None);
    assert!(other.is_free("k"));
    other.send("SELECT GET_LOCK('k',600)");
    backup.run(READ_LOCK.1);
    other.gets_it();
}
