//! RELEASE LOCK: a lock is taken from its holder, and only by the proxy whose session that is.
//!
//! That proxy reads the request with its next renewal, closes the session, and frees the row when the
//! server has stopped working for it. Nothing else ever frees the row of a proxy that lives, so a
//! forced release makes no second holder.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::control::{ClusterView, Control, in_cluster};
use super::reply::{AdminReply, failed};
use super::table::{AdminTable, Cell, ColumnKind};
use crate::engine::handle::Engine;
use crate::lock::lease::Terms;
use crate::protocol::reply::ErrorReply;
use crate::store::overview::{LockFilter, LockInfo};
use crate::store::releases::{GrantId, ReleaseStatus};
use crate::store::rows::ProxyState;

/// Time between checks of the result.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a takeover may take before the command says that it is under way.
const DEAD_FOR: Duration = Duration::from_secs(3);
/// How long a proxy that lives may take to end the session, before the command says that it does.
const PATIENCE: Duration = Duration::from_secs(10);

impl Control {
    /// Releases a lock by force: the grant of this token, or that of the moment.
    pub(super) async fn release(
        &self,
        name: &str,
        token: Option<u64>,
        cluster: Option<&str>,
        who: &str,
    ) -> Result<AdminReply, ErrorReply> {
        let mut found: Vec<(&ClusterView, &Engine, LockInfo)> = Vec::new();
        for cluster in self.meant(cluster)? {
            let Some(engine) = &cluster.engine else { continue };
            let rows = engine.locks(LockFilter::Named(name.to_owned())).await?;
            found.extend(rows.into_iter().map(|row| (cluster, engine, row)));
        }
        let held = !found.is_empty();
        if let (false, Some(why)) = (held, self.held_by_server(name, cluster)?) {
            return Err(failed(why));
        }
        found.retain(|(_, _, row)| token.is_none_or(|token| token == row.token));
        let begun = Instant::now();
        let (token, result, whose) = match found.as_slice() {
            [] => match token {
                Some(token) if held => {
                    return Err(failed(format!(
                        "token changed: the lock is no longer held under {token}"
                    )));
                }
                _ => (token, "already free", String::new()),
            },
            [(cluster, engine, row)] => {
                let grant = GrantId { key: row.key.clone(), token: row.token };
                engine.ask_release(grant.clone(), who.to_owned()).await?;
                let whose = format!(
                    ": token {}, connection {} of {}{}",
                    row.token,
                    row.conn,
                    row.owner,
                    in_cluster(cluster)
                );
                (Some(row.token), until_free(engine, grant, row).await?, whose)
            }
            several => return Err(ambiguous(several)),
        };
        let told = format!("{result}{whose}");
        let row = vec![
            Cell::Text(name.to_owned()),
            token.map_or(Cell::Null, Cell::Number),
            Cell::Text(result.to_owned()),
            Cell::Seconds(begun.elapsed().as_secs_f64()),
        ];
        let columns = &[
            ("name", ColumnKind::Text),
            ("token", ColumnKind::Number),
            ("result", ColumnKind::Text),
            ("seconds", ColumnKind::Fraction),
        ];
        Ok(AdminReply::Did(Some(AdminTable::of(columns, vec![row])), told))
    }
}

fn ambiguous(found: &[(&ClusterView, &Engine, LockInfo)]) -> ErrorReply {
    let one = |(cluster, _, row): &(&ClusterView, &Engine, LockInfo)| {
        format!("token {}{}", row.token, in_cluster(cluster))
    };
    let all: Vec<_> = found.iter().map(one).collect();
    let names: Vec<_> = found.iter().map(|(cluster, ..)| &cluster.name).collect();
    let say = if names.windows(2).all(|two| two[0] == two[1]) { "TOKEN" } else { "CLUSTER" };
    let all = all.join("; ");
    failed(format!("several locks are shown with this name: {all}. Give the {say}"))
}

/// Waits until the lock is free, or it is known why not.
async fn until_free(
    engine: &Engine,
    grant: GrantId,
    row: &LockInfo,
) -> Result<&'static str, ErrorReply> {
    let begun = Instant::now();
    let mut seen: Option<(u64, Instant)> = None;
    loop {
        let proxy = match engine.release_status(grant.clone()).await? {
            ReleaseStatus::Free | ReleaseStatus::Later(_) => return Ok("released"),
            ReleaseStatus::Held(proxy) => proxy,
        };
        let proxy = proxy.ok_or_else(|| {
            failed(
                "its proxy's row has been deleted: the other proxies declare it dead after the longest lease, and then free the lock"
                    .to_owned(),
            )
        })?;
        if proxy.state != ProxyState::Live {
            // This proxy, too, is about to take it over, and will soon know what prevents that.
            let stuck = engine.stuck().of(proxy.id);
            if stuck.is_none() && begun.elapsed() < DEAD_FOR {
                sleep(PAUSE).await;
                continue;
            }
            let why = stuck.unwrap_or_else(|| {
                "another proxy ends its sessions at the server, and then frees the lock".to_owned()
            });
            return Err(failed(format!("its proxy is dead: {why}")));
        }
        let terms = Terms { ttl: Duration::from_millis(u64::from(proxy.ttl_ms)) };
        let since = match seen {
            Some((rvn, since)) if rvn == proxy.rvn => since,
            _ => seen.insert((proxy.rvn, Instant::now())).1,
        };
        // A proxy renews each heartbeat, and reads the request then.
        if since.elapsed() >= terms.heartbeat() * 3 + PAUSE * 10 {
            return Err(failed(format!(
                "owner silent: the proxy at {} has not renewed its lease for {:.1?}; the lock is free when the lease has run out, {:?} after the last renewal, or when the proxy is back and has read the request",
                proxy.addr,
                since.elapsed(),
                terms.ttl
            )));
        }
        if begun.elapsed() >= PATIENCE {
            return Err(failed(format!(
                "being released: the proxy at {} has been asked, and the server still works for connection {}",
                proxy.addr, row.conn
            )));
        }
        sleep(PAUSE).await;
    }
}
