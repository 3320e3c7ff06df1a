//! The primary dies again and again, each time with the end of its log, and another one is promoted. Clients hold locks
//! all the time, and the checkers of the other runs judge what they saw.
//!
//! Or it is left alone, and goes on taking writes: then grants and renewals count only when each failover candidate has
//! executed them.
//!
//! LOCKSTEAD_TORTURE_FAILOVERS says how often (60, or 20 without fencing; with a rule left out 20 at most, since one must be noticed),
//! LOCKSTEAD_TORTURE_SEED draws the same failovers again. `make torture-failover` runs it.

mod alone;
mod backup;
mod clients;
mod storm;
mod topology;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lockstead_support::server::Root;
use lockstead_support::session::account;

use self::clients::{Clients, Holder};
use self::storm::{Storm, Story};
use self::topology::Trio;
use crate::check::{Rest, Violation, check, costly_failovers, leaks, uncounted_grants};
use crate::fleet::{Node, Options};
use crate::history::{Events, History, now};
use crate::report;
use crate::run::{Ending, counters, mutant, setting};
use crate::script::Flavour;
use crate::session::{Place, Session};
use crate::settle::{end, probe};
use crate::stage::eventually;
use crate::wire::Account;

#[test]
#[ignore = "make torture-failover runs it"]
fn failovers_break_no_promise_on_mysql() {
    torture(Flavour::MySql, Former::Dead);
}

#[test]
#[ignore = "make torture-failover runs it"]
fn failovers_break_no_promise_on_mariadb() {
    torture(Flavour::MariaDb, Former::Dead);
}

#[test]
#[ignore = "make torture-failover runs it"]
fn primaries_left_alone_break_no_promise_on_mysql() {
    torture(Flavour::MySql, Former::Alone);
}

#[test]
#[ignore = "make torture-failover runs it"]
fn primaries_left_alone_break_no_promise_on_mariadb() {
    torture(Flavour::MariaDb, Former::Alone);
}

/// A primary when the next one is promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Former {
    Dead,
    /// The former primary takes writes. All servers are failover candidates.
    Alone,
}

/// Longer than a failover takes on a busy machine. The grace lasts as long.
const LEASE: Duration = Duration::from_secs(8);
const CLIENTS: usize = 16;
const PROXIES: usize = 2;

/// Beside the settings of all runs.
const MORE: [&str; 8] = [
    "--writer-wait",
    "90s",
    "--pool-wait",
    "60s",
    "--connect-timeout",
    "2s",
    "--drain-timeout",
    "1s",
];

/// How many times a rule that is left out may go unnoticed.
const UNNOTICED: u64 = 20;

fn torture(flavour: Flavour, former: Former) {
    let seed = setting("LOCKSTEAD_TORTURE_SEED").unwrap_or_else(|| rand::random::<u64>() >> 32);
    let long = mutant().is_none() && former == Former::Dead;
    let most = if long { 60 } else { UNNOTICED };
    let failovers = setting("LOCKSTEAD_TORTURE_FAILOVERS").unwrap_or(most);
    let without = mutant().map(|name| format!(" without the rule {name}")).unwrap_or_default();
    let title = format!(
        "failovers of {flavour:?}, former primaries {former:?}{without}, LOCKSTEAD_TORTURE_SEED={seed}"
    );
    println!("{title}: begins");
    let ground = Ground::set(flavour, former);
    let clients = ground.clients.clone();
    let ending = Ending(Arc::clone(&clients.end));
    let work = |n| {
        let holder = Holder::new(&clients, n, seed);
        std::thread::spawn(move || holder.work())
    };
    let workers: Vec<_> = (0..CLIENTS).map(work).collect();
    let mut storm = Storm::new(&ground.topology, &clients, LEASE, former, seed);
    let mut stories = Vec::new();
    let mut violations = Vec::new();
    std::thread::park_timeout(Duration::from_secs(2));
    for n in 1..=failovers {
        let told = storm.strike();
        println!("{n}: {}", tell(&told));
        stories.push(told);
        violations = judge(&clients.place.history.events());
        if !violations.is_empty() {
            break;
        }
    }
    storm.rejoined();
    drop(ending);
    let failed = workers.into_iter().map(std::thread::JoinHandle::join).filter(Result::is_err);
    let failed = failed.count();
    if violations.is_empty() {
        violations = ground.settle();
        violations.extend(judge(&clients.place.history.events()));
    }
    let events = clients.place.history.events();
    println!("{title}: {}; {}", report::summary(&events), summary(&stories, &events));
    for violation in violations.iter().take(5) {
        println!("{}", report::explain(violation, &events));
    }
    assert!(failed == 0, "{title}: {failed} clients panicked");
    if mutant().is_some() {
        assert!(!violations.is_empty(), "{title}: nobody has noticed");
        println!(
            "{title}: noticed after {} failovers by \"{}\"",
            stories.len(),
            violations[0].rule
        );
        return;
    }
    if !violations.is_empty() || setting("LOCKSTEAD_TORTURE_LOGS").is_some() {
        println!("logs of the proxies: {}", report::keep_logs(&clients.nodes, &title));
    }
    assert!(violations.is_empty(), "{title}: {} violations", violations.len());
    assert!(events.holds.len() > 5 * stories.len(), "{title}: hardly any grants");
}

fn judge(events: &Events) -> Vec<Violation> {
    let mut violations = check(events);
    violations.extend(costly_failovers(&events.losses, &events.holds, &events.faults, LEASE));
    violations.extend(uncounted_grants(&events.holds, &events.faults));
    violations
}

/// A line of one failover.
fn tell(story: &Story) -> String {
    let second = |at: &Duration| format!("{:.1} s", at.as_secs_f64());
    let grants: Vec<String> =
        story.grants.iter().map(|at| at.as_ref().map_or("none".to_owned(), second)).collect();
    let outage = second(&story.outage);
    format!("{}; writes after {outage}, locks after {}", story.what, grants.join(" and "))
}

/// The times, and what was at stake.
fn summary(stories: &[Story], events: &Events) -> String {
    let range = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        let at = |part: usize| all.get((all.len().max(1) - 1) * part / 2).copied().unwrap_or(0.0);
        format!("{:.1}/{:.1}/{:.1} s", at(0), at(1), at(2))
    };
    let outages = range(stories.iter().map(|s| s.outage.as_secs_f64()).collect());
    let first = |s: &Story| s.grants.iter().flatten().min().map(Duration::as_secs_f64);
    let grants = range(stories.iter().filter_map(first).collect());
    let of = |kind: &'static str| events.faults.iter().filter(move |f| f.kind == kind);
    let held = |at: Duration| events.holds.iter().filter(move |h| h.granted < at && at < h.until);
    let kept: usize = of("failover").map(|f| held(f.from).filter(|h| h.until > f.to).count()).sum();
    let in_tail = |at: Duration| of("lost tail").any(|f| f.from <= at && at < f.to);
    let granted = events.grants.iter().filter(|g| in_tail(g.at)).count();
    let written = events.increments.iter().filter(|i| i.sure && in_tail(i.written)).count();
    format!(
        "{} failovers (least/median/most: writes after {outages}, the first lock after {grants}), \
         {kept} locks kept through them, {} lost; in the tails {granted} grants and {written} increments",
        of("failover").count(),
        events.losses.len()
    )
}

/// Servers, proxies and accounts.
struct Ground {
    topology: Arc<Trio>,
    clients: Clients,
}

impl Ground {
    fn set(flavour: Flavour, former: Former) -> Self {
        let topology = Arc::new(Trio::up(flavour));
        let mut root = topology.primary().root();
        create_accounts(&mut root, flavour);
        let table = counters(|sql| drop(root.run(sql)));
        let database = table.split('.').next().unwrap_or_default();
        root.run(&format!("GRANT ALL ON {database}.* TO client@'%'"));
        let options = Options {
            lease: LEASE,
            collect_after: Duration::from_secs(30),
            mutant: mutant(),
            pool_size: Some(12),
            login: "store:pw",
            witnesses: former == Former::Alone,
            more: &MORE,
            ..Options::of_root("lockstead".to_owned())
        };
        let servers: Vec<u16> = topology.servers().iter().map(|server| server.port).collect();
        let start = |n| Node::start(n, &servers, &options);
        let nodes: Arc<Vec<Node>> = Arc::new((0..PROXIES).map(start).collect());
        root.run("GRANT SELECT ON lockstead.* TO client@'%'");
        for replica in topology.replicas() {
            let mut root = replica.root();
            let has = "SELECT COUNT(*) FROM information_schema.schema_privileges \
                       WHERE grantee LIKE '%client%' AND table_schema='lockstead'";
            eventually("the replicas have it all", || {
                (root.column(has).concat() == "1").then_some(())
            });
        }
        let history = Arc::new(History::default());
        let user = Account { user: "client".to_owned(), password: String::new(), ..account() };
        let place = Place { account: user, moves: true, ..Place::new(&history, "lockstead") };
        // Without a password each login teaches the proxy.
        for node in nodes.iter() {
            for _ in 0..3 {
                let session =
                    eventually("a login", || Session::open(&place, node.number, node.port));
                session.quit();
            }
        }
        let [end, tail] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let clients = Clients { place, nodes, table: table.into(), end, tail };
        Self { topology, clients }
    }

    /// Everything comes to rest: what does not is a violation.
    fn settle(&self) -> Vec<Violation> {
        let Clients { place, nodes, .. } = &self.clients;
        let mut rest = Rest::default();
        let limit = now() + 4 * LEASE + Duration::from_secs(20);
        let held = "SELECT CONCAT(name,' by ',holder,' for ',conn) FROM lockstead.locks \
                    WHERE holder<>0";
        let over = "SELECT CONCAT(id,' ',state) FROM lockstead.proxies WHERE state<>1";
        let mut root = self.topology.primary().root();
        while now() < limit {
            (rest.held, rest.incarnations) = (root.column(held), root.column(over));
            if leaks(&rest, now()).is_empty() {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
        rest.refused = probe(nodes, place, limit.max(now() + Duration::from_secs(20)));
        rest.broken = end(nodes);
        leaks(&rest, now())
    }
}

/// The store's account, which a read-only server stops, and one of clients.
fn create_accounts(root: &mut Root, flavour: Flavour) {
    let more: &[&str] = match flavour {
        Flavour::MySql => &["SELECT ON performance_schema.*", "PROCESS, CONNECTION_ADMIN ON *.*"],
        Flavour::MariaDb => &[
            "SELECT ON performance_schema.session_connect_attrs",
            "SELECT ON mysql.global_priv",
            "PROCESS, CONNECTION ADMIN ON *.*",
        ],
    };
    root.run("CREATE USER store@'%' IDENTIFIED BY 'pw'");
    let tables = "SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW ON lockstead.*";
    for right in more.iter().chain([&tables]) {
        root.run(&format!("GRANT {right} TO store@'%'"));
    }
    root.run("CREATE USER client@'%' IDENTIFIED BY ''");
}
