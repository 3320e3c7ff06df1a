//! The tables that administrators are shown.

use std::time::Duration;

use super::control::{ClusterView, Control};
use super::table::{AdminTable, Cell, ColumnKind, MOST, SEEN};
use crate::clock;
use crate::engine::handle::Engine;
use crate::engine::shared::reign::{Failover, FailoverMode};
use crate::metrics::Metrics;
use crate::protocol::reply::ErrorReply;
use crate::store::overview::ProxyInfo;

impl Control {
    /// All proxies that share the lock tables.
    pub async fn proxies(&self) -> Result<AdminTable, ErrorReply> {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("proxy", ColumnKind::Text),
            ("address", ColumnKind::Text),
            ("state", ColumnKind::Text),
            ("mode", ColumnKind::Text),
            ("this_one", ColumnKind::Text),
            ("lease_seconds", ColumnKind::Fraction),
            ("epoch", ColumnKind::Number),
            SEEN,
        ];
        let (mut rows, mut cut, mut old) = (Vec::new(), false, None);
        for (cluster, engine) in self.engines() {
            let me = engine.lease().proxy();
            let proxies = engine.known_proxies().await?;
            cut |= proxies.rows.len() >= MOST;
            let seen =
                proxies.old.as_ref().map_or(Cell::Null, |old| Cell::Seconds(old.age.as_secs_f64()));
            old = old.or(proxies.old);
            for proxy in proxies.rows {
                let ProxyInfo { id, state, addr, ttl_ms, epoch, native } = proxy;
                let state = match state {
                    1 => "live",
                    2 => "dead",
                    _ => "clean",
                };
                rows.push(vec![
                    cluster.clone(),
                    Cell::Text(format!("{id:016x}")),
                    Cell::Text(addr),
                    Cell::Text(state.to_owned()),
                    Cell::Text(if native { "coexist" } else { "durable" }.to_owned()),
                    Cell::yes(me.is_some_and(|me| me.0 == id)),
                    Cell::Seconds(Duration::from_millis(ttl_ms).as_secs_f64()),
                    Cell::Number(epoch),
                    seen.clone(),
                ]);
            }
        }
        Ok(AdminTable { columns: COLUMNS, cut, old, rows })
    }

    /// The last deadlocks that this proxy has ended: a row for each wait of the circle.
    pub async fn deadlocks(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("at_utc", ColumnKind::Text),
            ("over", ColumnKind::Text),
            ("connection_id", ColumnKind::Number),
            ("waited_for", ColumnKind::Text),
            ("held_by", ColumnKind::Number),
            ("gave_up", ColumnKind::Text),
        ];
        let mut rows = Vec::new();
        for (cluster, engine) in self.engines() {
            for deadlock in engine.snapshot().await.deadlocks.iter().rev() {
                let at = humantime::format_rfc3339_millis(deadlock.at).to_string();
                let over = if deadlock.across { "several proxies" } else { "this proxy" };
                let next = deadlock.circle.iter().cycle().skip(1);
                rows.extend(deadlock.circle.iter().zip(next).map(|((conn, lock), (by, _))| {
                    vec![
                        cluster.clone(),
                        Cell::Text(at.clone()),
                        Cell::Text(over.to_owned()),
                        Cell::Number(conn.0),
                        Cell::Text(lock.clone()),
                        Cell::Number(by.0),
                        Cell::yes(*conn == deadlock.victim),
                    ]
                }));
            }
        }
        AdminTable::of(COLUMNS, rows)
    }

    /// Whether this proxy may grant locks, and for how long its own are certain.
    pub fn lease(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("proxy", ColumnKind::Text),
            ("grants", ColumnKind::Text),
            ("ready", ColumnKind::Text),
            ("lease_seconds", ColumnKind::Fraction),
            ("renewed_seconds_ago", ColumnKind::Fraction),
            ("certain_for_seconds", ColumnKind::Fraction),
            ("epoch", ColumnKind::Number),
            ("failover_mode", ColumnKind::Text),
            ("grace_seconds", ColumnKind::Fraction),
            ("failover_seconds_ago", ColumnKind::Fraction),
            ("failover_took_seconds", ColumnKind::Fraction),
            ("failover_kept", ColumnKind::Number),
            ("failover_lost", ColumnKind::Number),
            ("problem", ColumnKind::Text),
        ];
        let aside = self.is_leaving().then_some("draining");
        let row = |cluster: &ClusterView| {
            let lease = cluster.engine.as_ref()?.lease();
            let left = lease.deadline().saturating_sub(clock::now());
            let problem = cluster.health().err().or(aside.map(str::to_owned));
            let failover = lease.reign().failover();
            let seconds = |of: fn(&Failover) -> Duration| {
                failover.as_ref().map_or(Cell::Null, |f| Cell::Seconds(of(f).as_secs_f64()))
            };
            let locks = |of: fn(&Failover) -> usize| {
                failover.as_ref().map_or(Cell::Null, |f| Cell::Number(of(f) as u64))
            };
            let grace = lease.reign().grace_left();
            Some(vec![
                Cell::text(cluster.name.as_deref()),
                Cell::text(lease.proxy().map(|proxy| proxy.to_string())),
                Cell::yes(lease.is_good()),
                Cell::yes(problem.is_none()),
                Cell::Seconds(cluster.in_force.config().lease.as_secs_f64()),
                Cell::Seconds(lease.age().as_secs_f64()),
                Cell::Seconds(left.as_secs_f64()),
                Cell::Number(lease.reign().epoch()),
                Cell::Text(lease.reign().mode().name().to_owned()),
                grace.map_or(Cell::Null, |left| Cell::Seconds(left.as_secs_f64())),
                seconds(|f| clock::now().saturating_sub(f.at)),
                seconds(|f| f.took),
                locks(|f| f.kept),
                locks(|f| f.lost),
                Cell::text(problem),
            ])
        };
        AdminTable::of(COLUMNS, self.clusters.iter().filter_map(row).collect())
    }

    /// Whether load balancers should send no more clients.
    pub fn is_leaving(&self) -> bool {
        self.registry.is_draining() || self.registry.is_aside()
    }

    /// The settings in force, without passwords.
    pub fn config(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("key", ColumnKind::Text),
            ("value", ColumnKind::Text),
        ];
        let of = |cluster: &ClusterView| {
            let name = Cell::text(cluster.name.as_deref());
            let row = |(key, value): (&str, String)| {
                vec![name.clone(), Cell::Text(key.to_owned()), Cell::Text(value)]
            };
            cluster.in_force.config().shown.iter().cloned().map(row).collect::<Vec<_>>()
        };
        AdminTable::of(COLUMNS, self.clusters.iter().flat_map(of).collect())
    }

    /// All metrics, as Prometheus reads them.
    pub fn metrics(&self) -> AdminTable {
        self.clusters.iter().for_each(ClusterView::measure);
        let text = Metrics::render(self.clusters.iter().map(|cluster| &*cluster.metrics));
        let row = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            Some(vec![Cell::Text(series.to_owned()), Cell::Text(value.to_owned())])
        };
        let rows = text.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect();
        AdminTable::of(&[("series", ColumnKind::Text), ("value", ColumnKind::Text)], rows)
    }
}

impl ClusterView {
    /// What to do about commits that were sent though the locks of their session could not be checked.
    pub fn unfenced(&self) -> Option<String> {
        let denied = self.metrics.fenced_commits.with_label_values(&["denied"]).get();
        (denied > 0).then(|| {
            format!(
                "{denied} COMMITs of sessions with locks were not fenced, since their accounts may not read the rows of their \
                 locks: run lockstead grants --application USER@HOST for each account that the log names"
            )
        })
    }

    /// `Ok` with its state if its clients are served as they should be; otherwise why not.
    pub fn health(&self) -> Result<&'static str, String> {
        let good = problem(self.engine.as_ref())?;
        match self.reach.problem() {
            None => Ok(good),
            Some(why) => Err(why),
        }
    }
}

/// `Ok` with its state if locks are granted; otherwise why not. A proxy that observes has no engine.
fn problem(engine: Option<&Engine>) -> Result<&'static str, String> {
    let Some(lease) = engine.map(Engine::lease) else {
        return Ok("ok, observing");
    };
    if let Some(why) = lease.obstacle() {
        Err(format!("no grants: {why}"))
    } else if lease.proxy().is_none() {
        Err("not registered in the lock store".to_owned())
    } else if lease.reign().grace_left().is_some() && lease.is_renewed() {
        // Clients are served, and those who hold locks go on: no reason to send new ones elsewhere, where it is the same.
        Ok(match lease.reign().mode() {
            FailoverMode::Grace | FailoverMode::Witness => {
                "ok, but no new locks before the grace after a failover is over"
            }
            FailoverMode::Lossless => {
                "ok, but no new locks before all proxies have followed the failover (lossless)"
            }
        })
    } else if !lease.is_good() {
        let age = lease.age();
        match lease.suspended_for() {
            Some(time) => Err(format!(
                "no grants: sessions that hold locks have been suspended for {time:.1?}, the lease was last renewed {age:.1?} ago"
            )),
            None => {
                Err(format!("no grants: startup wait, or the lease was last renewed {age:.1?} ago"))
            }
        }
    } else {
        Ok("ok")
    }
}
