//! `/metrics`, `/livez` and `/readyz`.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::engine::handle::Engine;
use crate::metrics::Metrics;

/// What the pages show.
#[derive(Clone)]
pub struct Pages {
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// The lease decides about readiness; who observes has none, and is ready.
    pub engine: Option<Engine>,
    /// Set while the proxy drains.
    pub draining: Arc<std::sync::atomic::AtomicBool>,
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
    (kind, pages.metrics.render()).into_response()
}

async fn ready(State(pages): State<Pages>) -> (StatusCode, String) {
    let draining = pages.draining.load(std::sync::atomic::Ordering::Relaxed);
    let Some(lease) = pages.engine.as_ref().map(Engine::lease).filter(|_| !draining) else {
        return if draining {
            (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned())
        } else {
            (StatusCode::OK, "ok, observing\n".to_owned())
        };
    };
    let problem = if let Some(why) = lease.foreign() {
        format!("no grants: {why}")
    } else if lease.proxy().is_none() {
        "not registered in the lock store".to_owned()
    } else if !lease.is_good() {
        format!("no grants: startup wait, or the lease was last renewed {:?} ago", lease.age())
    } else {
        return (StatusCode::OK, "ok\n".to_owned());
    };
    (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n"))
}
