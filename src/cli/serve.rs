//! `lockstead serve`

use std::process::ExitCode;

use super::logs;
use super::process::{failed, runtime, usage};
use super::settings_args::SettingsArgs;
use crate::app::{App, ConfigSource};
#[cfg(debug_assertions)]
use crate::mutants;
use crate::panics;

/// The arguments of `serve`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    settings: SettingsArgs,
    /// Sessions that share server connections give theirs away whenever they may
    #[cfg(debug_assertions)]
    #[arg(long, hide = true)]
    test_shuffle: bool,
}

pub(super) fn run(arguments: ServeArgs) -> ExitCode {
    #[cfg(debug_assertions)]
    if arguments.test_shuffle {
        mutants::shuffle();
    }
    let settings = arguments.settings;
    let again = settings.clone();
    let plan = match settings.plan() {
        Ok(plan) => plan,
        Err(e) => return usage(&e),
    };
    let filter = match logs::start(plan.process()) {
        Ok(filter) => filter,
        Err(e) => return usage(&e),
    };
    panics::log_all();
    if let Some(warning) = again.warning() {
        tracing::warn!("{warning}");
    }
    let source = ConfigSource { read: Box::new(move || again.clone().plan()), filter };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    let served = runtime.block_on(App::serve(plan, source));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) if e.is_of_settings() => usage(&e),
        Err(e) => failed(&e),
    }
}
