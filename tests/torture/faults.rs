//! What goes wrong, by the seed.

use std::sync::Arc;
use std::time::Duration;

use lockstead_support::Way;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::control::Control;
use crate::fleet::Node;
use crate::history::{Fault, History, now};
use crate::wire::{Client, End};

/// A kind of fault, drawn with what it needs.
#[derive(Debug, Clone)]
enum Kind {
    Kill {
        successor: bool,
    },
    Stop {
        leases: f64,
    },
    Cut(Vec<Way>),
    /// Of its way to the lock tables alone.
    CutStore,
    Delay(Duration),
    KillEngine,
    KillSessions,
    Restart,
    Hang,
    /// The global read lock is held.
    Backup,
    /// A proxy shuts down in order.
    Drain,
    Exhaust,
}

/// Leases that the server hangs for, and the calm before: what another fault did is over by then.
const HANG: f64 = 2.0;
/// Leases that a backup takes.
const BACKUP: f64 = 3.0;
const CALM: std::ops::Range<u64> = 4500..5000;

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::Kill { .. } => "kill",
            Kind::Stop { .. } => "stop",
            Kind::Cut(ways) if ways.len() == 1 => "cut one way",
            Kind::Cut(_) => "cut",
            Kind::CutStore => "cut store",
            Kind::Delay(_) => "delay",
            Kind::KillEngine => "kill engine connections",
            Kind::KillSessions => "kill sessions",
            Kind::Restart => "restart",
            Kind::Hang => "hang",
            Kind::Backup => "backup",
            Kind::Drain => "drain",
            Kind::Exhaust => "exhaust connections",
        }
    }

    /// Whether it comes alone, so that it costs nobody a lock.
    fn costs_nothing(&self) -> bool {
        matches!(self, Kind::Hang | Kind::Backup)
    }

    fn of_a_proxy(&self) -> bool {
        match self {
            Kind::Kill { .. }
            | Kind::Stop { .. }
            | Kind::Cut(_)
            | Kind::CutStore
            | Kind::Delay(_)
            | Kind::Drain => true,
            Kind::KillEngine
            | Kind::KillSessions
            | Kind::Restart
            | Kind::Hang
            | Kind::Backup
            | Kind::Exhaust => false,
        }
    }
}

pub(crate) struct Faults {
    control: Arc<Control>,
    nodes: Arc<Vec<Node>>,
    history: Arc<History>,
    schema: Arc<str>,
    lease: Duration,
    random: StdRng,
    deck: Vec<Kind>,
    /// A snapshot that is held open throughout.
    snapshot: Option<Client>,
    /// The session that holds the read lock.
    backup: Option<Client>,
}

impl Faults {
    pub(crate) fn new(
        control: &Arc<Control>,
        nodes: &Arc<Vec<Node>>,
        history: &Arc<History>,
        (schema, lease): (&str, Duration),
        seed: u64,
    ) -> Self {
        Self {
            control: Arc::clone(control),
            nodes: Arc::clone(nodes),
            history: Arc::clone(history),
            schema: Arc::from(schema),
            lease,
            random: StdRng::seed_from_u64(seed),
            deck: Vec::new(),
            snapshot: None,
            backup: None,
        }
    }

    /// Faults alone and in pairs until that is so; everything is well again after it.
    pub(crate) fn rage_until(&mut self, is_over: impl Fn() -> bool) {
        self.quiet(500..1500);
        while !is_over() {
            self.hold_snapshot();
            let pair = self.random.random_range(0..2) == 0;
            let mut kinds: Vec<Kind> = (0..=usize::from(pair)).map(|_| self.draw()).collect();
            if let Some(at) = kinds.iter().position(Kind::costs_nothing) {
                kinds = vec![kinds.swap_remove(at)];
                self.quiet(CALM);
            }
            self.strike(kinds);
            // Now and then long enough for queues to be served in order.
            let calm = if self.random.random_range(0..7) == 0 { 6000..8000 } else { 100..1500 };
            self.quiet(calm);
        }
        self.snapshot = None;
        for node in &*self.nodes {
            node.keep_up();
        }
    }

    fn quiet(&mut self, ms: std::ops::Range<u64>) {
        let ms = self.random.random_range(ms);
        std::thread::park_timeout(Duration::from_millis(ms));
        for node in &*self.nodes {
            node.keep_up();
        }
    }

    /// From a shuffled deck, so that no kind is missing for long.
    fn draw(&mut self) -> Kind {
        if self.deck.is_empty() {
            let some = |random: &mut StdRng, ways: [Way; 2]| vec![ways[random.random_range(0..2)]];
            let way = some(&mut self.random, [Way::ToServer, Way::ToClient]);
            self.deck = vec![
                Kind::Kill { successor: true },
                Kind::Kill { successor: false },
                Kind::Stop { leases: 0.5 },
                Kind::Stop { leases: 1.1 },
                Kind::Stop { leases: 3.0 },
                Kind::Cut(way),
                Kind::Cut(vec![Way::ToServer, Way::ToClient]),
                Kind::CutStore,
                Kind::Delay(Duration::from_millis(self.random.random_range(200..1000))),
                Kind::KillEngine,
                Kind::KillSessions,
                Kind::Restart,
                Kind::Hang,
                Kind::Backup,
                Kind::Drain,
                Kind::Exhaust,
            ];
            self.deck.shuffle(&mut self.random);
        }
        self.deck.pop().expect("a full deck")
    }

    /// All of them at once, each for its time.
    fn strike(&mut self, kinds: Vec<Kind>) {
        let mut struck: Vec<(Duration, usize, Kind, usize)> = Vec::new();
        // A drain waits here for its proxy's end: another fault of that proxy would last as long.
        let apart = kinds.iter().any(|kind| matches!(kind, Kind::Drain));
        for kind in kinds {
            let mut node = self.random.random_range(0..self.nodes.len());
            if apart && struck.iter().any(|(.., other)| *other == node) {
                node = (node + 1) % self.nodes.len();
            }
            let lasts = self.lasts(&kind);
            let index = self.note(&kind, kind.of_a_proxy().then_some(node));
            self.begin(&kind, node);
            struck.push((now() + lasts, index, kind, node));
        }
        struck.sort_by_key(|(until, ..)| *until);
        for (until, index, kind, node) in struck {
            while now() < until {
                std::thread::park_timeout(until.saturating_sub(now()));
            }
            self.heal(&kind, node);
            self.history.events().faults[index].to = now();
        }
    }

    fn note(&self, kind: &Kind, proxy: Option<usize>) -> usize {
        let mut events = self.history.events();
        let detail = format!("{kind:?}");
        // Until it is healed it lasts.
        let fault = Fault { kind: kind.name(), detail, proxy, from: now(), to: Duration::MAX / 4 };
        events.faults.push(fault);
        events.faults.len() - 1
    }

    fn lasts(&mut self, kind: &Kind) -> Duration {
        let ms = match kind {
            Kind::Kill { .. } => self.random.random_range(0..2000),
            Kind::Stop { leases } => return self.lease.mul_f64(*leases),
            Kind::Hang => return self.lease.mul_f64(HANG),
            Kind::Backup => return self.lease.mul_f64(BACKUP),
            Kind::Cut(_) | Kind::CutStore => self.random.random_range(1000..7000),
            Kind::Delay(_) => self.random.random_range(1000..4000),
            Kind::Exhaust => self.random.random_range(1000..3000),
            Kind::KillEngine | Kind::KillSessions => 300,
            Kind::Restart | Kind::Drain => 0,
        };
        Duration::from_millis(ms)
    }

    fn begin(&mut self, kind: &Kind, node: usize) {
        let node = &self.nodes[node];
        match kind {
            Kind::Kill { .. } => node.kill(),
            Kind::Stop { .. } => node.signal("STOP"),
            Kind::Cut(ways) => ways.iter().for_each(|way| node.hold(*way)),
            Kind::CutStore => node.store.stall(),
            Kind::Delay(delay) => {
                node.delay(Way::ToServer, *delay / 2);
                node.delay(Way::ToClient, *delay / 2);
            }
            Kind::KillEngine => {
                let sql = format!("SELECT conns FROM {}.proxies", self.schema);
                let rows = self.control.try_rows(&sql).unwrap_or_default();
                let ids = rows.iter().flat_map(|r| r.split(',').map(str::to_owned)).collect();
                self.kill_some(ids);
            }
            Kind::KillSessions => {
                let ids = self.control.sessions();
                self.kill_some(ids);
            }
            Kind::Restart => self.control.crash(),
            Kind::Hang => self.control.own.signal("STOP"),
            Kind::Backup => self.backup = self.control.lock_all(),
            Kind::Drain => drop(node.end()),
            Kind::Exhaust => {
                let now = self.control.sessions().len().max(10);
                self.control.try_rows(&format!("SET GLOBAL max_connections={now}"));
            }
        }
    }

    fn kill_some(&mut self, mut ids: Vec<String>) {
        ids.shuffle(&mut self.random);
        ids.truncate(self.random.random_range(1..6));
        for id in ids {
            // The connection may be gone already.
            self.control.try_rows(&format!("KILL {id}"));
        }
    }

    fn heal(&mut self, kind: &Kind, node: usize) {
        let node = &self.nodes[node];
        match kind {
            Kind::Kill { successor } => node.revive(*successor),
            Kind::Stop { .. } => node.signal("CONT"),
            Kind::Cut(_) | Kind::CutStore | Kind::Delay(_) => node.heal(),
            Kind::Hang => self.control.own.signal("CONT"),
            // The server unlocks when the session ends.
            Kind::Backup => self.backup = None,
            Kind::Drain => node.revive(true),
            Kind::Exhaust => {
                self.control.rows("SET GLOBAL max_connections=1000");
            }
            Kind::KillEngine | Kind::KillSessions | Kind::Restart => {}
        }
    }

    fn hold_snapshot(&mut self) {
        if self.snapshot.as_mut().is_some_and(|s| s.ping().end == End::Complete) {
            return;
        }
        let server = &self.control.own.server;
        let Ok(mut fresh) = Client::connect(&server.host, server.port, &server.root) else {
            return;
        };
        for sql in [
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            &format!("SELECT COUNT(*) FROM {}.locks", self.schema),
        ] {
            fresh.query(sql.as_bytes());
        }
        self.snapshot = Some(fresh).filter(|s| s.login.succeeded());
    }
}
