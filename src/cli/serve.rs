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

pub(super) fn run(arguments: ServeArgs) -> Result<(), ExitCode> {
    #[cfg(debug_assertions)]
    if arguments.test_shuffle {
        mutants::shuffle();
    }
    let settings = arguments.settings;
    let again = settings.clone();
    let plan = settings.plan().map_err(usage)?;
    let filter = logs::start(plan.process()).map_err(usage)?;
    panics::log_all();
    if let Some(warning) = again.warning() {
        tracing::warn!("{warning}");
    }
    let source = ConfigSource { read: Box::new(move || again.clone().plan()), filter };
    let runtime = runtime().map_err(failed)?;
    let served = runtime.block_on(App::serve(plan, source));
    served.map_err(|e| if e.is_of_settings() { usage(e) } else { failed(e) })
}
