//! Failovers, by the seed: how much of the log is lost, which proxy comes late, and how the dead server comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lockstead_support::patience::within;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Former;
use super::alone::Alone;
use super::backup::Backup;
use super::clients::{Clients, outlive};
use super::topology::Trio;
use crate::fleet::Node;
use crate::history::{Fault, now};
use crate::session::{Broken, Session};
use crate::stage::eventually;

/// A kind of failover.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The last `lost` milliseconds are lost; the proxy `late` comes so many milliseconds after the others.
    Plain { lost: u64, late: Option<(usize, u64)> },
    /// The next primary dies too, so many milliseconds after its promotion, and the third server is promoted.
    Twice { lost: [u64; 2], between: u64 },
    /// After a backup, or in one.
    Backup(Backup),
    /// A proxy has registered in the lost tail, and has granted a lock there.
    Registration,
    /// The next primary dies too, and the first one comes back as it was: before, or after locks were granted.
    Return { granted: bool },
    /// The primary is left alone and takes writes.
    Alone(Alone),
}

impl Kind {
    /// A few words for the report.
    fn tell(self) -> String {
        match self {
            Self::Plain { late: None, .. } => "crash".to_owned(),
            Self::Plain { late: Some((proxy, ms)), .. } => {
                format!("crash, proxy {proxy} {ms} ms late")
            }
            Self::Twice { between, .. } => format!("two crashes in {between} ms"),
            Self::Backup(backup) => backup.tell(),
            Self::Registration => "crash, a registration is lost".to_owned(),
            Self::Return { granted: false } => "crash, and the former primary returns".to_owned(),
            Self::Return { granted: true } => {
                "crash, locks are granted, and the former primary returns".to_owned()
            }
            Self::Alone(alone) => alone.tell(),
        }
    }
}

/// How long after the others a proxy comes whose registration was lost: an early end of the grace is used by then.
const BEHIND: Duration = Duration::from_millis(2500);

/// How long a fresh proxy may take to grant a lock in the tail.
const TAIL: Duration = Duration::from_secs(8);

/// How long after the grace each proxy must have granted a lock.
const SLACK: Duration = Duration::from_secs(20);

/// What a failover was like.
pub(crate) struct Story {
    pub(crate) what: String,
    /// From the kill of the (last) writer.
    pub(crate) outage: Duration,
    /// From the kill of the (last) writer to the first grant of each proxy; `None`: there was none.
    pub(crate) grants: Vec<Option<Duration>>,
}

pub(crate) struct Storm {
    pub(super) topology: Arc<Trio>,
    pub(super) clients: Clients,
    pub(super) lease: Duration,
    random: StdRng,
    former: Former,
    deck: Vec<Kind>,
    /// Brings the server that was lost back as a replica.
    rejoining: Option<JoinHandle<()>>,
}

/// A holder of one lock and a rival, at two proxies.
pub(super) struct Contest {
    holder: JoinHandle<()>,
    rival: JoinHandle<()>,
    over: Arc<AtomicBool>,
}

impl Storm {
    pub(crate) fn new(
        topology: &Arc<Trio>,
        clients: &Clients,
        lease: Duration,
        former: Former,
        seed: u64,
    ) -> Self {
        Self {
            topology: Arc::clone(topology),
            clients: clients.clone(),
            lease,
            random: StdRng::seed_from_u64(seed),
            former,
            deck: Vec::new(),
            rejoining: None,
        }
    }

    pub(super) fn node(&self, proxy: usize) -> &Node {
        &self.clients.nodes[proxy]
    }

    fn draw(&mut self) -> Kind {
        if self.deck.is_empty() && self.former == Former::Alone {
            self.deck = Alone::each().map(Kind::Alone).collect();
            self.deck.shuffle(&mut self.random);
        } else if self.deck.is_empty() {
            let plain = |late| Kind::Plain { lost: 0, late };
            let (some, other) = (Some((0, 0)), Some((1, 0)));
            self.deck = vec![plain(None), plain(some), plain(other), plain(some), plain(other)];
            let granted = self.random.random_range(0..2) == 0;
            let twice = Kind::Twice { lost: [0, 0], between: 0 };
            self.deck.extend([Kind::Registration, Kind::Return { granted }, twice]);
            self.deck.extend(Backup::each().map(Kind::Backup));
            self.deck.shuffle(&mut self.random);
        }
        let kind = self.deck.pop().expect("a full deck");
        match kind {
            Kind::Plain { late, .. } => {
                let lost = self.random.random_range(0..=800);
                let late = late.map(|(proxy, _)| (proxy, self.random.random_range(100..1500)));
                Kind::Plain { lost, late }
            }
            Kind::Twice { .. } => {
                let lost = [(); 2].map(|()| self.random.random_range(0..=800));
                Kind::Twice { lost, between: self.random.random_range(200..5000) }
            }
            Kind::Alone(alone) => Kind::Alone(alone.drawn(&mut self.random)),
            Kind::Backup(backup) => Kind::Backup(backup.drawn(&mut self.random)),
            Kind::Registration | Kind::Return { .. } => kind,
        }
    }

    /// One failover, and the time after it until all is well again.
    pub(crate) fn strike(&mut self) -> Story {
        let kind = self.draw();
        let (first, promoted) = match kind {
            Kind::Plain { lost, late } => self.plain(lost, late),
            Kind::Twice { lost, between } => self.twice(lost, between),
            Kind::Backup(backup) => self.back_up(backup),
            Kind::Registration => self.lose_a_registration(),
            Kind::Return { granted } => self.come_back(granted),
            Kind::Alone(alone) => self.leave_alone(alone),
        };
        let grace = match kind {
            // The proxies meet only now, and may know of different epochs.
            Kind::Alone(_) => now() + self.lease * 2,
            _ => promoted + self.lease.mul_f64(1.01),
        };
        let grants = self.until_granted(promoted, grace);
        let died = self.topology.lost_at();
        let grants = grants.into_iter().map(|at| Some(at?.saturating_sub(died))).collect();
        let tail = died.saturating_sub(first);
        let what = format!("{}; tail of {:.2} s", kind.tell(), tail.as_secs_f64());
        self.rejoined();
        std::thread::park_timeout(Duration::from_millis(self.random.random_range(500..2500)));
        Story { what, outage: promoted.saturating_sub(died), grants }
    }

    /// Returns when all servers are there again.
    pub(crate) fn rejoined(&mut self) {
        if let Some(rejoining) = self.rejoining.take() {
            rejoining.join().expect("the server that was lost comes back");
        }
    }

    pub(super) fn note(
        &self,
        kind: &'static str,
        proxy: Option<usize>,
        from: Duration,
        to: Duration,
    ) {
        let fault = Fault { kind, detail: kind.to_owned(), proxy, from, to };
        self.clients.place.history.events().faults.push(fault);
    }

    /// Kills the writer, has the next one promoted, and begins to bring the first one back; when the next one was there.
    pub(super) fn crash(&mut self, tail: Duration) -> Duration {
        let died = self.topology.writer();
        let promoted = self.kill(&["crash"], tail);
        self.rejoin(vec![died]);
        promoted
    }

    /// From now on the replicas get nothing more.
    pub(super) fn begin_tail(&self) -> Duration {
        let tail = now();
        self.topology.stop_replication();
        self.clients.tail.store(true, Ordering::SeqCst);
        tail
    }

    pub(super) fn kill(&self, command: &[&str], tail: Duration) -> Duration {
        self.topology.run(command);
        let promoted = self.topology.promoted_at();
        self.clients.tail.store(false, Ordering::SeqCst);
        self.note("failover", None, self.topology.lost_at(), promoted);
        self.note("lost tail", None, tail, promoted);
        promoted
    }

    fn rejoin(&mut self, servers: Vec<usize>) {
        let topology = Arc::clone(&self.topology);
        let rejoin = move || servers.into_iter().for_each(|server| topology.rejoin(server));
        self.rejoining = Some(std::thread::spawn(rejoin));
    }

    fn plain(&mut self, lost: u64, late: Option<(usize, u64)>) -> (Duration, Duration) {
        let tail = self.begin_tail();
        std::thread::park_timeout(Duration::from_millis(lost));
        let cut = now();
        if let Some((proxy, _)) = late {
            self.node(proxy).stall();
        }
        let promoted = self.crash(tail);
        if let Some((proxy, behind)) = late {
            std::thread::park_timeout(Duration::from_millis(behind));
            self.node(proxy).heal();
            self.note("cut", Some(proxy), cut, now());
        }
        (tail, promoted)
    }

    /// The second one dies in the grace that the first has begun.
    fn twice(&mut self, lost: [u64; 2], between: u64) -> (Duration, Duration) {
        let (mut tail, mut promoted) = (Duration::ZERO, Duration::ZERO);
        let mut died = Vec::new();
        for ms in lost {
            if promoted > Duration::ZERO {
                std::thread::park_timeout(Duration::from_millis(between));
            }
            tail = self.begin_tail();
            std::thread::park_timeout(Duration::from_millis(ms));
            died.push(self.topology.writer());
            promoted = self.kill(&["crash"], tail);
        }
        self.rejoin(died);
        (tail, promoted)
    }

    /// A proxy ends in order and comes back in the tail, so that the next primary knows nothing of it.
    fn lose_a_registration(&mut self) -> (Duration, Duration) {
        let late = self.random.random_range(0..self.clients.nodes.len());
        let ended = now();
        assert_eq!(self.node(late).end(), Some(0), "the proxy ends in order");
        let registered = "SELECT COUNT(*) FROM lockstead.proxies WHERE state=1";
        let others = self.clients.nodes.len() - 1;
        for replica in self.topology.replicas() {
            let mut root = replica.root();
            eventually("the replicas know of its end", || {
                (root.column(registered).concat() == others.to_string()).then_some(())
            });
        }
        let tail = self.begin_tail();
        self.node(late).revive(true);
        let contest = self.contest(late);
        let cut = now();
        self.note("restart of a proxy", Some(late), ended, cut);
        self.node(late).stall();
        let promoted = self.crash(tail);
        std::thread::park_timeout(BEHIND);
        self.node(late).heal();
        self.note("cut", Some(late), cut, now());
        if let Some(contest) = contest {
            // The holder has its lock until the grace is over, and somewhat longer.
            std::thread::park_timeout(self.lease + Duration::from_secs(1));
            contest.end();
        }
        (tail, promoted)
    }

    /// A client of the proxy takes a lock, and one of another proxy wants it. `None`: it was not granted in time.
    pub(super) fn contest(&self, late: usize) -> Option<Contest> {
        let other = (late + 1) % self.clients.nodes.len();
        let key = "late";
        let open = |proxy: usize| {
            let node = self.node(proxy);
            Session::open(&self.clients.place, proxy, node.port)
        };
        let mut holder = within(TAIL, || {
            self.node(late).keep_up();
            // The first login teaches the proxy the account.
            open(late)?.quit();
            open(late)
        })?;
        if holder.get(key, TAIL.as_secs()) != Ok(true) {
            return None;
        }
        let mut rival = open(other)?;
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let holder = std::thread::spawn(move || {
            let mut result = holder.read_token(key).map(drop);
            while result.or_else(outlive).is_ok() && !ended.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(50));
                result = holder.is_used(key);
            }
            let _ = holder.release(key);
        });
        let ended = Arc::clone(&over);
        let rival = std::thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                match rival.take(key, 1) {
                    Ok(true) => {
                        // The rival works for a while, as if it were the holder.
                        for _ in 0..20 {
                            std::thread::park_timeout(Duration::from_millis(50));
                            let _ = rival.is_used(key);
                        }
                        let _ = rival.release(key);
                    }
                    Ok(false) | Err(Broken::Error(_)) => {}
                    Err(Broken::Gone) => return,
                }
            }
        });
        Some(Contest { holder, rival, over })
    }

    /// The next primary dies, and the one before it is the primary again, as it was.
    fn come_back(&mut self, granted: bool) -> (Duration, Duration) {
        let tail = now();
        let joined = |node: &Node| node.log().matches("joined another epoch").count();
        let before: Vec<usize> = self.clients.nodes.iter().map(joined).collect();
        let promoted = self.kill(&["crash"], tail);
        let followed = || self.clients.nodes.iter().zip(&before).all(|(n, b)| joined(n) > *b);
        let _ = within(self.lease, || followed().then_some(()));
        if granted {
            self.until_granted(promoted, promoted + self.lease.mul_f64(1.01));
            std::thread::park_timeout(Duration::from_secs(1));
        }
        let died = self.topology.writer();
        let promoted = self.kill(&["return"], tail);
        self.rejoin(vec![died]);
        (tail, promoted)
    }

    /// Waits until each proxy has granted a lock since the promotion, and says when it was. They may wait until the end of
    /// the grace.
    fn until_granted(&self, promoted: Duration, grace: Duration) -> Vec<Option<Duration>> {
        let history = &self.clients.place.history;
        let first = |proxy: usize| {
            let events = history.events();
            let later = events.grants.iter().filter(|g| g.proxy == proxy && g.at > promoted);
            later.map(|g| g.at).min()
        };
        let all = || (0..self.clients.nodes.len()).map(first).collect::<Vec<_>>();
        let limit = grace + SLACK;
        while now() < limit && all().iter().any(Option::is_none) {
            for node in self.clients.nodes.iter() {
                // One that ended by itself is a surprise, and is started again.
                node.keep_up();
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        let all = all();
        for (proxy, at) in all.iter().enumerate() {
            if at.is_none() {
                let waited = now().saturating_sub(promoted);
                history
                    .odd("", format!("proxy {proxy} grants nothing {waited:?} after a failover"));
            }
        }
        all
    }
}

impl Contest {
    pub(super) fn end(self) {
        self.over.store(true, Ordering::SeqCst);
        self.holder.join().expect("the holder");
        self.rival.join().expect("the rival");
    }
}
