//! Where people look for locks: the server's own tables, through Lockstead.

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::check::{Check, Recorded};
use crate::script::{Flavour, Server};
use crate::session::{Session, until_busy};
use crate::stage::{Database, eventually, join, on_both};
use crate::wire::library::OWN;
use crate::wire::wrap::Wrap;
use crate::wire::{Account, Execute, Kind, Param};

on_both! {
    a_holder_and_its_waiters_at_two_proxies_are_listed
    an_account_that_may_not_read_the_table_gets_the_server_s_error
    a_right_to_the_table_is_enough
    the_holder_is_found_in_the_processlist
    a_listing_leaves_no_lock_on_the_lock_tables
    no_user_variable_is_left_in_a_session
    the_server_s_own_locks_are_still_listed
    without_the_lock_tables_the_server_s_own_rows_are_listed
    uncertain_texts_pass_untouched
    thousands_of_locks_are_listed_and_too_many_are_not
}

/// A server that lists metadata locks: MariaDB does so only when it is told to.
struct Listing {
    server: Server,
    _own: Option<OwnServer>,
}

impl Listing {
    fn at(server: &Server) -> Self {
        let own = (flavour_of(server) == Flavour::MariaDb).then(|| {
            let instrument = "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON";
            let own = OwnServer::start(Flavour::MariaDb, &["--performance-schema=ON", instrument]);
            let mut root = own.server.root();
            // Without it, dev/install.sh has fetched no plugin.
            root.run("INSTALL SONAME 'metadata_lock_info'");
            own
        });
        let server = own.as_ref().map_or(server, |own| &own.server).clone();
        Self { server, _own: own }
    }
}

/// The listed locks of a name: status and connection, in order.
fn listed(session: &mut Session, name: &str) -> Vec<String> {
    let response = session.run(&format!(
        "SELECT CONCAT_WS(' ', m.LOCK_STATUS, t.PROCESSLIST_ID) \
         FROM performance_schema.metadata_locks m \
         JOIN performance_schema.threads t ON t.THREAD_ID=m.OWNER_THREAD_ID \
         WHERE m.OBJECT_TYPE='USER LEVEL LOCK' AND m.OBJECT_NAME='{name}' \
         ORDER BY m.LOCK_STATUS, t.PROCESSLIST_ID"
    ));
    let rows = response.packets.iter().filter(|p| p.kind == Kind::TextRow);
    rows.map(|p| String::from_utf8_lossy(&p.payload[1..]).into_owned()).collect()
}

/// An account with nothing but these rights.
fn grantee(server: &Server, grants: &[&str]) -> Account {
    let user = fresh_schema();
    let mut root = server.root();
    root.run(&format!("CREATE USER {user}@'127.0.0.1' IDENTIFIED BY 'secret'"));
    for grant in grants {
        root.run(&format!("GRANT {grant} TO {user}@'127.0.0.1'"));
    }
    server.warm_up(&user, "secret");
    Account::new(&user, "secret")
}

fn dismiss(server: &Server, account: &Account) {
    server.root().run(&format!("DROP USER {}@'127.0.0.1'", account.user));
}

fn a_holder_and_its_waiters_at_two_proxies_are_listed(server: &Server) {
    let listing = Listing::at(server);
    let server = &listing.server;
    let mut root = server.root();
    let first = Proxy::start(&server.url, &[]);
    let second = join(server, &first, &[]);
    let (mut holder, mut here) = (Session::at(first.port), Session::at(first.port));
    let mut there = Session::at(second.port);
    holder.lock("k");
    holder.lock("k");
    holder.lock("other");
    for waiter in [&mut here, &mut there] {
        waiter.ask_for("k");
        until_busy(&mut root, waiter.id());
    }
    let expected = [
        format!("GRANTED {}", holder.id()),
        format!("PENDING {}", here.id()),
        format!("PENDING {}", there.id()),
    ];
    for port in [first.port, second.port] {
        let mut reader = Session::at(port);
        assert_eq!(listed(&mut reader, "k"), expected);
        assert_eq!(listed(&mut reader, "other"), [format!("GRANTED {}", holder.id())]);
        let ours = "SELECT COUNT(*) FROM performance_schema.metadata_locks \
             WHERE OBJECT_NAME LIKE 'lockstead_gate_%' OR OBJECT_NAME LIKE 'lockstead_probe_%'";
        assert_eq!(reader.value(ours).as_deref(), Some("0"));
    }
    holder.unlock("k");
    holder.unlock("k");
    let mut reader = Session::at(second.port);
    here.gets_it();
    eventually("the grant is listed", || {
        let expected = [format!("GRANTED {}", here.id()), format!("PENDING {}", there.id())];
        (listed(&mut reader, "k") == expected).then_some(())
    });
    here.unlock("k");
    there.gets_it();
    there.unlock("k");
    assert!(listed(&mut reader, "k").is_empty());
}

fn an_account_that_may_not_read_the_table_gets_the_server_s_error(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let account = grantee(server, &[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    for port in [server.port, proxy.port] {
        let mut session = Session::of(port, &account);
        let sql = "SELECT COUNT(*) FROM performance_schema.metadata_locks";
        assert_eq!(session.client.query(sql.as_bytes()).error(), Some(1142));
        assert_eq!(session.client.prepare(sql.as_bytes()).error(), Some(1142));
    }
    dismiss(server, &account);
}

fn a_right_to_the_table_is_enough(server: &Server) {
    let listing = Listing::at(server);
    let server = &listing.server;
    let proxy = Proxy::start(&server.url, &[]);
    // MariaDB has no function for a connection's thread.
    let grants =
        ["SELECT ON performance_schema.metadata_locks", "SELECT ON performance_schema.threads"];
    let needed = if flavour_of(server) == Flavour::MySql { 1 } else { 2 };
    let account = grantee(server, &grants[..needed]);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let mut session = Session::of(proxy.port, &account);
    let sql = "SELECT LOCK_STATUS FROM performance_schema.metadata_locks WHERE OBJECT_NAME='k'";
    assert_eq!(session.value(sql).as_deref(), Some("GRANTED"));
    let locks = format!("SELECT 1 FROM {}.locks", proxy.schema);
    assert_eq!(session.client.query(locks.as_bytes()).error(), Some(1142));
    dismiss(server, &account);
}

fn the_holder_is_found_in_the_processlist(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let (mut holder, mut other) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    let id = holder.id().to_string();
    for sql in [
        "SELECT id FROM information_schema.processlist WHERE id=IS_USED_LOCK('k')",
        "SELECT p.id FROM (SELECT IS_USED_LOCK('k') AS h) l \
         JOIN information_schema.processlist p ON p.id=l.h",
        "SELECT id FROM information_schema.processlist WHERE IS_USED_LOCK('k')=id",
    ] {
        assert_eq!(other.value(sql).as_deref(), Some(id.as_str()), "{sql}");
    }
}

/// Not even in a transaction of the strictest kind: it would hold up every proxy.
fn a_listing_leaves_no_lock_on_the_lock_tables(server: &Server) {
    let listing = Listing::at(server);
    let proxy = Proxy::start(&listing.server.url, &[]);
    let (mut holder, mut reader) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    reader.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    reader.run("BEGIN");
    assert_eq!(listed(&mut reader, "k"), [format!("GRANTED {}", holder.id())]);
    reader.run("SET @n=(SELECT COUNT(*) FROM performance_schema.metadata_locks)");
    // Later changes are listed, too.
    holder.unlock("k");
    assert!(listed(&mut reader, "k").is_empty());
    holder.lock("k");
    assert_eq!(listed(&mut reader, "k"), [format!("GRANTED {}", holder.id())]);
    reader.run("COMMIT");
}

fn no_user_variable_is_left_in_a_session(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let (mut holder, mut session) = (Session::at(proxy.port), Session::at(proxy.port));
    let mut root = server.root();
    holder.lock("held");
    session.lock("k");
    for sql in [
        "SELECT IF(GET_LOCK('a',0), RELEASE_LOCK('a'), 0)",
        "SELECT GET_LOCK(CONCAT('b', 1), 0.5), IS_USED_LOCK('held') FROM DUAL",
        "SELECT id FROM information_schema.processlist WHERE id=IS_USED_LOCK('held')",
        "DO GET_LOCK(_latin1 x'e9', 0)",
        "DO 1; SELECT GET_LOCK('c', 0); SELECT RELEASE_ALL_LOCKS()",
        "SELECT GET_LOCK('held', 1)",
        "SELECT COALESCE(GET_LOCK('held', 1), 2)",
        "SELECT COUNT(*) FROM performance_schema.metadata_locks",
    ] {
        session.run(sql);
    }
    session.client.reset_connection();
    session.run("SET @own=1");
    for sql in [&b"SELECT GET_LOCK('p', 0)"[..], b"SELECT IFNULL(GET_LOCK('q', 0), 2)"] {
        let id = session.client.prepare(sql).statement_id().expect("a statement");
        session.client.execute(id, &crate::wire::Execute::default());
    }
    let left = match flavour_of(server) {
        Flavour::MySql => root.column(&format!(
            "SELECT VARIABLE_NAME FROM performance_schema.user_variables_by_thread v \
             JOIN performance_schema.threads t USING (THREAD_ID) WHERE t.PROCESSLIST_ID={}",
            session.id()
        )),
        Flavour::MariaDb => {
            let all = "SELECT IFNULL(GROUP_CONCAT(VARIABLE_NAME),'') \
                       FROM information_schema.USER_VARIABLES";
            session.value(all).into_iter().collect()
        }
    };
    assert_eq!(left, ["own"]);
}

fn the_server_s_own_locks_are_still_listed(server: &Server) {
    let listing = Listing::at(server);
    let server = &listing.server;
    let proxy = Proxy::start(&server.url, &[]);
    let mut direct = Session::at(server.port);
    let name = fresh_schema();
    direct.lock(&name);
    let mut reader = Session::at(proxy.port);
    assert_eq!(listed(&mut reader, &name), [format!("GRANTED {}", direct.id())]);
}

fn without_the_lock_tables_the_server_s_own_rows_are_listed(server: &Server) {
    let listing = Listing::at(server);
    let server = &listing.server;
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    let mut direct = Session::at(server.port);
    let name = fresh_schema();
    direct.lock(&name);
    let mut reader = Session::at(proxy.port);
    server.root().run(&format!("RENAME TABLE {0}.locks TO {0}.gone", proxy.schema));
    assert_eq!(listed(&mut reader, &name), [format!("GRANTED {}", direct.id())]);
    server.root().run(&format!("RENAME TABLE {0}.gone TO {0}.locks", proxy.schema));
}

/// The durable lock is not listed then, and nothing is refused.
fn uncertain_texts_pass_untouched(server: &Server) {
    let listing = Listing::at(server);
    let server = &listing.server;
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let mut holder = Session::at(proxy.port);
    let name = fresh_schema();
    holder.lock(&name);
    let mut session = Session::at(proxy.port);
    let table = "performance_schema.metadata_locks WHERE OBJECT_NAME";
    let view = database.table("v");
    server
        .root()
        .run(&format!("CREATE VIEW {view} AS SELECT * FROM performance_schema.metadata_locks"));
    for sql in [
        format!("SELECT /*!50000 COUNT(*) */ FROM {table}='{name}'"),
        format!("SELECT COUNT(*) FROM {table}='{name}' -- {}", "x".repeat(70_000)),
        format!("SELECT COUNT(*) FROM {view} WHERE OBJECT_NAME='{name}'"),
        format!("DO 0; SELECT COUNT(*) FROM {table}='{name}'"),
    ] {
        assert_eq!(session.value(&sql).as_deref(), Some("0"), "{sql:.80}");
    }
    session.run(&format!("EXPLAIN SELECT * FROM {table}='{name}'"));
    let sql = format!("CREATE TABLE {} AS SELECT * FROM {table}='{name}'", database.table("t"));
    session.run(&sql);
    let rows = format!("SELECT COUNT(*) FROM {}", database.table("t"));
    assert_eq!(session.value(&rows).as_deref(), Some("0"));
    // Prepared, and executed with a long value, or elsewhere.
    let sql = format!("SELECT OBJECT_NAME FROM {table}=?");
    let id = session.client.prepare(sql.as_bytes()).statement_id().expect("a statement");
    let rows = |session: &mut Session, value: &[u8]| {
        let params = vec![Param::Text(value.to_vec())];
        let response = session.client.execute(id, &Execute { params, ..Execute::default() });
        assert_eq!(response.error(), None);
        response.packets.iter().filter(|p| p.kind == Kind::BinaryRow).count()
    };
    assert_eq!(rows(&mut session, name.as_bytes()), 1);
    session.client.init_db(database.name.as_bytes());
    assert_eq!(rows(&mut session, name.as_bytes()), 0);
    assert_eq!(rows(&mut session, &vec![b'x'; 70_000]), 0);
    assert_eq!(rows(&mut session, name.as_bytes()), 0);
}

fn thousands_of_locks_are_listed_and_too_many_are_not(server: &Server) {
    let listing = Listing::at(server);
    let server = &listing.server;
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let mut reader = Session::at(proxy.port);
    let name = fresh_schema();
    // The reader's own connection is one that is there.
    let id = reader.id();
    let mut hold = |from: u32, to: u32| {
        for n in from..to {
            root.run(&format!(
                "INSERT INTO {0}.locks (k,tok,holder,sess,conn,name,owner,since) \
                 WITH RECURSIVE n AS (SELECT {n}*1000 AS i UNION ALL SELECT i+1 FROM n WHERE i<{n}*1000+999) \
                 SELECT CONCAT('L{name}',i),1,(SELECT MAX(id) FROM {0}.proxies),1,{1},'',\
                 '',UTC_TIMESTAMP(3) FROM n",
                proxy.schema,
                id,
            ));
        }
    };
    hold(0, 3);
    let sql = format!(
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_NAME LIKE '{name}%'"
    );
    assert_eq!(reader.value(&sql).as_deref(), Some("3000"));
    hold(3, 11);
    assert_eq!(reader.value(&sql).as_deref(), Some("0"));
}

/// The script of the shared server again, where MariaDB has something to list.
#[test]
fn mariadb_lists_alike_where_it_lists() {
    let listing = Listing::at(&Server::from_env(Flavour::MariaDb));
    let proxy = Proxy::start(&listing.server.url, &[]);
    let check = Check {
        learns: false,
        server: &listing.server,
        flavour: Flavour::MariaDb,
        wrap: Wrap::default(),
        through: Some(proxy.port),
        library: &OWN,
    };
    check
        .run("listing", include_str!("scripts/listing.sql"), &mut Recorded::default())
        .expect("equal answers");
}
