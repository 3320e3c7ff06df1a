//! All sessions of the process: how many, and how to reach them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::engine::handle::{EventSender, SessionEvent};

#[derive(Debug, Default)]
struct Inner {
    sessions: Mutex<HashMap<u64, EventSender>>,
    next: AtomicU64,
    changed: Notify,
    draining: AtomicBool,
}

/// The list of sessions.
#[derive(Debug, Clone, Default)]
pub struct Registry(Arc<Inner>);

/// An entry; dropping it strikes the session off.
#[derive(Debug)]
pub struct Entry {
    registry: Registry,
    id: u64,
}

impl Registry {
    /// Enters a session, unless `limit` are open.
    pub fn enter(&self, events: EventSender, limit: usize) -> Option<Entry> {
        let mut sessions = self.0.sessions.lock();
        if sessions.len() >= limit {
            return None;
        }
        if self.0.draining.load(Ordering::Relaxed) {
            // It was accepted before the drain, and comes after its announcement.
            let _ = events.send(SessionEvent::Drain);
        }
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        sessions.insert(id, events);
        Some(Entry { registry: self.clone(), id })
    }

    /// Tells every session.
    pub fn tell(&self, event: SessionEvent) {
        let sessions = self.0.sessions.lock();
        if event == SessionEvent::Drain {
            self.0.draining.store(true, Ordering::Relaxed);
        }
        for events in sessions.values() {
            // A session that has just ended no longer listens.
            let _ = events.send(event);
        }
    }

    /// Waits until no session is left; false at the limit.
    pub async fn emptied(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            let changed = self.0.changed.notified();
            if self.0.sessions.lock().is_empty() {
                return true;
            }
            if timeout_at(end, changed).await.is_err() {
                return self.0.sessions.lock().is_empty();
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.0.sessions.lock().remove(&self.id);
        self.registry.0.changed.notify_waiters();
    }
}
