//! Keeps the lease: registers, renews, observes the others, fences itself in time.

mod failover;
mod joining;
mod late;
mod parts;
mod resigning;
mod standstill;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::incarnation::{GrantWait, Incarnation};
use super::longest::Longest;
use super::observed::{Observations, Sight};
use super::predecessors::Predecessors;
use super::restart::go_on;
use super::server::HomeServer;
use super::suspension::Suspension;
use super::takeover::Takeovers;
use crate::clock;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::io::witnesses::Witnesses;
use crate::engine::messages::LeaseEvent;
use crate::engine::setup::Setup;
use crate::engine::shared::lease::Lease;
use crate::lock::lease::Terms;
use crate::mutants::{self, Mutant};
use crate::servers::guarantee::Guarantee;
use crate::store::connection::StoreError;
use crate::store::identity::same_run;
use crate::store::proxies::Renewal;
use crate::store::rows::{ProxyRow, ProxyState};
use crate::store::statement::Others;

/// Pause between looks at others as long as the first grant waits for them.
const WAITING: Duration = Duration::from_millis(250);

pub(in crate::engine) struct Keeper {
    access: Arc<StoreAccess>,
    /// Where the proxy listens, shown in the tables.
    addr: String,
    /// The schema was created by this process just now.
    fresh: bool,
    /// Whether the server's own locks are taken beside the rows.
    native: bool,
    /// Whether the server had replicas, or was one, or a member of a cluster, at a time since the proxy joined.
    had_peers: bool,
    /// Whether locks outlive a run of the server.
    outlives: bool,
    /// Whether the next epoch is opened when another server is the primary.
    reclaims: bool,
    terms: Terms,
    lease: Arc<Lease>,
    events: mpsc::UnboundedSender<LeaseEvent>,
    link: StoreLink,
    /// Reads while a renewal may wait at the server.
    reader: StoreLink,
    witnesses: Witnesses,
    server: HomeServer,
    incarnation: Option<Incarnation>,
    suspension: Suspension,
    predecessors: Predecessors,
    observed: Observations,
    longest: Longest,
    running: Arc<Takeovers>,
    others: Others,
    /// Other incarnations that were LIVE when the rows were read last.
    peers: Vec<ProxyRow>,
    /// What held for the server where the lease was renewed last.
    guarantee: Guarantee,
    /// Locks that were held when the last incarnation was over.
    given_up: usize,
    /// The row of this proxy says that locks may have no rows yet.
    tells_of_late_rows: bool,
    /// A log line has told that a proxy in mode coexist is waited for.
    waits_for_rows: bool,
}

impl Keeper {
    pub(in crate::engine) fn new(
        setup: Setup,
        lease: Arc<Lease>,
        events: mpsc::UnboundedSender<LeaseEvent>,
    ) -> Self {
        let Setup { access, ttl, addr, fresh, native, outlives, reclaims, state, .. } = setup;
        let terms = Terms { ttl };
        let metrics = Arc::clone(&access.metrics);
        let suspension = Suspension::new(terms, Arc::clone(&lease), metrics);
        let server = HomeServer::new(Arc::clone(&lease), Arc::clone(&access.metrics));
        Self {
            link: StoreLink::new(Arc::clone(&access)),
            reader: StoreLink::new(Arc::clone(&access)),
            witnesses: Witnesses::new(Arc::clone(&access)),
            access,
            addr,
            fresh,
            native,
            had_peers: true,
            outlives,
            reclaims,
            terms,
            lease,
            events,
            server,
            incarnation: None,
            suspension,
            predecessors: Predecessors::new(state),
            observed: Observations::new(terms),
            longest: Longest::default(),
            running: Arc::default(),
            others: Others::unknown(),
            peers: Vec::new(),
            guarantee: Guarantee::default(),
            given_up: 0,
            tells_of_late_rows: false,
            waits_for_rows: false,
        }
    }

    pub(in crate::engine) async fn run(&mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            // A beat may hang on the network, but never past the deadline it must keep.
            let limit = match &self.incarnation {
                Some(_) => self.suspension.due().saturating_sub(clock::now()),
                None => self.access.connect_timeout * 2,
            };
            let limit = limit.min(self.terms.ttl / 4);
            let beat = tokio::select! {
                beat = timeout(limit, self.beat()) => beat,
                _ = &mut stopped => return self.resign().await,
            };
            let beat = beat.unwrap_or_else(|_| {
                self.link.drop_connection();
                Err(self.witnesses.given_up(limit).unwrap_or(StoreError::Silent(limit)))
            });
            let failed = self.server.heard(&beat);
            match &beat {
                Ok(()) => self.note_written(),
                Err(e) => self.read_instead(e).await,
            }
            self.stop_if_due();
            self.show();
            if beat.is_ok() {
                self.look_for_peers().await;
            }
            let pause = match &self.incarnation {
                Some(_) if failed => self.terms.heartbeat() / 4,
                // Other proxies are soon seen alive.
                Some(mine) if mine.wait != GrantWait::Over || self.others == Others::unknown() => {
                    self.terms.heartbeat().min(WAITING)
                }
                _ => self.terms.heartbeat(),
            };
            let until_due = match &self.incarnation {
                Some(_) => self.suspension.due().saturating_sub(clock::now()),
                None => pause,
            };
            tokio::select! {
                () = sleep(pause.min(until_due)) => {}
                _ = &mut stopped => return self.resign().await,
            }
            self.stop_if_due();
        }
    }

    fn show(&self) {
        let metrics = &self.access.metrics;
        metrics.lease_seconds.set(self.terms.ttl.as_secs_f64());
        metrics.lease_age_seconds.set(self.lease.age().as_secs_f64());
        metrics.lease_good.set(i64::from(self.lease.is_good()));
        metrics.late_rows.set(i64::from(self.access.late_rows.is_allowed()));
        let reign = self.lease.reign();
        metrics.epoch.set(i64::try_from(reign.epoch()).unwrap_or(i64::MAX));
        metrics.grace_seconds.set(reign.grace_left().unwrap_or_default().as_secs_f64());
    }

    async fn beat(&mut self) -> Result<(), StoreError> {
        let result = match (self.is_beside_sessions().await, self.incarnation.clone()) {
            (Err(e), _) => Err(e),
            (Ok(()), Some(incarnation)) => self.renew(incarnation).await,
            (Ok(()), None) => self.join().await,
        };
        self.link.note_result(&result);
        result
    }

    /// An error while the sessions may be at another server than the lock tables.
    async fn is_beside_sessions(&mut self) -> Result<(), StoreError> {
        self.link.get_any().await?;
        let at = self.link.server();
        let problem = at.and_then(|(address, _)| self.access.pairs.problem(&address));
        problem.map_or(Ok(()), |why| Err(StoreError::Unchecked(why)))
    }

    async fn renew(&mut self, now: Incarnation) -> Result<(), StoreError> {
        let counted = now.versions.last().map_or(0, |v| v.wrapping_add(1));
        let new = mutants::or(Mutant::CounterVersion, rand::random(), counted);
        let keeps = self.keeps();
        let conn = self.link.get_any().await?;
        let restarted = !same_run(conn.started(), now.run);
        if restarted && !self.outlives {
            let meta = conn.read_meta().await?;
            let meta = self.accept(meta).await?;
            tracing::error!(proxy = %now.id, epoch = meta.epoch, "the server was restarted or replaced: its sessions and their locks are gone");
            self.fence();
            return self.join().await;
        }
        if let Some(mine) = &mut self.incarnation {
            mine.sent(new);
        }
        // Also if the reply is lost.
        self.tells_of_late_rows &= keeps > 0;
        let conns = self.access.beside(conn);
        // From before the send: observers saw a renewal that is acknowledged late when it was committed.
        let sent = clock::now();
        let renewal = conn.renew(now.id, now.epoch, &now.versions, new, &conns, keeps).await?;
        let took = clock::now().saturating_sub(sent);
        self.access.metrics.renewal_seconds.observe(took.as_secs_f64());
        let meta = self.accept(renewal.meta.clone()).await?;
        if meta.epoch > now.epoch {
            return self.follow(now, meta).await;
        }
        let renewed = renewal.renewed && renewal.meta.epoch == now.epoch;
        let anyway = self.suspension.is_on() && mutants::on(Mutant::ResumeWithoutRenewal);
        if !renewed && !anyway {
            tracing::error!(proxy = %now.id, epoch = renewal.meta.epoch, "the lease was revoked, or its row was changed");
            self.fence();
            return Ok(());
        }
        self.tells_of_late_rows = self.native && keeps > 0;
        let mut now = Incarnation { versions: vec![new], ..now };
        self.incarnation = Some(now.clone());
        self.until_witnessed(now.id, now.epoch, new).await?;
        if restarted {
            // Before the locks count there. If it fails, the next beat does it again.
            self.incarnation = Some(now.clone());
            let conn = self.link.get_any().await?;
            go_on(conn, &mut now, &self.events).await?;
            self.lease.set_run(now.run);
        }
        self.incarnation = Some(now.clone());
        let sent = mutants::or(Mutant::DeadlineFromAck, sent, clock::now());
        self.server.settled(&meta);
        // Must be known before a session goes on.
        self.lease.set_unwritable(None);
        self.lease.renewed(sent, self.terms.deadline(sent), self.terms.jeopardy(sent));
        self.suspension.resume();
        self.note_guarantee();
        if !renewal.asked.is_empty() {
            let _ = self.events.send(LeaseEvent::Asked(renewal.asked.clone()));
        }
        self.observe(&now, &renewal).await
    }

    /// Watches the other incarnations on this process's own clock.
    async fn observe(&mut self, me: &Incarnation, renewal: &Renewal) -> Result<(), StoreError> {
        let at = clock::now();
        self.observed.begin_reading(at, &renewal.proxies);
        let mut alive = false;
        for row in renewal.proxies.iter().filter(|p| p.id != me.id) {
            match row.state {
                ProxyState::Clean => {}
                ProxyState::Dead => self.take_over(row),
                ProxyState::Live => match self.observed.see(row) {
                    Sight::New | Sight::Silent => {}
                    Sight::Renewed => alive = true,
                    Sight::Expired => self.revoke(row).await?,
                },
            }
        }
        if let Some(shorter) = self.longest.shorter(renewal.meta.max_ttl_ms, &renewal.proxies, at) {
            let conn = self.link.get().await?;
            conn.forget_longest(me.epoch, renewal.meta.max_ttl_ms, shorter).await?;
        }
        let needed =
            |id| renewal.proxies.iter().any(|p| p.id == id && p.state != ProxyState::Clean);
        self.predecessors.forget(|id| id != me.id && !needed(id));
        let live = |row: &&ProxyRow| row.id != me.id && row.state == ProxyState::Live;
        self.peers = renewal.proxies.iter().filter(live).cloned().collect();
        self.know_others(renewal.others(me.id));
        self.end_wait(me, renewal, alive).await
    }

    async fn revoke(&mut self, row: &ProxyRow) -> Result<(), StoreError> {
        let conn = self.link.get().await?;
        if conn.revoke(row.id, row.rvn).await? {
            tracing::warn!(proxy = %row.id, addr = row.addr, lease_ms = row.ttl_ms, "a proxy did not renew its lease and is declared dead");
            self.take_over(row);
        }
        Ok(())
    }

    fn stop_if_due(&mut self) {
        if self.incarnation.is_some() && self.suspension.suspend_if_due() {
            tracing::error!("the lease ran out: sessions that hold locks are closed");
            self.fence();
        }
    }
}
