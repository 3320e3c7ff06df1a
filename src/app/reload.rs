//! The configuration is read again: all of it or nothing, for new sessions.

use std::sync::Arc;

use tokio::signal::unix::Signal;

use super::{open_files, shared};
use crate::admin::Reloaded;
use crate::backend::learned::LearnedSecrets;
use crate::config::plan::NamedUsers;
use crate::config::{ConfigError, Plan, SettingChange};
use crate::frontend::shared::context::Context;
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

/// A listener that takes new settings.
pub(super) struct ReloadedListener {
    /// Name of the listener's cluster.
    cluster: Option<Arc<str>>,
    in_force: InForce,
    /// Passwords of its clients' accounts, if they share connections.
    secrets: Option<Arc<LearnedSecrets>>,
}

impl ReloadedListener {
    pub(super) fn of(context: &Context) -> Self {
        let secrets = context.shared.as_ref().map(|shared| Arc::clone(&shared.secrets));
        Self { cluster: context.cluster.clone(), in_force: context.in_force.clone(), secrets }
    }
}

/// The places that take new settings.
pub(super) struct Reload {
    pub(super) source: ConfigSource,
    /// Listeners of all clusters.
    pub(super) listeners: Vec<ReloadedListener>,
    /// Keys of the windows over HTTP.
    pub(super) keys: Option<Keys>,
}

impl Reload {
    /// Reads all again, and says what has changed.
    pub(super) fn run(&self) -> Reloaded {
        let plan = (self.source.read)().map_err(|e| e.to_string())?;
        let now: Vec<_> = self.listeners.iter().map(|l| l.in_force.config()).collect();
        let named = self.listeners.iter().zip(&now);
        let named: Vec<_> = named.map(|(l, now)| (l.cluster.as_deref(), &**now)).collect();
        let process = plan.process().clone();
        let users = plan.users();
        let (settings, mut changes) = plan.over(&named);
        let next: Result<Vec<_>, _> = self
            .listeners
            .iter()
            .zip(settings)
            .map(|(l, config)| Ok((&l.in_force, l.in_force.prepare(config)?)))
            .collect();
        let next = next.map_err(|e: TlsError| format!("TLS: {e}"))?;
        let keys = self.keys.as_ref().map(|keys| keys.again().map(|read| (keys, read)));
        let keys = keys.transpose().map_err(|e| e.to_string())?;
        (self.source.filter)(&process.log_level).map_err(|e| e.to_string())?;
        // Nothing is refused from here on.
        for (_, users) in &users {
            shared::warn_of(users);
        }
        for (listener, next) in next {
            listener.put(next);
        }
        self.give(&users, &mut changes);
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

impl Reload {
    /// Each listener has the passwords that are given now.
    fn give(&self, users: &[NamedUsers], changes: &mut Vec<SettingChange>) {
        for ReloadedListener { cluster, secrets, .. } in &self.listeners {
            let Some(secrets) = secrets else { continue };
            let of = users.iter().find(|(name, _)| name.as_deref() == cluster.as_deref());
            let given = secrets.give(of.map(|(_, users)| &users[..]).unwrap_or_default());
            let what = |name: &str| match cluster {
                Some(cluster) => format!("{cluster}: [[users]] {name}"),
                None => format!("[[users]] {name}"),
            };
            match given {
                Ok(all) => {
                    for (name, change) in all {
                        let change = SettingChange::of(&what(&name), change.word());
                        // Each listener of a cluster reports the same changes of accounts.
                        if !changes.contains(&change) {
                            changes.push(change);
                        }
                    }
                }
                Err(e) => tracing::error!(error = %e, "no memory for the passwords in [[users]]"),
            }
        }
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
