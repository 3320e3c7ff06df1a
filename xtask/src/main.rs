//! Lockstead's programs for development. `cargo xtask help` lists them; `make` has a target for each.
//!
//! They run against private servers and end whatever they started, however they end.

mod docs;
mod drivers;
mod workplace;

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
    /// Run every command that the documents show
    Docs(docs::Options),
    /// Compare client libraries at a server and through the proxy
    Drivers(drivers::Options),
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Task::Docs(_) => "docs",
            Task::Drivers(_) => "drivers",
        }
    }

    fn run(&self, place: &Workplace) -> anyhow::Result<()> {
        match self {
            Task::Docs(options) => docs::run(place, options),
            Task::Drivers(options) => drivers::run(place, options),
        }
    }
}

fn main() -> ExitCode {
    let task = Arguments::parse().task;
    let name = task.name();
    match Workplace::new(name).and_then(|place| task.run(&place)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{name}: {e:#}");
            ExitCode::FAILURE
        }
    }
}
