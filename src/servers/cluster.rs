//! Members of Group Replication and Galera: what each tells of the others, and of the server where locks are kept.
//!
//! Where several members take writes, all proxies have to agree on one. That is the server that the lock tables name. It is
//! left when it has left: a majority goes on without it, or it says itself that it takes no writes.

use std::collections::BTreeSet;

use super::choice::ServerState;
use crate::store::meta::Reigning;
use crate::store::writability::Membership;

/// A member's place in its cluster, as it tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Name of the group, or of the cluster's state.
    pub cluster: String,
    /// Whom it sees.
    pub view: View,
    /// The server that its lock tables name; `None` if it was not asked, or has no such tables.
    pub named: Option<Reigning>,
}

/// The members that one of them sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// Group Replication: identities of those that may take writes.
    Writers(Vec<String>),
    /// Galera, where a node knows only how many there are: the view's number, by which nodes know that theirs is the
    /// same.
    Counted {
        /// Its number.
        number: String,
        /// Nodes that have data.
        nodes: usize,
    },
}

impl Seat {
    /// `None`: it is in no cluster.
    pub fn of(membership: &Membership) -> Option<Self> {
        let (cluster, view) = match membership {
            Membership::Alone => return None,
            Membership::Group { group, writers, .. } => (group, View::Writers(writers.clone())),
            Membership::Galera { cluster, view, nodes, .. } => {
                (cluster, View::Counted { number: view.clone(), nodes: *nodes })
            }
        };
        Some(Self { cluster: cluster.clone(), view, named: None })
    }
}

/// The server that lock tables of clusters name: by the latest epoch, since a member may be late.
pub(super) fn named<'a>(states: &[&'a ServerState]) -> Option<&'a Reigning> {
    let seats = states.iter().filter(|state| state.takes_writes()).filter_map(|state| state.seat());
    seats.filter_map(|seat| seat.named.as_ref()).max_by_key(|named| named.epoch)
}

/// Whether the server with this identity has left the cluster's writers.
pub(super) fn has_left(states: &[&ServerState], ident: &str) -> bool {
    let refuses = |state: &&ServerState| {
        matches!(state, ServerState::Closed { member: Some((own, _)), .. } if own == ident)
    };
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
fn in_same_view<'a>(states: &[&'a ServerState], of: &Seat) -> BTreeSet<&'a str> {
    let same = |seat: &Seat| seat.cluster == of.cluster && seat.view == of.view;
    let members = states.iter().filter(|state| state.seat().is_some_and(same));
    members.filter_map(|state| state.ident()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::choice::choose;
    use super::*;

    /// `a:ab@a3`: node `a` takes writes, sees `a` and `b`, and its tables name `a` in epoch 3. `a-ab`: the same and it
    /// takes none. `!`: silent.
    fn state(word: &str, galera: bool) -> ServerState {
        if word == "!" {
            return ServerState::Silent("connection refused".to_owned());
        }
        let (ident, rest) = word.split_at(1);
        let (sign, rest) = rest.split_at(1);
        let (members, named) = rest.split_once('@').unwrap_or((rest, ""));
        let named = named.split_at_checked(1).filter(|(name, _)| !name.is_empty());
        let named = named.map(|(ident, epoch)| Reigning {
            epoch: epoch.parse().expect("a number"),
            ident: ident.to_owned(),
        });
        let view = match galera {
            true => View::Counted { number: members.to_owned(), nodes: members.len() },
            false => View::Writers(members.chars().map(String::from).collect()),
        };
        let seat = Seat { cluster: "c".to_owned(), view, named };
        match sign {
            ":" => ServerState::Writable { ident: ident.to_owned(), seat: Some(seat) },
            _ => ServerState::Closed {
                why: "is read-only".to_owned(),
                member: Some((ident.to_owned(), Some(seat))),
            },
        }
    }

    fn check(galera: bool, last: Option<usize>, servers: &str, writer: Option<usize>) {
        let states: Vec<_> = servers.split(' ').map(|word| state(word, galera)).collect();
        let found = choose(last, &states.iter().collect::<Vec<_>>());
        assert_eq!(found.writer, writer, "galera {galera}, last {last:?}: {servers}");
        assert_eq!(found.rivals, [0; 0], "{servers}");
    }

    #[test]
    fn proxies_agree_on_the_server_that_the_lock_tables_name_until_it_has_left() {
        for (last, servers, writer) in [
            // No lock tables yet.
            (None, "a:abc b:abc c:abc", Some(0)),
            // Another list, another order.
            (None, "c:abc@b3 b:abc@b3 a:abc@b3", Some(1)),
            (Some(0), "c:abc@b3 b:abc@b3 a:abc@b3", Some(1)),
            // A member is late.
            (Some(0), "a:abc@a2 b:abc@b3 c:abc@a2", Some(1)),
            // It does not answer, but nobody has missed it yet.
            (Some(0), "! b:abc@a2 c:abc@a2", None),
            // It is gone.
            (Some(0), "! b:bc@a2 c:bc@a2", Some(1)),
            (Some(0), "! b:bc@c3 c:bc@a2", Some(2)),
            // It was made read-only, or is in a minority.
            (Some(0), "a-abc b:abc@a2 c:abc@a2", Some(1)),
            (Some(0), "a-a b:bc@a2 c:bc@a2", Some(1)),
            // It is back.
            (Some(1), "a:abc@b3 b:abc@b3 c:abc@b3", Some(1)),
            // It is in no list of this proxy.
            (None, "b:abc@a2 c:abc@a2", None),
            // Nobody takes writes.
            (Some(0), "! b-bc c-bc", None),
        ] {
            check(true, last, servers, writer);
            check(false, last, servers, writer);
        }
    }

    #[test]
    fn where_nodes_are_only_counted_all_of_a_view_must_be_known() {
        // One of the others does not answer either, or has another view still.
        check(true, Some(0), "! b:bc@a2 !", None);
        check(true, Some(0), "! b:bc@a2 c:abc@a2", None);
        // Group Replication names them.
        check(false, Some(0), "! b:bc@a2 !", Some(1));
    }
}
