//! Looking at rows: for the IS_ functions, and for locks that other proxies hold.

use std::collections::HashMap;

use tokio::time::Instant;

use super::super::handle::Look;
use super::super::pipe::Read;
use super::{POLL, Service};
use crate::lock::name::Key;
use crate::store::batch::Row;
use crate::types::{ConnectionId, ProxyId};

/// Keys in a read at most.
const READ: usize = 1024;

impl Service {
    pub(super) fn poll(&mut self) {
        self.poll_at = None;
        let keys: Vec<Key> = self.remote_keys();
        for key in keys {
            self.looks.entry(key).or_default();
        }
    }

    fn remote_keys(&self) -> Vec<Key> {
        self.keys
            .iter()
            .filter(|(_, s)| s.remote && !s.queue.is_empty())
            .map(|(k, _)| k.clone())
            .collect()
    }

    pub(super) fn dispatch_reads(&mut self) {
        if !self.looked_at.is_empty() || self.looks.is_empty() {
            return;
        }
        let keys: Vec<Key> = self.looks.keys().take(READ).cloned().collect();
        self.looked_at = keys.iter().filter_map(|k| self.looks.remove_entry(k)).collect();
        // The reader is idle, so its channel of one has room.
        let _ = self.reader.try_send(keys);
    }

    pub(super) fn finish_read(&mut self, read: Read) {
        let Read { keys, result } = read;
        let rows: Result<HashMap<&[u8], &Row>, _> = match &result {
            Ok(rows) => Ok(rows.iter().map(|r| (r.key.as_slice(), r)).collect()),
            Err(e) => Err(e.to_string()),
        };
        if let Ok(rows) = &result {
            self.last_token = rows.iter().fold(self.last_token, |last, row| last.max(row.token));
        }
        for key in keys {
            let look = match &rows {
                Err(e) => Look::Failed(e.clone()),
                Ok(rows) => match rows.get(key.as_bytes()) {
                    Some(r) if r.holder != 0 && !self.clean.contains(&ProxyId(r.holder)) => {
                        Look::Used(ConnectionId(r.conn))
                    }
                    _ => Look::Free,
                },
            };
            for reply in self.looked_at.remove(&key).unwrap_or_default() {
                let _ = reply.send(look.clone());
            }
            if look == Look::Free
                && let Some(state) = self.keys.get_mut(&key).filter(|s| s.remote)
            {
                state.remote = false;
                self.list(&key);
            }
        }
        if self.remote_keys().is_empty() {
            self.poll_at = None;
        } else if self.poll_at.is_none() {
            self.poll_every = (self.poll_every * 6 / 5).min(POLL.1);
            self.poll_at = Some(Instant::now() + self.poll_every);
        }
    }
}
