//! Windows: `/metrics`, `/livez`, `/readyz`, the status page, and the administration's tables as JSON.
//! Nothing here changes anything.

mod answer_cache;
mod connection_limit;
mod error;
mod guard;
mod keys;
mod listening;
mod rates;
mod status;

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path as In, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::admin::Control;
use crate::config::Http;
use crate::http::answer_cache::Answers;
use crate::http::connection_limit::CrowdSeat;
pub use crate::http::error::HttpError;
pub use crate::http::keys::Keys;
use crate::http::listening::{Encrypted, Plain};
use crate::http::rates::Rates;
use crate::http::status::{PageStatus, error};
use crate::metrics::Metrics;

/// Windows that are ready to be opened.
pub struct Windows {
    page: bool,
    /// Metrics are served only to requests by this machine's own name.
    private: bool,
    keys: Keys,
}

impl Windows {
    /// Reads the files that the settings name. Metrics that name locks, and are served to this machine
    /// alone, are private: they are protected from DNS rebinding.
    pub fn load(settings: &Http, names: bool) -> Result<Self, HttpError> {
        let private = names && settings.is_local();
        Ok(Self { page: settings.page, private, keys: Keys::load(settings)? })
    }

    /// Token and certificate.
    pub fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// Serves until dropped. New connections are another process's when that has taken this one's
    /// place.
    pub async fn serve(self, listener: TcpListener, control: Control) -> io::Result<()> {
        let mut beside = JoinSet::new();
        let host = middleware::from_fn_with_state(self.private, guard::host);
        let mut router = Router::new()
            .route("/metrics", get(metrics).layer(host))
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .with_state(control.clone());
        if self.page {
            let rates: Vec<Rates> =
                control.clusters.iter().map(|c| Rates::new(Arc::clone(&c.metrics))).collect();
            for rates in &rates {
                beside.spawn(rates.clone().keep());
            }
            router = router.merge(page(control.clone(), rates, self.keys.clone()));
        }
        let retired = control.retired.clone();
        let router = router.layer(middleware::from_fn_with_state(retired, guard::send_on));
        let router = router.layer(middleware::from_fn(connection_limit::keep));
        let router = router.into_make_service_with_connect_info::<CrowdSeat>();
        let listener = Plain::new(listener, control.retired);
        if self.keys.tls().is_none() {
            axum::serve(listener, router).await
        } else {
            axum::serve(Encrypted::new(listener, self.keys), router).await
        }
    }
}

fn page(control: Control, rates: Vec<Rates>, keys: Keys) -> Router {
    let shown = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    let answers = Answers::new(control.clone(), PageStatus::new(control, rates));
    Router::new()
        .route("/", shown("text/html; charset=utf-8", include_str!("page/index.html")))
        .route("/page.css", shown("text/css; charset=utf-8", include_str!("page/page.css")))
        .route("/page.js", shown("text/javascript; charset=utf-8", include_str!("page/page.js")))
        .route("/api/v1/{name}", get(answer))
        .with_state(Arc::new(answers))
        .layer(middleware::from_fn_with_state(keys, guard::watch))
}

async fn answer(State(answers): State<Arc<Answers>>, In(name): In<String>) -> Response {
    let (status, text) = match answers.json(&name).await {
        Some(Ok(text)) => (StatusCode::OK, text),
        Some(Err(why)) => (StatusCode::SERVICE_UNAVAILABLE, why),
        None => (StatusCode::NOT_FOUND, (error("there is no such table") + "\n").into()),
    };
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn metrics(State(control): State<Control>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    for cluster in control.clusters.iter() {
        cluster.measure();
    }
    let all = control.clusters.iter().map(|cluster| &*cluster.metrics);
    (kind, Metrics::render(all)).into_response()
}

async fn ready(State(control): State<Control>) -> (StatusCode, String) {
    if control.is_leaving() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned());
    }
    let mut all = StatusCode::OK;
    let mut text = String::new();
    for cluster in control.clusters.iter() {
        let said = match cluster.health() {
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
