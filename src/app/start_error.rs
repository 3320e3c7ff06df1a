//! Why a start is refused, and what to do about it.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::ConfigError;
use crate::http::HttpError;
use crate::net::certificates::TlsError;
use crate::observe::file::FileError;
use crate::servers::find::NoWriter;

/// Why the start was refused.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Sessions cannot share server connections.
    #[error("pooling = \"transaction\" is not possible: {0}")]
    NoPool(&'static str),
    /// The server's connections are not the sessions' own.
    #[error(
        "{backend} is a proxy that lends the server's connections to sessions in turn, or has connection ids of its own: {why}"
    )]
    Lent {
        /// The address in `backend`.
        backend: String,
        /// What needs the server's own ids.
        why: &'static str,
    },
    /// Clients would be passed on to this proxy again and again.
    #[error(
        "`{key}` ({at}) is this proxy itself, which listens at {listen}: let it name the server, or listen at another address"
    )]
    Ring {
        /// `backend` or `store`.
        key: &'static str,
        /// Value of that setting.
        at: String,
        /// Where the proxy listens.
        listen: SocketAddr,
    },
    /// Both addresses of a server lead to two.
    #[error("{0}")]
    Apart(String),
    /// An address cannot be bound.
    #[error("cannot listen on {addr} for {what}: {source}. Is another proxy running there?")]
    Bind {
        /// `clients`, `administrators` or `http`.
        what: &'static str,
        /// The address.
        addr: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Orders for this proxy would reach another one.
    #[error(
        "another running process listens for administrators on {}: wait until it ends, or give each proxy its own `state_dir` or `admin = \"unix:/path\"`", .0.display()
    )]
    OthersSocket(PathBuf),
    /// The store is not fit.
    #[error("the lock store {url}: {problem}")]
    Store {
        /// Where, without the password.
        url: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Another session has locked the lock tables.
    #[error(
        "the lock store {url}: another session has locked the lock tables (LOCK TABLES, ALTER TABLE, a backup): {problem}"
    )]
    Locked {
        /// Where, without the password.
        url: String,
        /// The server's error.
        problem: String,
    },
    /// The lock tables are not there.
    #[error("the lock store {url}: {problem}")]
    NoSchema {
        /// Where, without the password.
        url: String,
        /// Which, and what to do.
        problem: String,
    },
    /// Two clusters have one store.
    #[error(
        "the clusters {one} and {other} have the same lock schema, `{schema}` on the same server: \
         each needs its own"
    )]
    Shared {
        /// A cluster.
        one: String,
        /// The other.
        other: String,
        /// The schema that both have.
        schema: String,
    },
    /// A setting is missing.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The server does not greet.
    #[error("the server {backend}: {problem}. Is it up, and are host and port in `backend` right?")]
    Backend {
        /// The address in `backend`.
        backend: String,
        /// What is wrong.
        problem: String,
    },
    /// None of several servers takes writes.
    #[error("no start without a writer: {0}")]
    NoWriter(#[from] NoWriter),
    /// There is no TLS as the settings want it.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// The windows cannot be opened as the settings want it.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The administrators' accounts cannot be read.
    #[error("admin_accounts {0}")]
    Accounts(String),
    /// There is no place for the report.
    #[error("the report: {0}")]
    Report(#[from] FileError),
    /// The operating system refused a thread or a signal handler.
    #[error("cannot start: {0}")]
    Io(#[from] std::io::Error),
    /// The metrics are inconsistent.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}

impl StartError {
    /// Whether another start comes to the same as long as nobody changes the configuration or its files.
    pub fn is_of_settings(&self) -> bool {
        match self {
            Self::Shared { .. }
            | Self::Ring { .. }
            | Self::Config(_)
            | Self::Http(_)
            | Self::Accounts(_) => true,
            Self::Tls(e) => !matches!(e, TlsError::Disk { .. }),
            Self::NoPool(_)
            | Self::Apart(_)
            | Self::Lent { .. }
            | Self::Bind { .. }
            | Self::OthersSocket(_)
            | Self::Store { .. }
            | Self::Locked { .. }
            | Self::NoSchema { .. }
            | Self::Backend { .. }
            | Self::NoWriter(_)
            | Self::Report(_)
            | Self::Io(_)
            | Self::Metrics(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_with_a_full_disk_is_worth_another() {
        let (path, problem) = (PathBuf::from("/var/lib/lockstead"), "full".to_owned());
        let full = TlsError::Disk { path: path.clone(), problem: problem.clone() };
        assert!(!StartError::from(full).is_of_settings());
        assert!(StartError::from(TlsError::File { path, problem }).is_of_settings());
    }
}
