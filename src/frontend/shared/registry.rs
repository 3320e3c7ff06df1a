//! All sessions of the process: how many, and how to reach them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use dashmap::{DashMap, DashSet};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::activity::{Activity, Doing};
use crate::clock;
use crate::engine::handle::{EventSender, SessionEvent};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::net::peer::Peer;
use crate::net::room::Room;
use crate::protocol::user_name::UserName;
use crate::types::{BackendId, ConnectionId, ProxyId};

/// A session, for display.
#[derive(Debug)]
pub struct SessionInfo {
    /// The session's cluster, where there may be several.
    pub cluster: Option<Arc<str>>,
    /// The id that the client was told.
    pub connection: ConnectionId,
    /// The server's connection that works for it.
    pub backend: CurrentBackend,
    /// user@host, as the server sees them.
    pub owner: Arc<[u8]>,
    /// The user name by itself.
    pub user: UserName,
    /// Where the client is.
    pub peer: Peer,
    /// Whether its bytes are encrypted on their way to the proxy.
    pub tls: bool,
    /// When its server greeted it, on the boot clock.
    pub opened: Duration,
}

impl SessionInfo {
    /// Whether it is at the writer of this cluster: a session at a replica may have the same ids.
    pub fn is_at_writer(&self, cluster: Option<&str>) -> bool {
        self.cluster.as_deref() == cluster && !self.backend.is_at_replica()
    }
}

/// A session that was looked for.
#[derive(Debug)]
pub struct FoundSession {
    /// As it is shown.
    pub shown: Arc<SessionInfo>,
    /// How to reach it.
    pub events: EventSender,
}

#[derive(Debug)]
struct Member {
    events: EventSender,
    /// `None` before the session has logged in.
    shown: Option<Arc<SessionInfo>>,
    activity: Arc<Activity>,
}

/// The second of the boot clock in which logins were begun last.
#[derive(Debug, Default)]
struct LoginSecond {
    second: u64,
    begun: u32,
}

#[derive(Debug, Default)]
struct Inner {
    /// Sessions in shards, since all threads enter and strike off.
    sessions: DashMap<u64, Member>,
    /// How many there are, exactly.
    count: AtomicUsize,
    next: AtomicU64,
    /// Numbers of the open sessions.
    numbers: DashSet<u32>,
    next_number: AtomicU32,
    changed: Notify,
    draining: AtomicBool,
    aside: AtomicBool,
    logins: Mutex<LoginSecond>,
    room: Room,
}

/// The list of sessions.
#[derive(Debug, Clone, Default)]
pub struct Registry(Arc<Inner>);

/// An entry; dropping it strikes the session off.
#[derive(Debug)]
pub struct Entry {
    registry: Registry,
    id: u64,
    number: SessionNumber,
    activity: Arc<Activity>,
}

/// What the sessions of a cluster do while a switchover is prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activities {
    /// Sessions in a transaction.
    pub inside: Vec<ConnectionId>,
    /// Sessions that run a statement outside a transaction.
    pub running: Vec<ConnectionId>,
    /// How many sessions wait for a lock, outside a transaction.
    pub waiting: usize,
    /// How many sessions end with their connection.
    pub tied: usize,
}

impl Activities {
    /// Whether nothing is open.
    pub fn is_quiet(&self) -> bool {
        self.inside.is_empty() && self.running.is_empty()
    }
}

/// Tells the sessions of a process apart that are open at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionNumber(u32);

impl SessionNumber {
    /// How many there are: more than sessions may be open.
    const COUNT: u32 = 1 << 20;

    /// The id of a session of this proxy that no connection of its own gives an id. Such ids are above those of
    /// servers, and positive for drivers that know no other numbers. No other proxy makes them.
    pub fn id(self, proxy: Option<ProxyId>) -> ConnectionId {
        let slot = proxy.map_or(0, |proxy| u64::from(proxy.slot()));
        ConnectionId(ConnectionId::FIRST_MADE | slot << 20 | u64::from(self.0))
    }
}

impl Registry {
    /// What unpacking may take over all sessions.
    pub fn room(&self) -> &Room {
        &self.0.room
    }

    /// Enters a session, unless `limit` are open.
    pub fn enter(&self, events: EventSender, limit: usize) -> Option<Entry> {
        let room = |count| (count < limit).then_some(count + 1);
        self.0.count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).ok()?;
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let number = self.number();
        let activity = Arc::<Activity>::default();
        let member = Member { events, shown: None, activity: Arc::clone(&activity) };
        self.0.sessions.insert(id, member);
        if self.0.draining.load(Ordering::SeqCst)
            && let Some(member) = self.0.sessions.get(&id)
        {
            // The client was accepted before the drain. The session may enter after the announcement, or hear it twice.
            let _ = member.events.send(SessionEvent::Drain);
        }
        Some(Entry { registry: self.clone(), id, number, activity })
    }

    /// A number that no open session has. There are more than sessions, so it is soon found.
    fn number(&self) -> SessionNumber {
        loop {
            let next = self.0.next_number.fetch_add(1, Ordering::Relaxed);
            let number = next % SessionNumber::COUNT;
            if self.0.numbers.insert(number) {
                return SessionNumber(number);
            }
        }
    }

    /// Tells every session.
    pub fn tell(&self, event: SessionEvent) {
        if event == SessionEvent::Drain {
            self.0.draining.store(true, Ordering::SeqCst);
        }
        for member in &self.0.sessions {
            // A session that has just ended no longer listens.
            let _ = member.events.send(event);
        }
    }

    /// Counts a login; false when there were `most` in this second already, 0 being any number.
    pub fn may_log_in(&self, most: u32) -> bool {
        if most == 0 {
            return true;
        }
        let second = clock::now().as_secs();
        let mut logins = self.0.logins.lock();
        if logins.second != second {
            *logins = LoginSecond { second, begun: 0 };
        }
        logins.begun = logins.begun.saturating_add(1);
        logins.begun <= most
    }

    /// Tells those that have not logged in, and those that `spared` does not name.
    pub fn tell_others(&self, event: SessionEvent, spared: impl Fn(&SessionInfo) -> bool) {
        for member in &self.0.sessions {
            if !member.shown.as_ref().is_some_and(|shown| spared(shown)) {
                let _ = member.events.send(event);
            }
        }
    }

    /// Whether the process ends, and sessions with it.
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Relaxed)
    }

    /// Whether an administrator has set the proxy aside: it serves, but asks for no more clients.
    pub fn is_aside(&self) -> bool {
        self.0.aside.load(Ordering::Relaxed)
    }

    /// Sets the proxy aside, or back.
    pub fn set_aside(&self, aside: bool) {
        self.0.aside.store(aside, Ordering::Relaxed);
    }

    /// Up to `most` sessions that have logged in, in no order.
    pub fn shown(&self, most: usize) -> Vec<Arc<SessionInfo>> {
        self.0.sessions.iter().filter_map(|member| member.shown.clone()).take(most).collect()
    }

    /// What the sessions at the writer of a cluster do that have logged in, in the hold of this number.
    pub fn activities(&self, cluster: Option<&str>, hold: u64) -> Activities {
        let mut all = Activities::default();
        for member in &self.0.sessions {
            let Some(shown) = member.shown.as_ref().filter(|s| s.is_at_writer(cluster)) else {
                continue;
            };
            match member.activity.during(hold) {
                Doing::Transaction => all.inside.push(shown.connection),
                Doing::Runs => all.running.push(shown.connection),
                Doing::Waits => all.waiting += 1,
                Doing::Tied => all.tied += 1,
                Doing::Rests => {}
            }
        }
        all
    }

    /// How to reach sessions at the writer of a cluster by the server's connections that work for them.
    pub fn find(
        &self,
        cluster: Option<&str>,
        backends: &HashSet<BackendId>,
    ) -> HashMap<BackendId, EventSender> {
        let found = self.0.sessions.iter().filter_map(|member| {
            let shown = member.shown.as_ref().filter(|s| s.is_at_writer(cluster))?;
            let backend = shown.backend.id().filter(|id| backends.contains(id))?;
            Some((backend, member.events.clone()))
        });
        found.collect()
    }

    /// A session at the writer of this cluster here, by the id that its client was told.
    pub fn session(&self, cluster: Option<&str>, id: ConnectionId) -> Option<FoundSession> {
        self.0.sessions.iter().find_map(|member| {
            let shown = member.shown.as_ref().filter(|s| s.is_at_writer(cluster))?;
            let found = || FoundSession { shown: Arc::clone(shown), events: member.events.clone() };
            (shown.connection == id).then(found)
        })
    }

    /// Waits until no session is left; false at the limit.
    pub async fn emptied(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            let changed = self.0.changed.notified();
            if self.is_empty() {
                return true;
            }
            if timeout_at(end, changed).await.is_err() {
                return self.is_empty();
            }
        }
    }
}

impl Registry {
    fn is_empty(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) == 0
    }
}

impl Entry {
    /// The number of the session.
    pub fn number(&self) -> SessionNumber {
        self.number
    }

    /// What the session does.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Shows the session in lists: after its login, and again when it is another user's.
    pub fn show(&self, shown: SessionInfo) {
        if let Some(mut member) = self.registry.0.sessions.get_mut(&self.id) {
            member.shown = Some(Arc::new(shown));
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.0.sessions.remove(&self.id);
        self.registry.0.numbers.remove(&self.number.0);
        self.registry.0.count.fetch_sub(1, Ordering::SeqCst);
        self.registry.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn no_more_enter_than_there_is_room_for() {
        let registry = Registry::default();
        let (events, _heard) = mpsc::unbounded_channel();
        let first = registry.enter(events.clone(), 2);
        let second = registry.enter(events.clone(), 2);
        assert!(first.is_some() && second.is_some());
        assert!(registry.enter(events.clone(), 2).is_none());
        drop(first);
        assert!(registry.enter(events, 2).is_some());
        drop(second);
        assert!(registry.is_empty());
    }

    #[test]
    fn open_sessions_have_different_ids_even_after_all_numbers_were_given() {
        let registry = Registry::default();
        let (events, _heard) = mpsc::unbounded_channel();
        let enter = || registry.enter(events.clone(), 9).expect("room");
        let first = enter();
        registry.0.next_number.store(SessionNumber::COUNT * 2, Ordering::Relaxed);
        let second = enter();
        let (one, other) = (first.number(), second.number());
        assert_eq!((one, other), (SessionNumber(0), SessionNumber(1)));
        let proxy = Some(ProxyId(7 << 10 | 5));
        assert_eq!(other.id(proxy), ConnectionId(1 << 30 | 5 << 20 | 1));
        drop(first);
        registry.0.next_number.store(0, Ordering::Relaxed);
        assert_eq!(enter().number(), SessionNumber(0), "it is free again");
    }

    #[test]
    fn a_session_that_enters_during_a_drain_learns_of_it() {
        let registry = Registry::default();
        let (events, mut heard) = mpsc::unbounded_channel();
        let early = registry.enter(events.clone(), 9);
        registry.tell(SessionEvent::Drain);
        assert_eq!(heard.try_recv().ok(), Some(SessionEvent::Drain));
        let late = registry.enter(events, 9);
        assert_eq!(heard.try_recv().ok(), Some(SessionEvent::Drain));
        assert!(early.is_some() && late.is_some() && registry.is_draining());
    }
}
