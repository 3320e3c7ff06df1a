//! How subcommands run and end. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.

use std::fmt::Display;
use std::process::ExitCode;

use super::terminal_text::lines;

pub(super) fn usage(e: impl Display) -> ExitCode {
    eprintln!("lockstead: {}", lines(&e.to_string()));
    ExitCode::from(2)
}

pub(super) fn failed(e: impl Display) -> ExitCode {
    eprintln!("lockstead: {}", lines(&e.to_string()));
    ExitCode::FAILURE
}

pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
