//! The start of a proxy that only observes: no store, no engine.

use std::sync::Arc;
use std::time::Duration;

use super::work::Work;
use super::{App, StartError, bind, open_files};
use crate::backend::greeted::{GreetError, Greeted, connect};
use crate::backend::spares::{Account, Spares};
use crate::config::{Config, ConfigError};
use crate::engine::threads;
use crate::frontend::context::Context;
use crate::frontend::hops::Hops;
use crate::frontend::registry::Registry;
use crate::frontend::unsupported::Shapes;
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::observe::recorder::Recorder;

/// What the server waits for a login at least; what it is set to is not known here.
const PATIENCE: Duration = Duration::from_secs(5);

impl App {
    /// Looks for the server, binds every socket, goes on with the report.
    pub(super) async fn observing(config: Config) -> Result<Self, StartError> {
        let greeted = greet(&config).await?;
        for warning in open_files::raise(&config).iter().chain(&too_old(&greeted)) {
            tracing::warn!("{warning}");
        }
        let listener = bind("clients", config.listen)?;
        let listen = listener.local_addr()?;
        let http = config.http.map(|addr| bind("http", addr)).transpose()?;
        let hops = Arc::new(Hops::load(&config)?);
        let metrics = Metrics::observing()?;
        let place = || ConfigError::Value {
            place: String::new(),
            key: "state_dir",
            problem: "gives no directory for the report".to_owned(),
        };
        let dir = config.state_dir.clone().ok_or_else(place)?;
        let counters = metrics.observed.clone();
        let (observer, recorder) =
            counters.map(|c| Recorder::start(&dir, c)).ok_or_else(place)??;
        let metrics = Arc::new(metrics);
        let (engine, gates) = threads::none();
        let config = Arc::new(config);
        let commands = Context::command_counters(&metrics);
        let spares = Spares::new(PATIENCE);
        tracing::info!(
            %listen,
            backend = %config.backend,
            server = greeted.greeting.version,
            report = %dir.display(),
            version = env!("CARGO_PKG_VERSION"),
            "observing: lock calls stay the server's own"
        );
        // A greeting that nobody answers would be an error at the server.
        spares.keep(greeted);
        let context = Context {
            config: Arc::clone(&config),
            engine,
            gates,
            observer: Some(observer),
            shapes: Shapes::default(),
            metrics,
            hops,
            spares,
            registry: Registry::default(),
            buffers: Buffers::default(),
            commands,
        };
        let work = Work::Report(recorder);
        Ok(Self { config, listener, http, context, work, account: nobody() })
    }
}

/// There is no account for greetings that nobody answers: a login that is refused is not counted
/// as a failed handshake either.
fn nobody() -> Account {
    Account { user: "lockstead_probe".to_owned(), password: String::new() }
}

async fn greet(config: &Config) -> Result<Greeted, StartError> {
    connect(&config.backend, config.connect_timeout).await.map_err(|e| StartError::Backend {
        backend: config.backend.to_string(),
        problem: match e {
            GreetError::Refused(frame) => {
                let text = frame.get(13..).unwrap_or_default();
                format!("refused the connection: {}", String::from_utf8_lossy(text))
            }
            e => e.to_string(),
        },
    })
}

/// What keeps Lockstead from holding locks at this server later.
pub fn too_old(greeted: &Greeted) -> Option<String> {
    let greeting = &greeted.greeting;
    let (oldest, name) = greeting.flavour.oldest();
    (greeting.version_number() < oldest)
        .then(|| format!("the server is {}; durable locks need {name} or later", greeting.version))
}
