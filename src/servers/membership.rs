//! Whether the server where the locks of a cluster are kept is one of its writers still.
//!
//! Where several members take writes, all proxies have to agree on one. That is the server that the lock tables name, until it
//! has left: a majority goes on without it, or it says itself that it takes no writes.

use std::collections::BTreeSet;

use super::cluster::{ClusterSeat, View};
use super::heard::ServerState;
use crate::store::meta::Reigning;

/// The server that lock tables of clusters name: by the latest epoch, since a member may be late.
pub(super) fn named<'a>(states: &[&'a ServerState]) -> Option<&'a Reigning> {
    let seats = states.iter().filter(|state| state.takes_writes()).filter_map(|state| state.seat());
    seats.filter_map(|seat| seat.named.as_ref()).max_by_key(|named| named.epoch)
}

/// Whether the server with this identity has left the cluster's writers.
pub(super) fn has_left(states: &[&ServerState], ident: &str) -> bool {
    let refuses = |state: &&ServerState| matches!(state, ServerState::Closed { member: Some((own, _)), .. } if own == ident);
    states.iter().any(refuses)
        || states.iter().filter(|state| state.takes_writes()).any(|state| {
            state.seat().is_some_and(|seat| match &seat.view {
                View::Writers(writers) => !writers.iter().any(|writer| writer == ident),
                View::Counted { nodes, .. } => {
                    let seen = in_same_view(states, seat);
                    seen.len() >= *nodes && !seen.contains(ident)
                }
            })
        })
}

/// Identities of the servers that are in the same view.
fn in_same_view<'a>(states: &[&'a ServerState], of: &ClusterSeat) -> BTreeSet<&'a str> {
    let same = |seat: &ClusterSeat| seat.cluster == of.cluster && seat.view == of.view;
    let members = states.iter().filter(|state| state.seat().is_some_and(same));
    members.filter_map(|state| state.ident()).collect()
}
