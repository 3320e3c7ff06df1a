//! Sessions that do nothing, with locks or without, or that wait for one.

use std::io;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use lockstead_support::wire;
use serde_json::json;

use crate::client::{Account, Client, command};

/// How many sessions.
#[derive(Debug, Clone, Args)]
pub(crate) struct Sessions {
    /// Port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// Sessions.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Locks that each of them holds.
    #[arg(long, default_value_t = 0)]
    locks: usize,
    /// Further sessions, each of which waits for a lock of one of them.
    #[arg(long, default_value_t = 0)]
    waiters: usize,
    /// Further sessions without locks.
    #[arg(long, default_value_t = 0)]
    beside: usize,
    /// Further sessions without locks, over TLS.
    #[arg(long, default_value_t = 0)]
    encrypted: usize,
}

/// Opens sessions, says so, and keeps them until standard input ends.
pub(crate) fn keep(account: &Account, sessions: &Sessions) -> Result<()> {
    let select = command("SELECT 1")?;
    let open = |count: usize| -> Result<Vec<Client>> {
        let one = |n| -> Result<Client> {
            let mut client =
                Client::open(account, sessions.port).with_context(|| format!("session {n}"))?;
            client.expect(&select, b"1")?;
            Ok(client)
        };
        (0..count).map(one).collect()
    };
    let mut clients = open(sessions.clients)?;
    let _beside = open(sessions.beside)?;
    let mut encrypted = encrypted(account, sessions)?;
    let mut waiters = open(sessions.waiters)?;
    if sessions.locks > 0 {
        clients = lock(clients, sessions.locks)?;
        for (n, waiter) in waiters.iter_mut().enumerate() {
            let name = format!("held-{}-0", n % clients.len());
            waiter.ask(&command(&format!("SELECT GET_LOCK('{name}', 86400)"))?)?;
        }
    }
    println!("{}", json!({ "sessions": clients.len(), "locks": sessions.locks }));
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    // The sessions, and their locks, were all there until the end, or what was measured is not
    // what it is called.
    let (last, held): (_, &[u8]) = match sessions.locks {
        0 => (select.clone(), b"1"),
        _ => (command("SELECT RELEASE_ALL_LOCKS()")?, &sessions.locks.to_string().into_bytes()),
    };
    for client in &mut clients {
        client.expect(&last, held).context("an idle session")?;
    }
    for client in &mut encrypted {
        ensure!(client.ping().error().is_none(), "an idle session over TLS");
    }
    for waiter in &mut waiters {
        waiter.answered(b"1").context("a session that waits")?;
        waiter.expect(&command("SELECT RELEASE_ALL_LOCKS()")?, b"1")?;
    }
    Ok(())
}

/// Opens those over TLS.
fn encrypted(account: &Account, sessions: &Sessions) -> Result<Vec<wire::Client>> {
    let account = account.over_tls();
    let one = |n| -> Result<wire::Client> {
        let mut client = wire::Client::connect("127.0.0.1", sessions.port, &account)
            .with_context(|| format!("session {n} over TLS"))?;
        let answer = client.query(b"SELECT 1");
        ensure!(answer.error().is_none(), "session {n} over TLS: {answer:?}");
        Ok(client)
    };
    (0..sessions.encrypted).map(one).collect()
}

/// Every session takes its locks, all of them at once: one after the other it would take long.
fn lock(clients: Vec<Client>, locks: usize) -> Result<Vec<Client>> {
    let threads: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(session, mut client)| {
            thread::spawn(move || -> Result<Client> {
                for n in 0..locks {
                    let statement = command(&format!("SELECT GET_LOCK('held-{session}-{n}', 60)"))?;
                    client.expect(&statement, b"1")?;
                }
                Ok(client)
            })
        })
        .collect();
    let mut clients = Vec::with_capacity(threads.len());
    for thread in threads {
        let Ok(client) = thread.join() else {
            bail!("a session panicked");
        };
        clients.push(client?);
    }
    Ok(clients)
}
