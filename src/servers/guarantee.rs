//! How much of what a server has acknowledged the others have: all of it, or perhaps not the last changes.

use super::heard::ServerState;

/// What the others have of all that a server has acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Guarantee {
    /// Perhaps not the last changes.
    #[default]
    Nothing,
    /// All acknowledged changes: the others are in the cluster of this name.
    Cluster(String),
    /// All acknowledged changes: each of the others has a change before it is acknowledged, by semi-synchronous
    /// replication.
    Copies,
}

impl Guarantee {
    /// The guarantee of a server among so many, by its last answer.
    pub fn of(state: &ServerState, servers: usize) -> Self {
        match (state.seat(), state) {
            (Some(seat), _) => Self::Cluster(seat.cluster.clone()),
            (None, ServerState::Writable { copies, .. }) => Self::by_copies(*copies, servers),
            (None, _) => Self::Nothing,
        }
    }

    /// Of a server among so many, of which so many others have a change before it is acknowledged.
    pub fn by_copies(copies: usize, servers: usize) -> Self {
        if servers > 1 && copies + 1 >= servers { Self::Copies } else { Self::Nothing }
    }

    /// Whether they have all of it.
    pub fn is_lossless(&self) -> bool {
        *self != Self::Nothing
    }

    /// Whether a server for which `next` holds has all that one with this guarantee has acknowledged.
    pub fn holds_at(&self, next: &Self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Cluster(_) => next == self,
            // The next server is one of those that were listed.
            Self::Copies => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_count_where_each_other_server_has_one() {
        for (copies, servers, lossless) in [
            (0, 1, false),
            (1, 1, false),
            (0, 2, false),
            (1, 2, true),
            (1, 3, false),
            (2, 3, true),
            (3, 3, true),
        ] {
            let guarantee = Guarantee::by_copies(copies, servers);
            assert_eq!(guarantee.is_lossless(), lossless, "{copies} of {servers}");
            assert_eq!(guarantee.holds_at(&Guarantee::Nothing), lossless);
        }
        let (one, other) = (Guarantee::Cluster("a".to_owned()), Guarantee::Cluster("b".to_owned()));
        assert!(one.holds_at(&one) && !one.holds_at(&other) && !one.holds_at(&Guarantee::Nothing));
    }
}
