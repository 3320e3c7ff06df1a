//! Every script, sent to the server directly and through the proxy: the answers must be equal.
//!
//! A file in `tests/it/scripts` is a test for each server, and one more for each further pass that
//! its header names: `differential::mysql::waits`, `differential::mysql::waits::over_tls`. Those in
//! `later/` say what the proxy does not cover yet, and run on the server alone.
//! Those in `pooling/` are about what a session keeps, whichever server connection serves it:
//! `differential::pooling::mysql::schemas`. In the slow pass `shuffled` each of these is on one of
//! the servers.
//!
//! `LOCKSTEAD_DIFF_SELF=1` compares the server with itself, which proves the scripts
//! deterministic. `LOCKSTEAD_DIFF_EXTRA` holds further arguments for the proxy.
//! `LOCKSTEAD_DIFF_EVERY=1` puts every script into every pass, on both servers. `LOCKSTEAD_DIFF_LATER=proxy` sends
//! the later scripts through the proxy, and tells which of them could move up.
//! `LOCKSTEAD_DIFF_SHOW=1` prints what the server says itself.

mod comparison;
mod header;
#[cfg(feature = "mutants")]
mod mutants;
mod pass;
mod scripts;

/// What the other tests have as well.
#[path = "../it"]
#[allow(dead_code, unused_imports, unused_macros, reason = "it has more than is needed here")]
mod shared {
    pub(crate) mod own_server;
    pub(crate) mod proxy;
    pub(crate) mod script;
}
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory as _, FromArgMatches as _};
use libtest_mimic::{Arguments, Trial};
use lockstead_support::wire;
use shared::{own_server, proxy, script};

use crate::pass::Proxies;

fn main() -> ExitCode {
    let (arguments, filters) = arguments();
    let proxies = Arc::new(Proxies::default());
    let mut trials = scripts::trials(&proxies);
    trials.extend(comparison::trials());
    #[cfg(feature = "mutants")]
    trials.extend(mutants::trials());
    let chosen = |trial: &Trial| {
        let fits =
            |f: &String| if arguments.exact { trial.name() == f } else { trial.name().contains(f) };
        filters.is_empty() || filters.iter().any(fits)
    };
    trials.retain(chosen);
    let conclusion = libtest_mimic::run(&arguments, trials);
    let proxies = Arc::into_inner(proxies).expect("the trials are over");
    if conclusion.has_failed() {
        return conclusion.exit_code();
    }
    proxies.assert_nothing_is_left();
    conclusion.exit_code()
}

/// The arguments, and the filters apart: there may be several, as for the other tests, where the
/// library knows one.
fn arguments() -> (Arguments, Vec<String>) {
    let command = Arguments::command().mut_arg("filter", |filter| filter.num_args(0..));
    let matches = command.get_matches();
    let mut arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    arguments.filter = None;
    let filters = matches.get_many("filter").into_iter().flatten().cloned().collect();
    (arguments, filters)
}
