//! The next epoch, when another server is the primary: it is opened, and holders carry their locks into it.
//!
//! Nothing is granted in the new epoch for the longest lease, its grace (I12). A lock that this server never got may be
//! held by a proxy that does not know yet of the failover. After that time every holder has carried its locks over, or
//! has given them up (I6). The former primary must accept no writes by then (docs/adr/0029-epochs.md).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::Keeper;
use super::parts::milliseconds;
use crate::clock;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::lease::clusters;
use crate::engine::lease::incarnation::{GrantWait, Incarnation};
use crate::engine::lease::longest::Longest;
use crate::engine::messages::LeaseEvent;
use crate::engine::shared::reign::FailoverMode;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::servers::guarantee::Guarantee;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::meta::Meta;
use crate::store::proxies::Renewal;
use crate::store::rows::{ProxyRow, ProxyState};
use crate::store::schema::VERSION;
use crate::store::statement::BatchWriter;
use crate::store::succession::{CARRIED, CarriedLock};
use crate::types::ProxyId;

/// What is said of a guarantee.
const LOSSLESS: &str = "a failover loses no locks, and its grace ends early";

/// Pause between the two looks for rows that name this proxy and no session of it.
const SECOND_LOOK: Duration = Duration::from_secs(1);

impl Keeper {
    /// A later epoch than the incarnation's is in force here: its locks are carried over, if nobody can have revoked it
    /// before. Otherwise it is over.
    pub(super) async fn follow(&mut self, now: Incarnation, meta: Meta) -> Result<(), StoreError> {
        let carries = self.outlives && self.reclaims && clock::now() < self.lease.deadline();
        if !carries || !self.carry_over(&now, &meta).await? {
            tracing::error!(proxy = %now.id, epoch = meta.epoch, "a later epoch has begun: sessions that hold locks are closed");
            self.fence();
            return self.join().await;
        }
        Ok(())
    }

    /// Whether the incarnation goes on in this epoch.
    async fn carry_over(&mut self, now: &Incarnation, meta: &Meta) -> Result<bool, StoreError> {
        self.lease.stop_grants();
        let (id, epoch, seen) = (now.id, meta.epoch, clock::now());
        let (reply, held) = oneshot::channel();
        let _ = self.events.send(LeaseEvent::Moving { proxy: id, reply });
        let held = held.await.map_err(ended)?;
        let version = rand::random();
        let Some(mine) = &mut self.incarnation else { return Ok(false) };
        mine.sent(version);
        let versions = mine.versions.clone();
        let longest = milliseconds(self.server.longest(self.terms));
        let keeps = self.keeps();
        let conn = self.link.get_any().await?;
        self.access.set_found(conn.finds_all_tagged().await.unwrap_or(false));
        let row = ProxyRow {
            id,
            state: ProxyState::Live,
            rvn: version,
            epoch,
            ttl_ms: milliseconds(self.terms),
            addr: self.addr.clone(),
            server_start: conn.started(),
            conns: self.access.beside(conn),
            native: self.native,
            tables: VERSION,
            keeps,
        };
        conn.enter_again(&row, now.epoch, epoch).await?;
        let lossless = clusters::is_lossless(&self.access.writer, conn, &self.guarantee)
            && conn.epoch_before(epoch).await? == Some(now.epoch);
        // An incarnation that this proxy remembers and this server does not know is waited for, too.
        for peer in self.peers.iter().filter(|_| lossless) {
            conn.enter_again(peer, now.epoch, epoch).await?;
        }
        let lost = write_rows(conn, id, epoch, &held).await?;
        // From before the send, as of every renewal.
        let sent = clock::now();
        if !conn.rejoin(&row, epoch, &versions, longest).await? {
            if conn.read_meta().await?.epoch != epoch {
                let message = "another epoch has begun".to_owned();
                return Err(StoreError::Refused { code: 1105, message });
            }
            return Ok(false);
        }
        let ident = conn.ident().to_owned();
        self.until_witnessed(id, epoch, version).await?;
        // Past it, another proxy may have revoked this one on the former server, and that may be lost.
        if clock::now() >= self.lease.deadline() {
            return Ok(false);
        }
        let run = row.server_start;
        *self.access.home.lock() = Some(ident.as_str().into());
        self.lease.set_home(&ident);
        let (kept, gone) = (held.len() - lost.len(), lost.len());
        self.begin_grace(meta, seen);
        let schema = self.access.url.schema.clone();
        let writer = BatchWriter { schema, proxy: id, epoch, base: meta.base, run };
        let (reply, told) = oneshot::channel();
        let _ = self.events.send(LeaseEvent::Moved { writer, lost, reply });
        told.await.map_err(ended)?;
        let wait = mutants::or(Mutant::NoGrace, GrantWait::Grace, GrantWait::Over);
        let early = lossless || mutants::on(Mutant::EarlyGrace);
        let versions = vec![version];
        let until = self.server.longest(self.terms).revocable(seen);
        self.incarnation = Some(Incarnation { id, epoch, versions, wait, seen, until, run, early });
        self.observed.clear();
        self.longest = Longest::default();
        self.server.settled(meta);
        self.note_failover(epoch, self.lease.age(), kept, gone);
        self.lease.renewed(sent, self.terms.deadline(sent), self.terms.jeopardy(sent));
        self.lease.set_run(run);
        tokio::spawn(look_for_ghosts(Arc::clone(&self.access), self.events.clone(), id));
        Ok(true)
    }

    /// Nothing is granted in this epoch before every holder has come, or its lease is over.
    fn begin_grace(&self, meta: &Meta, seen: Duration) {
        let longest = self.server.longest(self.terms);
        let until = mutants::or(Mutant::NoGrace, longest.revocable(seen), Duration::ZERO);
        let wait = mutants::or(Mutant::NoGrace, GrantWait::Grace, GrantWait::Over);
        self.lease.wait_until(self.withheld_until(wait, until));
        self.lease.reign().join_epoch(meta.epoch, Some(until));
    }

    /// The lease was renewed: whether a failover from here on loses nothing.
    pub(super) fn note_guarantee(&mut self) {
        let home = self.lease.home();
        // For a server that is not heard, what held there holds.
        let Some(guarantee) = self.access.writer.guarantee_of(&home) else { return };
        let lossless = guarantee.is_lossless();
        let server = self.link.server();
        let witnessed =
            server.is_some_and(|(at, _)| !self.access.candidates.beside(&at).is_empty());
        let mode = match guarantee {
            Guarantee::Nothing if witnessed => FailoverMode::Witness,
            Guarantee::Nothing => FailoverMode::Grace,
            Guarantee::Cluster(_) | Guarantee::Copies => FailoverMode::Lossless,
        };
        self.access.metrics.failover_lossless.set(i64::from(lossless));
        let before = self.lease.reign().mode();
        if self.lease.reign().set_mode(mode) {
            match guarantee {
                Guarantee::Cluster(_) => {
                    tracing::info!(server = %home, "the servers are one cluster: {LOSSLESS}");
                }
                Guarantee::Copies => {
                    tracing::info!(server = %home, "each other server has what this one acknowledges: {LOSSLESS}");
                }
                Guarantee::Nothing if witnessed => {
                    tracing::info!(server = %home, "grants and renewals count when the failover candidates have executed them");
                }
                Guarantee::Nothing if before == FailoverMode::Witness => {
                    tracing::warn!(server = %home, "there are no failover candidates beside the writer any more: a former primary must be fenced");
                }
                Guarantee::Nothing => tracing::error!(
                    server = %home,
                    "the server is in no cluster any more, or acknowledges what another one may not have: the grace of a \
                     failover lasts for the longest lease"
                ),
            }
        }
        self.guarantee = guarantee;
    }

    /// Ends the wait before the first grant, if its reason is over. `alive`: another proxy was seen renewing its lease.
    pub(super) async fn end_wait(
        &mut self,
        me: &Incarnation,
        renewal: &Renewal,
        alive: bool,
    ) -> Result<(), StoreError> {
        let meta = &renewal.meta;
        let is_past = self.lease.is_renewed() && clock::now() >= me.until;
        let others = renewal.others(me.id);
        // A lock without a row may be held in an earlier run of the server, by a proxy that does not know of this one yet.
        let here = others.in_this_run || !others.late;
        let wait = match me.wait {
            GrantWait::Over => return Ok(()),
            wait if self.waits_for_rows(others.late) => wait,
            GrantWait::Start if (alive && here) || is_past => GrantWait::Over,
            GrantWait::Start => GrantWait::Start,
            GrantWait::Grace if is_past || clusters::all_came(me, renewal) => {
                self.link.get().await?.end_grace(me.epoch).await?;
                GrantWait::Over
            }
            // Another proxy has waited it.
            GrantWait::Grace if !meta.is_in_grace() => GrantWait::Start,
            GrantWait::Grace => {
                // An incarnation with a longer lease may have come.
                let until = self.server.longest(self.terms).revocable(me.seen);
                self.lease.wait_until(self.withheld_until(GrantWait::Grace, until));
                self.lease.reign().join_epoch(me.epoch, Some(until));
                if let Some(mine) = &mut self.incarnation {
                    mine.until = until;
                }
                GrantWait::Grace
            }
        };
        if wait == me.wait {
            return Ok(());
        }
        if let Some(mine) = &mut self.incarnation {
            mine.wait = wait;
        }
        if me.wait == GrantWait::Grace {
            self.lease.reign().join_epoch(me.epoch, None);
            let granting = wait == GrantWait::Over;
            tracing::info!(epoch = me.epoch, granting, "the grace is over");
        }
        if wait == GrantWait::Over {
            self.lease.end_startup_wait();
            if me.wait == GrantWait::Start {
                tracing::info!(live_peer = alive, "the startup wait is over: locks are granted");
            }
        }
        Ok(())
    }
}

fn ended<T>(_: T) -> StoreError {
    StoreError::Connect("the lock engine has ended".to_owned())
}

/// Writes the rows of held locks; which are lost.
async fn write_rows(
    conn: &mut StoreConnection,
    proxy: ProxyId,
    epoch: u64,
    held: &[CarriedLock],
) -> Result<HashSet<Key>, StoreError> {
    let mut lost = HashSet::new();
    for page in held.chunks(CARRIED) {
        lost.extend(conn.carry_over(proxy, epoch, page).await?);
    }
    Ok(lost)
}

/// Looks for rows that name this proxy and no session of it: their release was lost with the former server. What is not
/// found now, the housekeeping finds later.
async fn look_for_ghosts(
    access: Arc<StoreAccess>,
    events: mpsc::UnboundedSender<LeaseEvent>,
    proxy: ProxyId,
) {
    let mut link = StoreLink::new(Arc::clone(&access));
    // Once is not enough: a release may be under way.
    for _ in 0..2 {
        let Ok(rows) = link.ask(async |conn| conn.read_held(proxy).await).await else { return };
        let rows = rows.iter().filter_map(|r| Some((Key::from_row(&r.key)?, r.token)));
        let _ = events.send(LeaseEvent::Read { proxy, rows: rows.collect() });
        sleep(SECOND_LOOK).await;
    }
}
