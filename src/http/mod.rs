//! Windows: `/metrics`, `/livez`, `/readyz`, the status page, and the administration's tables as JSON.
//! Nothing here changes anything.

mod guard;
mod listening;
mod rates;
mod status;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path as In, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::guard::Guard;
use self::listening::{Encrypted, Plain};
use self::rates::Rates;
use self::status::{Status, error};
use crate::admin::{Control, problem};
use crate::config::Http;
use crate::metrics::Metrics;
use crate::net::certificates::{TlsError, http_config};

/// Why the windows cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The token's file is no good.
    #[error("http_token_file {path}: {problem}")]
    Token {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no TLS as the settings want it.
    #[error("http: {0}")]
    Tls(#[from] TlsError),
}

/// Shortest token taken, in bytes.
const TOKEN: usize = 16;

/// Windows that are ready to be opened.
pub struct Windows {
    page: bool,
    token: Option<Arc<str>>,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Windows {
    /// Reads the files that the settings name.
    pub fn load(settings: &Http) -> Result<Self, HttpError> {
        let token = settings.token.as_deref().map(read_token).transpose()?;
        let tls = settings.tls.as_ref().map(http_config).transpose()?.map(Arc::new);
        Ok(Self { page: settings.page, token, tls })
    }

    /// Serves until dropped. New connections are another process's when that has taken this one's
    /// place.
    pub async fn serve(self, listener: TcpListener, control: Control) -> io::Result<()> {
        let mut beside = JoinSet::new();
        let mut router = Router::new()
            .route("/metrics", get(metrics))
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .with_state(control.clone());
        if self.page {
            let rates: Vec<Rates> =
                control.clusters.iter().map(|c| Rates::new(Arc::clone(&c.metrics))).collect();
            for rates in &rates {
                beside.spawn(rates.clone().keep());
            }
            router = router.merge(page(control.clone(), rates, Guard { token: self.token }));
        }
        let listener = Plain::new(listener, control.retired);
        match self.tls {
            None => axum::serve(listener, router).await,
            Some(config) => axum::serve(Encrypted::new(listener, config), router).await,
        }
    }
}

/// A file that its owner alone may read, with one line.
fn read_token(path: &Path) -> Result<Arc<str>, HttpError> {
    let wrong = |problem: String| HttpError::Token { path: path.display().to_string(), problem };
    let mode = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.mode();
    if mode & 0o077 != 0 {
        return Err(wrong("others than its owner may read it; chmod 600 it".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let token = text.trim();
    let plain = token.bytes().all(|b| b.is_ascii_graphic());
    if token.len() < TOKEN || !plain {
        return Err(wrong(format!(
            "has no token of at least {TOKEN} letters, digits and signs; make one by `openssl rand -hex 24`"
        )));
    }
    Ok(token.into())
}

fn page(control: Control, rates: Vec<Rates>, guard: Guard) -> Router {
    let shown = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    let status = Arc::new(Status::new(control.clone(), rates));
    let whole = get(async move || json(StatusCode::OK, status.json().await.to_string()));
    Router::new()
        .route("/", shown("text/html; charset=utf-8", include_str!("page/index.html")))
        .route("/page.css", shown("text/css; charset=utf-8", include_str!("page/page.css")))
        .route("/page.js", shown("text/javascript; charset=utf-8", include_str!("page/page.js")))
        .route("/api/v1/status", whole)
        .route("/api/v1/{table}", get(table))
        .with_state(control)
        .layer(middleware::from_fn_with_state(guard, guard::watch))
}

fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text + "\n").into_response()
}

/// One of the administration's tables, whole.
async fn table(State(control): State<Control>, In(name): In<String>) -> Response {
    let table = match name.as_str() {
        "locks" => control.locks(None).await,
        "proxies" => control.proxies().await,
        "waiters" => Ok(control.waiters().await),
        "sessions" => Ok(control.sessions().await),
        "deadlocks" => Ok(control.deadlocks().await),
        "digests" => control.digests(),
        "lease" => Ok(control.lease()),
        "backends" => Ok(control.backends()),
        _ => return json(StatusCode::NOT_FOUND, error("there is no such table")),
    };
    match table {
        Ok(table) => json(StatusCode::OK, serde_json::Value::from(table.json()).to_string()),
        Err(e) => json(StatusCode::SERVICE_UNAVAILABLE, error(&e.message)),
    }
}

async fn metrics(State(control): State<Control>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let all = control.clusters.iter().map(|cluster| &*cluster.metrics);
    (kind, Metrics::render(all)).into_response()
}

async fn ready(State(control): State<Control>) -> (StatusCode, String) {
    if control.registry.is_draining() || control.registry.is_aside() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned());
    }
    let mut all = StatusCode::OK;
    let mut text = String::new();
    for cluster in control.clusters.iter() {
        let said = match problem(cluster.engine.as_ref()) {
            Ok(good) => good.to_owned(),
            Err(problem) => {
                all = StatusCode::SERVICE_UNAVAILABLE;
                problem
            }
        };
        if let Some(name) = &cluster.name {
            text.push_str(name);
            text.push_str(": ");
        }
        text.push_str(&said);
        text.push('\n');
    }
    (all, text)
}
