//! Whether the server evaluates a lock call where it stands. What the server does with a session's own locks must be
//! what happens through the proxy, or the proxy refuses the statement and does nothing.
//!
//! `evaluation/expressions.sql`, in each of `evaluation/contexts.sql`, and
//! `evaluation/statements.sql` are data. `LOCKSTEAD_EVALUATION=text` runs only those that contain a text.

use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{Database, on_both};
use crate::wire::{Response, Shape, render};

on_both! {
    expressions_are_evaluated_as_by_the_server_or_refused
    statements_are_evaluated_as_by_the_server_or_refused
}

const EXPRESSIONS: &str = include_str!("evaluation/expressions.sql");
const CONTEXTS: &str = include_str!("evaluation/contexts.sql");
const STATEMENTS: &str = include_str!("evaluation/statements.sql");

/// Locks that the statements name; of `held` the session has the first.
const LOCKS: [&str; 4] = ["r", "f", "n", "m"];

/// A form of statement, which the proxy may refuse unless it is covered.
#[derive(Debug, Clone)]
struct Form {
    sql: String,
    /// Marked by `+`.
    covered: bool,
    /// Marked by `*`: it meets all others.
    all: bool,
}

/// The lines of a file that are no comments.
fn forms(text: &str) -> Vec<Form> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let marked = |at: usize| matches!(&line[..at], "+ " | "* " | "+* ");
            let start = [2, 3].into_iter().find(|at| line.len() > *at && marked(*at)).unwrap_or(0);
            let (marks, sql) = line.split_at(start);
            Form { sql: sql.to_owned(), covered: marks.contains('+'), all: marks.contains('*') }
        })
        .collect()
}

/// What a statement says and leaves behind.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    answer: String,
    /// Who holds each of the locks, and how many times the session held any.
    held: Vec<String>,
    /// What the tables hold.
    rows: Vec<String>,
}

/// Sessions at the server or at the proxy.
struct Side<'a> {
    session: Session,
    other: Session,
    root: &'a mut crate::script::server::Root,
    database: &'a Database,
}

impl Side<'_> {
    fn answer(&mut self, sql: &str) -> Response {
        self.session.send(sql);
        self.session.client.read_response(Shape::Query)
    }

    /// Runs a statement while the session holds `r`, and undoes what it did.
    fn outcome(&mut self, sql: &str) -> (Outcome, Option<u16>) {
        let name = |lock: &str| format!("{}_{lock}", self.database.name);
        let sql = LOCKS.iter().fold(sql.to_owned(), |sql, lock| {
            sql.replace(&format!("'{lock}'"), &format!("'{}'", name(lock)))
        });
        self.session.run("SET @zero = 0, @one = 1, @null = NULL, @x = NULL, @y = NULL");
        self.session.lock(&name("r"));
        let response = self.answer(&sql);
        let held = LOCKS
            .iter()
            .map(|lock| {
                let used = format!("SELECT IS_USED_LOCK('{}')", name(lock));
                match self.other.value(&used) {
                    Some(id) if id == self.session.id().to_string() => format!("{lock} held"),
                    Some(other) => format!("{lock} held by {other}"),
                    None => format!("{lock} free"),
                }
            })
            .collect::<Vec<_>>();
        let times = self.session.value("SELECT RELEASE_ALL_LOCKS()").unwrap_or_default();
        let assigned = self.session.value("SELECT CONCAT_WS(',', IFNULL(@x,'-'), IFNULL(@y,'-'))");
        self.session.run("SET sql_select_limit = DEFAULT");
        let table = self.database.table("t");
        let mut rows =
            self.root.column(&format!("SELECT CONCAT_WS(',', id, IFNULL(v,'-'), n) FROM {table}"));
        rows.extend(assigned);
        if rows[0] != "1,1,1" || rows.len() != 2 {
            self.root.run(&format!("DELETE FROM {table}"));
            self.root.run(&format!("INSERT INTO {table} VALUES (1, 1, 1)"));
        }
        let answer = render::summary(&response);
        let answer = answer.split(" W").next().unwrap_or_default().to_owned();
        let held = held.into_iter().chain([times]).collect();
        (Outcome { answer, held, rows }, response.error())
    }
}

/// Tables and routines that the statements use.
fn prepare(database: &Database, server: &Server) {
    let mut root = server.root();
    let name = &database.name;
    for table in ["one", "none", "three", "t"] {
        let columns = "(id INT PRIMARY KEY DEFAULT 50, v INT, n TINYINT NOT NULL DEFAULT 1)";
        root.run(&format!("CREATE TABLE {name}.{table} {columns}"));
    }
    root.run(&format!("INSERT INTO {name}.t VALUES (1, 1, 1)"));
    root.run(&format!("INSERT INTO {name}.one VALUES (1, 10, 1)"));
    root.run(&format!("INSERT INTO {name}.three VALUES (1, 10, 1), (2, 20, 1), (3, 30, 1)"));
    root.run(&format!("CREATE VIEW {name}.v1 AS SELECT * FROM {name}.t"));
    let insert = format!("INSERT INTO {name}.t (id, v) VALUES (100, ");
    root.run(&format!("CREATE PROCEDURE {name}.p(a INT) {insert}a)"));
    root.run(&format!("CREATE PROCEDURE {name}.q(a INT, b INT) {insert}b)"));
    root.run(&format!("CREATE PROCEDURE {name}.q2(a TINYINT, b INT) {insert}b)"));
    root.run(&format!("CREATE PROCEDURE {name}.gives(OUT a INT) SET a = 1"));
    root.run(&format!(
        "CREATE FUNCTION {name}.f() RETURNS INT NO SQL BEGIN SET @f = @f + 1; RETURN 77; END"
    ));
}

/// Compares the outcomes of forms; `calls` replace `$C`.
fn compare(server: &Server, forms: &[Form], calls: &[&str]) {
    let database = Database::create(server);
    prepare(&database, server);
    let proxy = Proxy::start(&server.url, &[]);
    let (mut one, mut two) = (server.root(), server.root());
    let side = |port, root| Side {
        session: Session::at(port),
        other: Session::at(port),
        root,
        database: &database,
    };
    let (mut direct, mut proxied) = (side(server.port, &mut one), side(proxy.port, &mut two));
    for side in [&mut direct, &mut proxied] {
        side.session.run(&format!("USE {}", database.name));
    }
    let only = std::env::var("LOCKSTEAD_EVALUATION").unwrap_or_default();
    let (mut equal, mut refused, mut wrong) = (0, 0, Vec::new());
    let untouched = ["r held", "f free", "n free", "m free", "1"];
    for form in forms.iter().filter(|form| form.sql.contains(&only)) {
        for call in calls {
            let sql = form.sql.replace("$C", call);
            let (native, native_error) = direct.outcome(&sql);
            if std::env::var("SHOWF").is_ok() {
                println!("{sql} {native:?}");
            }
            let (through, error) = proxied.outcome(&sql);
            if error == Some(1235) && native_error != error {
                refused += 1;
                if form.covered {
                    wrong.push(format!("{sql}\n  refused, the server says {native:?}"));
                } else if through.held != untouched {
                    wrong.push(format!("{sql}\n  refused, but {through:?}"));
                }
            } else if native.held == through.held
                // A plan shows the expression in the call's place.
                && (sql.starts_with("EXPLAIN") || native == through)
            {
                equal += 1;
            } else {
                wrong.push(format!("{sql}\n  directly {native:?}\n  through  {through:?}"));
            }
        }
    }
    println!("{equal} equal, {refused} refused, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

const CALLS: [&str; 3] = ["RELEASE_LOCK('r')", "GET_LOCK('f',0)", "RELEASE_ALL_LOCKS()"];

fn expressions_are_evaluated_as_by_the_server_or_refused(server: &Server) {
    let mut all = Vec::new();
    for context in forms(CONTEXTS) {
        let expressions = forms(EXPRESSIONS).into_iter().filter(|e| context.all || e.all);
        for expression in expressions {
            let sql = context.sql.replace("$E", &expression.sql);
            all.push(Form { sql, covered: context.covered && expression.covered, all: false });
        }
    }
    compare(server, &all, &CALLS[..1]);
}

fn statements_are_evaluated_as_by_the_server_or_refused(server: &Server) {
    compare(server, &forms(STATEMENTS), &CALLS);
}
