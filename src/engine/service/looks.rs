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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::super::super::lease::Lease;
    use super::super::staged::service;
    use super::*;
    use crate::lock::name::plain;
    use crate::types::Flavour;

    #[tokio::test]
    async fn a_question_is_not_answered_by_a_read_from_before_it() {
        let mut service = service(&Arc::new(Lease::default()));
        let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
        let ask = |service: &mut Service| {
            let (reply, answer) = oneshot::channel();
            service.look(key.clone(), reply);
            service.dispatch_reads();
            answer
        };
        let mut early = ask(&mut service);
        let mut late = ask(&mut service);
        let keys = vec![key.clone()];
        service.finish_read(Read { keys, result: Ok(Vec::new()) });
        assert_eq!(early.try_recv(), Ok(Look::Free));
        assert!(late.try_recv().is_err(), "the next read is for this one");
        service.dispatch_reads();
        service.finish_read(Read { keys: vec![key.clone()], result: Ok(Vec::new()) });
        assert_eq!(late.try_recv(), Ok(Look::Free));
    }
}
