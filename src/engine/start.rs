//! The engine's two threads: their start and their end.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::handle::Engine;
use super::housekeeping::audit::audit;
use super::housekeeping::gc::collect;
use super::housekeeping::history::write_history;
use super::housekeeping::sweep::sweep;
use super::io::gatekeeper::{self, Gates};
use super::lease::keeper::Keeper;
use super::service::task::build;
use super::setup::Setup;
use super::shared::lease::Lease;

/// The engine's two threads.
#[derive(Debug)]
pub struct Threads {
    stop: Option<oneshot::Sender<()>>,
    keeper: std::thread::JoinHandle<()>,
}

impl Threads {
    /// Ends the lease: the row is declared CLEAN and removed. All locks must be released before.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = tokio::task::spawn_blocking(|| self.keeper.join()).await;
    }
}

/// Handles for a proxy without an engine, whose sessions use no locks.
pub fn none() -> (Engine, Gates) {
    (Engine::none(), gatekeeper::none())
}

/// Starts engine and keeper. The handle works at once; nothing is granted before the keeper has
/// registered and, where needed, waited.
pub fn start(setup: Setup) -> std::io::Result<(Engine, Gates, Threads)> {
    let lease = Arc::new(Lease::default());
    let (events_in, events) = mpsc::unbounded_channel();
    let (handle_in, handle) = std::sync::mpsc::channel();
    let access = Arc::clone(&setup.access);
    let engine_lease = Arc::clone(&lease);
    let (collect_after, ttl) = (setup.collect_after, setup.ttl);
    let (native, sessions) = (setup.native, setup.sessions.clone());
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let engine_runtime = runtime()?;
    std::thread::Builder::new().name("engine".into()).spawn(move || {
        let local = tokio::task::LocalSet::new();
        local.block_on(&engine_runtime, async move {
            let gates = gatekeeper::start(Arc::clone(&access));
            let (service, engine) = build(&access, engine_lease, (native, ttl), sessions);
            tokio::spawn(sweep(Arc::clone(&access), engine.clone(), native));
            tokio::spawn(collect(Arc::clone(&access), engine.clone(), collect_after));
            tokio::spawn(write_history(Arc::clone(&access), engine.clone()));
            tokio::spawn(audit(access, engine.clone(), ttl));
            let _ = handle_in.send((engine, gates));
            // A task of its own: each wake of what the runtime blocks on writes to its eventfd.
            let _ = tokio::spawn(service.run(events)).await;
        });
    })?;
    let (engine, gates) = handle.recv().map_err(std::io::Error::other)?;
    let keeper_runtime = runtime()?;
    let (stop, stopped) = oneshot::channel();
    let keeper = std::thread::Builder::new().name("keeper".into()).spawn(move || {
        keeper_runtime.block_on(async move {
            let mut keeper = Keeper::new(setup, lease, events_in);
            keeper.run(stopped).await;
        });
    })?;
    Ok((engine, gates, Threads { stop: Some(stop), keeper }))
}
