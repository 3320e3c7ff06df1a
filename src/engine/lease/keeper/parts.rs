//! What joining, renewing and following have in common.

use super::Keeper;
use crate::clock;
use crate::engine::io::witnesses::Evidence;
use crate::engine::lease::clusters;
use crate::engine::messages::LeaseEvent;
use crate::engine::shared::reign::Failover;
use crate::lock::lease::Terms;
use crate::store::connection::StoreError;
use crate::store::identity::Foreign;
use crate::store::meta::Meta;
use crate::store::rows::ProxyRow;
use crate::store::statement::Others;
use crate::types::ProxyId;
use std::time::Duration;

impl Keeper {
    /// Waits until the failover candidates have this version of the incarnation's row. Before, its renewal does not count.
    pub(super) async fn until_witnessed(
        &mut self,
        id: ProxyId,
        epoch: u64,
        version: u64,
    ) -> Result<(), StoreError> {
        let what = Evidence::Renewal { id, epoch, version };
        // Less than a beat may take.
        let limit = self.terms.ttl / 8;
        let server = self.link.server();
        let seen = self.witnesses.see(what, server.as_ref(), limit).await;
        if let Err(StoreError::Foreign(Foreign::Epoch { known, .. })) = &seen {
            // The next beat opens a later one here.
            self.server.know(*known);
        }
        seen
    }

    pub(super) fn know_others(&mut self, others: Others) {
        if others != self.others {
            let live = i64::try_from(others.waiting.len()).unwrap_or(i64::MAX);
            self.access.metrics.live_peers.set(live);
            self.others.clone_from(&others);
            let _ = self.events.send(LeaseEvent::Others(others));
        }
    }

    pub(super) fn take_over(&self, row: &ProxyRow) {
        self.running.start(&self.access, row, self.predecessors.is_own(row.id));
    }

    pub(super) fn fence(&mut self) {
        self.suspension.close();
        self.tells_of_late_rows = false;
        self.access.late_rows.allow(false);
        if let Some(incarnation) = self.incarnation.take() {
            self.lease.end();
            self.given_up = usize::try_from(self.access.metrics.held.get()).unwrap_or_default();
            self.predecessors.add(incarnation.id);
            self.access.fenced.begin(incarnation.id);
            let _ = self.events.send(LeaseEvent::Fenced(incarnation.id));
        }
    }

    /// The epoch to keep locks in on the server that `meta` was read from: its own, or the next one, which is opened.
    pub(super) async fn accept(&mut self, meta: Meta) -> Result<Meta, StoreError> {
        let foreign = match self.server.check(&meta) {
            Ok(()) => return Ok(meta),
            Err(foreign) if self.reclaims => foreign,
            Err(foreign) => return Err(foreign.into()),
        };
        self.lease.stop_grants();
        let who = format!("the proxy at {}", self.addr);
        let longest = milliseconds(self.server.longest(self.terms));
        let known = self.server.known();
        let conn = self.link.get_any().await?;
        if let Some(why) = clusters::stays(&self.access.writer, conn, &foreign).await? {
            return Err(Foreign::Unfit { foreign: Box::new(foreign), why }.into());
        }
        let opened = conn.succeed(&foreign, known, longest, &who).await?;
        let meta = conn.read_meta().await?;
        self.server.check(&meta)?;
        if opened {
            tracing::warn!(
                epoch = meta.epoch,
                server = meta.server,
                reason = foreign.fact(),
                "this server is taken for the primary: a new epoch has begun"
            );
        }
        Ok(meta)
    }

    /// Another server, or another epoch, was joined than before.
    pub(super) fn note_failover(&self, epoch: u64, took: Duration, kept: usize, lost: usize) {
        let metrics = &self.access.metrics;
        metrics.failovers.inc();
        metrics.failover_seconds.set(took.as_secs_f64());
        for (result, locks) in [("kept", kept), ("lost", lost)] {
            metrics.failover_locks.with_label_values(&[result]).inc_by(locks as u64);
        }
        self.lease.reign().note(Failover { epoch, at: clock::now(), took, kept, lost });
        let grace = self.lease.reign().grace_left().unwrap_or_default();
        tracing::warn!(
            epoch,
            ?took,
            kept,
            lost,
            ?grace,
            "joined another epoch: locks that were kept are held on"
        );
    }
}

pub(super) fn milliseconds(terms: Terms) -> u32 {
    u32::try_from(terms.ttl.as_millis()).unwrap_or(u32::MAX)
}
