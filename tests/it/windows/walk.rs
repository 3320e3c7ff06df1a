//! A walk through every window in every mode. After a workload with waits, time-outs, ended waits and releases, each
//! panel, alert, column and field shows something, or the lists here say why not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::json;
use crate::admin::Desk;
use crate::own_server::flavour_of;
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::{Session, until_busy};
use crate::stage::{Database, eventually, join, on_both};
use crate::wire::Shape;

on_both! {
    observe_shows_all_that_it_can
    coexist_shows_all_that_it_can
    durable_shows_all_that_it_can
}

/// Why something shows nothing.
type Reason = (&'static str, &'static str);

/// Metrics that a mode does not have, by the beginnings of their names.
const ABSENT: [(&str, &[Reason]); 3] = [
    (
        "observe",
        &[
            ("lockstead_lease", "it has no lease"),
            ("lockstead_store", "it has no lock tables"),
            ("lockstead_epoch", "it has no lock tables"),
            ("lockstead_failover", "it keeps no locks that could move"),
            ("lockstead_grace", "it keeps no locks that could move"),
            ("lockstead_suspen", "it keeps no locks that could become uncertain"),
            ("lockstead_fenced", "it keeps no locks that could become uncertain"),
            ("lockstead_stuck", "it keeps no locks of ended sessions"),
            ("lockstead_gate", "the server sees the waits themselves"),
            ("lockstead_lock_statements_unsupported", "it refuses nothing"),
            ("lockstead_claims", "it has no rows"),
            ("lockstead_late_rows", "it has no rows"),
            ("lockstead_native", "it has no rows"),
            ("lockstead_unproven", "it has no rows"),
            ("lockstead_direct_locks", "it has no account to read the server's list"),
            ("lockstead_live_peers", "proxies that observe do not know each other"),
            ("lockstead_takeovers", "proxies that observe do not know each other"),
            ("lockstead_rings", "proxies that observe do not know each other"),
            ("lockstead_yields", "proxies that observe do not know each other"),
            ("lockstead_rows_collected", "it has no rows"),
            ("lockstead_history", "it has no lock tables"),
            ("lockstead_ghost_rows", "it has no rows"),
            ("lockstead_lost_rows", "it has no rows"),
            ("lockstead_pool", "its sessions share no connections"),
            ("lockstead_pinned", "its sessions share no connections"),
            ("lockstead_sessions_lost", "its sessions share no connections"),
            ("lockstead_password", "it learns no passwords"),
            ("lockstead_given", "it learns no passwords"),
            ("lockstead_switchover", "it holds no statements back"),
            ("lockstead_held_statements", "it holds no statements back"),
        ],
    ),
    ("coexist", &[("lockstead_observed", "it writes no report")]),
    ("durable", &[("lockstead_observed", "it writes no report")]),
];

/// Metrics that are there with a setting only.
const SETTINGS: &[Reason] = &[
    ("lockstead_certificate_end_seconds", "without tls_cert the proxy makes its certificate"),
    ("lockstead_server_up", "`backend` lists one server"),
    ("lockstead_server_writer", "`backend` lists one server"),
    ("lockstead_server_replica", "no listener leads to replicas"),
    ("lockstead_replica_sessions", "no listener leads to replicas"),
    ("lockstead_witness", "there are no failover candidates"),
    ("lockstead_granted_in_memory", "keep_names is off: tests/it/owned_names.rs"),
    ("lockstead_owned_names", "keep_names is off"),
    ("lockstead_name", "keep_names is off"),
];

/// Panels, columns and fields that show nothing: in one mode, perhaps of one server, or in `all`; fields by the ends of their
/// names.
const SILENT: &[(&str, &str, &str)] = &[
    ("all", "panel Proxies that do not", "all answer"),
    ("all", "panel Sessions fenced", "needs a lost lease: tests/it/suspended.rs"),
    ("all", "panel Fenced", "needs a lost lease: tests/it/suspended.rs"),
    ("all", "panel Suspended", "needs a lost lease: tests/it/suspended.rs"),
    ("all", "panel Takeovers", "needs a dead proxy: tests/it/takeover.rs"),
    ("all", "panel Rows deleted", "needs rows that nobody has used for long"),
    ("all", "panel Past holds not written", "needs `history_rows`: tests/it/windows/past.rs"),
    ("all", "panel Rows and sessions apart", "needs changes by hand: tests/it/audit.rs"),
    ("all", "panel Planned switch", "no switch is planned: tests/it/pooling/switchovers.rs"),
    ("all", "panel Grace", "needs a failover: tests/it/writers.rs"),
    ("all", "panel Epochs joined", "needs a failover: tests/it/writers.rs"),
    ("all", "panel Writer", "`backend` lists one server"),
    ("all", "panel Commits of sessions with locks", "needs `lockstead grants --application`"),
    ("all", "panel Another server answers", "needs another server: tests/it/adopt.rs"),
    ("all", "panel Errors", "needs a store that fails: tests/it/lost_replies.rs"),
    ("all", "panel Lock tables cannot be written", "needs a read lock: tests/it/backups.rs"),
    ("all", "panel Waits not shown", "needs a store that fails: tests/it/gates.rs"),
    ("all", "panel Shared connections", "sessions share no connections"),
    ("all", "panel Pinned sessions", "sessions share no connections"),
    ("all", "panel Waits for a connection", "sessions share no connections"),
    ("all", "panel Prepared statements", "sessions share no connections"),
    ("all", "panel Connections lost", "sessions share no connections"),
    ("all", "panel Moves", "sessions share no connections"),
    ("observe", "panel Limits met", "it keeps no locks that could be too many"),
    ("coexist", "panel Hand-overs", "the server hands its locks over"),
    ("coexist at MySql", "panel Locks that only the server knows", "it lists its locks"),
    ("coexist at MariaDb", "panel Direct clients", "it lists its locks only with a plugin"),
    ("durable", "panel Rows that follow their locks", "a lock is its row"),
    ("durable", "panel Rows of locks that the server granted", "the server grants none"),
    ("durable at MariaDb", "panel Direct clients", "it lists its locks only with a plugin"),
    (
        "durable",
        "panel Locks that only the server knows",
        "the server's own locks are not looked for",
    ),
    ("durable", "panel Rows and server apart", "the server's own locks are not looked for"),
    ("all", ".cluster", "the configuration names no clusters"),
    ("all", "backends.replica_sessions", "no listener leads to replicas"),
    ("all", "backends.state", "`backend` lists one server"),
    ("all", "lease.failover_kept", "needs a failover: tests/it/writers.rs"),
    ("all", "lease.failover_lost", "needs a failover: tests/it/writers.rs"),
    ("all", "lease.failover_seconds_ago", "needs a failover: tests/it/writers.rs"),
    ("all", "lease.failover_took_seconds", "needs a failover: tests/it/writers.rs"),
    ("all", "lease.grace_seconds", "needs a failover: tests/it/writers.rs"),
    ("all", ".problem", "there is none"),
    ("all", "clusters.stuck", "there are none: tests/it/stuck.rs"),
    ("all", "clusters.unfenced", "every account may read its rows: tests/it/fenced_commit.rs"),
    ("all", ".seen_seconds_ago", "the lock tables answer: a_hung_server_blinds_nobody"),
    ("all", "status.failed", "the lock tables answer: a_hung_server_blinds_nobody"),
    ("observe", "backends.lock_tables", "it has no lock tables"),
    ("observe", "backends.store_answers", "it has no lock tables"),
    ("observe", "lease", "it has no lease"),
    ("observe", "proxies", "it is on no list of proxies"),
    ("observe", ".since_utc", "held_seconds has the time"),
    ("observe", ".token", "the server's own locks have none"),
    ("observe", "waiters.place", "the server has the queue"),
    ("coexist", "waiters.place", "the server has the queue"),
    (
        "observe",
        "deadlocks",
        "the server ends its deadlocks, and does not say whose waits they were",
    ),
    (
        "coexist",
        "deadlocks",
        "the server ends its deadlocks, and does not say whose waits they were",
    ),
];

/// What was seen of a proxy.
#[derive(Default)]
struct Seen {
    /// Series by name with labels: their values at each look.
    series: BTreeMap<String, Vec<f64>>,
    /// Tables and fields, and whether each has ever had a value.
    cells: BTreeMap<String, bool>,
}

impl Seen {
    /// Takes a look at all windows.
    fn look(&mut self, desk: &Desk) {
        let page = desk.proxy.page("/metrics");
        for line in page.lines().filter(|line| line.starts_with("lockstead_")) {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let value = value.parse().expect("a number");
            self.series.entry(name.to_owned()).or_default().push(value);
        }
        let tables = ["locks", "waiters", "sessions", "proxies", "deadlocks", "history"];
        for table in tables.into_iter().chain(["lease"]) {
            self.cells(table, &Value::from(desk.rows(&[table])));
            let told = json(desk.proxy.http, &format!("/api/v1/{table}"));
            self.cells(&format!("api {table}"), &told);
        }
        self.cells("api backends", &json(desk.proxy.http, "/api/v1/backends"));
        self.cells("status", &json(desk.proxy.http, "/api/v1/status"));
    }

    /// Notes which fields have a value.
    fn cells(&mut self, place: &str, value: &Value) {
        match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                *self.cells.entry(place.to_owned()).or_default() = true;
                for item in items {
                    self.cells(place, item);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.cells(&format!("{place}.{name}"), value);
                }
            }
            value => {
                let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
                *self.cells.entry(place.to_owned()).or_default() |= !empty;
            }
        }
    }

    /// The series of a metric, or of a part of a histogram.
    fn of(&self, metric: &str) -> impl Iterator<Item = &Vec<f64>> {
        self.series.iter().filter_map(move |(name, values)| {
            let rest = name.strip_prefix(metric)?;
            (rest.is_empty() || rest.starts_with('{')).then_some(values)
        })
    }

    fn is_there(&self, metric: &str) -> bool {
        self.of(metric).next().is_some()
    }

    /// Whether a series of it was ever other than 0.
    fn moves(&self, metric: &str) -> bool {
        self.of(metric).flatten().any(|value| *value != 0.0)
    }
}

/// The metrics that a query names.
fn metrics(query: &str) -> BTreeSet<String> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let names = query.match_indices("lockstead_").map(|(at, _)| &query[at..]);
    names.map(|name| name.split(|c| !part(c)).next().unwrap_or_default().to_owned()).collect()
}

fn root(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All panels: their titles, and the metrics of their queries.
fn panels() -> Vec<(String, BTreeSet<String>)> {
    let mut all = Vec::new();
    for board in ["overview", "locks", "sessions", "engine"] {
        let board: Value = serde_json::from_str(&root(&format!("grafana/dashboards/{board}.json")))
            .expect("a dashboard");
        for panel in board["panels"].as_array().expect("panels") {
            let title = panel["title"].as_str().expect("a title").to_owned();
            let targets = panel["targets"].as_array().into_iter().flatten();
            let named =
                targets.flat_map(|target| metrics(target["expr"].as_str().expect("a query")));
            let named: BTreeSet<String> = named.collect();
            if !named.is_empty() {
                all.push((title, named));
            }
        }
    }
    all
}

/// The metrics of each alert.
fn alerts() -> BTreeSet<String> {
    let text = root("config/alerts.yml");
    text.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).flat_map(metrics).collect()
}

/// What is missing in a mode and has no reason.
fn unexplained(mode: &str, flavour: Flavour, seen: &Seen) -> Vec<String> {
    let here = format!("{mode} at {flavour:?}");
    let absent = ABSENT.iter().find(|(of, _)| *of == mode).map_or(&[][..], |(_, absent)| *absent);
    let excused =
        |metric: &str| absent.iter().chain(SETTINGS).any(|(begin, _)| metric.starts_with(begin));
    let silent = |what: &str| {
        let of_mode = SILENT.iter().filter(|(of, ..)| ["all", mode, &here].contains(of));
        of_mode.into_iter().any(|(_, name, _)| what.ends_with(name))
    };
    let mut missing = Vec::new();
    for (title, named) in panels() {
        let there: Vec<&String> = named.iter().filter(|name| !excused(name)).collect();
        for name in there.iter().filter(|name| !seen.is_there(name)) {
            missing.push(format!("panel {title}: {name} is not there"));
        }
        if !there.is_empty()
            && !there.iter().any(|name| seen.moves(name))
            && !silent(&format!("panel {title}"))
        {
            missing.push(format!("panel {title}: nothing moves of {named:?}"));
        }
    }
    for name in alerts() {
        if !excused(&name) && !seen.is_there(&name) {
            missing.push(format!("alert: {name} is not there"));
        }
    }
    let dead = seen.cells.iter().filter(|(name, has)| !**has && !silent(name));
    missing.extend(dead.map(|(name, _)| format!("{name} never has a value")));
    missing
}

/// A name of a lock that no other test takes.
fn fresh() -> String {
    fresh_schema().replace("lockstead_t", "v")
}

/// What clients do in every mode, with looks in between.
fn work(server: &Server, mode: &str) -> Seen {
    let settings = "metrics_locks = [\"*\"]\nmax_session_locks = 8";
    let desk = Desk::with(server, settings, &["--mode", mode]);
    let mut seen = Seen::default();
    let db = Database::create(server);
    let (hot, other) = (fresh(), fresh());
    let at = || Session::at(desk.proxy.port);
    let (mut a, mut b, mut c) = (at(), at(), at());
    let peer = (mode != "observe").then(|| join(server, &desk.proxy, &["--mode", mode]));
    let mut far = peer.as_ref().map(|peer| Session::at(peer.port));
    // Held, waited for, not free in time, ended by KILL.
    assert_eq!(a.value(&format!("SELECT GET_LOCK('{hot}', 1)")).as_deref(), Some("1"));
    c.lock(&other);
    b.ask_for(&hot);
    eventually("b waits", || (!desk.rows(&["waiters"]).is_empty()).then_some(()));
    until_busy(&mut server.root(), b.id());
    assert_eq!(c.value(&format!("SELECT GET_LOCK('{hot}', 0)")).as_deref(), Some("0"));
    if let Some(far) = &mut far {
        far.ask_for(&hot);
        until_busy(&mut server.root(), far.id());
    }
    eventually("the page shows the wait", || {
        let status = json(desk.proxy.http, "/api/v1/status");
        (!status["contended"].as_array().expect("a list").is_empty()).then_some(())
    });
    eventually("the holds are measured", || {
        (desk.proxy.metric("lockstead_lock_longest_hold_seconds") > 0.0).then_some(())
    });
    seen.look(&desk);
    a.value(&format!("SELECT IS_USED_LOCK('{hot}')"));
    a.value(&format!("SELECT IS_FREE_LOCK('{hot}')"));
    c.run(&format!("KILL QUERY {}", b.id()));
    b.client.read_response(Shape::Query);
    // A deadlock of two: one of them gets the error, and the other the lock when that one lets go.
    a.ask_for(&other);
    until_busy(&mut server.root(), a.id());
    let ended = c.client.query(format!("SELECT GET_LOCK('{hot}', 600)").as_bytes());
    if ended.error().is_some() {
        c.run("SELECT RELEASE_ALL_LOCKS()");
        a.client.read_response(Shape::Query);
    }
    if mode == "durable" {
        // A page's answer may be some seconds old.
        eventually("the deadlock is shown", || {
            let shown = json(desk.proxy.http, "/api/v1/deadlocks");
            (shown != Value::Array(Vec::new())).then_some(())
        });
    }
    seen.look(&desk);
    // Larger statements, definitions, statements that are not covered, locks of procedures.
    b.run("SELECT 1, GET_LOCK('larger', 0), RELEASE_LOCK('larger')");
    let (routine, table) = (db.table("p"), db.table("t"));
    b.run(&format!("CREATE PROCEDURE {routine}() DO GET_LOCK('inside', 0)"));
    b.run(&format!("CALL {routine}()"));
    b.client.query(format!("CREATE TABLE {table} AS SELECT GET_LOCK('made', 0)").as_bytes());
    let mut direct = Session::at(server.port);
    direct.lock(&fresh());
    for _ in 0..9 {
        b.client.query(format!("SELECT GET_LOCK('{}', 0)", fresh()).as_bytes());
    }
    // MariaDB lists its locks only with a plugin.
    if mode != "observe" && flavour_of(server) == Flavour::MySql {
        eventually("the direct client's lock is seen", || {
            (desk.proxy.metric("lockstead_direct_locks") > 0.0).then_some(())
        });
    }
    seen.look(&desk);
    for session in [&mut a, &mut b] {
        session.run("SELECT RELEASE_ALL_LOCKS()");
    }
    if let Some(far) = &mut far {
        far.gets_it();
        far.unlock(&hot);
    }
    // A client that is turned away.
    let wrong = crate::wire::Account { password: "wrong".into(), ..crate::session::account() };
    let login = crate::wire::Client::connect("127.0.0.1", desk.proxy.port, &wrong);
    assert!(login.is_ok_and(|client| !client.login.succeeded()));
    eventually("holds are counted", || {
        (desk.proxy.metric("lockstead_lock_hold_seconds_count") > 0.0).then_some(())
    });
    until_history_is_shown(&desk);
    seen.look(&desk);
    seen
}

/// An answer may be a second old.
fn until_history_is_shown(desk: &Desk) {
    eventually("holds that are over are shown", || {
        let told = json(desk.proxy.http, "/api/v1/history");
        let status = json(desk.proxy.http, "/api/v1/status");
        let shown = |rows: &Value| rows.as_array().is_some_and(|rows| !rows.is_empty());
        (shown(&told) && shown(&status["history"])).then_some(())
    });
}

fn walk(server: &Server, mode: &str) {
    let seen = work(server, mode);
    let flavour = flavour_of(server);
    let missing = unexplained(mode, flavour, &seen);
    assert!(missing.is_empty(), "{mode} at {flavour:?}:\n{}", missing.join("\n"));
}

fn observe_shows_all_that_it_can(server: &Server) {
    walk(server, "observe");
}

fn coexist_shows_all_that_it_can(server: &Server) {
    walk(server, "coexist");
}

fn durable_shows_all_that_it_can(server: &Server) {
    walk(server, "durable");
}
