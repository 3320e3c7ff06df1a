//! What follows when another server becomes the writer: sessions and free connections leave the old one, and the
//! metrics say so. Sessions at replicas leave one that takes writes.

use std::sync::Arc;

use crate::engine::handle::SessionEvent;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::registry::Registry;
use crate::metrics::Metrics;
use crate::servers::replicas::Replicas;
use crate::servers::route::StoreRoute;
use crate::servers::writer::{ShownServer, Writer};

/// Follows the writer of a cluster. Runs as long as the process.
pub(super) fn tend(
    own: &Context,
    shared: Vec<Shared>,
    replicas: Option<Replicas>,
) -> impl Future<Output = ()> + use<> {
    let (writer, metrics) = (own.reach.writer().clone(), Arc::clone(&own.metrics));
    let registry = own.registry.clone();
    async move {
        let beside = replicas.map(|replicas| Beside { replicas, left: Vec::new(), none: false });
        follow(&writer, &registry, &metrics, &shared, beside).await;
    }
}

/// The replicas to which listeners lead, as they were when they were looked at last.
struct Beside {
    replicas: Replicas,
    /// Servers that their sessions have to leave.
    left: Vec<bool>,
    /// There is none.
    none: bool,
}

impl Beside {
    /// Shows what has changed. Whether sessions have to look.
    fn show_changes(&mut self, writer: &Writer, metrics: &Metrics) -> bool {
        let shown = writer.shown();
        for server in &shown {
            let backend = server.address.backend.to_string();
            let is = i64::from(server.replica);
            metrics.server_replica.with_label_values(&[&*backend]).set(is);
        }
        match (self.replicas.known_problem(), self.none) {
            (Some(why), false) => {
                self.none = true;
                tracing::warn!("{why}; new clients of listeners with role = \"replica\" wait");
            }
            (None, true) if self.replicas.problem().is_none() => {
                self.none = false;
                tracing::info!("there is a replica again");
            }
            (Some(_) | None, _) => {}
        }
        let left = shown.iter().map(ShownServer::ends_reading).collect();
        std::mem::replace(&mut self.left, left) != self.left
    }
}

/// The way to the lock tables, if there are any.
pub(super) fn route(context: &Context) -> Option<StoreRoute> {
    let url = context.config.store.clone()?;
    let writer = context.reach.writer().clone();
    Some(StoreRoute { url, limit: context.config.connect_timeout, writer })
}

async fn follow(
    writer: &Writer,
    registry: &Registry,
    metrics: &Metrics,
    shared: &[Shared],
    mut beside: Option<Beside>,
) {
    let mut news = writer.news();
    let mut seen = 0;
    loop {
        show(writer, metrics);
        // One of the replicas may take writes though the writer is the same.
        let mut tells = beside.as_mut().is_some_and(|beside| beside.show_changes(writer, metrics));
        let changes = writer.changes();
        if changes != seen {
            metrics.writer_changes.inc_by(changes - seen);
            seen = changes;
            for Shared { pool, secrets, .. } in shared {
                // The server there may have other accounts of these names.
                secrets.admissions().clear();
                pool.close_left();
            }
            tells = true;
        }
        if tells {
            registry.tell(SessionEvent::WriterChanged);
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

/// A single server is not asked, and has no metrics of its own.
fn show(writer: &Writer, metrics: &Metrics) {
    if !writer.is_chosen() {
        return;
    }
    for server in writer.shown() {
        let backend = server.address.backend.to_string();
        let up = server.state.is_some_and(|state| state.answers());
        metrics.server_up.with_label_values(&[&*backend]).set(i64::from(up));
        metrics.server_writer.with_label_values(&[&*backend]).set(i64::from(server.writer));
    }
    let rivals = i64::try_from(writer.rivals()).unwrap_or(i64::MAX);
    metrics.writer_rivals.set(rivals);
}
