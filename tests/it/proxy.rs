//! A proxy of a test's own: the built program, on free ports, with a lock schema of its own.

use std::ops::{Deref, DerefMut};

use lockstead_support::Launch;
pub(crate) use lockstead_support::free_port;
pub(crate) use lockstead_support::http::page;

use crate::script::Server;
use crate::wire::Client;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockstead");

/// A running proxy; killed when dropped.
pub(crate) struct Proxy {
    /// Where clients connect.
    pub(crate) port: u16,
    /// Where /metrics is.
    pub(crate) http: u16,
    /// Name of its lock schema.
    pub(crate) schema: String,
    /// Where its schema is, if it is its own.
    schema_of: Option<String>,
    running: lockstead_support::Proxy,
}

/// A schema name that no other test has.
pub(crate) fn fresh_schema() -> String {
    format!("lockstead_t{:012x}", rand::random::<u64>() >> 16)
}

impl Proxy {
    /// Starts a proxy in front of `url`, with further arguments and a new schema, which goes when
    /// the proxy does.
    pub(crate) fn start(url: &str, extra: &[&str]) -> Self {
        let mut proxy = Self::start_on(url, &fresh_schema(), extra);
        proxy.schema_of = Some(url.to_owned());
        proxy
    }

    /// A proxy with a rule left out, by its name.
    #[cfg(feature = "mutants")]
    #[allow(dead_code, reason = "tests/differential uses it")]
    pub(crate) fn start_mutant(url: &str, mutant: &str, extra: &[&str]) -> Self {
        let mut proxy = Self::start_mutant_on(url, &fresh_schema(), mutant, extra);
        proxy.schema_of = Some(url.to_owned());
        proxy
    }

    /// A proxy with a rule left out, on a schema that is there.
    #[cfg(feature = "mutants")]
    pub(crate) fn start_mutant_on(url: &str, schema: &str, mutant: &str, extra: &[&str]) -> Self {
        let program = || {
            let mut command = lockstead_support::launch::command(PROGRAM);
            command.env("LOCKSTEAD_MUTANT", mutant);
            command
        };
        Self::launch(Launch::by(program), url, schema, extra)
    }

    /// Starts a proxy that shares a schema with others.
    pub(crate) fn start_on(url: &str, schema: &str, extra: &[&str]) -> Self {
        Self::launch(Launch::new(PROGRAM), url, schema, extra)
    }

    fn launch(launch: Launch<'_>, url: &str, schema: &str, extra: &[&str]) -> Self {
        let backend = url.trim_end_matches('/').rsplit('@').next().expect("user@host").to_owned();
        let store = format!("{}/{schema}", url.trim_end_matches('/'));
        // A proxy that observes needs no store.
        let keeps_locks = ["--create-schema", "--store", &store];
        let observes = extra.contains(&"observe");
        let has_state = extra.contains(&"--state-dir");
        let has_workers = extra.contains(&"--workers");
        let launch = launch
            .with_pages()
            .arguments(&["--backend", &backend])
            .arguments(if has_workers { &[] } else { &["--workers", "1"] })
            .arguments(if observes { &[] } else { &keeps_locks[..] })
            .arguments(if has_state { &[] } else { &["--state-dir", "off"] })
            .arguments(extra);
        let running = launch.start().expect("a proxy");
        let (port, http) = (running.port(), running.http());
        Self { port, http, schema: schema.to_owned(), schema_of: None, running }
    }
}

impl Deref for Proxy {
    type Target = lockstead_support::Proxy;

    fn deref(&self) -> &Self::Target {
        &self.running
    }
}

impl DerefMut for Proxy {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.running
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.running.kill();
        if let Some(server) = self.schema_of.as_deref().and_then(Server::parse)
            && !std::thread::panicking()
            // A server of the test's own may be gone.
            && let Ok(mut root) = Client::connect(&server.host, server.port, &server.root)
            && root.login.succeeded()
        {
            root.query(b"SET lock_wait_timeout=5");
            root.query(format!("DROP DATABASE IF EXISTS {}", self.schema).as_bytes());
        }
    }
}
