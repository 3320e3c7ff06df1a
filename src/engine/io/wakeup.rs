//! Wake-ups between proxies: hanging a doorbell while sessions here wait for locks of other proxies, and
//! ringing the doorbells of proxies whose turn it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use super::link::{StoreAccess, StoreLink};
use crate::engine::shared::lease::Lease;
use crate::store::connection::StoreError;
use crate::store::identity::Thread;
use crate::types::ProxyId;

/// Seconds that a doorbell hangs by one statement.
const HANGS: u8 = 5;
/// Pause after a failure; meanwhile locks of others are polled for.
const RETRY: Duration = Duration::from_millis(500);

/// The reason to look at the locks of other proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum WakeReason {
    /// Another proxy rang.
    Rung,
    /// Another proxy may have rung while no bell hung.
    InCase,
}

/// Hangs the doorbell as long as `wanted` says so, and tells when it is time to look.
pub(in crate::engine) async fn listen(
    access: Arc<StoreAccess>,
    lease: Arc<Lease>,
    mut wanted: watch::Receiver<bool>,
    rung: mpsc::UnboundedSender<WakeReason>,
) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut hung = None;
    let mut look = WakeReason::InCase;
    while wanted.wait_for(|wanted| *wanted).await.is_ok() {
        let result = match lease.proxy() {
            Some(proxy) => hang(&mut link, proxy, look, &mut hung, &rung).await,
            None => Ok(WakeReason::InCase),
        };
        link.note_result(&result);
        look = *result.as_ref().unwrap_or(&WakeReason::InCase);
        if let Err(e) = &result {
            tracing::debug!(error = %e, "no connection for wake-ups: this proxy polls for locks of other proxies");
        }
        if result.is_err() || lease.proxy().is_none() {
            sleep(RETRY).await;
        }
    }
}

async fn hang(
    link: &mut StoreLink,
    proxy: ProxyId,
    look: WakeReason,
    hung: &mut Option<(ProxyId, u32)>,
    rung: &mpsc::UnboundedSender<WakeReason>,
) -> Result<WakeReason, StoreError> {
    let conn = link.get().await?;
    let bell = Some((proxy, conn.id()));
    if *hung != bell {
        conn.hang_doorbell(proxy).await?;
        *hung = bell;
    }
    // A ring before this sleep was lost, so there is a look after its begin.
    let began = Instant::now();
    let asleep = conn.sleep(HANGS);
    tokio::pin!(asleep);
    tokio::select! {
        biased;
        done = &mut asleep => done?,
        () = yield_now() => {
            let _ = rung.send(look);
            asleep.await?;
        }
    }
    let early = began.elapsed() < Duration::from_secs(HANGS.into());
    Ok(if early { WakeReason::Rung } else { WakeReason::InCase })
}

/// Starts the task that rings.
pub(in crate::engine) fn start_ringing(
    access: &Arc<StoreAccess>,
) -> mpsc::UnboundedSender<ProxyId> {
    let (rings, whom) = mpsc::unbounded_channel();
    tokio::spawn(ring(Arc::clone(access), whom));
    rings
}

/// Rings the proxies that it is given.
async fn ring(access: Arc<StoreAccess>, mut whom: mpsc::UnboundedReceiver<ProxyId>) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut bells = Bells::default();
    while let Some(proxy) = whom.recv().await {
        // One ring is enough for all locks that have come free.
        let mut proxies = HashSet::from([proxy]);
        while let Ok(proxy) = whom.try_recv() {
            proxies.insert(proxy);
        }
        for proxy in proxies {
            let result = bells.ring(&mut link, proxy).await;
            link.note_result(&result);
            let label = if matches!(result, Ok(true)) { "rung" } else { "not_reached" };
            access.metrics.rings.with_label_values(&[label]).inc();
        }
    }
}

/// Doorbells known, as seen from one connection: ids of another run of the server mean nothing.
#[derive(Default)]
struct Bells {
    seen_from: Option<Thread>,
    known: HashMap<ProxyId, u64>,
}

impl Bells {
    async fn ring(&mut self, link: &mut StoreLink, proxy: ProxyId) -> Result<bool, StoreError> {
        let conn = link.get().await?;
        let here = Some(conn.thread());
        if self.seen_from != here {
            self.known.clear();
            self.seen_from = here;
        }
        if let Some(bell) = self.known.get(&proxy)
            && conn.ring(*bell).await?
        {
            return Ok(true);
        }
        self.known.remove(&proxy);
        let Some(bell) = conn.doorbell_of(proxy).await? else {
            return Ok(false);
        };
        self.known.insert(proxy, bell);
        conn.ring(bell).await
    }
}
