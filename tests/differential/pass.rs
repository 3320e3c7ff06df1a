//! The ways in which scripts are run, and the proxy that all scripts of one way share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use lockstead_support::eventually;

use crate::own_server::OwnServer;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::wire::wrap::Wrap;

/// A client that a busy machine holds up is not taken for one that will not ask for its warnings.
const SHUFFLE: [&str; 7] =
    ["--pooling", "transaction", "--pool-size", "100", "--idle-keep", "1m", "--test-shuffle"];

/// What is around the connections of both sides, and what the proxy is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pass {
    /// With the default settings.
    Plain,
    /// Over TLS; and the server is asked for the reply to every lock call.
    OverTls,
    /// Compressed.
    OverZlib,
    /// Compressed over TLS, and the proxy's leg to the server as well.
    OverBoth,
    /// By a proxy that only observes.
    Observed,
    /// By a proxy that keeps rows of the server's own locks.
    Coexist,
    /// By a proxy whose sessions share server connections, and give them away whenever they may. Every other time a stranger leaves
    /// on them what only a reset takes away.
    Shuffled,
}

impl Pass {
    pub(crate) const ALL: [Self; 7] = [
        Self::Plain,
        Self::OverTls,
        Self::OverZlib,
        Self::OverBoth,
        Self::Observed,
        Self::Coexist,
        Self::Shuffled,
    ];

    /// As headers and the names of tests have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::OverTls => "over_tls",
            Self::OverZlib => "over_zlib",
            Self::OverBoth => "over_both",
            Self::Observed => "observed",
            Self::Coexist => "coexist",
            Self::Shuffled => "shuffled",
        }
    }

    /// The pass of a name, as a header names a further one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pass| *pass != Self::Plain && pass.name() == name)
    }

    pub(crate) fn wrap(self) -> Wrap {
        let tls = matches!(self, Self::OverTls | Self::OverBoth);
        let zlib = matches!(self, Self::OverZlib | Self::OverBoth);
        Wrap { tls, zlib, zstd: false }
    }

    fn settings(self) -> Vec<&'static str> {
        match self {
            Self::Plain | Self::OverZlib | Self::OverTls => Vec::new(),
            Self::OverBoth => vec!["--backend-compression", "zlib"],
            Self::Observed => vec!["--mode", "observe"],
            Self::Coexist => vec!["--mode", "coexist"],
            Self::Shuffled => SHUFFLE.to_vec(),
        }
    }

    /// Those of its proxies.
    pub(crate) fn arguments(self) -> Vec<&'static str> {
        // Many scripts at once, some with packets that keep a worker busy.
        [vec!["--workers", "4"], self.settings()].concat()
    }

    /// What a server of the pass's own must be started with, if it needs one: stored programs of other tests keep
    /// sessions on their connections, by their names.
    pub(crate) fn server_options(self, flavour: Flavour) -> Option<&'static [&'static str]> {
        match (self, flavour) {
            (Self::Shuffled, Flavour::MariaDb) => {
                Some(&["--performance-schema=ON", "--plugin-load-add=metadata_lock_info"])
            }
            (Self::Shuffled, Flavour::MySql) => Some(&[]),
            _ => None,
        }
    }

    /// Whether all answers are the server's own.
    pub(crate) fn is_native(self) -> bool {
        matches!(self, Self::Observed | Self::Coexist)
    }
}

/// A proxy of a pass, and where it keeps what it observes.
pub(crate) struct Running {
    pub(crate) proxy: Proxy,
    /// The server, if it is not the one of all tests.
    own: Option<Arc<OnceLock<OwnServer>>>,
    directory: Option<PathBuf>,
}

impl Running {
    /// Starts a proxy of the pass in front of a server.
    pub(crate) fn start(server: &Server, pass: Pass) -> Self {
        let extra = std::env::var("LOCKSTEAD_DIFF_EXTRA").unwrap_or_default();
        let mut arguments = pass.arguments();
        arguments.extend(extra.split_whitespace());
        // A proxy that observes needs a folder for its file.
        let directory = (pass == Pass::Observed).then(|| std::env::temp_dir().join(fresh_schema()));
        if let Some(directory) = &directory {
            arguments.extend(["--state-dir", directory.to_str().expect("a plain path")]);
        }
        Self { proxy: Proxy::start(&server.url, &arguments), own: None, directory }
    }

    /// The server that the proxy is in front of, if it is not the one of all tests.
    fn own_server(&self) -> Option<&Server> {
        self.own.as_ref().and_then(|own| own.get()).map(|own| &own.server)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// A place for the proxy of a pass, which the first that needs it starts.
type Place = Arc<OnceLock<Running>>;

/// One proxy for each server and pass.
#[derive(Default)]
pub(crate) struct Proxies {
    places: Mutex<BTreeMap<(&'static str, Pass), Place>>,
    /// Servers that several passes share, and no other test.
    own: Mutex<BTreeMap<&'static str, Arc<OnceLock<OwnServer>>>>,
}

impl Proxies {
    /// Calls `run` with the proxy of a pass, which is started if it does not run yet.
    pub(crate) fn with<T>(
        &self,
        flavour: Flavour,
        pass: Pass,
        run: impl FnOnce(&Proxy, &Server) -> T,
    ) -> T {
        let place = {
            let mut places = self.places.lock().expect("proxies");
            Arc::clone(places.entry((flavour.variable(), pass)).or_default())
        };
        let running = place.get_or_init(|| self.start_suited(flavour, pass));
        let all = Server::from_env(flavour);
        run(&running.proxy, running.own_server().unwrap_or(&all))
    }

    /// Starts a proxy of the pass in front of a server that suits it.
    fn start_suited(&self, flavour: Flavour, pass: Pass) -> Running {
        let Some(options) = pass.server_options(flavour) else {
            return Running::start(&Server::from_env(flavour), pass);
        };
        let own = {
            let mut own = self.own.lock().expect("servers");
            Arc::clone(own.entry(flavour.variable()).or_default())
        };
        let server = &own.get_or_init(|| OwnServer::start(flavour, options)).server;
        let mut running = Running::start(server, pass);
        running.own = Some(Arc::clone(&own));
        running
    }

    /// Scripts share a proxy, so none may leave a session or a lock in it.
    pub(crate) fn assert_nothing_is_left(self) {
        for ((_, pass), place) in self.places.into_inner().expect("proxies") {
            let Some(Running { proxy, .. }) = place.get() else { continue };
            let what = format!("no session is left in the proxy {}", pass.name());
            eventually(&what, || (proxy.metric("lockstead_sessions") == 0.0).then_some(()));
            if pass != Pass::Observed {
                let what = format!("no lock is left in the proxy {}", pass.name());
                eventually(&what, || (proxy.metric("lockstead_locks_held") == 0.0).then_some(()));
            }
        }
    }
}
