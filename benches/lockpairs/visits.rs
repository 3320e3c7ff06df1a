//! Clients that connect, ask one question and quit, so many a second.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde_json::json;

use crate::client::{Account, Client, command};

/// How many visits.
#[derive(Debug, Clone, Args)]
pub(crate) struct Visits {
    /// Port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// Visits in a second.
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// Seconds.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Visitors, who take turns.
    #[arg(long, default_value_t = 8)]
    clients: u32,
}

/// Each visit begins at a time of its own, or as soon as its visitor is back from the one before.
pub(crate) fn run(account: &Account, visits: &Visits) -> Result<()> {
    ensure!(visits.rate > 0 && visits.clients > 0, "no visits");
    let (all, began) = (visits.rate * visits.seconds, Instant::now());
    let visitors: Vec<_> = (0..visits.clients)
        .map(|first| {
            let (account, visits) = (account.clone(), visits.clone());
            thread::spawn(move || -> Result<Vec<u64>> {
                let select = command("SELECT 1")?;
                let mut took = Vec::new();
                for n in (first..all).step_by(visits.clients as usize) {
                    rest_until(began + Duration::from_secs(1) * n / visits.rate);
                    let start = Instant::now();
                    let mut client = Client::open(&account, visits.port)?;
                    client.expect(&select, b"1")?;
                    client.quit()?;
                    took.push(u64::try_from(start.elapsed().as_micros())?);
                }
                Ok(took)
            })
        })
        .collect();
    let mut took = Vec::new();
    for visitor in visitors {
        let Ok(some) = visitor.join() else {
            bail!("a visitor panicked");
        };
        took.extend(some?);
    }
    let rate = f64::from(all) / began.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 100);
    println!(
        "{}",
        json!({ "visits": all, "per_second": rate, "p50_us": at(50), "p99_us": at(99) })
    );
    Ok(())
}

fn rest_until(moment: Instant) {
    #[expect(clippy::disallowed_methods, reason = "the load comes at a steady rate")]
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}
