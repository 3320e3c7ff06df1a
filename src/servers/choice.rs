//! Which of several servers is the writer, by what each has said last.

use super::heard::ServerState;
use super::membership::{has_left, named};

/// The writer, and the servers that should not take writes beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The writer's place in the list.
    pub(super) writer: Option<usize>,
    /// Places of servers that take writes as well, though no cluster joins them with the writer.
    pub(super) rivals: Vec<usize>,
    /// Identity of the server that the lock tables of a cluster name and that has not left it, though it cannot be the
    /// writer now.
    pub(super) awaited: Option<String>,
}

/// Which of the servers is the writer. `last` is the one that was it last.
///
/// Where several take writes, the cluster's lock tables name the writer. Without a cluster, the writer stays the one
/// that it was, and a new one is the first in the list.
pub(super) fn choose(last: Option<usize>, states: &[&ServerState]) -> Choice {
    let takes = |at: &usize| states.get(*at).is_some_and(|state| state.takes_writes());
    // At first, an earlier one in the list may be about to answer.
    let first = states
        .iter()
        .position(|state| state.takes_writes() || **state == ServerState::Unasked)
        .filter(takes);
    let named = named(states);
    let named_at = named.and_then(|named| {
        let is_it = |state: &&ServerState| {
            state.takes_writes() && state.ident() == Some(named.ident.as_str())
        };
        states.iter().position(is_it)
    });
    let awaited = named
        .filter(|named| named_at.is_none() && !has_left(states, &named.ident))
        .map(|named| named.ident.clone());
    let free = last.filter(takes).or(first).filter(|_| awaited.is_none());
    let writer = named_at.or(free);
    let alone = |state: &ServerState| match state {
        ServerState::Writable { ident, seat: None, .. } => Some(ident.clone()),
        _ => None,
    };
    let own = writer.and_then(|at| alone(states[at]));
    let is_rival = |state: &ServerState| {
        own.as_ref().is_some_and(|own| alone(state).is_some_and(|ident| ident != *own))
    };
    let rivals = (0..states.len()).filter(|at| is_rival(states[*at])).collect();
    Choice { writer, rivals, awaited }
}

#[cfg(test)]
mod tests {
    use super::super::cluster::{ClusterSeat, View};
    use super::*;
    use crate::store::meta::Reigning;

    fn state(word: &str) -> ServerState {
        match word {
            "?" => ServerState::Unasked,
            "ro" => {
                ServerState::Closed { why: "is read-only".to_owned(), member: None, follows: true }
            }
            "-" => ServerState::Silent("connection refused".to_owned()),
            // A capital letter is a server by itself, a small one a member of a cluster.
            ident => ServerState::Writable {
                ident: ident.to_owned(),
                seat: ident.chars().all(char::is_lowercase).then(|| ClusterSeat {
                    cluster: "c".to_owned(),
                    view: View::Writers(Vec::new()),
                    named: None,
                }),
                copies: 0,
            },
        }
    }

    #[test]
    fn the_writer_stays_while_it_takes_writes_and_is_the_first_in_the_list_otherwise() {
        for (last, servers, writer, rivals) in [
            // At the start.
            (None, "A ro ro", Some(0), &[][..]),
            (None, "ro B ro", Some(1), &[]),
            (None, "- B ro", Some(1), &[]),
            (None, "? B ro", None, &[]),
            (None, "ro B ?", Some(1), &[]),
            (None, "? ? ?", None, &[]),
            (None, "ro ro -", None, &[]),
            // A switch and a crash.
            (Some(0), "A ro ro", Some(0), &[]),
            (Some(0), "ro ro ro", None, &[]),
            (Some(0), "ro B ro", Some(1), &[]),
            (Some(0), "- ro ro", None, &[]),
            (Some(0), "- ro C", Some(2), &[]),
            (Some(2), "ro ro C", Some(2), &[]),
            // The state of the server was unknown for a moment.
            (Some(2), "ro ro -", None, &[]),
            (Some(2), "ro ro C", Some(2), &[]),
            // Clusters in which all take writes.
            (None, "a b c", Some(0), &[]),
            (Some(1), "a b c", Some(1), &[]),
            (Some(1), "a - c", Some(0), &[]),
            (Some(0), "a b c", Some(0), &[]),
            // A former primary comes back as if it were one.
            (Some(1), "A B ro", Some(1), &[0]),
            (Some(0), "A B C", Some(0), &[1, 2]),
            (None, "A B ro", Some(0), &[1]),
            (Some(0), "a B ro", Some(0), &[]),
            // One server by two names.
            (Some(0), "A A ro", Some(0), &[]),
        ] {
            let states: Vec<ServerState> = servers.split(' ').map(state).collect();
            let found = choose(last, &states.iter().collect::<Vec<_>>());
            assert_eq!((found.writer, &*found.rivals), (writer, rivals), "{last:?} {servers}");
        }
    }

    /// `a:ab@a3`: node `a` takes writes, sees `a` and `b`, and its tables name `a` in epoch 3. `a-ab`: the same and it
    /// takes none. `!`: silent.
    fn member(word: &str, galera: bool) -> ServerState {
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
        let view = if galera {
            View::Counted { number: members.to_owned(), nodes: members.len() }
        } else {
            View::Writers(members.chars().map(String::from).collect())
        };
        let seat = ClusterSeat { cluster: "c".to_owned(), view, named };
        match sign {
            ":" => ServerState::Writable { ident: ident.to_owned(), seat: Some(seat), copies: 0 },
            _ => ServerState::Closed {
                why: "is read-only".to_owned(),
                member: Some((ident.to_owned(), Some(seat))),
                follows: true,
            },
        }
    }

    fn check(galera: bool, last: Option<usize>, servers: &str, writer: Option<usize>) {
        let states: Vec<_> = servers.split(' ').map(|word| member(word, galera)).collect();
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
            // The writer does not answer, but nobody has missed it yet.
            (Some(0), "! b:abc@a2 c:abc@a2", None),
            // The writer is gone.
            (Some(0), "! b:bc@a2 c:bc@a2", Some(1)),
            (Some(0), "! b:bc@c3 c:bc@a2", Some(2)),
            // The writer was made read-only, or is in a minority.
            (Some(0), "a-abc b:abc@a2 c:abc@a2", Some(1)),
            (Some(0), "a-a b:bc@a2 c:bc@a2", Some(1)),
            // The former writer is back.
            (Some(1), "a:abc@b3 b:abc@b3 c:abc@b3", Some(1)),
            // The writer is in no list of this proxy.
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
