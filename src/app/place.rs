//! The state directory at the start.

use crate::config::{Config, StoreUrl};
use crate::private;
use crate::state::StateDir;

/// The state directory, if there can be one.
pub(super) fn open_state(config: &Config, store: &StoreUrl) -> Option<StateDir> {
    let Some(path) = config.state_dir.as_deref() else {
        tracing::info!(
            "no state directory: `state_dir` is off, or none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set; \
             a restart after a kill waits for the lease"
        );
        return None;
    };
    let opened = StateDir::open(path, &format!("{store:?}"))
        .inspect(|_| tracing::info!(path = %path.display(), "the state directory"))
        .inspect_err(|e| {
            tracing::warn!(error = %e, "no state directory: a restart after a kill waits for the lease");
        })
        .ok();
    if let Some(warning) = private::shared_folder(path) {
        tracing::warn!("{warning}");
    }
    opened
}
