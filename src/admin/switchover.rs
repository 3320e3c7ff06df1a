//! SWITCHOVER: new statements wait for a planned switch of the primary, and open transactions end before it.
//!
//! A switch at a moment in which no session does anything costs none of those that share connections.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::control::{ClusterView, Control, in_cluster};
use super::reply::{AdminReply, failed};
use super::table::{AdminTable, Cell, ColumnKind};
use crate::engine::handle::Engine;
use crate::frontend::shared::registry::{Activities, Registry};
use crate::frontend::shared::switchover::{ShownSwitchover, SwitchoverEnd};
use crate::protocol::reply::ErrorReply;
use crate::types::ConnectionId;

/// Time between two looks at the sessions.
const PAUSE: Duration = Duration::from_millis(20);
/// How long releases of locks are waited for until the sessions are looked at again.
const FLUSH: Duration = Duration::from_millis(200);
/// Sessions that are named.
const NAMED: usize = 10;

const COLUMNS: &[(&str, ColumnKind)] = &[
    ("cluster", ColumnKind::Text),
    ("proxy", ColumnKind::Text),
    ("state", ColumnKind::Text),
    ("seconds_left", ColumnKind::Fraction),
    ("transactions", ColumnKind::Number),
    ("statements", ColumnKind::Number),
    ("open_sessions", ColumnKind::Text),
    ("held", ColumnKind::Number),
    ("waiting", ColumnKind::Number),
    ("tied", ColumnKind::Number),
    ("last_end", ColumnKind::Text),
];

/// The result of a preparation: no transaction is open, or why statements go on before that.
type QuietMoment = Result<Duration, (SwitchoverEnd, Activities)>;

impl Control {
    /// What is held, in each cluster.
    pub(super) fn switchovers(&self) -> AdminTable {
        let rows = self.clusters.iter().map(|cluster| self.switchover_of(cluster)).collect();
        AdminTable::of(COLUMNS, rows)
    }

    fn switchover_of(&self, cluster: &ClusterView) -> Vec<Cell> {
        let ShownSwitchover { number, ready, left, last } = cluster.switchover.shown();
        let on = number != 0;
        let count = |count: usize| if on { Cell::Number(count as u64) } else { Cell::Null };
        let open = if on { cluster.activities(&self.registry, number) } else { <_>::default() };
        let state = match (on, ready) {
            (false, _) => "off",
            (true, false) => "waiting for transactions",
            (true, true) => "ready: switch now",
        };
        let listen = cluster.in_force.config().listen.first().map(ToString::to_string);
        let held = usize::try_from(cluster.metrics.held_statements.get()).unwrap_or_default();
        vec![
            Cell::text(cluster.name.as_deref()),
            Cell::text(listen),
            Cell::Text(state.to_owned()),
            if on { Cell::Seconds(left.as_secs_f64()) } else { Cell::Null },
            count(open.inside.len()),
            count(open.running.len()),
            Cell::text(named(&open).filter(|_| on)),
            count(held),
            count(open.waiting),
            count(open.tied),
            Cell::text(last.map(SwitchoverEnd::name)),
        ]
    }

    /// Lets new statements wait, and answers when no transaction is open.
    pub(super) async fn prepare_switchover(
        &self,
        hold: Option<Duration>,
        cluster: Option<&str>,
    ) -> Result<AdminReply, ErrorReply> {
        let cluster = self.one(cluster)?;
        let engine = able(cluster).map_err(failed)?.clone();
        let limit = hold.unwrap_or(cluster.in_force.config().switchover_hold);
        let number = cluster.switchover.hold(limit).map_err(|left| {
            failed(format!(
                "a switchover is being prepared already: statements wait for {left:.1?} more; SWITCHOVER CANCEL ends that"
            ))
        })?;
        let (tell, told) = oneshot::channel();
        // The switchover goes on if this administrator leaves.
        tokio::spawn(watch(cluster.clone(), engine, self.registry.clone(), number, tell));
        match told.await {
            Ok(Ok(took)) => {
                let rows = vec![self.switchover_of(cluster)];
                let table = AdminTable::of(COLUMNS, rows);
                let said = format!("ready after {took:.2?}{}", in_cluster(cluster));
                Ok(AdminReply::Did(Some(table), said))
            }
            Ok(Err((why, open))) => Err(failed(unprepared(why, limit, &open))),
            Err(_) => Err(failed("the proxy ends".to_owned())),
        }
    }

    /// Lets statements go on.
    pub(super) fn cancel_switchover(
        &self,
        cluster: Option<&str>,
    ) -> Result<AdminReply, ErrorReply> {
        let mut ended = false;
        for cluster in self.meant(cluster)? {
            ended |= cluster.switchover.end(None, SwitchoverEnd::Cancelled);
        }
        if !ended {
            return Err(failed(
                "no switchover is being prepared: statements do not wait".to_owned(),
            ));
        }
        Ok(AdminReply::Done)
    }

    /// The cluster of this name, or the only one.
    fn one(&self, name: Option<&str>) -> Result<&ClusterView, ErrorReply> {
        match self.meant(name)?.as_slice() {
            [one] => Ok(one),
            several => {
                let names: Vec<_> = several.iter().filter_map(|c| c.name.as_deref()).collect();
                Err(failed(format!(
                    "there are several clusters, {}: choose one, SWITCHOVER PREPARE CLUSTER '{}'",
                    names.join(", "),
                    names.first().copied().unwrap_or_default()
                )))
            }
        }
    }
}

impl ClusterView {
    fn activities(&self, registry: &Registry, number: u64) -> Activities {
        registry.activities(self.name.as_deref(), number)
    }

    /// Changes when another server is the writer, or another epoch was joined.
    fn place(&self, engine: &Engine) -> (u64, u64) {
        (self.reach.writer().changes(), engine.lease().reign().epoch())
    }
}

/// The engine of a cluster whose primary can be switched now, or why it cannot.
fn able(cluster: &ClusterView) -> Result<&Engine, String> {
    let Some(engine) = cluster.engine.as_ref() else {
        return Err(
            "a proxy that observes keeps no locks: switch the primary without it".to_owned()
        );
    };
    if let Some(why) = cluster.reach.writer().problem() {
        return Err(why);
    }
    if !engine.lease().is_good() {
        let message = "the lease does not allow new grants now: the locks would not be safe in a switch. SHOW LEASE \
                       says why";
        return Err(message.to_owned());
    }
    Ok(engine)
}

/// Sees a preparation to its end.
async fn watch(
    cluster: ClusterView,
    engine: Engine,
    registry: Registry,
    number: u64,
    tell: oneshot::Sender<QuietMoment>,
) {
    let (begun, from) = (Instant::now(), cluster.place(&engine));
    let mut tell = Some(tell);
    let mut open = Activities::default();
    let switchover = &cluster.switchover;
    loop {
        let shown = switchover.shown();
        if shown.number != number {
            if let (Some(tell), Some(why)) = (tell, shown.last) {
                let _ = tell.send(Err((why, open)));
            }
            return;
        }
        open = cluster.activities(&registry, number);
        if cluster.place(&engine) != from {
            switchover.end(Some(number), SwitchoverEnd::Moved);
        } else if shown.left.is_zero() {
            switchover.end(Some(number), SwitchoverEnd::Limit);
        } else if tell.is_some() && open.is_quiet() {
            // Waits for the releases of locks that nobody holds any more, too.
            let flushed = timeout(FLUSH.min(shown.left), engine.settle()).await.is_ok();
            let quiet = flushed && cluster.activities(&registry, number).is_quiet();
            if quiet
                && switchover.is_ready(number)
                && let Some(tell) = tell.take()
            {
                let _ = tell.send(Ok(begun.elapsed()));
            }
        }
        sleep(PAUSE).await;
    }
}

/// Why there was no quiet moment.
fn unprepared(why: SwitchoverEnd, limit: Duration, open: &Activities) -> String {
    let why = match why {
        SwitchoverEnd::Limit => {
            let (inside, running) = (open.inside.len(), open.running.len());
            let named = named(open).unwrap_or_default();
            return format!(
                "not ready within {limit:?}, and statements go on: {inside} transactions were open, {running} statements \
                 ran, in the sessions {named}. End those sessions, or try again with a longer time"
            );
        }
        SwitchoverEnd::Moved => "another server is the writer already",
        SwitchoverEnd::Cancelled => "an administrator has cancelled the switchover",
        SwitchoverEnd::Stopped => "the proxy ends",
    };
    format!("{why}: statements go on")
}

/// The sessions that are in the middle of something, the first of many.
fn named(open: &Activities) -> Option<String> {
    let mut all: Vec<ConnectionId> = open.inside.iter().chain(&open.running).copied().collect();
    all.sort_unstable_by_key(|id| id.0);
    let more = all.len().saturating_sub(NAMED);
    let shown: Vec<_> = all.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{}{more}", shown.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sessions_that_are_in_the_way_are_named() {
        let ids = |ids: std::ops::Range<u64>| ids.map(ConnectionId).collect();
        let open = Activities { inside: ids(5..7), running: ids(2..3), waiting: 9, tied: 9 };
        assert_eq!(named(&open).as_deref(), Some("2 5 6"));
        let many = Activities { running: ids(0..12), ..Activities::default() };
        assert_eq!(named(&many).as_deref(), Some("0 1 2 3 4 5 6 7 8 9 and 2 more"));
        assert_eq!(named(&Activities::default()), None);
        let limit = Duration::from_secs(10);
        let said = unprepared(SwitchoverEnd::Limit, limit, &open);
        assert!(said.contains("not ready within 10s") && said.contains("2 transactions"), "{said}");
    }
}
