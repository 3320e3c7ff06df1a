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

pub(super) fn run(Arguments { json, settings }: Arguments) -> Result<(), ExitCode> {
    let SettingsArgs { config, cluster, raw } = settings;
    let dir = Plan::state_dir(config.as_deref(), raw, cluster.as_deref()).map_err(usage)?;
    let dir = dir.ok_or_else(|| {
        usage("`state_dir` gives no directory; use the one of the proxy that observes")
    })?;
    let Some(report) = read(&dir).map_err(failed)? else {
        eprintln!(
            "lockstead: there is no report in the state directory {}; is it the proxy's, and does \
             the proxy observe?",
            dir.display()
        );
        return Err(ExitCode::FAILURE);
    };
    if json {
        print_line(safe(&serde_json::to_string_pretty(&report).map_err(failed)?));
    } else {
        print(Tables(&report));
    }
    Ok(())
}
