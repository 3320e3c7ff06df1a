//! Keys whose rows are to be read, and the sessions that ask about them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::engine::io::reader::Lookup;
use crate::engine::messages::Look;
use crate::lock::name::Key;
use crate::store::statement::Others;

/// Keys in a read at most.
const READ: usize = 1024;

/// A session that asks about a key.
pub(super) struct PendingLook {
    pub(super) reply: oneshot::Sender<Look>,
    pub(super) stage: LookStage,
}

/// How far a question has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum LookStage {
    /// Nothing was read yet.
    First,
    /// Another proxy was seen to have it once already.
    Again,
    /// The owner of the name was asked, first at this time.
    Asked(Instant),
}

/// Sessions that ask about keys; none for a key that a poll is for.
type LooksByKey = HashMap<Key, Vec<PendingLook>>;

/// The keys to be read, and those that are being read.
pub(super) struct Looks {
    reader: mpsc::Sender<Lookup>,
    next: LooksByKey,
    /// The keys of `next`, in the order in which their turn comes.
    order: VecDeque<Key>,
    /// Looks of the read at the store: a session that asks later must not get an answer from before.
    under_way: LooksByKey,
    /// When that read was sent.
    began: Instant,
}

impl Looks {
    pub(super) fn new(reader: mpsc::Sender<Lookup>) -> Self {
        Self {
            reader,
            next: LooksByKey::new(),
            order: VecDeque::new(),
            under_way: LooksByKey::new(),
            began: Instant::now(),
        }
    }

    /// Has a key's row read when its turn comes.
    pub(super) fn ask(&mut self, key: Key) -> &mut Vec<PendingLook> {
        if !self.next.contains_key(&key) {
            self.order.push_back(key.clone());
        }
        self.next.entry(key).or_default()
    }

    /// Has a key's row read, and tells the session that asks.
    pub(super) fn ask_for(&mut self, key: Key, reply: oneshot::Sender<Look>, stage: LookStage) {
        self.ask(key).push(PendingLook { reply, stage });
    }

    /// Takes the keys of the next read, if there is one and the reader is idle.
    pub(super) fn next_read(&mut self) -> Option<Vec<Key>> {
        if !self.under_way.is_empty() || self.next.is_empty() {
            return None;
        }
        let some = self.order.len().min(READ);
        let keys: Vec<Key> = self.order.drain(..some).collect();
        self.under_way = keys.iter().filter_map(|k| self.next.remove_entry(k)).collect();
        Some(keys)
    }

    /// Sends the read of these keys. `probed` are those of them that sessions here wait for.
    pub(super) fn send(&mut self, keys: Vec<Key>, probed: Vec<Key>, others: Arc<Others>) {
        self.began = Instant::now();
        // The reader is idle, so its channel of one has room.
        let _ = self.reader.try_send(Lookup { keys, probed, others });
    }

    /// When the read was sent that is or was under way.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// The sessions that asked about a key which was read.
    pub(super) fn answered(&mut self, key: &Key) -> Vec<PendingLook> {
        self.under_way.remove(key).unwrap_or_default()
    }
}
