//! The arguments that most subcommands share: the configuration.

use std::path::PathBuf;

use clap::Args;
use zeroize::Zeroizing;

use crate::config::{Config, ConfigError, Plan, Raw};
use crate::private;

/// The settings: from flags, then LOCKSTEAD_* variables, then the file.
#[derive(Debug, Clone, Args)]
pub(crate) struct SettingsArgs {
    /// Configuration file (TOML); every key is also a flag
    #[arg(long, short, value_name = "FILE", env = "LOCKSTEAD_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Which cluster, if the file has several
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,
    #[command(flatten)]
    pub(super) raw: Raw,
}

impl SettingsArgs {
    /// All that a process serves.
    pub(super) fn plan(self) -> Result<Plan, ConfigError> {
        Plan::load(self.config.as_deref(), self.raw)
    }

    /// A warning, if the file has a password and every user may read it.
    pub(super) fn warning(&self) -> Option<String> {
        let path = self.config.as_deref()?;
        let readable = private::readable(&std::fs::metadata(path).ok()?)?;
        let text = Zeroizing::new(std::fs::read_to_string(path).ok()?);
        let whose = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            let account = value.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
            match key.trim() {
                "store" if account.is_some_and(|(account, _)| account.contains(':')) => {
                    Some("`store`")
                }
                "password" => Some("[[users]]"),
                _ => None,
            }
        })?;
        Some(format!("{} has the password of {whose}: {readable}", path.display()))
    }

    /// One cluster.
    pub(super) fn load(self) -> Result<Config, ConfigError> {
        let name = self.cluster.clone();
        self.plan()?.choose(name.as_deref())
    }
}
