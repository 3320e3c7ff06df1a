//! The connections that sessions share, as administrators are shown them.

use super::control::Control;
use super::table::{AdminTable, Cell, ColumnKind};
use crate::backend::pool::shown::PoolAccount;

impl Control {
    /// What each account has of the connections of each listener.
    pub fn pool(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("listener", ColumnKind::Text),
            ("user", ColumnKind::Text),
            ("connections", ColumnKind::Number),
            ("free", ColumnKind::Number),
            ("waiting", ColumnKind::Number),
            ("pinned", ColumnKind::Text),
        ];
        let mut rows = Vec::new();
        for cluster in self.clusters.iter() {
            for (listener, pool) in &cluster.pools {
                rows.extend(pool.shown().into_iter().map(|(user, account)| {
                    let PoolAccount { held, free, waiting, pinned } = account;
                    let pinned: Vec<_> =
                        pinned.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
                    vec![
                        Cell::text(cluster.name.as_deref()),
                        Cell::Text(listener.clone()),
                        Cell::bytes(&user),
                        Cell::Number((held + free) as u64),
                        Cell::Number(free as u64),
                        Cell::Number(waiting as u64),
                        Cell::Text(pinned.join(", ")),
                    ]
                }));
            }
        }
        AdminTable::of(COLUMNS, rows)
    }
}
