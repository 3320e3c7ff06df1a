//! Lockstead's programs for development. `cargo xtask help` lists them; `make` has a target for each.
//!
//! The programs run against private servers and end whatever they started, however they end.

mod bench;
mod docs;
mod drivers;
mod map;
mod workplace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workplace::Workplace;

/// Lockstead's programs for development
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Measure Lockstead beside other proxies and the server itself
    Bench(bench::Options),
    /// Run every command that the documents show
    Docs(docs::Options),
    /// Compare client libraries at a server and through the proxy
    Drivers(drivers::Options),
    /// Print every source file with what it is about
    Map,
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Task::Bench(_) => "bench",
            Task::Docs(_) => "docs",
            Task::Drivers(_) => "drivers",
            Task::Map => "map",
        }
    }

    /// Where its temporary files are.
    fn folder(&self) -> PathBuf {
        match self {
            Task::Bench(_) => bench::folder(),
            Task::Docs(_) | Task::Drivers(_) | Task::Map => std::env::temp_dir(),
        }
    }

    fn run(&self, place: &Workplace) -> anyhow::Result<()> {
        match self {
            Task::Bench(options) => bench::run(place, options),
            Task::Docs(options) => docs::run(place, options),
            Task::Drivers(options) => drivers::run(place, options),
            Task::Map => map::run(place),
        }
    }
}

fn main() -> ExitCode {
    let task = Arguments::parse().task;
    let name = task.name();
    match Workplace::new(name, &task.folder()).and_then(|place| task.run(&place)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{name}: {e:#}");
            ExitCode::FAILURE
        }
    }
}
