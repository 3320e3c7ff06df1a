//! The engine's one task: it owns all lock state and decides; pipes only carry.
//!
//! While a batch is at the store the next one gathers, without a timer. One
//! change of a key is under way at a time, a release and the grant it makes room for together.

mod batches;
mod certainty;
mod countdown;
mod deadlocks;
mod doubts;
mod events;
mod forced;
mod gauges;
mod ghosts;
mod keeping;
mod key_table;
mod keys;
mod lease_events;
mod leaving;
mod looks;
mod losses;
mod moves;
mod native;
mod outcomes;
mod owned;
mod ownership;
mod pipes;
mod poll;
mod queues;
mod recalls;
mod releases;
mod row_reads;
mod snapshot;
#[cfg(test)]
mod staged;
mod standstill;
pub(super) mod task;

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use deadlocks::Deadlocks;
use doubts::HolderDoubts;
use keeping::Keeping;
use key_table::KeyTable;
use looks::Looks;
use native::NativeMode;
use pipes::Pipes;
use poll::Poll;

use super::io::admin_queries::AdminQueries;
use super::io::disconnects::Disconnection;
use super::shared::deferred::Deferred;
use super::shared::fenced_sessions::FencedSessions;
use super::shared::history::History;
use super::shared::lease::Lease;
use super::shared::peers::Peers;
use super::shared::wait_graph::Waits;
use crate::lock::name::Key;
use crate::metrics::Metrics;
use crate::seldom::Seldom;
use crate::store::statement::{BatchWriter, Others};
use crate::types::ProxyId;

/// The service's state. The files of this folder are what it does.
struct Service {
    lease: Arc<Lease>,
    metrics: Arc<Metrics>,
    /// Holds that have ended.
    history: Arc<History>,
    /// The incarnation that locks are granted for; none while there is none.
    writer: Option<Arc<BatchWriter>>,
    /// The incarnation while its locks are carried into another epoch: nothing is sent then.
    moving: Option<Arc<BatchWriter>>,
    others: Arc<Others>,
    keys: KeyTable,
    waits: Waits,
    native: NativeMode,
    pipes: Pipes,
    looks: Looks,
    poll: Poll,
    doubts: HolderDoubts,
    deadlocks: Deadlocks,
    /// Rows that looked like ghosts when last compared.
    suspects: HashSet<(Key, u64)>,
    /// Held locks that were found without a row; their sessions were told.
    lost: HashSet<(Key, u64)>,
    keeping: Keeping,
    /// Sessions of incarnations that are over.
    fenced: Arc<FencedSessions>,
    /// A batch was refused, and that was logged.
    complained: bool,
    /// Limits how often that is logged.
    refusals: Seldom,
    /// Whether the doorbell is to hang.
    listens: watch::Sender<bool>,
    /// Whether another proxy is live.
    peers: watch::Sender<bool>,
    /// The modes of the others.
    modes: Arc<Peers>,
    /// Proxies to be told that a lock is free for them.
    rings: mpsc::UnboundedSender<ProxyId>,
    /// Greatest token proposed or seen. A proposal above a row's last token becomes its next one.
    last_token: u64,
    queries: AdminQueries,
    endings: mpsc::UnboundedSender<Disconnection>,
    /// Ended sessions that the server may still work for.
    watched: usize,
    settling: Vec<oneshot::Sender<()>>,
    /// Releases that sessions have left.
    deferred: Arc<Deferred>,
}
