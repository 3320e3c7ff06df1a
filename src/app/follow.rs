//! What follows when another server becomes the writer: sessions and free connections leave the old one, and the
//! metrics say so.

use std::sync::Arc;

use crate::engine::handle::SessionEvent;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::registry::Registry;
use crate::metrics::Metrics;
use crate::servers::route::StoreRoute;
use crate::servers::writer::Writer;

/// Follows the writer of a cluster, whose listeners these are. Runs as long as the process.
pub(super) fn tend(listeners: &[&Context]) -> impl Future<Output = ()> + use<> {
    let shared: Vec<Shared> = listeners.iter().filter_map(|c| c.shared.clone()).collect();
    let first = listeners.first().map(|context| {
        let writer = context.reach.writer().clone();
        (writer, context.registry.clone(), Arc::clone(&context.metrics))
    });
    async move {
        if let Some((writer, registry, metrics)) = first {
            follow(&writer, &registry, &metrics, &shared).await;
        }
    }
}

/// The way to the lock tables, if there are any.
pub(super) fn route(context: &Context) -> Option<StoreRoute> {
    let url = context.config.store.clone()?;
    let writer = context.reach.writer().clone();
    Some(StoreRoute { url, limit: context.config.connect_timeout, writer })
}

async fn follow(writer: &Writer, registry: &Registry, metrics: &Metrics, shared: &[Shared]) {
    let mut news = writer.news();
    let mut seen = 0;
    loop {
        show(writer, metrics);
        let changes = writer.changes();
        if changes != seen {
            metrics.writer_changes.inc_by(changes - seen);
            seen = changes;
            for Shared { pool, secrets, .. } in shared {
                // Its accounts may be others there.
                secrets.admissions().clear();
                pool.close_left();
            }
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
