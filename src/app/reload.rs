//! The configuration is read again: all of it or nothing, for new sessions.

use std::sync::Arc;

use tokio::signal::unix::Signal;

use super::open_files;
use crate::admin::Reloaded;
use crate::config::{ConfigError, Plan, SettingChange};
use crate::frontend::shared::live_config::InForce;
use crate::http::Keys;
use crate::net::certificates::TlsError;

/// Lets logs through by another filter.
pub type SetFilter = Box<dyn Fn(&str) -> Result<(), ConfigError> + Send + Sync>;

/// Where the settings come from, now and later.
pub struct ConfigSource {
    /// Reads file, environment and flags, as at the start.
    pub read: Box<dyn Fn() -> Result<Plan, ConfigError> + Send + Sync>,
    /// Lets logs through by another filter.
    pub filter: SetFilter,
}

/// The places that take new settings.
pub(super) struct Reload {
    pub(super) source: ConfigSource,
    /// Each listener, with its cluster's name.
    pub(super) listeners: Vec<(Option<Arc<str>>, InForce)>,
    /// Of the windows.
    pub(super) keys: Option<Keys>,
}

impl Reload {
    /// Reads all again, and says what has changed.
    pub(super) fn run(&self) -> Reloaded {
        let plan = (self.source.read)().map_err(|e| e.to_string())?;
        let now: Vec<_> = self.listeners.iter().map(|(_, listener)| listener.config()).collect();
        let named = self.listeners.iter().zip(&now);
        let named: Vec<_> = named.map(|((name, _), now)| (name.as_deref(), &**now)).collect();
        let process = plan.process().clone();
        let (settings, mut changes) = plan.over(&named);
        let next: Result<Vec<_>, _> = self
            .listeners
            .iter()
            .zip(settings)
            .map(|((_, listener), config)| Ok((listener, listener.prepare(config)?)))
            .collect();
        let next = next.map_err(|e: TlsError| format!("TLS: {e}"))?;
        let keys = self.keys.as_ref().map(|keys| keys.again().map(|read| (keys, read)));
        let keys = keys.transpose().map_err(|e| e.to_string())?;
        (self.source.filter)(&process.log_level).map_err(|e| e.to_string())?;
        // Nothing is refused from here on.
        for (listener, next) in next {
            listener.put(next);
        }
        if let Some((keys, read)) = keys {
            keys.put(read);
        }
        if let Some(warning) = open_files::raise(&process) {
            tracing::warn!("{warning}");
        }
        if changes.is_empty() {
            changes.push(SettingChange::of("configuration", "unchanged"));
        }
        changes.push(SettingChange::of("certificates", "read again"));
        Ok(changes)
    }
}

/// Reads again at each SIGHUP.
pub(super) async fn when_told(reload: Arc<dyn Fn() -> Reloaded + Send + Sync>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        match reload() {
            Ok(changes) => {
                for SettingChange { what, result, .. } in changes {
                    tracing::info!("{what}: {result}");
                }
            }
            Err(e) => {
                tracing::error!(error = %e, "the settings were not read: nothing was changed");
            }
        }
    }
}
