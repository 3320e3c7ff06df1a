//! Connections are killed at random, and the server once, under transfers of money that locks guard.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::endings::until_it_has_run_a_while;
use super::ground::{Ground, Suited, Tenant, options};
use crate::own_server::{OwnServer, flavour_of};
use crate::script::Server;
use crate::script::server::Root;
use crate::session::Session;
use crate::stage::{PATIENCE, on_both};
use crate::wire::decode::text_row;
use crate::wire::{Account, Client, End, Kind};

on_both! {
    money_stays_what_it_is_in_a_storm_of_kills
}

const SESSIONS: u64 = 8;
const ACCOUNTS: usize = 3;
const MONEY: i64 = 1000;
/// How many seconds the storm lasts, unless the environment says otherwise.
const SECONDS: u64 = 10;

/// What a statement came to.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Value(Option<String>),
    Error(u16),
    /// The session has ended.
    Closed,
}

/// What is known of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Committed,
    RolledBack,
    Unknown,
}

/// What all have in common.
struct Storm {
    port: u16,
    account: Account,
    over: AtomicBool,
    /// The session that holds the lock of each account, as its client knows it.
    holders: Vec<AtomicU64>,
    committed: AtomicU64,
    rolled_back: AtomicU64,
    seed: u64,
}

impl Storm {
    fn count(&self, fate: Fate) {
        match fate {
            Fate::Committed => self.committed.fetch_add(1, Ordering::SeqCst),
            Fate::RolledBack => self.rolled_back.fetch_add(1, Ordering::SeqCst),
            Fate::Unknown => 0,
        };
    }

    fn has_seen_enough(&self) -> bool {
        self.committed.load(Ordering::SeqCst) > 50 && self.rolled_back.load(Ordering::SeqCst) > 5
    }
}

struct Worker {
    storm: Arc<Storm>,
    number: u64,
    session: Session,
    fates: BTreeMap<u64, Fate>,
    ended: u64,
}

impl Storm {
    fn log_in(&self) -> Session {
        crate::stage::eventually("a login", || {
            let mut client = Client::connect("127.0.0.1", self.port, &self.account).ok()?;
            client.patience = PATIENCE;
            client.login.succeeded().then_some(Session { client })
        })
    }
}

impl Worker {
    fn ask(&mut self, sql: &str) -> Said {
        let response = self.session.client.query(sql.as_bytes());
        match response.end {
            End::Closed => {
                self.ended += 1;
                self.session = self.storm.log_in();
                Said::Closed
            }
            End::Complete => {
                if let Some(code) = response.error() {
                    return Said::Error(code);
                }
                let row = response.packets.iter().find(|p| p.kind == Kind::TextRow);
                let row = row.and_then(|p| text_row(&p.payload));
                let value = row.and_then(|row| row.first().copied().flatten());
                Said::Value(value.map(|v| String::from_utf8_lossy(v).into_owned()))
            }
            End::WantsFile | End::TimedOut => {
                panic!("seed {}: no answer to {sql}: {response:?}", self.storm.seed)
            }
        }
    }

    /// Whether the session holds the lock, which it asks until it hears.
    fn holds(&mut self, of: usize) -> bool {
        let id = self.session.id().to_string();
        loop {
            match self.ask(&format!("SELECT IS_USED_LOCK('a{of}')")) {
                Said::Value(holder) => return holder == Some(id),
                Said::Closed => return false,
                Said::Error(_) => {}
            }
        }
    }

    /// Takes the lock of an account. Whether it has it.
    fn lock(&mut self, of: usize) -> bool {
        let has = match self.ask(&format!("SELECT GET_LOCK('a{of}', 5)")) {
            Said::Value(got) => got.as_deref() == Some("1"),
            Said::Closed => false,
            Said::Error(_) => self.holds(of),
        };
        if has {
            let before = self.storm.holders[of].swap(self.session.id(), Ordering::SeqCst);
            assert_eq!(before, 0, "seed {}: two sessions hold a{of}", self.storm.seed);
        }
        has
    }

    /// The lock is given back, or its session has ended.
    fn unlock(&mut self, of: usize, id: u64) {
        let before = self.storm.holders[of].swap(0, Ordering::SeqCst);
        assert_eq!(before, id, "seed {}: a{of} was another session's", self.storm.seed);
        while self.session.id() == id {
            match self.ask(&format!("SELECT RELEASE_LOCK('a{of}')")) {
                Said::Value(released) => {
                    // NULL: an earlier release was carried out whose answer was lost.
                    assert_ne!(released.as_deref(), Some("0"), "seed {}: a{of}", self.storm.seed);
                    return;
                }
                Said::Closed => return,
                Said::Error(_) if !self.holds(of) => return,
                Said::Error(_) => {}
            }
        }
    }

    /// Moves an amount from one account to another in a transaction.
    fn transfer(&mut self, id: u64, from: usize, to: usize, amount: i64) -> Fate {
        let mut read = |of: usize| match self.ask(&format!("SELECT money FROM a WHERE id={of}")) {
            Said::Value(Some(money)) => money.parse::<i64>().ok(),
            Said::Value(None) | Said::Error(_) | Said::Closed => None,
        };
        let (Some(a), Some(b)) = (read(from), read(to)) else { return Fate::RolledBack };
        for sql in [
            "BEGIN".to_owned(),
            format!("UPDATE a SET money={} WHERE id={from}", a - amount),
            format!("INSERT INTO ledger VALUES ({id},{from},{to},{amount})"),
            // This statement takes long enough to be met by a fault.
            format!("UPDATE a SET money={} WHERE id={to} AND SLEEP(0.01)=0", b + amount),
        ] {
            match self.ask(&sql) {
                Said::Value(_) => {}
                Said::Closed => return Fate::RolledBack,
                Said::Error(code) => {
                    assert_ne!(code, 1062, "seed {}: run twice: {sql}", self.storm.seed);
                    // Of a statement that another one interrupted, the transaction is open still.
                    if code != 1213 {
                        while !matches!(self.ask("ROLLBACK"), Said::Value(_) | Said::Closed) {}
                    }
                    return Fate::RolledBack;
                }
            }
        }
        match self.ask("COMMIT") {
            Said::Value(_) => Fate::Committed,
            Said::Error(1213) => Fate::RolledBack,
            Said::Error(_) => {
                while !matches!(self.ask("ROLLBACK"), Said::Value(_) | Said::Closed) {}
                Fate::Unknown
            }
            Said::Closed => Fate::Unknown,
        }
    }

    fn work(mut self) -> (BTreeMap<u64, Fate>, u64) {
        let mut random = StdRng::seed_from_u64(self.storm.seed ^ (self.number + 1));
        let mut n = 0;
        while !self.storm.over.load(Ordering::SeqCst) {
            let from = random.random_range(0..ACCOUNTS);
            let to = (from + random.random_range(1..ACCOUNTS)) % ACCOUNTS;
            let (first, second) = (from.min(to), from.max(to));
            let id = self.session.id();
            if !self.lock(first) {
                continue;
            }
            if !self.lock(second) {
                self.unlock(first, id);
                continue;
            }
            if self.session.id() == id {
                n += 1;
                let transfer = self.number * 1_000_000 + n;
                let fate = self.transfer(transfer, from, to, random.random_range(1..50));
                self.storm.count(fate);
                self.fates.insert(transfer, fate);
                // As long as the session is there, so are its locks.
                for of in [first, second] {
                    let kept = self.session.id() != id || self.holds(of) || self.session.id() != id;
                    assert!(kept, "seed {}: a{of} is lost", self.storm.seed);
                }
            }
            let now = self.session.id();
            for of in [second, first] {
                // The lock of a session that has ended is held until the server has done with it.
                let holder = self.storm.holders[of].load(Ordering::SeqCst);
                self.unlock(of, if now == id { id } else { holder });
            }
        }
        (self.fates, self.ended)
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Kills connections of the account, and once the server.
fn storm(own: &OwnServer, tenant: &Tenant, storm: &Storm) {
    let long = Duration::from_secs(number("LOCKSTEAD_STORM_SECONDS").unwrap_or(SECONDS));
    let mut random = StdRng::seed_from_u64(storm.seed);
    let begun = Instant::now();
    for phase in 0..2 {
        let mut root = own.server.root();
        root.run("SET lock_wait_timeout=1");
        let lasts = || {
            // On a busy machine it takes longer until enough has happened.
            let more = phase == 1 && !storm.has_seen_enough() && begun.elapsed() < long + PATIENCE;
            more || begun.elapsed() < long / 2 * (phase + 1)
        };
        while lasts() {
            let pause = |ms: u64| std::thread::park_timeout(Duration::from_millis(ms));
            // Nothing is committed meanwhile: the KILL meets a COMMIT.
            let holds_back = random.random_ratio(1, 10);
            if holds_back {
                root.try_run("FLUSH TABLES WITH READ LOCK");
                pause(random.random_range(1..20));
            }
            kill_one(&mut root, tenant, &mut random);
            if holds_back {
                root.try_run("UNLOCK TABLES");
            }
            pause(random.random_range(1..60));
        }
        if phase == 0 {
            own.kill();
            own.restart();
        }
    }
}

/// Kills a connection of the account: any, or one in the middle of a transaction.
fn kill_one(root: &mut Root, tenant: &Tenant, random: &mut StdRng) {
    let processes = root.processes();
    let mut find = format!("SELECT id FROM {processes} WHERE user='{}'", tenant.name);
    if random.random_ratio(1, 2) {
        find += " AND info LIKE 'UPDATE%'";
    }
    let mut ids = root.column(&find);
    if !ids.is_empty() {
        let id = ids.swap_remove(random.random_range(0..ids.len()));
        root.try_run(&format!("KILL {id}"));
    }
}

fn money_stays_what_it_is_in_a_storm_of_kills(server: &Server) {
    let seed = number("LOCKSTEAD_STORM_SEED").unwrap_or_else(rand::random);
    println!("LOCKSTEAD_STORM_SEED={seed}");
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    let ground = Ground::before(Suited::alone(&own), 3, &["--pool-wait", "20s"]);
    ground.create_table("a (id INT PRIMARY KEY, money INT NOT NULL)");
    ground.create_table("ledger (id INT PRIMARY KEY, payer INT, payee INT, amount INT)");
    let schema = &ground.tenant.database.name;
    for id in 0..ACCOUNTS {
        own.server.root().run(&format!("INSERT INTO {schema}.a VALUES ({id},{MONEY})"));
    }
    // With a question before each COMMIT, which connections are lost in as well.
    let fencing = format!("GRANT SELECT (k,tok,holder) ON {}.locks", ground.proxy.schema);
    own.server.root().run(&format!("{fencing} TO {}", ground.tenant.name));
    until_it_has_run_a_while(&own.server);
    let storm_of = Arc::new(Storm {
        port: ground.proxy.port,
        account: ground.tenant.account.clone(),
        over: AtomicBool::new(false),
        committed: AtomicU64::new(0),
        rolled_back: AtomicU64::new(0),
        holders: (0..ACCOUNTS).map(|_| AtomicU64::new(0)).collect(),
        seed,
    });
    let workers: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (storm, session) = (Arc::clone(&storm_of), storm_of.log_in());
            let worker = Worker { storm, number, session, fates: BTreeMap::new(), ended: 0 };
            std::thread::spawn(move || worker.work())
        })
        .collect();
    storm(&own, &ground.tenant, &storm_of);
    storm_of.over.store(true, Ordering::SeqCst);
    let mut fates = BTreeMap::new();
    let mut ended = 0;
    for worker in workers {
        let (own, sessions) = worker.join().expect("a worker");
        fates.extend(own);
        ended += sessions;
    }
    let of = |fate: Fate| {
        fates.iter().filter(|(_, f)| **f == fate).map(|(id, _)| *id).collect::<BTreeSet<u64>>()
    };
    let (committed, unknown) = (of(Fate::Committed), of(Fate::Unknown));
    let (done, lost) = (committed.len(), of(Fate::RolledBack).len());
    let told = ["unnoticed", "rolled_back", "unknown", "closed"].map(|outcome| {
        (
            outcome,
            ground.proxy.metric(&format!("lockstead_pool_lost_total{{outcome=\"{outcome}\"}}")),
        )
    });
    println!("lost connections: {told:?}");
    let fenced = ground.proxy.metric("lockstead_fenced_commits_total{result=\"fenced\"}");
    println!("{fenced} commits fenced");
    println!(
        "{done} committed, {lost} rolled back, {} unknown, {ended} sessions ended",
        unknown.len()
    );
    let mut root = own.server.root();
    let listed = root.column(&format!("SELECT id FROM {schema}.ledger"));
    let listed: BTreeSet<u64> = listed.iter().map(|id| id.parse().expect("a number")).collect();
    let missing: Vec<_> = committed.difference(&listed).collect();
    assert!(missing.is_empty(), "seed {seed}: committed, but not there: {missing:?}");
    let known: BTreeSet<u64> = committed.union(&unknown).copied().collect();
    let too_many: Vec<_> = listed.difference(&known).collect();
    assert!(too_many.is_empty(), "seed {seed}: rolled back, but there: {too_many:?}");
    let wrong = root.column(&format!(
        "SELECT CONCAT(id,' has ',money) FROM {schema}.a WHERE money<>{MONEY}\
         +(SELECT COALESCE(SUM(amount),0) FROM {schema}.ledger WHERE payee=a.id)\
         -(SELECT COALESCE(SUM(amount),0) FROM {schema}.ledger WHERE payer=a.id)"
    ));
    assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
    assert!(fenced > 50.0, "seed {seed}: {fenced} commits were fenced");
    assert!(storm_of.has_seen_enough(), "seed {seed}: {done} committed, {lost} rolled back");
    assert!(ended < 5, "seed {seed}: {ended} sessions have ended");
}
