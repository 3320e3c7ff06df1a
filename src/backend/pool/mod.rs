//! Connections to the server that sessions share: who has one, who waits for one, how many there are.
//!
//! A session keeps the connection that it had last until another one needs it. So the pool knows which sessions have a
//! connection and do nothing with it. When there is neither a free connection nor room for a new one, the pool asks the
//! session that has been idle for longest. Accounts take turns, and waiting sessions of one are served in the order of
//! their coming. An account that has no connection gets one, whatever others have.

mod accounts;
mod holder;
pub(super) mod key;
pub(super) mod permit;
pub mod shown;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use self::holder::PoolHolder;
pub use self::key::PoolKey;
pub use self::permit::Permit;
use self::permit::Permits;
pub use self::state::{Lent, Wish};
use self::state::{PoolState, PoolWaiter, is_alone, suits};
use super::connection::DetachedBackend;
use super::session_state::SessionState;
use crate::clock;
use crate::metrics::Metrics;
use crate::protocol::user_name::UserName;

/// Limits of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// Connections at most, in use or free. Logins that the server judges come on top, and one of each account that would
    /// have none.
    pub size: usize,
    /// How long a session may keep a connection with which it does nothing.
    pub idle_keep: Duration,
    /// How old a connection may get.
    pub lifetime: Duration,
}

/// The answer to a session that needs a connection.
#[derive(Debug)]
pub enum PoolTurn {
    /// At once.
    Now(Lent),
    /// Later; dropping it gives up.
    Later(oneshot::Receiver<Lent>),
}

/// A session's hold on a connection, for as long as it has one.
pub struct Hold {
    pool: Pool,
    id: u64,
    holder: Arc<PoolHolder>,
}

impl Hold {
    /// The session does nothing with it from here on, and could give it back.
    pub fn mark_idle(&self) {
        self.holder.mark_idle();
    }

    /// The session works with it, or cannot give it back.
    pub fn mark_busy(&self) {
        self.holder.mark_busy();
    }

    /// The session was asked for it, and must keep it: another one is asked if somebody waits still.
    pub fn refuse(&self) {
        self.mark_busy();
        if self.pool.is_wanted() {
            self.pool.0.state.lock().nudge();
        }
    }

    /// Notes why the session keeps its connection between transactions.
    pub fn note_reasons(&self, reasons: impl Iterator<Item = &'static str>) {
        let mut noted = self.holder.reasons.lock();
        noted.clear();
        noted.extend(reasons);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.pool.0.state.lock().holders.remove(&self.id);
    }
}

/// One pool. Copies speak of the same.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

struct PoolInner {
    limits: PoolLimits,
    state: Mutex<PoolState>,
    /// Sessions that wait, as the others look at it without a lock.
    waiting: AtomicUsize,
    metrics: Arc<Metrics>,
}

impl Pool {
    /// An empty one.
    pub fn new(limits: PoolLimits, metrics: Arc<Metrics>) -> Self {
        let (state, waiting) = (Mutex::new(PoolState::new()), AtomicUsize::new(0));
        Self(Arc::new(PoolInner { limits, state, waiting, metrics }))
    }

    /// A permit for a connection of this account that is open already: its session logged in on it.
    pub fn adopt(&self, key: &Arc<PoolKey>) -> Permit {
        self.permit_on_top(self.0.state.lock(), key)
    }

    /// Leave for one more connection, for which free connections make room.
    fn permit_on_top(&self, mut state: MutexGuard<'_, PoolState>, key: &Arc<PoolKey>) -> Permit {
        state.count_opening(key.user.bytes());
        let over = state.open.saturating_sub(self.0.limits.size);
        let old = state.evict(over);
        self.0.show(&state);
        drop(state);
        drop(old);
        self.permit(key)
    }

    /// A connection for a session of this account, best with this state on it.
    pub(crate) fn take(&self, key: &Arc<PoolKey>, wish: Wish, state: &SessionState) -> PoolTurn {
        let mut pool = self.0.state.lock();
        pool.accounts.retain(|waiter| !waiter.to.is_closed());
        if pool.accounts.count(key.user.bytes()) == 0 {
            return PoolTurn::Now(Lent::New(self.permit_on_top(pool, key)));
        }
        if pool.accounts.waiting() == 0 {
            let room = pool.open < self.0.limits.size;
            if let Some(at) = pool.suited(key, wish, state, room) {
                let backend = pool.free.remove(at);
                self.0.show(&pool);
                return PoolTurn::Now(Lent::Open(Box::new(backend)));
            }
            // Those that nobody has make room, whatever they are. Nobody waits for that.
            if pool.open < self.0.limits.size + pool.free.len() {
                return PoolTurn::Now(Lent::New(self.permit_on_top(pool, key)));
            }
        }
        let (to, turn) = oneshot::channel();
        pool.accounts.wait(key.user.bytes(), PoolWaiter { key: Arc::clone(key), wish, to });
        self.0.note_waiting(&pool);
        self.0.metrics.pool_waits.inc();
        // Of another account, or with a schema where none is wanted: it makes room.
        let over = (pool.open + 1).saturating_sub(self.0.limits.size);
        let unsuited = pool.evict(over);
        if unsuited.len() < over {
            pool.nudge();
        }
        self.0.show(&pool);
        drop(pool);
        drop(unsuited);
        PoolTurn::Later(turn)
    }

    /// A free connection of this account, if there is one.
    pub fn take_free(&self, user: &UserName) -> Option<DetachedBackend> {
        let mut state = self.0.state.lock();
        let at = state.free.iter().rposition(|backend| backend.key().user == *user)?;
        let backend = state.free.remove(at);
        self.0.show(&state);
        Some(backend)
    }

    /// Takes back a connection.
    pub fn give(&self, backend: DetachedBackend) {
        let mut backend = Some(backend);
        while let Some(given) = backend.take() {
            let mut state = self.0.state.lock();
            let over = state.open > self.0.limits.size;
            let old = given.is_left() || self.0.is_old(&given) || is_alone(&given);
            if old || state.has_retired(&given) {
                drop(state);
                break;
            }
            let next = state.accounts.next(Some(given.key().user.bytes()));
            // A connection too many stays if its account would have none.
            let lends = next.is_some_and(|(_, waiter, others)| {
                suits(&given, &waiter.key, waiter.wish) && (!over || others == 0)
            });
            match next.map(|(user, ..)| user.to_vec()) {
                None if !over => {
                    state.free.push(given);
                    self.0.show(&state);
                }
                Some(user) if lends => {
                    let waiter = state.accounts.serve(&user);
                    self.0.note_waiting(&state);
                    drop(state);
                    // If it has given up, the next one gets it.
                    let sent = waiter.map(|waiter| waiter.to.send(Lent::Open(Box::new(given))));
                    if let Some(Err(Lent::Open(back))) = sent {
                        backend = Some(*back);
                    }
                }
                // The end of this connection makes room for one that suits.
                None | Some(_) => {
                    drop(state);
                    drop(given);
                }
            }
        }
    }

    /// Whether a session waits: others give back what they do not need right now.
    pub fn is_wanted(&self) -> bool {
        self.0.waiting.load(Ordering::SeqCst) > 0
    }

    /// Whether there are more connections than there may be, and this account has others: the next one that is free is
    /// closed.
    pub fn is_over(&self, user: &[u8]) -> bool {
        let state = self.0.state.lock();
        state.open > self.0.limits.size && state.accounts.count(user) > 1
    }

    /// A session with this key has a connection. `nudge` asks for it.
    pub fn hold(&self, key: &Arc<PoolKey>, nudge: impl Fn() + Send + Sync + 'static) -> Hold {
        let mut state = self.0.state.lock();
        let id = state.next;
        state.next += 1;
        let holder = Arc::new(PoolHolder::new(Arc::clone(key), nudge));
        state.holders.insert(id, Arc::clone(&holder));
        Hold { pool: self.clone(), id, holder }
    }

    /// Closes free connections that are too old, and asks sessions for those with which they do
    /// nothing. Runs as long as the process.
    pub async fn tend(self) {
        let mut tick = interval((self.0.limits.idle_keep / 4).max(Duration::from_millis(50)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = clock::now();
            let mut state = self.0.state.lock();
            let (old, young) =
                std::mem::take(&mut state.free).into_iter().partition(|b| self.0.is_old(b));
            state.free = young;
            let retired = state.retire(now);
            // A session may no longer need its connection though it has done nothing: another login has shown how
            // connections are opened.
            let wanted = state.accounts.waiting() > 0;
            for holder in state.holders.values() {
                let idle = holder.idle_since().map(|since| now.saturating_sub(since));
                if wanted || idle.is_some_and(|idle| idle >= self.0.limits.idle_keep) {
                    holder.nudge();
                }
            }
            self.0.show(&state);
            drop(state);
            let old: Vec<DetachedBackend> = old;
            drop((old, retired));
        }
    }

    /// Accounts have changed, or their privileges, if that is `certain`. A connection has those of its login.
    pub fn accounts_changed(&self, certain: bool) {
        let mut state = self.0.state.lock();
        state.accounts_changed = true;
        if certain {
            state.changed_at = clock::now();
        }
        let retired = state.retire(clock::now());
        self.0.show(&state);
        drop(state);
        tracing::debug!(closed = retired.len(), "accounts have changed");
        drop(retired);
    }

    /// When accounts changed last, on the boot clock.
    pub fn accounts_as_of(&self) -> Duration {
        self.0.state.lock().changed_at
    }

    /// Closes free connections that do not lead to the writer.
    pub fn close_left(&self) {
        let mut state = self.0.state.lock();
        let left: Vec<DetachedBackend> = state.free.extract_if(.., |b| b.is_left()).collect();
        self.0.show(&state);
        drop(state);
        drop(left);
    }

    fn permit(&self, key: &Arc<PoolKey>) -> Permit {
        Permit::new(Arc::clone(&self.0) as Arc<dyn Permits>, Arc::clone(key))
    }
}

impl Permits for PoolInner {
    fn make_room(self: Arc<Self>, key: &PoolKey) {
        let mut state = self.state.lock();
        state.open = state.open.saturating_sub(1);
        state.accounts.close(key.user.bytes());
        let mut served = Vec::new();
        while let Some((user, _, open)) = state.accounts.next(None)
            && (state.open < self.limits.size || open == 0)
        {
            let user = user.to_vec();
            let Some(waiter) = state.accounts.serve(&user) else { break };
            state.count_opening(&user);
            served.push(waiter);
        }
        self.note_waiting(&state);
        self.show(&state);
        drop(state);
        for PoolWaiter { key, to, .. } in served {
            // Where it has given up, its permit makes room for the next one.
            let _ = to.send(Lent::New(Permit::new(Arc::clone(&self) as Arc<dyn Permits>, key)));
        }
    }
}

impl PoolInner {
    fn is_old(&self, backend: &DetachedBackend) -> bool {
        clock::now().saturating_sub(backend.opened()) > self.limits.lifetime
    }

    fn note_waiting(&self, state: &PoolState) {
        self.waiting.store(state.accounts.waiting(), Ordering::SeqCst);
    }

    fn show(&self, state: &PoolState) {
        let free = i64::try_from(state.free.len()).unwrap_or(i64::MAX);
        let open = i64::try_from(state.open).unwrap_or(i64::MAX);
        self.metrics.pool_open.set(open);
        self.metrics.pool_free.set(free);
    }
}
