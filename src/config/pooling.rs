//! Whether sessions share their connections to the server, and how.

use std::time::Duration;

use super::error::WrongValue;
use super::limits::{number, time};
use super::mode::Mode;
use super::parse::choice;
use super::raw::Raw;
use crate::types::LearnPasswords;

/// How sessions share their connections to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pooling {
    /// Whether they do: a session has one while a statement or a transaction runs, and others have it in between. If
    /// not, each has one of its own, from its login to its end.
    pub(super) shared: bool,
    /// Whether they do at any listener of the cluster.
    pub of_cluster: bool,
    /// Whether they do at all listeners of the cluster.
    pub of_all: bool,
    /// Connections at most.
    pub size: usize,
    /// How long a session waits for one.
    pub wait: Duration,
    /// How long a session may keep one with which it does nothing.
    pub idle_keep: Duration,
    /// How old one may get.
    pub lifetime: Duration,
    /// What is kept of clients' passwords, to open more of them.
    pub learn: LearnPasswords,
    /// How long a login counts for others like it, which the server is then not asked about.
    pub login_check_ttl: Duration,
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

impl Pooling {
    /// The value of the setting with which sessions share their connections.
    pub const TRANSACTION: &str = "transaction";

    /// Reads the settings, and the mode of locks, which depend on each other; [`Self::settle_mode`] comes first.
    pub(super) fn read(raw: &Raw) -> Result<(Self, Mode), WrongValue> {
        let words = [("session", false), (Self::TRANSACTION, true)];
        let shared = choice("pooling", raw.pooling.as_deref(), &words)?;
        let locks = choice("mode", raw.mode.as_deref(), &Mode::NAMES)?;
        if shared && locks != Mode::Durable {
            let name = locks.name();
            return Err((
                "pooling",
                format!(
                    "\"transaction\" needs mode = \"durable\": in mode \"{name}\" the server's own locks belong to a connection, which other sessions would get"
                ),
            ));
        }
        if shared && raw.backend_proxy_protocol == Some(true) {
            return Err(("pooling", "\"transaction\" cannot be used with backend_proxy_protocol: a connection that several clients share has no client's address".to_owned()));
        }
        if shared && raw.backend_compression.as_deref().is_some_and(|given| given != "off") {
            return Err((
                "pooling",
                "\"transaction\" cannot be used with backend_compression: give \"off\"".to_owned(),
            ));
        }
        let learn = learn_passwords(raw)?;
        let hour = Duration::from_hours(1);
        let idle = Duration::from_millis(10)..=hour;
        let read = Self {
            shared,
            of_cluster: shared,
            of_all: shared,
            size: number("pool_size", raw.pool_size.unwrap_or(64), 1..=100_000)?,
            wait: time("pool_wait", raw.pool_wait.as_deref(), "5s", Duration::ZERO..=hour)?,
            idle_keep: time("idle_keep", raw.idle_keep.as_deref(), "1s", idle)?,
            learn,
            login_check_ttl: time(
                "login_check_ttl",
                raw.login_check_ttl.as_deref(),
                "10s",
                Duration::ZERO..=hour,
            )?,
            lifetime: time(
                "backend_lifetime",
                raw.backend_lifetime.as_deref(),
                "1h",
                SECOND..=30 * DAY,
            )?,
        };
        Ok((read, locks))
    }

    /// Gives the listeners of a cluster their mode of locks, which is the same for all, where none is given. The
    /// default is `durable` if connections are shared at one of them.
    pub(super) fn settle_mode(listeners: &mut [Raw]) {
        let shares = |raw: &Raw| raw.pooling.as_deref() == Some(Self::TRANSACTION);
        if listeners.iter().any(shares) {
            for raw in listeners {
                raw.mode.get_or_insert_with(|| Mode::Durable.name().to_owned());
            }
        }
    }

    /// Whether sessions share their connections.
    pub fn is_shared(&self) -> bool {
        self.shared
    }
}

fn learn_passwords(raw: &Raw) -> Result<LearnPasswords, WrongValue> {
    let key = "learn_passwords";
    let given = raw.learn_passwords.as_deref();
    if given == Some("hash") {
        return Err((key, "\"hash\" is gone: give \"clear\", whose passwords open connections after a restart of the server too, or \"off\"".to_owned()));
    }
    choice(key, given, &[("clear", LearnPasswords::Clear), ("off", LearnPasswords::Off)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_connections_mean_durable_locks() {
        let shares = || Raw { pooling: Some("transaction".into()), ..Raw::default() };
        let mut cluster = [shares(), Raw::default()];
        Pooling::settle_mode(&mut cluster);
        assert!(cluster.iter().all(|raw| raw.mode.as_deref() == Some("durable")));
        let (pooling, mode) = Pooling::read(&cluster[0]).expect("valid");
        assert!(pooling.is_shared() && mode == Mode::Durable && pooling.size == 64);
        let durable = || Raw { mode: Some("durable".into()), ..shares() };
        let (pooling, mode) = Pooling::read(&Raw::default()).expect("valid");
        assert!(!pooling.is_shared() && mode == Mode::Coexist);
        for wrong in [
            Raw { mode: Some("coexist".into()), ..durable() },
            Raw { mode: Some("observe".into()), ..durable() },
            Raw { backend_proxy_protocol: Some(true), ..durable() },
            Raw { backend_compression: Some("zlib".into()), ..durable() },
            Raw { pooling: Some("statement".into()), ..Raw::default() },
            Raw { pool_size: Some(0), ..durable() },
            Raw { pool_wait: Some("5".into()), ..durable() },
            Raw { login_check_ttl: Some("2h".into()), ..durable() },
            Raw { learn_passwords: Some("hash".into()), ..durable() },
        ] {
            assert!(Pooling::read(&wrong).is_err(), "{wrong:?}");
        }
    }
}
