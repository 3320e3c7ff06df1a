//! Clients: what each kind of them does again and again until the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::fleet::{Mode, Node};
use crate::history::{Fault, now};
use crate::session::{Broken, Place, Session};

/// Deadlocks between locks are errors within this time for exactly one of each cycle.
const DEADLOCKS_ARE_DETECTED: bool = true;
/// Far from both: what a busy machine takes to detect one, and `CYCLE_LIMIT`, if nothing does.
const AT_ONCE: Duration = Duration::from_secs(15);
/// The timeout of the sessions of a cycle, in seconds.
const CYCLE_LIMIT: u64 = 45;

/// Keys of counters.
pub(crate) const COUNTERS: usize = 6;
/// Keys that sessions with long histories share.
pub(crate) const SHARED: usize = 4;
/// Keys that are taken together, in any order.
pub(crate) const TOGETHER: usize = 3;

/// Keys of counters that only clients whose locks are the server's, too, use: some are no proxy's.
pub(crate) const NATIVE: usize = 3;

/// All keys that several clients use.
pub(crate) fn keys(proxies: usize) -> Vec<String> {
    let kinds = [
        ("counter", COUNTERS + NATIVE),
        ("shared", SHARED),
        ("together", TOGETHER),
        ("queue", proxies),
    ];
    kinds.iter().flat_map(|(kind, n)| (0..*n).map(move |n| format!("{kind} {n}"))).collect()
}

/// What all clients have.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) place: Place,
    pub(crate) nodes: Arc<Vec<Node>>,
    pub(crate) table: Arc<str>,
    /// The server's port, for clients that connect directly; `None` if there are none.
    pub(crate) direct: Option<u16>,
    pub(crate) end: Arc<AtomicBool>,
}

type Step = Result<(), Broken>;

/// A client and its luck.
pub(crate) struct Worker {
    client: Client,
    number: usize,
    random: StdRng,
}

impl Worker {
    pub(crate) fn new(client: &Client, number: usize, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed ^ (number as u64) << 32);
        Self { client: client.clone(), number, random }
    }

    /// Works until the end.
    pub(crate) fn work(mut self) {
        while !self.client.end.load(Ordering::SeqCst) {
            match self.number % 8 {
                0..=2 => self.with_session(50, Self::count),
                4 if self.client.direct.is_some() => {
                    let session = self.open_native();
                    self.with(session, 50, Self::count_native);
                }
                3 | 4 => self.with_session(50, Self::act),
                5 => self.with_session(20, Self::take_several),
                6 => self.vanish(),
                _ if self.number / 8 < self.client.nodes.len() => self.queue_up(),
                _ => self.vanish(),
            }
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    fn pause(&mut self, most: u64) {
        std::thread::park_timeout(Duration::from_millis(self.random.random_range(0..=most)));
    }

    fn open(&mut self) -> Option<Session> {
        let proxy = self.random.random_range(0..self.client.nodes.len());
        self.open_at(proxy)
    }

    fn open_at(&mut self, proxy: usize) -> Option<Session> {
        let session = Session::open(&self.client.place, proxy, self.client.nodes[proxy].port);
        if session.is_none() {
            self.pause(200);
        }
        session
    }

    /// A session whose locks are the server's, too: through a proxy, or not.
    fn open_native(&mut self) -> Option<Session> {
        let nodes = Arc::clone(&self.client.nodes);
        let proxies: Vec<usize> =
            (0..nodes.len()).filter(|n| nodes[*n].mode() == Mode::Coexist).collect();
        let proxy = self.random.random_range(0..=proxies.len());
        let session = match (proxies.get(proxy), self.client.direct) {
            (Some(proxy), _) => self.open_at(*proxy)?,
            (None, port) => Session::open(&self.client.place, usize::MAX, port?)?.without_rows(),
        };
        let database = self.client.table.split('.').next().unwrap_or_default();
        // The answer does not wait for the row for as long as the store may be away.
        let routine = format!("{database}.take");
        Some(if self.chance(30) { session.by_routine(routine).without_rows() } else { session })
    }

    /// Does the same again and again in a session, and ends it.
    fn with_session(&mut self, most: usize, step: fn(&mut Self, &mut Session) -> Step) {
        let session = self.open();
        self.with(session, most, step);
    }

    fn with(
        &mut self,
        session: Option<Session>,
        most: usize,
        step: fn(&mut Self, &mut Session) -> Step,
    ) {
        let Some(mut session) = session else { return };
        for _ in 0..self.random.random_range(1..most) {
            if self.client.end.load(Ordering::SeqCst) {
                break;
            }
            if step(self, &mut session).is_err() {
                return;
            }
        }
        self.leave(session);
    }

    fn leave(&mut self, session: Session) {
        match self.random.random_range(0..3) {
            0 => session.quit(),
            1 => session.hang_up(),
            _ => session.reset(),
        }
    }

    /// W1: reads a counter and writes one more, without a lock but ours.
    fn count(&mut self, session: &mut Session) -> Step {
        let n = self.random.random_range(0..COUNTERS);
        self.count_at(session, n)
    }

    /// Counts with clients that are no proxy's.
    fn count_native(&mut self, session: &mut Session) -> Step {
        let n = self.random.random_range(COUNTERS..COUNTERS + NATIVE);
        self.count_at(session, n)
    }

    fn count_at(&mut self, session: &mut Session, n: usize) -> Step {
        let key = format!("counter {n}");
        let limit = [0, 1, 3][self.random.random_range(0..3)];
        if !session.take(&key, limit)? {
            self.pause(20);
            return Ok(());
        }
        let table = self.client.table.clone();
        let transaction = self.chance(30);
        if self.chance(30) {
            // The holder before has left no transaction.
            let sql = format!("SELECT v FROM {table} WHERE k={n} FOR UPDATE NOWAIT");
            if let Err(e) = session.ask(&sql) {
                self.blocked(session, &key, e);
                return Err(e);
            }
        }
        if transaction {
            session.ask("BEGIN")?;
        }
        let mut increment = session.read_counter(&table, n)?;
        self.linger(session)?;
        let mut update = format!("UPDATE {table} SET v={} WHERE k={n}", increment.read + 1);
        if self.chance(4) {
            // The statement may outlive its proxy by more than a lease.
            update = format!("SELECT SLEEP({}); {update}", self.random.random_range(2..6));
        }
        if self.chance(5) {
            // Leaves in the middle: the server may do it or not.
            session.send(&update);
            self.client.place.history.events().increments.push(increment);
            return Err(Broken::Gone);
        }
        increment.sent = now();
        let written = session.ask(&update).map(|_| ());
        let written = match written {
            Ok(()) if transaction => {
                increment.sent = now();
                session.ask("COMMIT").map(|_| ())
            }
            written => written,
        };
        (increment.sure, increment.written) = (written.is_ok(), now());
        self.client.place.history.events().increments.push(increment);
        written?;
        self.linger(session)?;
        session.release(&key)
    }

    /// 3572 and 1205: another transaction has locked the row. After a restart it may be one that the
    /// server found in its log, and during a backup it is the read lock.
    fn blocked(&self, session: &Session, key: &str, e: Broken) {
        if let Broken::Error(code @ (1205 | 3572)) = e {
            let to = now();
            let from = to.saturating_sub(Duration::from_secs(20));
            let events = self.client.place.history.events();
            let excuses =
                |f: &Fault| matches!(f.kind, "restart" | "backup") && f.from <= to && f.to >= from;
            let was_hit = events.faults.iter().any(excuses);
            drop(events);
            if !was_hit {
                let what = format!(
                    "session {} has the lock, and a transaction the row: error {code}",
                    session.number
                );
                self.client.place.history.odd(key, what);
            }
        }
    }

    /// Goes on holding, now and then beyond a lease.
    fn linger(&mut self, session: &mut Session) -> Step {
        let (times, most) = match self.random.random_range(0..100) {
            0 => (40, 200),
            // Without a pause.
            1..4 => (300, 0),
            4..25 => (4, 10),
            _ => (0, 0),
        };
        for _ in 0..times {
            session.ask("SELECT 1")?;
            self.pause(most);
            if self.client.end.load(Ordering::SeqCst) {
                break;
            }
        }
        Ok(())
    }

    /// W3: anything at all, on shared names and on one of its own.
    fn act(&mut self, session: &mut Session) -> Step {
        let key = if self.chance(25) {
            format!("own {}", session.number)
        } else {
            format!("shared {}", self.random.random_range(0..SHARED))
        };
        match self.random.random_range(0..100) {
            0..40 => {
                let fresh = !session.holds(&key);
                let limit = self.random.random_range(0..2);
                if session.get(&key, limit)? && fresh {
                    session.read_token(&key)?;
                }
                Ok(())
            }
            40..70 => session.release(&key),
            70..76 => session.release_all(),
            76..88 => session.is_free(&key),
            _ => session.is_used(&key),
        }
    }

    /// W5: several names in any order, so that clients wait in circles.
    fn take_several(&mut self, session: &mut Session) -> Step {
        let mut order: Vec<usize> = (0..TOGETHER).collect();
        order.swap(0, self.random.random_range(0..TOGETHER));
        order.swap(1, self.random.random_range(1..TOGETHER));
        order.truncate(self.random.random_range(2..=TOGETHER));
        for n in order {
            if !session.take(&format!("together {n}"), 1)? {
                break;
            }
        }
        session.ask("SELECT 1")?;
        session.release_all()?;
        if DEADLOCKS_ARE_DETECTED && self.chance(20) {
            self.cycle();
        }
        Ok(())
    }

    /// Two sessions wait for each other: one of them learns of it at once, the other gets the lock.
    fn cycle(&mut self) {
        let (Some(mut a), Some(mut b)) = (self.open(), self.open()) else { return };
        // One waits at the server, the other does not: nobody sees the circle.
        if self.client.nodes[a.proxy].mode() != self.client.nodes[b.proxy].mode() {
            return;
        }
        let (one, two) = (format!("cycle {}", a.number), format!("cycle {}", b.number));
        if a.take(&one, 0) != Ok(true) || b.take(&two, 0) != Ok(true) {
            return;
        }
        let from = now();
        let (at_a, at_b) = (a.ask_for(&two, CYCLE_LIMIT), b.ask_for(&one, CYCLE_LIMIT));
        // A thread of its own for each, since nobody knows who hears first.
        let (lost_a, lost_b) = std::thread::scope(|scope| {
            let loses = |session: Session, key: String, sent| {
                scope.spawn(move || {
                    let mut session = session;
                    let lost = !session.hear(&key, CYCLE_LIMIT, sent).unwrap_or(false);
                    (lost, now())
                })
            };
            let (a, b) = (loses(a, two, at_a), loses(b, one.clone(), at_b));
            (a.join().expect("a"), b.join().expect("b"))
        });
        let late = [lost_a, lost_b].iter().any(|(_, at)| *at > from + AT_ONCE);
        if lost_a.0 == lost_b.0 || late {
            let events = self.client.place.history.events();
            let troubled = crate::check::troubled(&events.faults, from, now());
            drop(events);
            if !troubled {
                self.client.place.history.odd(&one, "a cycle did not lose exactly one, at once");
            }
        }
    }

    /// W6: takes a lock and vanishes.
    fn vanish(&mut self) {
        let Some(mut session) = self.open() else { return };
        let n = self.random.random_range(0..COUNTERS);
        let key = format!("counter {n}");
        let table = self.client.table.clone();
        if self.chance(15) {
            // In the middle of a wait.
            session.ask_for(&key, 30);
            self.pause(300);
            return self.leave(session);
        }
        if session.take(&key, 2) != Ok(true) || self.linger(&mut session).is_err() {
            return;
        }
        match self.random.random_range(0..5) {
            0 => {
                // By its own hand, in the middle of a transaction that takes long to roll back.
                let ballast = table.replace("counters", "ballast");
                let _ = session.ask("BEGIN");
                let _ = session.ask(&format!("UPDATE {table} SET w=w+1 WHERE k={n}"));
                let _ = session.ask(&format!(
                    "UPDATE {ballast} SET v='changed' WHERE k={n} AND id BETWEEN 1 AND 4096"
                ));
                let id = session.conn;
                let _ = session.ask(&format!("KILL {id}"));
            }
            1 => {
                // Half open: the client sends nothing more until the server's wait_timeout, a second, has ended the
                // session. Time itself is meant: under faults nothing says that it has.
                let _ = session.ask("SET SESSION wait_timeout=1");
                std::thread::park_timeout(Duration::from_millis(2500));
            }
            2 => {
                // With a write under way, which comes while the lock is held or never.
                let Ok(increment) = session.read_counter(&table, n) else { return };
                let next = increment.read + 1;
                self.client.place.history.events().increments.push(increment);
                session
                    .send(&format!("SELECT SLEEP(0.3); UPDATE {table} SET v={next} WHERE k={n}"));
                self.leave(session);
            }
            _ => self.leave(session),
        }
    }

    /// W4: sessions queue up at one proxy, and tell in which order they were served.
    fn queue_up(&mut self) {
        const LIMIT: u64 = 20;
        self.pause(300);
        let proxy = self.number / 8 % self.client.nodes.len();
        // There the server has the queue.
        if self.client.nodes[proxy].mode() == Mode::Coexist {
            return self.vanish();
        }
        let key = format!("queue {proxy}");
        let Some(mut first) = self.open_at(proxy) else { return };
        let sessions: Vec<Session> = (0..4).filter_map(|_| self.open_at(proxy)).collect();
        let from = now();
        if first.take(&key, 0) != Ok(true) {
            return;
        }
        let mut waiting = Vec::new();
        for mut session in sessions {
            let sent = session.ask_for(&key, LIMIT);
            waiting.push((session, sent));
            // The one thread of the relay has seen the request before these.
            for _ in 0..2 {
                if first.is_free(&key).is_err() {
                    return;
                }
            }
        }
        if first.release(&key).is_err() {
            return;
        }
        let tokens: Vec<Option<u64>> = std::thread::scope(|scope| {
            let all: Vec<_> = waiting
                .into_iter()
                .map(|(mut session, sent)| {
                    let key = &key;
                    scope.spawn(move || {
                        let token = match session.hear(key, LIMIT, sent) {
                            Ok(true) => session.read_token(key),
                            _ => return None,
                        };
                        let _ = session.release(key);
                        token.ok().flatten()
                    })
                })
                .collect();
            all.into_iter().map(|t| t.join().expect("a waiter")).collect()
        });
        let queue = crate::history::Queue { key, from, to: now(), tokens };
        self.client.place.history.events().queues.push(queue);
    }
}
