//! The start of a proxy that only observes: no store, no engine.

use std::sync::Arc;
use std::time::Duration;

use super::parts::{Background, Parts};
use super::start_error::StartError;
use crate::backend::greeted::{GreetError, Greeted, connect};
use crate::backend::own::Credentials;
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::{Config, ConfigError};
use crate::engine::start;
use crate::metrics::Metrics;
use crate::observe::recorder::Recorder;
use crate::servers::find::Following;
use crate::servers::writer::Writer;

/// How long servers wait for each packet of a login by default; this server's setting is not known.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks for the server, goes on with the report.
pub(super) async fn parts(
    config: &Config,
    name: Option<&str>,
    following: &Following,
) -> Result<Parts, StartError> {
    following.found(config).await?;
    let writer = following.writer();
    let greeted = greet(config, writer).await?;
    if let Some(warning) = too_old(&greeted) {
        tracing::warn!(cluster = name, "{warning}");
    }
    let metrics = Arc::new(Metrics::observing(name)?.naming(&config.metrics_locks)?);
    let place = || ConfigError::Value {
        place: String::new(),
        key: "state_dir",
        problem: "gives no directory for the report".to_owned(),
    };
    let dir = config.state_dir.clone().ok_or_else(place)?;
    let counters = metrics.observed.clone();
    let (observer, recorder) = counters.map(|c| Recorder::start(&dir, c)).ok_or_else(place)??;
    let (engine, gates) = start::none();
    let spares = Spares::new(CONNECT_TIMEOUT);
    let reach = Reach::new(writer.clone(), None, metrics.backend_up.clone());
    let server = greeted.greeting.version.clone();
    tracing::info!(
        cluster = name,
        report = %dir.display(),
        "observing: lock calls still take the server's own locks"
    );
    // The server counts a greeting without an answer as an error.
    spares.keep(greeted);
    Ok(Parts {
        engine,
        gates,
        observer: Some(observer),
        metrics,
        spares,
        reach,
        finds_tagged: false,
        work: Background::Report(recorder),
        account: Credentials::nobody(),
        tables: None,
        server,
    })
}

async fn greet(config: &Config, writer: &Writer) -> Result<Greeted, StartError> {
    let to = writer.found().await;
    connect(&to, config.connect_timeout, None).await.map_err(|e| StartError::Backend {
        backend: to.backend().to_string(),
        problem: match e {
            GreetError::Refused(frame) => {
                let text = frame.get(13..).unwrap_or_default();
                format!("refused the connection: {}", String::from_utf8_lossy(text))
            }
            e => e.to_string(),
        },
    })
}

/// Why Lockstead could not hold locks at this server later.
pub fn too_old(greeted: &Greeted) -> Option<String> {
    let greeting = &greeted.greeting;
    let (oldest, name) = greeting.flavour.oldest();
    (greeting.version_number() < oldest)
        .then(|| format!("the server is {}; durable locks need {name} or later", greeting.version))
}
