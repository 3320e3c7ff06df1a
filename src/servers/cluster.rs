//! A member of Group Replication or Galera: what it says of the others, and of the server where locks are kept.

use crate::store::meta::Reigning;
use crate::store::writability::Membership;

/// A member's place in its cluster, as it tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSeat {
    /// Name of the group, or of the cluster's state.
    pub cluster: String,
    /// The members that it sees.
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
        /// Number of the view.
        number: String,
        /// Nodes that have data.
        nodes: usize,
    },
}

impl ClusterSeat {
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
