//! How long a lock is on its way from a client that releases it to one that waits for it.

use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::client::{Account, Client, command};

/// Between whom a lock is handed over, and how often.
#[derive(Debug, Clone, Args)]
pub(crate) struct Handovers {
    /// Port on 127.0.0.1 of one client.
    #[arg(long)]
    port: u16,
    /// Port on 127.0.0.1 of the other one.
    #[arg(long)]
    other_port: u16,
    /// Hand-overs, in turn from one to the other and back.
    #[arg(long, default_value_t = 60)]
    count: u32,
    /// Milliseconds that the other one waits at least before the lock is released. Up to three
    /// times as long: a wait of one length could always meet the same moment between two polls.
    #[arg(long, default_value_t = 100)]
    waits: u32,
}

const GET: &str = "SELECT GET_LOCK('handed-over', 60)";
const RELEASE: &str = "SELECT RELEASE_LOCK('handed-over')";

/// Prints a line for each hand-over: microseconds from the reply to the release, and from the
/// release being sent, to the reply to the GET_LOCK that waits.
pub(crate) fn run(account: &Account, handovers: &Handovers) -> Result<()> {
    let (get, release) = (command(GET)?, command(RELEASE)?);
    let mut holder = Client::open(account, handovers.port).context("one client")?;
    let mut waiter = Client::open(account, handovers.other_port).context("the other client")?;
    holder.expect(&get, b"1")?;
    for n in 0..handovers.count {
        let [sent, released, got] = thread::scope(|scope| -> Result<_> {
            let waits = scope.spawn(|| waiter.expect(&get, b"1").map(|()| Instant::now()));
            #[expect(clippy::disallowed_methods, reason = "the load is to rest for a while")]
            thread::sleep(wait(handovers.waits, n));
            let sent = Instant::now();
            holder.expect(&release, b"1")?;
            let released = Instant::now();
            let got = waits.join().map_err(|_| anyhow!("a client panicked"))??;
            Ok([sent, released, got])
        })?;
        println!("{:.1}\t{:.1}", micros(released, got), micros(sent, got));
        mem::swap(&mut holder, &mut waiter);
    }
    holder.expect(&release, b"1")
}

/// From once to three times `least`, evenly spread by the golden ratio.
fn wait(least: u32, n: u32) -> Duration {
    let part = (f64::from(n) * 0.618_033_988_75).fract();
    Duration::from_secs_f64(f64::from(least) * (1.0 + 2.0 * part) / 1e3)
}

/// Less than nothing if `to` came first: the replies go to two clients.
fn micros(from: Instant, to: Instant) -> f64 {
    let seconds = |d: Duration| d.as_secs_f64() * 1e6;
    seconds(to.saturating_duration_since(from)) - seconds(from.saturating_duration_since(to))
}
