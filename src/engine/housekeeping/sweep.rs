//! Compares the native locks that are held here with the server's own, each second: routines take and release
//! locks that are not in the text. Also lists the locks of clients that do not come through a proxy.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::engine::handle::Engine;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::io::native_locks::{Complaint, DirectLock};
use crate::engine::messages::{Differences, NativeHold};
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::user_locks::{UserLock, UserLocks};
use crate::types::BackendId;

/// How often.
const SWEEP: Duration = Duration::from_secs(1);

/// Sweeps as long as the process lives.
pub(in crate::engine) async fn sweep(access: Arc<StoreAccess>, engine: Engine) {
    let mut sweeper = Sweeper {
        link: StoreLink::new(Arc::clone(&access)),
        access,
        engine,
        strangers: HashSet::new(),
        direct: HashSet::new(),
        complaint: Complaint::default(),
    };
    let mut due = interval(SWEEP);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let result = sweeper.sweep().await;
        sweeper.link.judge(&result);
        if let Err(e) = result {
            tracing::debug!(error = %e, "could not compare held locks with the server's own");
        }
    }
}

struct Sweeper {
    access: Arc<StoreAccess>,
    link: StoreLink,
    engine: Engine,
    /// Locks without a row that were seen last time. A lock that was taken just now may have no row yet.
    strangers: HashSet<UserLock>,
    /// Those of them that were seen twice.
    direct: HashSet<UserLock>,
    complaint: Complaint,
}

impl Sweeper {
    async fn sweep(&mut self) -> Result<(), StoreError> {
        let Some(proxy) = self.engine.lease().proxy() else { return Ok(()) };
        // Before the list: a lock that was released in between is missing in it, and is released here, too.
        let holds = self.engine.held(proxy).await.native;
        let conn = self.link.get().await?;
        match conn.user_locks(None).await? {
            UserLocks::Listed { locks, garbled } => {
                self.complaint.hear(None);
                self.compare(&holds, locks, &garbled).await
            }
            UserLocks::Unlisted(why) => {
                self.complaint.hear(Some(why));
                let asked: Vec<(Key, BackendId)> =
                    holds.iter().map(|hold| (hold.key.clone(), hold.conn)).collect();
                let held = conn.holds_natively(&asked).await?;
                let gone = holds.into_iter().zip(held).filter(|(_, held)| !held);
                let gone = gone.map(|(hold, _)| hold).collect();
                self.engine.differ(Differences { gone, more: HashSet::new() });
                self.strangers.clear();
                self.direct.clear();
                self.show(Vec::new());
                Ok(())
            }
        }
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
        let gone = holds.iter().filter(gone).cloned().collect();
        let more: Vec<&UserLock> =
            locks.iter().filter(|lock| !here.contains(&(lock.conn, &lock.name.key))).collect();
        let keys: Vec<Key> = more.iter().map(|lock| lock.name.key.clone()).collect();
        let (named, own) = if keys.is_empty() {
            (Vec::new(), Vec::new())
        } else {
            let conn = self.link.get().await?;
            conn.named_holders(&self.access.url.schema, &keys).await?
        };
        let named: HashSet<(BackendId, Key)> = named.into_iter().collect();
        let is_known = |lock: &UserLock| {
            own.contains(&lock.conn.0) || named.contains(&(lock.conn, lock.name.key.clone()))
        };
        let unknown: HashSet<UserLock> =
            more.into_iter().filter(|lock| !is_known(lock)).cloned().collect();
        let more = unknown.iter().map(|lock| (lock.conn, lock.name.key.clone())).collect();
        let before = std::mem::replace(&mut self.strangers, unknown);
        let direct: Vec<UserLock> = self.strangers.intersection(&before).cloned().collect();
        self.engine.differ(Differences { gone, more });
        let now: HashSet<UserLock> = direct.iter().cloned().collect();
        let new = now.difference(&self.direct).count();
        self.access.metrics.direct_locks_seen.inc_by(new as u64);
        self.direct = now;
        let direct = self.owned(direct).await?;
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

    fn show(&self, direct: Vec<DirectLock>) {
        self.access.metrics.direct_locks.set(i64::try_from(direct.len()).unwrap_or(i64::MAX));
        self.engine.direct.set(direct);
    }
}
