//! Compares the native locks that are held here with the server's own: routines take and release locks that are not in the
//! text. Also lists the locks of clients that do not come through a proxy, in mode durable too, where these exclude nobody.
//!
//! The server's list has the locks of all proxies, and on MariaDB it is made from all metadata locks. So it is read each second
//! only while it is short and comes fast. In between some of the locks that are held here are looked at, each by its name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::engine::handle::Engine;
use crate::engine::io::gatekeeper::PREFIX;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::io::native_locks::{Complaint, DirectLock};
use crate::engine::messages::{Differences, NativeHold};
use crate::lock::name::{Key, shown};
use crate::seldom::{Seldom, Turn};
use crate::store::connection::StoreError;
use crate::store::user_locks::{ASKED, UserLock, UserLocks};
use crate::types::BackendId;

/// How often the list is read, or some of the locks are looked at.
const SWEEP: Duration = Duration::from_secs(1);
/// Locks in the list for which the next one comes a second later.
const A_SECOND_LATER: usize = 1000;
/// The lists of all proxies together take one part in so many of the time of one of the server's processors.
const SHARE: u32 = 10;
/// What a list takes, before one was read. Each list at most doubles what is expected of the next, since one may be late by
/// chance.
const EXPECTED: Duration = Duration::from_millis(1);
/// Seconds without a list, at most.
const LONGEST: usize = 30;

/// Sweeps as long as the process lives.
pub(in crate::engine) async fn sweep(access: Arc<StoreAccess>, engine: Engine, native: bool) {
    let mut sweeper = Sweeper {
        link: StoreLink::new(Arc::clone(&access)),
        access,
        engine,
        native,
        lines: Seldom::default(),
        strangers: HashSet::new(),
        direct: HashSet::new(),
        complaint: Complaint::of(native),
        unlisted: 0,
        expected: EXPECTED,
        doubted: HashSet::new(),
        next: 0,
    };
    let mut due = interval(SWEEP);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let result = sweeper.turn().await;
        sweeper.link.note_result(&result);
        if let Err(e) = result {
            tracing::debug!(error = %e, "could not compare held locks with the server's own");
        }
    }
}

struct Sweeper {
    access: Arc<StoreAccess>,
    link: StoreLink,
    engine: Engine,
    /// Whether sessions take the server's own locks here.
    native: bool,
    /// Lines about locks that exclude nobody.
    lines: Seldom,
    /// Locks without a row that were seen last time. A lock that was taken just now may have no row yet.
    strangers: HashSet<UserLock>,
    /// Locks without a row that were seen twice.
    direct: HashSet<UserLock>,
    complaint: Complaint,
    /// Turns until the next list.
    unlisted: usize,
    /// How long the next list takes.
    expected: Duration,
    /// Locks held here that the server did not have when they were looked at last.
    doubted: HashSet<NativeHold>,
    /// Where the next look begins.
    next: usize,
}

/// Turns without a list after one with so many locks, if it takes so long and so many proxies read it.
fn pause(listed: usize, takes: Duration, proxies: usize) -> usize {
    let all =
        takes.saturating_mul(SHARE).saturating_mul(u32::try_from(proxies).unwrap_or(u32::MAX));
    let seconds = usize::try_from(all.as_secs()).unwrap_or(usize::MAX);
    (listed / A_SECOND_LATER).max(seconds).min(LONGEST)
}

impl Sweeper {
    async fn turn(&mut self) -> Result<(), StoreError> {
        let Some(proxy) = self.engine.lease().proxy() else { return Ok(()) };
        // Before the list: a lock that was released in between is missing in it, and is released here, too.
        let holds = if self.native { self.engine.held(proxy).await.native } else { Vec::new() };
        if let Some(left) = self.unlisted.checked_sub(1) {
            self.unlisted = left;
            return self.ask_for_some(holds).await;
        }
        let conn = self.link.get().await?;
        let asked = Instant::now();
        match conn.user_locks(None).await? {
            UserLocks::Listed { locks, garbled } => {
                self.complaint.note_unlisted(None);
                self.expected = asked.elapsed().clamp(EXPECTED, self.expected * 2);
                let proxies = self.engine.peers().live() + 1;
                self.unlisted = pause(locks.len(), self.expected, proxies);
                self.compare(&holds, locks, &garbled).await
            }
            UserLocks::Unlisted(why) => {
                self.complaint.note_unlisted(Some(why));
                self.strangers.clear();
                self.direct.clear();
                self.show(Vec::new());
                self.ask_for_some(holds).await
            }
        }
    }

    /// Looks at as many of the locks held here as one statement asks for: first at those that were missed, then at the next ones.
    async fn ask_for_some(&mut self, holds: Vec<NativeHold>) -> Result<(), StoreError> {
        let (doubted, others): (Vec<_>, Vec<_>) =
            holds.into_iter().partition(|hold| self.doubted.contains(hold));
        let mut looked: Vec<NativeHold> = doubted.into_iter().take(ASKED / 2).collect();
        let room = (ASKED - looked.len()).min(others.len());
        let begin = if self.next < others.len() { self.next } else { 0 };
        looked.extend(others.iter().cycle().skip(begin).take(room).cloned());
        self.next = begin + room;
        if looked.is_empty() {
            return Ok(());
        }
        let asked: Vec<(Key, BackendId)> =
            looked.iter().map(|hold| (hold.key.clone(), hold.conn)).collect();
        let held = self.link.get().await?.holds_natively(&asked).await?;
        let gone = looked.into_iter().zip(held).filter(|(_, held)| !held);
        self.doubted = gone.map(|(hold, _)| hold).collect();
        self.engine.differ(Differences { gone: self.doubted.clone(), more: HashSet::new() });
        Ok(())
    }

    async fn compare(
        &mut self,
        holds: &[NativeHold],
        locks: Vec<UserLock>,
        garbled: &[BackendId],
    ) -> Result<(), StoreError> {
        let here: HashSet<(BackendId, &Key)> =
            holds.iter().map(|hold| (hold.conn, &hold.key)).collect();
        let there: HashSet<(BackendId, &Key)> =
            locks.iter().map(|lock| (lock.conn, &lock.name.key)).collect();
        let gone = |hold: &&NativeHold| {
            !there.contains(&(hold.conn, &hold.key)) && !garbled.contains(&hold.conn)
        };
        let gone: HashSet<NativeHold> = holds.iter().filter(gone).cloned().collect();
        self.doubted.clone_from(&gone);
        // Rows of these sessions follow.
        let late = self.access.late_rows.all_connections();
        let open: HashSet<u64> = self.access.open.lock().iter().map(|open| open.id).collect();
        let is_more = |lock: &&UserLock| {
            !here.contains(&(lock.conn, &lock.name.key))
                && !open.contains(&lock.conn.0)
                && !late.contains(&lock.conn.0)
                && !lock.name.given.starts_with(PREFIX.as_bytes())
        };
        let more: Vec<&UserLock> = locks.iter().filter(is_more).collect();
        let keys: Vec<Key> = more.iter().map(|lock| lock.name.key.clone()).collect();
        let (named, own) = if keys.is_empty() {
            (Vec::new(), Vec::new())
        } else {
            let conn = self.link.get().await?;
            conn.named_holders(&keys).await?
        };
        let named: HashSet<(BackendId, Key)> = named.into_iter().collect();
        let is_known = |lock: &UserLock| {
            own.contains(&lock.conn.0) || named.contains(&(lock.conn, lock.name.key.clone()))
        };
        let unknown: HashSet<UserLock> =
            more.into_iter().filter(|lock| !is_known(lock)).cloned().collect();
        let more = unknown.iter().map(|lock| (lock.conn, lock.name.key.clone())).collect();
        let before = std::mem::replace(&mut self.strangers, unknown);
        let mut direct: Vec<UserLock> = self.strangers.intersection(&before).cloned().collect();
        if self.engine.peers().are_late() && !direct.is_empty() {
            // Sessions of other proxies, whose rows follow.
            let ids: Vec<u64> = direct.iter().map(|lock| lock.conn.0).collect();
            let tagged = self.link.get().await?.tagged_among(&ids).await?;
            direct.retain(|lock| !tagged.contains(&lock.conn.0));
        }
        if self.native {
            self.engine.differ(Differences { gone, more });
        }
        let now: HashSet<UserLock> = direct.iter().cloned().collect();
        let new: HashSet<UserLock> = now.difference(&self.direct).cloned().collect();
        self.access.metrics.direct_locks_seen.inc_by(new.len() as u64);
        self.direct = now;
        let direct = self.owned(direct).await?;
        if !self.native {
            self.warn_of(&direct, &new);
        }
        self.show(direct);
        Ok(())
    }

    /// Adds the users of the connections that hold these locks.
    async fn owned(&mut self, locks: Vec<UserLock>) -> Result<Vec<DirectLock>, StoreError> {
        let conns: HashSet<BackendId> = locks.iter().map(|lock| lock.conn).collect();
        if conns.is_empty() {
            return Ok(Vec::new());
        }
        let conns: Vec<BackendId> = conns.into_iter().collect();
        let store = self.link.get().await?;
        let owners = store.owners(&conns).await?;
        let flavour = store.flavour();
        let owned = |UserLock { conn, name }| {
            let owner = owners.get(&conn).cloned();
            DirectLock { conn, name, owner, flavour }
        };
        Ok(locks.into_iter().map(owned).collect())
    }

    /// Reports new locks that were taken beside the rows.
    fn warn_of(&self, direct: &[DirectLock], new: &HashSet<UserLock>) {
        for lock in direct {
            let DirectLock { conn, name, owner, .. } = lock;
            if !new.contains(&UserLock { conn: *conn, name: name.clone() }) {
                continue;
            }
            if let Some(Turn { left_out }) = self.lines.turn() {
                let (name, owner) = (shown(&name.given), owner.as_deref());
                tracing::warn!(
                    name,
                    connection = conn.0,
                    owner,
                    left_out,
                    "a lock was taken at the server itself: in mode durable it excludes no client of a proxy"
                );
            }
        }
    }

    fn show(&self, direct: Vec<DirectLock>) {
        self.access.metrics.direct_locks.set(i64::try_from(direct.len()).unwrap_or(i64::MAX));
        self.engine.direct.set(direct);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{EXPECTED, LONGEST, pause};

    #[test]
    fn a_long_list_is_read_less_often() {
        for (listed, turns) in [(0, 0), (999, 0), (1000, 1), (12_345, 12), (50_000, 30)] {
            assert_eq!(pause(listed, EXPECTED, 1), turns, "{listed}");
        }
    }

    #[test]
    fn a_slow_list_is_read_less_often_the_more_proxies_read_it() {
        let cases = [(4, 1, 0), (4, 20, 0), (40, 1, 0), (40, 3, 1), (40, 20, 8), (1500, 20, 30)];
        for (ms, proxies, turns) in cases {
            assert_eq!(pause(10, Duration::from_millis(ms), proxies), turns, "{ms} {proxies}");
        }
        assert_eq!(pause(0, Duration::MAX, usize::MAX), LONGEST);
    }
}
