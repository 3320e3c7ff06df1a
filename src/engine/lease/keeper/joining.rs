//! How a new incarnation registers, and for what it waits before it grants.

use std::time::Duration;

use super::Keeper;
use crate::clock;
use crate::engine::lease::incarnation::{GrantWait, Incarnation};
use crate::engine::lease::longest::Longest;
use crate::engine::messages::LeaseEvent;
use crate::mutants::{self, Mutant};
use crate::store::connection::StoreError;
use crate::store::meta::Meta;
use crate::store::rows::{ProxyRow, ProxyState};
use crate::store::schema::VERSION;
use crate::store::statement::BatchWriter;
use crate::types::ProxyId;

impl Keeper {
    pub(super) async fn join(&mut self) -> Result<(), StoreError> {
        let meta = self.link.get_any().await?.read_meta().await?;
        let meta = self.accept(meta).await?;
        let seen = clock::now();
        let conn = self.link.get_any().await?;
        let others = conn.read_proxies().await?;
        self.predecessors.find_gone();
        let over = |row: &ProxyRow| self.predecessors.is_over(row.id);
        let mut dead: Vec<&ProxyRow> = Vec::new();
        for row in others.iter().filter(|row| over(row)) {
            match row.state {
                ProxyState::Live if !conn.revoke(row.id, row.rvn).await? => {}
                ProxyState::Live | ProxyState::Dead => dead.push(row),
                ProxyState::Clean => {}
            }
        }
        let quiet = others.iter().all(|row| row.state == ProxyState::Clean || over(row));
        self.access.set_found(conn.finds_all_tagged().await.unwrap_or(false));
        self.had_peers = conn.has_peers().await.unwrap_or(true);
        // Also of a process before this one.
        let late = |row: &ProxyRow| row.state != ProxyState::Clean && row.native && row.keeps > 0;
        let waits_for_rows = !self.native && others.iter().any(late);
        let alone = quiet && !self.had_peers && !waits_for_rows;
        // The first renewal says more.
        let keeps = if self.native { 0 } else { self.access.keep_names.milliseconds() };
        let row = ProxyRow {
            // Ids of sessions tell the proxies apart.
            id: ProxyId::random_beside(others.iter().map(|row| row.id)),
            state: ProxyState::Live,
            rvn: rand::random(),
            epoch: meta.epoch,
            ttl_ms: u32::try_from(self.terms.ttl.as_millis()).unwrap_or(u32::MAX),
            addr: self.addr.clone(),
            server_start: conn.started(),
            conns: self.access.beside(conn),
            native: self.native,
            tables: VERSION,
            keeps,
        };
        self.predecessors.note_registering(row.id);
        let sent = clock::now();
        let registered = conn.register(&row, meta.epoch).await;
        if registered.is_err() {
            self.predecessors.forget(|own| own == row.id);
        }
        registered?;
        let ident = conn.ident().to_owned();
        if let Err(e) = self.until_witnessed(row.id, meta.epoch, row.rvn).await {
            self.withdraw(&row).await?;
            return Err(e);
        }
        self.predecessors.registered(row.id);
        *self.access.home.lock() = Some(ident.as_str().into());
        self.lease.set_home(&ident);
        self.start_incarnation(&row, &meta, (seen, sent), alone);
        for row in dead {
            self.take_over(row);
        }
        Ok(())
    }

    /// Takes back a registration that does not count. Nothing was granted under it, so nobody need take it over.
    async fn withdraw(&mut self, row: &ProxyRow) -> Result<(), StoreError> {
        let conn = self.link.get_any().await?;
        if conn.revoke(row.id, row.rvn).await? {
            conn.declare_clean(row.id).await?;
            conn.sweep_clean().await?;
        }
        self.predecessors.withdrawn(row.id);
        Ok(())
    }

    /// A new incarnation begins, whose registration was sent at `sent`, in an epoch that was open when it was `seen`.
    /// `alone`: no other proxy can hold locks here.
    fn start_incarnation(
        &mut self,
        row: &ProxyRow,
        meta: &Meta,
        (seen, sent): (Duration, Duration),
        alone: bool,
    ) {
        let wait = match meta.is_in_grace() && !mutants::on(Mutant::NoGrace) {
            true => GrantWait::Grace,
            false if self.fresh || alone => GrantWait::Over,
            // A lock may be held that this server does not know of (docs/design/locks.md, "Start").
            false => GrantWait::Start,
        };
        let (id, epoch, run) = (row.id, meta.epoch, row.server_start);
        let (moved, took) = (self.server.settled(meta), self.lease.age());
        self.lease.renewed(sent, self.terms.deadline(sent), self.terms.jeopardy(sent));
        self.lease.set_run(run);
        let from = match wait {
            GrantWait::Over => Duration::ZERO,
            GrantWait::Start => self.server.longest(self.terms).revocable(sent),
            GrantWait::Grace => self.server.longest(self.terms).revocable(seen),
        };
        self.lease.start_incarnation(id, self.withheld_until(wait, from));
        self.lease.reign().join_epoch(epoch, (wait == GrantWait::Grace).then_some(from));
        let versions = vec![row.rvn];
        let (until, early) = (from, false);
        self.incarnation = Some(Incarnation { id, epoch, versions, wait, seen, until, run, early });
        self.observed.clear();
        self.longest = Longest::default();
        let left = from.saturating_sub(clock::now());
        match wait {
            GrantWait::Over => {}
            GrantWait::Start => {
                tracing::info!(wait = ?left, "other proxies are registered here: the first grant waits until one is seen alive, or one lease has passed");
            }
            GrantWait::Grace => {
                tracing::info!(wait = ?left, "holders may still carry their locks into this epoch: nothing is granted until its grace is over");
            }
        }
        if moved {
            let lost = std::mem::take(&mut self.given_up);
            self.note_failover(epoch, took, 0, lost);
        }
        let _ = self.events.send(LeaseEvent::Joined(BatchWriter {
            schema: self.access.url.schema.clone(),
            proxy: id,
            epoch,
            base: meta.base,
            run,
        }));
        // After the service has heard: a reader of this line finds a proxy that grants.
        tracing::info!(proxy = %id, epoch, lease = ?self.terms.ttl, "registered");
    }
}
