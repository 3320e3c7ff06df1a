//! What `lockstead grants` prints: enough, nothing more, and missed by name where it is not there.

use std::fs;
use std::path::PathBuf;

use crate::cli::{Person, install, text, warns};
use crate::launch::{Launched, run};
use crate::own_server::flavour_of;
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Shape};

on_both! {
    the_printed_rights_are_enough
    the_printed_rights_are_enough_to_create_the_tables
    each_right_that_is_not_there_is_missed
    shared_connections_need_their_rights
    a_viewer_sees_held_locks_and_nothing_else
    nothing_is_run_before_the_password_is_there
}

/// Quotes of each kind.
const PASSWORD: &str = "it's \\ a `pass\"word' --";

/// An account of a test's own and the file with its password, gone with it.
struct Printed {
    schema: String,
    user: String,
    password_file: PathBuf,
    server: Server,
}

impl Printed {
    fn new(server: &Server) -> Self {
        let schema = fresh_schema();
        let user = schema.replace("lockstead_t", "l'`_");
        let password_file = std::env::temp_dir().join(format!("{schema}.password"));
        fs::write(&password_file, format!("{PASSWORD}\n")).expect("a file");
        Self { schema, user, password_file, server: server.clone() }
    }

    fn account(&self) -> String {
        format!("`{}`@`%`", self.user.replace('`', "``"))
    }

    /// What is printed with these options.
    fn print(&self, options: &[&str]) -> String {
        let store = format!("mysql://nobody@127.0.0.1:{}/{}", self.server.port, self.schema);
        let backend = format!("127.0.0.1:{}", self.server.port);
        let place = ["grants", "--backend", &backend, "--store", &store];
        let output = run(&[&place[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The store account is made by what is printed.
    fn create(&self, options: &[&str]) -> String {
        let sql = self.print(&[&self.options(), options].concat());
        self.as_administrator(&sql);
        sql
    }

    fn options(&self) -> [&str; 3] {
        let account: &'static str = Box::leak(format!("--account={}@%", self.user).into());
        ["--password-file", self.password_file.to_str().expect("a plain path"), account]
    }

    fn as_administrator(&self, sql: &str) {
        Session::at(self.server.port).run(sql.trim().trim_end_matches(';'));
    }

    fn store(&self) -> String {
        let escape =
            |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect::<Vec<_>>().concat();
        let (user, password) = (escape(&self.user), escape(PASSWORD));
        format!("mysql://{user}:{password}@127.0.0.1:{}/{}", self.server.port, self.schema)
    }

    fn backend(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    /// Exit code and output of `lockstead check`.
    fn check(&self) -> (Option<i32>, String) {
        self.check_with(&[])
    }

    fn check_with(&self, options: &[&str]) -> (Option<i32>, String) {
        let (backend, store) = (self.backend(), self.store());
        let all = [&["check", "--backend", &backend, "--store", &store], options].concat();
        let output = run(&all);
        (output.status.code(), text(&output))
    }

    fn start(&self, extra: &[&str]) -> Launched {
        let extra = [&["--max-connections", "100"], extra].concat();
        Launched::start(&self.backend(), &self.store(), &extra)
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.password_file);
        if !std::thread::panicking() {
            let account = self.account();
            self.server.root().run(&format!("DROP USER IF EXISTS {account}"));
        }
    }
}

fn the_printed_rights_are_enough(server: &Server) {
    let printed = Printed::new(server);
    install(server, &printed.schema);
    printed.create(&[]);
    let (code, said) = printed.check();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("MISSING") && !warns(&said), "{said}");
    let options = ["--lease", "3s", "--history-rows", "9"];
    let (a, b) = (printed.start(&options), printed.start(&options));
    assert!(!a.log().contains("WARN"), "{}", a.log());
    // From session to session, over both proxies, and shown at the server meanwhile.
    let (mut holder, mut waiter) = (Session::at(a.port), Session::at(b.port));
    holder.lock("k");
    waiter.ask_for("k");
    until_busy(&mut server.root(), waiter.id());
    holder.unlock("k");
    waiter.gets_it();
    waiter.unlock("k");
    let past = format!("SELECT COUNT(*) FROM {}.lock_history", printed.schema);
    eventually("both are in the table", || (server.root().column(&past) == ["2"]).then_some(()));
    // From a dead proxy, whose session the server works for until it is told to stop.
    let client = Person::create(server, &printed.schema, &[]);
    let of_client = Account { user: client.name.clone(), password: "pw".into(), ..account() };
    let mut holder = Session::of(a.port, &of_client);
    holder.lock("k");
    holder.send("SELECT BENCHMARK(1000000000000, SHA2('k', 256))");
    let busy = format!(
        "SELECT COUNT(*) FROM {} WHERE id={} AND info LIKE '%BENCHMARK%'",
        server.root().processes(),
        holder.id()
    );
    eventually("it is busy", || (server.root().column(&busy) == ["1"]).then_some(()));
    waiter.ask_for("k");
    drop(a);
    waiter.gets_it();
}

fn the_printed_rights_are_enough_to_create_the_tables(server: &Server) {
    let printed = Printed::new(server);
    printed.create(&["--create-schema"]);
    let output =
        run(&["schema", "install", "--backend", &printed.backend(), "--store", &printed.store()]);
    assert!(text(&output).contains("created"), "{}", text(&output));
}

/// Each right of each GRANT, and what it is on as the SQL has it.
fn given(sql: &str) -> Vec<(String, String)> {
    let lines = sql.lines().filter_map(|line| line.strip_prefix("GRANT "));
    let grants = lines.map(|line| line.split_once(" ON ").expect("a GRANT"));
    let rights = grants.flat_map(|(rights, rest)| {
        let on = rest.split_once(" TO ").expect("a GRANT").0;
        rights.split(", ").map(|right| (right.to_owned(), on.to_owned()))
    });
    rights.collect()
}

fn each_right_that_is_not_there_is_missed(server: &Server) {
    let printed = Printed::new(server);
    install(server, &printed.schema);
    let sql = printed.create(&[]);
    let rights = given(&sql);
    assert_eq!(rights.len(), if flavour_of(server) == Flavour::MySql { 13 } else { 6 }, "{sql}");
    let account = printed.account();
    for (right, on) in rights {
        printed.as_administrator(&format!("REVOKE {right} ON {on} FROM {account}"));
        let (code, said) = printed.check();
        printed.as_administrator(&format!("GRANT {right} ON {on} TO {account}"));
        let missed = match on.strip_prefix("performance_schema.") {
            None if on == "*.*" => format!("warning: the store account lacks {right}:"),
            None => format!("{right} command denied"),
            Some(_) => format!("warning: the store account lacks {right} on {on}:"),
        };
        assert!(said.contains(&missed), "{right} on {on}: {said}");
        assert_eq!(said.matches("lacks ").count(), usize::from(code == Some(0)), "{right}: {said}");
    }
    let (code, said) = printed.check();
    assert!(code == Some(0) && !warns(&said), "{said}");
}

fn shared_connections_need_their_rights(server: &Server) {
    const SHARED: &[&str] = &["--pooling", "transaction"];
    let printed = Printed::new(server);
    install(server, &printed.schema);
    let sql = printed.create(SHARED);
    let account = printed.account();
    // MariaDB's server of all tests has performance_schema switched off.
    let switched_on = flavour_of(server) == Flavour::MySql;
    let (code, said) = printed.check_with(SHARED);
    assert_eq!(code, Some(i32::from(!switched_on)), "{said}");
    assert_eq!(said.contains("pooling         FAILED"), !switched_on, "{said}");
    assert!(said.contains("pooling         transaction: 64 ") && !said.contains("lacks"), "{said}");

    let more = [
        "performance_schema.session_connect_attrs",
        "mysql.global_priv",
        "mysql.proc",
        "performance_schema.user_variables_by_thread",
        "performance_schema.prepared_statements_instances",
    ];
    for (right, on) in given(&sql).into_iter().filter(|(_, on)| more.contains(&on.as_str())) {
        printed.as_administrator(&format!("REVOKE {right} ON {on} FROM {account}"));
        let (_, said) = printed.check_with(SHARED);
        printed.as_administrator(&format!("GRANT {right} ON {on} TO {account}"));
        assert!(said.contains(&format!("lacks {right} on {on}:")), "{said}");
        let refused = on == more[0] || !switched_on;
        assert_eq!(said.contains("pooling         FAILED"), refused, "{on}: {said}");
    }
    for right in ["TRIGGER", "SHOW_ROUTINE"] {
        if !given(&sql).iter().any(|(given, _)| given == right) {
            assert_eq!((right, switched_on), ("SHOW_ROUTINE", false), "{sql}");
            continue;
        }
        printed.as_administrator(&format!("REVOKE {right} ON *.* FROM {account}"));
        let (_, said) = printed.check_with(SHARED);
        printed.as_administrator(&format!("GRANT {right} ON *.* TO {account}"));
        assert!(said.contains(&format!("lacks {right}: ")), "{said}");
        let (_, apart) = printed.check();
        assert!(!apart.contains("lacks"), "{apart}");
    }
    let apart = printed.print(&[]);
    assert!(!apart.contains(more[1]) && sql.contains(more[1]) != switched_on, "{sql}");
}

fn a_viewer_sees_held_locks_and_nothing_else(server: &Server) {
    let printed = Printed::new(server);
    install(server, &printed.schema);
    printed.create(&[]);
    let name = fresh_schema().replace("lockstead_t", "lv_");
    let viewer = format!("{name}@%");
    let sql = printed.print(&[&printed.options()[..], &["--viewer", &viewer]].concat());
    printed.as_administrator(&sql);
    // Again, as after an upgrade.
    printed.as_administrator(&sql);

    let proxy = printed.start(&[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("seen");
    let of_viewer = Account { user: name.clone(), password: PASSWORD.into(), ..account() };
    let mut session = Session::of(server.port, &of_viewer);
    let schema = &printed.schema;
    let all = format!("SELECT * FROM {schema}.held_locks");
    assert_eq!(session.value(&all).as_deref(), Some("seen"));
    for table in ["locks", "proxies", "meta", "waits", "adoptions"] {
        session.send(&format!("SELECT 1 FROM {schema}.{table}"));
        let refused = session.client.read_response(Shape::Query).error();
        assert_eq!(refused, Some(1142), "{table}");
    }
    for sql in ["DELETE FROM $.held_locks", "CREATE TABLE $.t (a INT)", "SELECT 1 FROM mysql.user"]
    {
        session.send(&sql.replace('$', schema));
        let refused = session.client.read_response(Shape::Query).error();
        assert!(matches!(refused, Some(1142 | 1288)), "{sql}: {refused:?}");
    }
    server.root().run(&format!("DROP USER {name}@'%'"));
}

fn nothing_is_run_before_the_password_is_there(server: &Server) {
    let printed = Printed::new(server);
    let sql = printed.print(&[&format!("--account={}@%", printed.user)]);
    let mut administrator = Session::at(server.port);
    administrator.send(&sql);
    let refused = administrator.client.read_response(Shape::Query);
    assert_eq!(refused.error(), Some(1064));
    let there = format!(
        "SELECT COUNT(*) FROM mysql.user WHERE user='{}'",
        printed.user.replace('\'', "''")
    );
    assert_eq!(server.root().column(&there), ["0"]);
}

#[test]
fn without_a_server_the_flavour_is_given() {
    let known = run(&["grants", "--flavour", "mariadb"]);
    let said = text(&known);
    assert_eq!(known.status.code(), Some(0), "{said}");
    assert!(said.contains("GRANT CONNECTION ADMIN ON *.* TO `lockstead`@`%`;"), "{said}");
    assert!(said.contains("\n-- GRANT CREATE, CREATE VIEW, ALTER"), "{said}");
    let known = run(&["grants", "--flavour", "mariadb", "--pooling", "transaction"]);
    let said = text(&known);
    assert!(said.contains("GRANT SELECT ON mysql.global_priv TO `lockstead`@`%`;"), "{said}");
    for (wrong, why) in [
        (&["--account", "nobody"][..], "has no host"),
        (&["--schema", "a b"], "letters"),
        (&["--password-file", "/no/such/file"], "/no/such/file"),
    ] {
        let output = run(&[&["grants", "--flavour", "mysql"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(text(&output).contains(why), "{wrong:?}: {}", text(&output));
    }
}
