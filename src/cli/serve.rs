//! `lockstead serve`

use std::process::ExitCode;

use super::{Settings, failed, runtime, start_logs, usage};
use crate::app::App;

pub(super) fn run(settings: Settings) -> ExitCode {
    let plan = match settings.plan() {
        Ok(plan) => plan,
        Err(e) => return usage(&e),
    };
    if let Err(e) = start_logs(plan.process()) {
        return usage(&e);
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    let served = runtime.block_on(App::serve(plan));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => failed(&e),
    }
}
