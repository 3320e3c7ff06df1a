//! `lockstead report`

mod tables;

use std::process::ExitCode;

use clap::Args;

use super::print::{print, print_line};
use super::process::{failed, usage};
use super::settings_args::SettingsArgs;
use super::terminal_text::safe;
use crate::cli::report::tables::Tables;
use crate::config::Plan;
use crate::observe::file::read;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
It reads the report in `state_dir`, which the running proxy writes every ten seconds. It uses only the settings `state_dir` and, if that is \"auto\", `listen`. docs/observe.md explains the output.

Exit status: 0 shown, 1 there is no report or it cannot be read, 2 wrong usage or configuration";

pub(super) fn run(Arguments { json, settings }: Arguments) -> ExitCode {
    let dir = match Plan::state_dir(
        settings.config.as_deref(),
        settings.raw,
        settings.cluster.as_deref(),
    ) {
        Ok(dir) => dir,
        Err(e) => return usage(&e),
    };
    let Some(dir) = dir else {
        eprintln!(
            "lockstead: `state_dir` gives no directory; use the one of the proxy that observes"
        );
        return ExitCode::from(2);
    };
    let report = match read(&dir) {
        Ok(Some(report)) => report,
        Ok(None) => {
            eprintln!(
                "lockstead: there is no report in the state directory {}; is it the proxy's, and does \
                 the proxy observe?",
                dir.display()
            );
            return ExitCode::FAILURE;
        }
        Err(e) => return failed(&e),
    };
    if json {
        match serde_json::to_string_pretty(&report) {
            Ok(text) => print_line(safe(&text)),
            Err(e) => return failed(&e),
        }
    } else {
        print(Tables(&report));
    }
    ExitCode::SUCCESS
}
