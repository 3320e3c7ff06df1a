//! Reading lock rows for looks and polls, many keys at once.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::link::{StoreAccess, StoreLink};
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::rows::LockRow;
use crate::store::statement::Others;

/// Rows to be read for looks and polls.
#[derive(Debug)]
pub(in crate::engine) struct Lookup {
    pub(in crate::engine) keys: Vec<Key>,
    /// The keys among them that are waited for.
    pub(in crate::engine) probed: Vec<Key>,
    pub(in crate::engine) others: Arc<Others>,
}

/// Rows read.
#[derive(Debug)]
pub(in crate::engine) struct FinishedRead {
    pub(in crate::engine) keys: Vec<Key>,
    /// The rows, and the keys of those that may be taken without waiting for a transaction.
    pub(in crate::engine) result: Result<(Vec<LockRow>, HashSet<Vec<u8>>), StoreError>,
}

/// Reads lock rows, many keys at once, until the service drops its end.
pub(in crate::engine) async fn run_reader(
    access: Arc<StoreAccess>,
    mut work: mpsc::Receiver<Lookup>,
    finished: mpsc::UnboundedSender<FinishedRead>,
) {
    let mut link = StoreLink::new(access);
    while let Some(lookup) = work.recv().await {
        let mut result = read(&mut link, &lookup).await;
        if matches!(&result, Err(e) if e.is_unknown()) {
            // A read has no outcome to be unsure of: again on a new connection.
            result = read(&mut link, &lookup).await;
        }
        if finished.send(FinishedRead { keys: lookup.keys, result }).is_err() {
            return;
        }
    }
}

async fn read(
    link: &mut StoreLink,
    Lookup { keys, probed, others }: &Lookup,
) -> Result<(Vec<LockRow>, HashSet<Vec<u8>>), StoreError> {
    let result = link.get().await?.read_locks(keys, probed, others).await;
    link.note_result(&result);
    result
}
