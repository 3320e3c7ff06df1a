//! `/metrics`, `/livez` and `/readyz`.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::admin::problem;
use crate::engine::handle::Engine;
use crate::frontend::registry::Registry;
use crate::metrics::Metrics;

/// What the pages show of a cluster.
#[derive(Clone)]
pub struct Page {
    /// Its name, where there may be several.
    pub name: Option<String>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// The lease decides about readiness; who observes has none, and is ready.
    pub engine: Option<Engine>,
}

/// What they show.
#[derive(Clone)]
pub struct Pages {
    /// At least one.
    pub clusters: Vec<Page>,
    /// Tells whether the proxy drains.
    pub registry: Registry,
}

/// Serves until dropped.
pub async fn serve(listener: TcpListener, pages: Pages) -> io::Result<()> {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(pages);
    axum::serve(listener, router).await
}

async fn metrics(State(pages): State<Pages>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, Metrics::render(pages.clusters.iter().map(|page| &*page.metrics))).into_response()
}

async fn ready(State(pages): State<Pages>) -> (StatusCode, String) {
    if pages.registry.is_draining() || pages.registry.is_aside() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned());
    }
    let mut all = StatusCode::OK;
    let mut text = String::new();
    for page in &pages.clusters {
        let said = match problem(page.engine.as_ref()) {
            Ok(good) => good.to_owned(),
            Err(problem) => {
                all = StatusCode::SERVICE_UNAVAILABLE;
                problem
            }
        };
        if let Some(name) = &page.name {
            text.push_str(name);
            text.push_str(": ");
        }
        text.push_str(&said);
        text.push('\n');
    }
    (all, text)
}
