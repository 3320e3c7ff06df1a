//! The settings of a listener that are in force: each new session takes those of its moment.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::leg_options::Hops;
use crate::config::Config;
use crate::net::certificates::TlsError;

#[derive(Debug)]
struct SettingsNow {
    config: Arc<Config>,
    hops: Arc<Hops>,
}

/// Shared by all who ask, and changed for all at once.
#[derive(Debug, Clone)]
pub struct InForce(Arc<ArcSwap<SettingsNow>>);

/// SettingsNow that are good to be put in force: their certificates have been read.
#[derive(Debug)]
pub struct NextSettings(SettingsNow);

impl InForce {
    /// Reads certificates; makes what is missing.
    pub fn load(config: Config) -> Result<Self, TlsError> {
        let hops = Arc::new(Hops::load(&config)?);
        Ok(Self(Arc::new(ArcSwap::from_pointee(SettingsNow { config: Arc::new(config), hops }))))
    }

    /// Reads certificates for other settings.
    pub fn prepare(&self, config: Config) -> Result<NextSettings, TlsError> {
        let hops = Arc::new(self.0.load().hops.again(&config)?);
        Ok(NextSettings(SettingsNow { config: Arc::new(config), hops }))
    }

    /// Puts them in force. Sessions that are there keep what they have.
    pub fn put(&self, next: NextSettings) {
        self.0.store(Arc::new(next.0));
    }

    /// The settings of the moment.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.0.load().config)
    }

    /// The settings of the moment, with TLS and compression of both legs.
    pub fn both(&self) -> (Arc<Config>, Arc<Hops>) {
        let now = self.0.load();
        (Arc::clone(&now.config), Arc::clone(&now.hops))
    }
}
