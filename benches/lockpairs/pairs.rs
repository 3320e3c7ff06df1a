//! Pairs of lock and unlock, as many as the clients get done.
//!
//! Few threads wait for many clients, and serve those whose replies are there. With a thread for each of 1,024 clients,
//! the load took four times the processor time for a pair, and left less of it to what is measured. A thread with one
//! client blocks in its reads.

use std::fs::read_to_string;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use serde_json::json;

use crate::client::{Account, Client, command};

/// How much load, and for how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct Load {
    /// Port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// Clients, each with a connection of its own.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Threads that they are spread over.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// All of them want one name, instead of each its own.
    #[arg(long)]
    hot: bool,
    /// Seconds that are measured.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds of the same load before that.
    #[arg(long, default_value_t = 1.0)]
    warmup: f64,
    /// Milliseconds that a client rests before each statement.
    #[arg(long, default_value_t = 0)]
    pause: u64,
    /// Distinguishes the names of several runs.
    #[arg(long, default_value = "bench")]
    prefix: String,
}

/// The two statements of a pair, and the value that each must return.
type Pair = [(Vec<u8>, &'static [u8]); 2];

/// The lock functions.
pub(crate) fn native(name: &str) -> Result<Pair> {
    Ok([
        (command(&format!("SELECT GET_LOCK('{name}', 60)"))?, b"1"),
        (command(&format!("SELECT RELEASE_LOCK('{name}')"))?, b"1"),
    ])
}

/// A lock of the kind that applications make for themselves.
pub(crate) fn plain(name: &str) -> Result<Pair> {
    let insert = format!(
        "INSERT INTO plain_locks (name, owner, since) VALUES ('{name}', CONNECTION_ID(), NOW(3))"
    );
    let delete = format!("DELETE FROM plain_locks WHERE name = '{name}'");
    Ok([(command(&insert)?, b""), (command(&delete)?, b"")])
}

/// A transaction of one row, under a lock that the client has taken before.
pub(crate) fn commits(name: &str) -> Result<Pair> {
    Ok([(write(name)?, b""), (command("COMMIT")?, b"")])
}

/// Two writes of the row, each with autocommit, under such a lock.
pub(crate) fn writes(name: &str) -> Result<Pair> {
    Ok([(write(name)?, b""), (write(name)?, b"")])
}

fn write(name: &str) -> Result<Vec<u8>> {
    command(&format!(
        "INSERT INTO commits (name, n) VALUES ('{name}', 1) ON DUPLICATE KEY UPDATE n = n + 1"
    ))
}

/// Has a client hold a lock.
pub(crate) fn hold(client: &mut Client, name: &str) -> Result<()> {
    client.expect(&command(&format!("SELECT GET_LOCK('{name}', 60)"))?, b"1")
}

/// Holds a lock; the client's transactions stay open until it commits.
pub(crate) fn hold_open(client: &mut Client, name: &str) -> Result<()> {
    hold(client, name)?;
    client.expect(&command("SET autocommit=0")?, b"")
}

/// What a client measured.
#[derive(Default)]
struct Measured {
    /// How long both statements of its pairs took, in nanoseconds. The last pair may have ended
    /// after the time was up: without it, one that takes very long would go unseen.
    pairs: Vec<[u64; 2]>,
    /// How many of them ended in time.
    in_time: usize,
    /// Those of the warm-up.
    before: usize,
    /// Processor time it took itself, in nanoseconds, where the kernel counts it.
    processor: Option<u64>,
}

/// A client, and where in its pair it is.
struct Worker {
    client: Client,
    statements: Pair,
    /// The statement under way.
    at: usize,
    sent: Instant,
    took: [u64; 2],
}

impl Worker {
    fn send(&mut self, pause: u64) -> Result<()> {
        if pause > 0 {
            #[expect(clippy::disallowed_methods, reason = "the load is to rest for a while")]
            thread::sleep(Duration::from_millis(pause));
        }
        self.sent = Instant::now();
        self.client.ask(&self.statements[self.at].0)
    }

    /// Reads the reply; when a pair is done, how long its statements took.
    fn receive(&mut self) -> Result<(Instant, Option<[u64; 2]>)> {
        self.client.answered(self.statements[self.at].1)?;
        let now = Instant::now();
        self.took[self.at] = u64::try_from((now - self.sent).as_nanos())?;
        self.at ^= 1;
        Ok((now, (self.at == 0).then_some(self.took)))
    }
}

/// Waits for replies to several clients.
struct Replies {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Replies {
    fn to(workers: &[Worker]) -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (n, worker) in workers.iter().enumerate() {
            let data = EventData::new_u64(u64::try_from(n)?);
            epoll::add(&epoll, worker.client.socket(), data, EventFlags::IN)?;
        }
        Ok(Self { epoll, events: Vec::with_capacity(workers.len()) })
    }

    /// Those whose replies are there.
    fn wait(&mut self) -> Result<impl Iterator<Item = usize> + '_> {
        self.events.clear();
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), None)?;
        Ok(self.events.iter().filter_map(|event| usize::try_from(event.data.u64()).ok()))
    }
}

fn work(load: &Load, mut workers: Vec<Worker>, start: &Barrier) -> Result<Measured> {
    let replies = Replies::to(&workers);
    // Every thread passes here, or the others would wait for ever.
    start.wait();
    let mut replies = replies?;
    let warm = Instant::now() + Duration::from_secs_f64(load.warmup);
    let end = warm + Duration::from_secs_f64(load.seconds);
    let mut measured = Measured::default();
    let mut processor = own_time();
    let mut warming = true;
    for worker in &mut workers {
        worker.send(load.pause)?;
    }
    let mut running = workers.len();
    let mut ready = vec![0];
    while running > 0 {
        if workers.len() > 1 {
            ready.clear();
            ready.extend(replies.wait()?);
        }
        for worker in &ready {
            let worker = &mut workers[*worker];
            let (done, pair) = worker.receive()?;
            if warming && done >= warm {
                warming = false;
                processor = own_time();
            }
            // One that began before the measurement and ends in it counts: as many are cut off
            // at its end, and a long one must be seen.
            match pair {
                Some(took) if done >= warm => {
                    measured.pairs.push(took);
                    measured.in_time += usize::from(done <= end);
                }
                Some(_) => measured.before += 1,
                None => {}
            }
            if pair.is_some() && done >= end {
                running -= 1;
            } else {
                worker.send(load.pause)?;
            }
        }
    }
    measured.processor = own_time().zip(processor).map(|(now, then)| now - then);
    Ok(measured)
}

fn own_time() -> Option<u64> {
    let text = read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Runs the load and prints one line of JSON.
pub(crate) fn run(
    account: &Account,
    load: &Load,
    statements: fn(&str) -> Result<Pair>,
    prepare: fn(&mut Client, &str) -> Result<()>,
) -> Result<()> {
    let threads = load.threads.clamp(1, load.clients.max(1));
    ensure!(load.pause == 0 || load.clients <= threads, "one client's rest would hold up others");
    let mut groups: Vec<Vec<Worker>> = (0..threads).map(|_| Vec::new()).collect();
    // One after the other: a thousand logins at once would overflow the queue of the listener.
    for number in 0..load.clients {
        let name = if load.hot { "hot".to_owned() } else { number.to_string() };
        let mut client =
            Client::open(account, load.port).with_context(|| format!("client {number}"))?;
        let name = format!("{}-{name}", load.prefix);
        prepare(&mut client, &name)?;
        let statements = statements(&name)?;
        let worker = Worker { client, statements, at: 0, sent: Instant::now(), took: [0; 2] };
        groups[number % threads].push(worker);
    }
    let start = Arc::new(Barrier::new(threads));
    let threads: Vec<_> = groups
        .into_iter()
        .map(|workers| {
            let (load, start) = (load.clone(), Arc::clone(&start));
            thread::Builder::new()
                .stack_size(256 * 1024)
                .spawn(move || work(&load, workers, &start))
        })
        .collect::<io::Result<_>>()?;
    let mut all = Measured { processor: Some(0), ..Measured::default() };
    for thread in threads {
        let Ok(measured) = thread.join() else {
            bail!("a client panicked");
        };
        let measured = measured?;
        all.pairs.extend(measured.pairs);
        all.in_time += measured.in_time;
        all.before += measured.before;
        all.processor = all.processor.zip(measured.processor).map(|(a, b)| a + b);
    }
    ensure!(!all.pairs.is_empty(), "no pair was finished in time");
    report(load, &all);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
fn report(load: &Load, all: &Measured) {
    let mut pairs: Vec<u64> = all.pairs.iter().map(|[lock, unlock]| lock + unlock).collect();
    let mut statements = all.pairs.concat();
    pairs.sort_unstable();
    statements.sort_unstable();
    let at =
        |sorted: &[u64], percent: usize| sorted[(sorted.len() - 1) * percent / 100] as f64 / 1e3;
    let count = pairs.len() as f64;
    let line = json!({
        "clients": load.clients,
        // All that were run: what a server counts is divided by this.
        "pairs": pairs.len() + all.before,
        "pairs_per_second": all.in_time as f64 / load.seconds,
        "mean_us": pairs.iter().sum::<u64>() as f64 / 1e3 / count,
        "p50_us": at(&pairs, 50),
        "p99_us": at(&pairs, 99),
        "max_us": at(&pairs, 100),
        "statement_p50_us": at(&statements, 50),
        "driver_us_per_pair": all.processor.map(|p| p as f64 / 1e3 / count),
    });
    println!("{line}");
}
