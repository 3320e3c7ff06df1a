//! Sessions that end: their locks are released when the server has stopped working for them.

use tokio::sync::oneshot;

use super::Service;
use crate::engine::io::disconnects::{Absence, DeferredRelease, Disconnection, Question};
use crate::engine::service::keys::LocalHold;
use crate::engine::shared::late_rows::LateSession;
use crate::lock::name::Key;
use crate::types::{BackendId, ProxyId};

impl Service {
    /// Sessions end: a session that wants their locks waits for the release.
    pub(super) fn leaving(&mut self, locks: &[(Key, u64)], why: &'static str) {
        for (key, token) in locks {
            let held = self.keys.get_mut(key).and_then(|state| state.held.as_mut());
            let Some(held) = held.filter(|held| held.token == *token) else { continue };
            held.leaving.get_or_insert(why);
            self.doubts.wait_for_release(key);
        }
    }

    /// Releases locks when the server's thread that worked for their session is gone; at once if none did.
    pub(super) fn watch(
        &mut self,
        conn: Option<BackendId>,
        locks: Vec<(Key, u64)>,
        proxy: ProxyId,
        why: &'static str,
    ) {
        self.leaving(&locks, why);
        let Some(conn) = conn else { return self.release_all(locks, proxy, None) };
        // The connection was there before its first grant. Without one there is nothing to wait
        // for: the locks were lost meanwhile.
        if let Some(run) = locks
            .iter()
            .filter_map(|(key, token)| self.keys.held_under(key, *token))
            .map(LocalHold::run)
            .min()
        {
            self.watched += 1;
            let watch = DeferredRelease { conn, run, locks, proxy, late: None };
            let _ = self.endings.send(Disconnection::Release(watch));
        }
    }

    /// Keeps a session listed that may have locks without rows, until the server's thread that worked for it is gone.
    /// `run`: the server's start in the run in which it has them.
    pub(super) fn watch_late(
        &mut self,
        (conn, run): (BackendId, i64),
        proxy: ProxyId,
        session: LateSession,
    ) {
        self.watched += 1;
        let (locks, late) = (Vec::new(), Some(session));
        let watch = DeferredRelease { conn, run, locks, proxy, late };
        let _ = self.endings.send(Disconnection::Release(watch));
    }

    /// Ends a connection, and tells when the server no longer works for it.
    pub(super) fn until_gone(&self, conn: BackendId, run: Option<i64>, reply: oneshot::Sender<()>) {
        let _ =
            self.endings.send(Disconnection::Await(Absence { conn, run, reply, killed: false }));
    }

    /// Tells the session of a lock if the server no longer works for it.
    pub(super) fn ask_whether_served(&self, key: &Key, token: u64) {
        if let Some(held) = self.keys.held_under(key, token)
            && let Some(conn) = held.backend.id()
        {
            let question = Question { conn, run: held.run(), events: held.events.clone() };
            let _ = self.endings.send(Disconnection::Ask(question));
        }
    }
}
