//! Clients that hold locks for long enough to see their primary die, work under them, and go on after errors that leave
//! them their session. Some of them never pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::fleet::Node;
use crate::history::now;
use crate::session::{Broken, Place, Session};
use crate::workers::{COUNTERS, NATIVE};

/// One client of so many works without pauses.
const BUSY: usize = 4;

/// What all clients have.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) place: Place,
    pub(crate) nodes: Arc<Vec<Node>>,
    pub(crate) table: Arc<str>,
    pub(crate) end: Arc<AtomicBool>,
    /// What is granted now is lost with the primary.
    pub(crate) tail: Arc<AtomicBool>,
}

/// One of them, and its luck.
pub(crate) struct Holder {
    all: Clients,
    random: StdRng,
    /// While it holds a lock, each statement follows the answer to the one before.
    busy: bool,
}

/// Only a session that is over cannot go on. Errors that say so: it was fenced, or its proxy ends.
pub(crate) fn outlive(broken: Broken) -> Result<(), Broken> {
    match broken {
        Broken::Gone | Broken::Error(4031 | 1053) => Err(broken),
        Broken::Error(_) => Ok(()),
    }
}

impl Holder {
    pub(crate) fn new(all: &Clients, number: usize, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed ^ (number as u64) << 32);
        Self { all: all.clone(), random, busy: number.is_multiple_of(BUSY) }
    }

    fn is_over(&self) -> bool {
        self.all.end.load(Ordering::SeqCst)
    }

    fn pause(&mut self, ms: std::ops::Range<u64>) {
        std::thread::park_timeout(Duration::from_millis(self.random.random_range(ms)));
    }

    /// Works until the end.
    pub(crate) fn work(mut self) {
        while !self.is_over() {
            let proxy = self.random.random_range(0..self.all.nodes.len());
            let port = self.all.nodes[proxy].port;
            let Some(mut session) = Session::open(&self.all.place, proxy, port) else {
                self.pause(0..300);
                continue;
            };
            for _ in 0..self.random.random_range(1..30) {
                if self.is_over() || self.step(&mut session).is_err() {
                    break;
                }
            }
            session.quit();
        }
    }

    /// Takes a lock, holds it for a while, and releases it.
    fn step(&mut self, session: &mut Session) -> Result<(), Broken> {
        let n = self.random.random_range(0..COUNTERS + NATIVE);
        let key = format!("counter {n}");
        let limit = [0, 1, 3][self.random.random_range(0..3)];
        match session.get(&key, limit) {
            Ok(true) => {}
            Ok(false) => {
                session.is_free(&key).or_else(outlive)?;
                self.pause(20..200);
                return Ok(());
            }
            Err(broken) => return outlive(broken),
        }
        if let Err(broken) = session.read_token(&key) {
            outlive(broken)?;
        }
        // Short ones, so that there are grants in each tail, and long ones. Those of the tail are to be missed.
        let long = self.all.tail.load(Ordering::SeqCst) || self.random.random_range(0..4) == 0;
        let ms = if long { 3000..10_000 } else { 50..1000 };
        let until = now() + Duration::from_millis(self.random.random_range(ms));
        while now() < until && !self.is_over() {
            let counts = self.random.random_range(0..10) < 3;
            let done = if counts { self.count(session, n) } else { session.is_used(&key) };
            done.or_else(outlive)?;
            if !self.busy {
                self.pause(20..250);
            }
        }
        // After an error nobody knows whether it is held.
        session.release(&key)
    }

    /// Reads a counter and writes one more, now and then in a transaction.
    fn count(&mut self, session: &mut Session, n: usize) -> Result<(), Broken> {
        let transaction = self.random.random_range(0..3) == 0;
        if transaction {
            session.ask("BEGIN")?;
        }
        let result = self.add(session, n, transaction);
        if transaction && result.is_err() {
            // Most errors here end the transaction, but not all.
            session.ask("ROLLBACK")?;
        }
        result
    }

    fn add(&mut self, session: &mut Session, n: usize, commit: bool) -> Result<(), Broken> {
        let table = self.all.table.clone();
        let mut increment = session.read_counter(&table, n)?;
        self.pause(0..100);
        let next = increment.read + 1;
        increment.sent = now();
        let mut written = session.ask(&format!("UPDATE {table} SET v={next} WHERE k={n}"));
        if commit && written.is_ok() {
            increment.sent = now();
            written = session.ask("COMMIT");
        }
        (increment.sure, increment.written) = (written.is_ok(), now());
        self.all.place.history.events().increments.push(increment);
        written.map(drop)
    }
}
