//! Load for the lock benchmarks: clients that lock and unlock, hand a lock over, or only stay
//! connected.
//!
//! `cargo xtask bench` runs it against a server and against proxies, and reads what it prints.

mod client;
mod handover;
mod pairs;
mod sessions;
mod visits;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use client::Account;

/// Load for the lock benchmarks.
#[derive(Debug, Parser)]
#[command(name = "lockpairs")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
    #[command(flatten)]
    account: Account,
}

/// What the clients do.
#[derive(Debug, Subcommand)]
enum Task {
    /// GET_LOCK() and RELEASE_LOCK().
    Native(pairs::Load),
    /// INSERT into and DELETE from a table with a unique key.
    Plain(pairs::Load),
    /// A row, and COMMIT, under a lock that is held.
    Commits(pairs::Load),
    /// One row twice, each time with autocommit, under a lock that is held.
    Writes(pairs::Load),
    /// Log in, take some locks, then nothing until standard input ends.
    Idle(sessions::Sessions),
    /// Connect, ask, quit.
    Visits(visits::Visits),
    /// A client releases a lock that another one waits for.
    Handover(handover::Handovers),
}

fn run(arguments: &Arguments) -> Result<()> {
    let account = &arguments.account;
    match &arguments.task {
        Task::Native(load) => pairs::run(account, load, pairs::native, |_, _| Ok(())),
        Task::Plain(load) => pairs::run(account, load, pairs::plain, |_, _| Ok(())),
        Task::Commits(load) => pairs::run(account, load, pairs::commits, pairs::hold_open),
        Task::Writes(load) => pairs::run(account, load, pairs::writes, pairs::hold),
        Task::Idle(sessions) => sessions::keep(account, sessions),
        Task::Visits(visits) => visits::run(account, visits),
        Task::Handover(handovers) => handover::run(account, handovers),
    }
}

fn main() -> ExitCode {
    // Cargo runs benchmarks with arguments of its own, or with none: nothing to do without a
    // server.
    if !std::env::args().any(|a| a == "--port") {
        println!("lockpairs: run by cargo xtask bench");
        return ExitCode::SUCCESS;
    }
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("lockpairs: {e:#}");
            ExitCode::FAILURE
        }
    }
}
