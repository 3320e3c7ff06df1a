//! Each rule of the engine is left out once, and a checker must notice; with the rule in force the
//! same scenario passes.
//!
//! | Rule left out | Noticed by |
//! |---|---|
//! | `TokenByCounter` | tokens grow |
//! | `DeleteWithoutFloor` | tokens grow |
//! | `StealBeforeGone` | no lost update |
//! | `ReleaseBeforeRollback` | no lost update |
//! | `ReleaseOnEof` | no transaction has locked the row |
//! | `UnsortedBatch` | batches do not deadlock |
//! | `OwnLease` | a lease is a promise |
//! | `StopAtEmpty` | a lease is a promise |
//! | `TrustRows` | mutual exclusion |
//! | `CountInSilence` | a hang costs no lock |
//! | `DeadlineFromAck` | the model of the protocol: the kill budget hides it, and a takeover that ends the sessions |
//! | `NoCheckAfterReply` | the model, and `the_deadline_is_checked_between_the_stores_reply_and_the_answer`: the session checks again |
//! | `ClaimWithoutProof` | `a_session_without_the_servers_lock_changes_nothing` in tests/it/native_claims.rs |
//! | `ProofBeforeRow` | `a_claim_is_judged_when_it_has_the_row` in tests/it/native_claims.rs |
//! | `ReleaseWithoutGuard` | the holder of the lock has its row |
//! | `AnswerBeforeRow` | the holder of the lock has its row |
//! | `LateRowsIgnored` | tests/it/late_rows.rs |
//! | `ResumeWithoutRenewal` | the model: the takeover ends the sessions, and the audit of held locks closes them, before a client gets another reply |
//! | `NoGrace`, `RenewWithoutReclaim`, `IdentityAlone` | tests/it/pooling/failover.rs |
//! | `UnwitnessedGrant`, `UnwitnessedRenewal` | tests/it/witnesses.rs, and `make torture-failover` |
//! | `NoGrace`, `NoEpoch`, `IdentityAlone`, `EarlyGrace` | the torture of failovers (dev/torture-failover.sh) |
//! | `TokenWithoutEpoch` | the model: it takes a lost tail with more tokens than seconds have passed |
//! | `CounterVersion` | the model: it takes a store that lost renewals to see a version again |
//!
//! Rules of sessions that move between shared connections are left out in tests/differential/mutants.rs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lockstead_support::Way;
use lockstead_support::patience::within;

use crate::check::{Absence, Violation, check, deadlocks, early_losses, hanged};
use crate::control::Control;
use crate::fleet::{Mode, Node, Options};
use crate::history::{Fault, History, Increment, Loss, now};
use crate::own_server::flavour_of;
use crate::proxy::fresh_schema;
use crate::run::counters;
use crate::script::Server;
use crate::session::{Place, Session};
use crate::stage::{eventually, is_at_server, on_both};

on_both! {
    mutant_token_by_counter
    mutant_delete_without_floor
    mutant_steal_before_gone
    mutant_release_before_rollback
    mutant_release_on_eof
    mutant_unsorted_batch
    mutant_own_lease
    mutant_stop_at_empty
    mutant_trust_rows
    mutant_count_in_silence
    mutant_release_without_guard
    mutant_answer_before_row
}

/// How long anything may wait for a lock.
const LIMIT: u64 = 60;

/// Runs a scenario with all rules in force, and without one.
fn prove(
    server: &Server,
    mutant: &'static str,
    scenario: impl Fn(&Server, Option<&'static str>) -> Vec<Violation>,
) {
    assert_eq!(scenario(server, None), []);
    let caught = scenario(server, Some(mutant));
    assert!(!caught.is_empty(), "nobody notices {mutant}");
    println!("{mutant}: {}: {}", caught[0].rule, caught[0].what);
}

/// Returns when a proxy grants locks. One that has found others beside it has then seen one of them renew its lease:
/// before that it does not count how long they have been silent, either.
fn until_it_grants(node: &Node) {
    eventually("the startup wait is over", || {
        let log = node.log();
        let waits = log.contains("the first grant waits");
        (!waits || log.contains("the startup wait is over")).then_some(())
    });
}

/// Proxies with leases of these seconds, and a table of counters.
struct Stage {
    nodes: Vec<Node>,
    place: Place,
    table: String,
    server: Server,
}

impl Stage {
    fn set(server: &Server, mutant: Option<&'static str>, leases: &[u64]) -> Self {
        Self::with(server, mutant, leases, (Duration::from_hours(1), Mode::Durable))
    }

    fn coexisting(server: &Server, mutant: Option<&'static str>, proxies: usize) -> Self {
        Self::with(server, mutant, &vec![30; proxies], (Duration::from_hours(1), Mode::Coexist))
    }

    fn with(
        server: &Server,
        mutant: Option<&'static str>,
        leases: &[u64],
        (collect_after, mode): (Duration, Mode),
    ) -> Self {
        let schema = fresh_schema();
        let start = |(number, lease): (usize, &u64)| {
            let options = Options {
                lease: Duration::from_secs(*lease),
                collect_after,
                mutant,
                state: false,
                mode,
                pool_size: None,
                // A rule about rows is seen where each lock has one at once.
                more: &["--row-delay", "0s"],
                ..Options::of_root(schema.clone())
            };
            Node::start(number, &[server.port], &options)
        };
        let nodes: Vec<Node> = leases.iter().enumerate().map(start).collect();
        nodes.iter().for_each(until_it_grants);
        let table = counters(|sql| drop(server.root().run(sql)));
        let history = Arc::new(History::default());
        let place = Place::new(&history, &schema);
        Self { nodes, place, table, server: server.clone() }
    }

    fn session(&self, node: usize) -> Session {
        eventually("a login", || Session::open(&self.place, node, self.nodes[node].port))
    }

    /// A session that holds the lock.
    fn holder(&self, node: usize) -> Session {
        let mut session = self.session(node);
        assert_eq!(session.take("counter 0", LIMIT), Ok(true));
        session
    }

    fn take_and_release(&self, node: usize) {
        self.holder(node).release("counter 0").expect("a release");
    }

    fn read(&self, session: &mut Session, sure: bool) -> Increment {
        Increment { sure, ..session.read_counter(&self.table, 0).expect("a read") }
    }

    /// Reads and writes, as the holder of the lock may.
    fn add(&self, session: &mut Session) {
        let increment = self.read(session, true);
        let next = increment.read + 1;
        session.ask(&format!("UPDATE {} SET v={next} WHERE k=0", self.table)).expect("a write");
        self.place.history.events().increments.push(increment);
    }

    /// A holder whose write is under way for some seconds.
    fn late_writer(&self, node: usize, seconds: u64) -> Session {
        let mut session = self.holder(node);
        let increment = self.read(&mut session, false);
        let next = increment.read + 1;
        self.place.history.events().increments.push(increment);
        let table = &self.table;
        session.send(&format!("SELECT SLEEP({seconds}); UPDATE {table} SET v={next} WHERE k=0"));
        let conn = u32::try_from(session.conn).expect("an id");
        let mut root = self.server.root();
        eventually("the statement runs", || root.waits(conn).then_some(()));
        session
    }

    /// The holder of the lock has its row.
    fn look_for_row_of(&self, conn: u64) {
        let sql = format!(
            "SELECT COUNT(*) FROM {}.held_locks WHERE name='counter 0' AND connection_id={conn}",
            self.place.schema
        );
        if self.server.root().column(&sql) != ["1"] {
            self.place.history.odd("counter 0", format!("connection {conn} has no row"));
        }
    }

    /// Watches the row for two seconds, since a late change is looked for that must not come. A sweep repairs such a
    /// row after a second.
    fn watch_row_of(&self, conn: u64) {
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            self.look_for_row_of(conn);
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Returns when a proxy has looked at the others and done what that asks for. The first of three renewals may have
    /// been sent before, and the third is sent when what the second has shown is done.
    fn until_it_has_looked(&self, node: usize) {
        let mut root = self.server.root();
        let sql = format!(
            "SELECT rvn FROM {}.proxies WHERE addr LIKE '%:{}'",
            self.place.schema, self.nodes[node].port
        );
        for _ in 0..3 {
            let seen = root.column(&sql);
            eventually("the proxy renews", || (root.column(&sql) != seen).then_some(()));
        }
    }

    fn until_gone(&self, conn: u64) {
        let mut root = self.server.root();
        let flavour = flavour_of(&self.server);
        eventually("the session is gone", || {
            (!is_at_server(&mut root, flavour, conn)).then_some(())
        });
    }

    /// The next holder adds more than once, waits until the one before is over, and adds again.
    fn add_after(&self, node: usize, before: u64) -> Vec<Violation> {
        let mut next = self.holder(node);
        self.add(&mut next);
        self.add(&mut next);
        self.until_gone(before);
        self.add(&mut next);
        next.release("counter 0").expect("a release");
        self.judge()
    }

    fn judge(&self) -> Vec<Violation> {
        check(&self.place.history.events())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.nodes.clear();
        if !std::thread::panicking() {
            let database = self.table.split('.').next().unwrap_or_default().to_owned();
            let mut root = self.server.root();
            root.run("SET lock_wait_timeout=20");
            root.run(&format!("DROP DATABASE {}", self.place.schema));
            root.run(&format!("DROP DATABASE {database}"));
        }
    }
}

fn mutant_token_by_counter(server: &Server) {
    prove(server, "TokenByCounter", |server, mutant| {
        let stage = Stage::set(server, mutant, &[30, 30]);
        for node in [0, 0, 0, 1, 1, 0] {
            stage.take_and_release(node);
        }
        stage.judge()
    });
}

fn mutant_delete_without_floor(server: &Server) {
    prove(server, "DeleteWithoutFloor", |server, mutant| {
        // A third of a lease goes by before held locks are compared with their rows. If one was released and its row
        // collected meanwhile, that comparison raises the base, as the rule would have done.
        let stage =
            Stage::with(server, mutant, &[600, 600], (Duration::from_secs(1), Mode::Durable));
        for _ in 0..5 {
            stage.take_and_release(0);
        }
        let sql = format!("SELECT COUNT(*) FROM {}.locks", stage.place.schema);
        let mut root = server.root();
        eventually("the row is collected", || (root.column(&sql) == ["0"]).then_some(()));
        stage.take_and_release(1);
        stage.judge()
    });
}

fn mutant_steal_before_gone(server: &Server) {
    prove(server, "StealBeforeGone", |server, mutant| {
        let stage = Stage::set(server, mutant, &[3, 3]);
        let before = stage.late_writer(0, 10);
        stage.nodes[0].kill();
        stage.add_after(1, before.conn)
    });
}

fn mutant_release_before_rollback(server: &Server) {
    prove(server, "ReleaseBeforeRollback", |server, mutant| {
        let stage = Stage::set(server, mutant, &[30]);
        let before = stage.late_writer(0, 3);
        let conn = before.conn;
        before.reset();
        stage.add_after(0, conn)
    });
}

fn mutant_release_on_eof(server: &Server) {
    prove(server, "ReleaseOnEof", |server, mutant| {
        let stage = Stage::set(server, mutant, &[30]);
        let mut before = stage.holder(0);
        // Enough to roll back to be seen at it.
        let many = stage.table.replace("counters", "many");
        before
            .ask(&format!("CREATE TABLE {many} (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(99))"))
            .expect("a table");
        before.ask(&format!("INSERT INTO {many} (v) VALUES ('')")).expect("a row");
        for _ in 0..16 {
            before.ask(&format!("INSERT INTO {many} (v) SELECT v FROM {many}")).expect("rows");
        }
        before.ask("BEGIN").expect("a transaction");
        before.ask(&format!("UPDATE {} SET w=w+1 WHERE k=0", stage.table)).expect("a write");
        before.ask(&format!("UPDATE {many} SET v='changed'")).expect("many writes");
        server.root().run(&format!("KILL {}", before.conn));
        let mut next = stage.holder(0);
        let sql = format!("SELECT v FROM {} WHERE k=0 FOR UPDATE NOWAIT", stage.table);
        if let Err(e) = next.ask(&sql) {
            stage.place.history.odd("counter 0", format!("a transaction has the row: {e:?}"));
        }
        stage.until_gone(before.conn);
        stage.judge()
    });
}

/// Takes and releases one of a few locks.
fn take_any(session: &mut Session) {
    let key = format!("k{}", rand::random_range(0..20));
    if session.get(&key, 0) == Ok(true) {
        session.release(&key).expect("a release");
    }
}

/// On a server of its own, where only these batches can deadlock.
fn mutant_unsorted_batch(server: &Server) {
    let control = Control::start(flavour_of(server));
    prove(&control.own.server, "UnsortedBatch", |server, mutant| {
        let stage = Stage::set(server, mutant, &[30, 30]);
        let count = || {
            let sql =
                "SELECT count FROM information_schema.innodb_metrics WHERE name='lock_deadlocks'";
            server.root().column(sql).concat().parse().expect("a count")
        };
        let before = count();
        // Without the rule, work goes on until there is a deadlock: a busy machine runs few batches. With it, none may
        // come in this time.
        let most = Duration::from_secs(if mutant.is_some() { LIMIT } else { 6 });
        let end = Instant::now() + most;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for n in 0..40 {
                let (mut session, over) = (stage.session(n % 2), &over);
                scope.spawn(move || {
                    while Instant::now() < end && !over.load(Ordering::Relaxed) {
                        take_any(&mut session);
                    }
                });
            }
            within(most, || (count() != before).then_some(()));
            over.store(true, Ordering::Relaxed);
        });
        deadlocks(before, count())
    });
}

/// Whether the holder's lock outlives what is done, which takes less than its proxy's lease.
fn absent(stage: &Stage, lease: u64, away: impl FnOnce()) -> Vec<Violation> {
    let mut session = stage.holder(0);
    let began = Instant::now();
    away();
    let away = began.elapsed();
    let token = session.read_token("counter 0");
    let kept = matches!(token, Ok(Some(_)));
    let lease = Duration::from_secs(lease);
    early_losses(&[Absence { key: "counter 0".to_owned(), away, lease, kept }])
}

fn mutant_own_lease(server: &Server) {
    prove(server, "OwnLease", |server, mutant| {
        let stage = Stage::set(server, mutant, &[30, 2]);
        absent(&stage, 30, || {
            for way in [Way::ToServer, Way::ToClient] {
                stage.nodes[0].hold(way);
            }
            // Time itself is tested: three leases of the other proxy, and less than this one's.
            std::thread::park_timeout(Duration::from_secs(6));
            stage.nodes[0].heal();
        })
    });
}

fn mutant_stop_at_empty(server: &Server) {
    prove(server, "StopAtEmpty", |server, mutant| {
        let stage = Stage::set(server, mutant, &[15]);
        absent(&stage, 15, || {
            let mut root = server.root();
            // The last statement of a renewal fails for a while; the one that renews does not.
            let mut rename = |from: &str, to: &str| {
                let table = format!("{}.proxies", stage.place.schema);
                root.run(&format!("ALTER TABLE {table} RENAME COLUMN {from} TO {to}"));
            };
            rename("addr", "hidden");
            // Time itself is tested: some renewals fail and some succeed, in less than half a lease.
            std::thread::park_timeout(Duration::from_secs(4));
            rename("hidden", "addr");
            std::thread::park_timeout(Duration::from_secs(2));
        })
    });
}

fn mutant_trust_rows(server: &Server) {
    prove(server, "TrustRows", |server, mutant| {
        let stage = Stage::set(server, mutant, &[3, 3]);
        let mut before = stage.holder(0);
        server.root().run(&format!("DELETE FROM {}.locks", stage.place.schema));
        // The audit of held locks ends the session. Without it, the session stays for many audits.
        let (mut root, flavour) = (server.root(), flavour_of(server));
        let gone = || (!is_at_server(&mut root, flavour, before.conn)).then_some(());
        within(Duration::from_secs(8), gone);
        let next = stage.holder(1);
        let _ = before.ask("DO 1");
        before.hang_up();
        next.quit();
        stage.judge()
    });
}

/// When the server goes on, the second proxy is the first to reach it.
fn mutant_count_in_silence(server: &Server) {
    let control = Control::start(flavour_of(server));
    prove(&control.own.server, "CountInSilence", |server, mutant| {
        let stage = Stage::set(server, mutant, &[3, 3]);
        let mut before = stage.holder(0);
        stage.nodes[0].store.stall();
        // Otherwise it may see the last renewal of the first proxy after the stop only.
        stage.until_it_has_looked(1);
        control.own.signal("STOP");
        let began = now();
        // Time itself is tested: the server is silent for longer than a lease.
        std::thread::park_timeout(Duration::from_secs(4));
        control.own.signal("CONT");
        stage.until_it_has_looked(1);
        stage.nodes[0].store.heal();
        if matches!(before.read_token("counter 0"), Ok(Some(_))) {
            return Vec::new();
        }
        let detail = String::new();
        let hang = Fault { kind: "hang", detail, proxy: None, from: began, to: now() };
        let keys = vec!["counter 0".to_owned()];
        let loss = Loss { session: before.number, proxy: 0, at: now(), keys };
        hanged(&[loss], &[hang])
    });
}

/// The proxies work on one server, whose own lock is taken as well.
fn mutant_release_without_guard(server: &Server) {
    prove(server, "ReleaseWithoutGuard", |server, mutant| {
        let stage = Stage::coexisting(server, mutant, 2);
        let mut before = stage.holder(0);
        stage.nodes[0].store.stall();
        before.release("counter 0").expect("a release at the server");
        let next = stage.holder(1);
        stage.nodes[0].store.heal();
        stage.watch_row_of(next.conn);
        stage.judge()
    });
}

fn mutant_answer_before_row(server: &Server) {
    prove(server, "AnswerBeforeRow", |server, mutant| {
        let stage = Stage::coexisting(server, mutant, 1);
        let mut session = stage.session(0);
        stage.nodes[0].store.stall();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Time itself is tested: an answer before the row would come in these two seconds.
                std::thread::park_timeout(Duration::from_secs(2));
                stage.nodes[0].store.heal();
            });
            assert_eq!(session.get("counter 0", LIMIT), Ok(true));
            stage.look_for_row_of(session.conn);
        });
        stage.judge()
    });
}
