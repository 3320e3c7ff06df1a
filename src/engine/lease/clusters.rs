//! What is different where the servers are one cluster: locks stay with the server that the lock tables name until it has left,
//! and no registration is lost with it.
//!
//! All members commit in one order, and what one has acknowledged is on all that a majority has. So a proxy that registered
//! before an epoch was opened is in the tables there, and the grace need not wait for others
//! (docs/adr/0030-clusters.md).

use super::incarnation::Incarnation;
use crate::servers::guarantee::Guarantee;
use crate::servers::writer::Writer;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::identity::Foreign;
use crate::store::proxies::Renewal;
use crate::store::rows::ProxyState;
use crate::store::writability::{ANSWER, Membership};

/// Why no epoch is opened on the member of a cluster that answers; `None`: nothing is against it, or it is in no cluster.
pub(in crate::engine) async fn stays(
    writer: &Writer,
    conn: &mut StoreConnection,
    foreign: &Foreign,
) -> Result<Option<String>, StoreError> {
    let Foreign::Identity { named, .. } = foreign else { return Ok(None) };
    if conn.writability(ANSWER).await?.membership == Membership::Alone {
        return Ok(None);
    }
    Ok(if !writer.is_chosen() {
        Some(UNLISTED.to_owned())
    } else if !writer.has_left(named) {
        Some(format!("{named} has not left the cluster, for all that its members say"))
    } else {
        None
    })
}

const UNLISTED: &str = "it is a member of a cluster, and `backend` has no other member: list all of them, so that all proxies \
                        agree on one";

/// Whether all that was registered where this proxy renewed its lease last, and what held there, is on this server.
pub(in crate::engine) fn is_lossless(
    writer: &Writer,
    conn: &StoreConnection,
    last: &Guarantee,
) -> bool {
    writer.guarantee_of(conn.ident()).is_some_and(|here| last.holds_at(&here))
}

/// Whether all proxies that may hold a lock have come into this epoch. Nobody may be missing: this one was there before.
pub(in crate::engine) fn all_came(me: &Incarnation, renewal: &Renewal) -> bool {
    let mut live = renewal.proxies.iter().filter(|row| row.state == ProxyState::Live);
    me.early && live.all(|row| row.epoch == me.epoch)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::lease::incarnation::GrantWait;
    use crate::store::meta::Meta;
    use crate::store::rows::ProxyRow;
    use crate::types::ProxyId;

    #[test]
    fn the_grace_ends_early_when_all_that_live_have_come_and_this_one_was_there() {
        let row = |id: u64, state, epoch| ProxyRow {
            id: ProxyId(id),
            state,
            rvn: 1,
            epoch,
            ttl_ms: 1000,
            addr: String::new(),
            server_start: 0,
            conns: Vec::new(),
            native: false,
            tables: 3,
            keeps: 0,
        };
        let meta = Meta {
            epoch: 2,
            base: 0,
            version: 2,
            ident: String::new(),
            server: String::new(),
            here: true,
            max_ttl_ms: 1000,
            grace_done: 1,
        };
        let (wait, seen) = (GrantWait::Grace, Duration::ZERO);
        for (early, others, ends) in [
            (true, vec![], true),
            (true, vec![row(2, ProxyState::Live, 2)], true),
            (true, vec![row(2, ProxyState::Live, 1)], false),
            (true, vec![row(2, ProxyState::Dead, 1), row(3, ProxyState::Clean, 1)], true),
            (false, vec![row(2, ProxyState::Live, 2)], false),
        ] {
            let me = Incarnation {
                id: ProxyId(1),
                epoch: 2,
                versions: vec![1],
                wait,
                seen,
                until: Duration::ZERO,
                run: 0,
                early,
            };
            let mut proxies = others.clone();
            proxies.push(row(1, ProxyState::Live, 2));
            let renewal = Renewal { renewed: true, meta: meta.clone(), proxies, asked: Vec::new() };
            assert_eq!(all_came(&me, &renewal), ends, "{early} {others:?}");
        }
    }
}
