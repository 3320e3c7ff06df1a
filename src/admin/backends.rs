//! SHOW BACKENDS: the servers, which of them is the writer, and their lock tables.

use super::control::{ClusterView, Control};
use super::table::{AdminTable, Cell, ColumnKind};
use crate::servers::heard::ServerState;
use crate::servers::replicas::Replicas;
use crate::servers::writer::ShownServer;

impl Control {
    /// Servers and lock tables.
    pub fn backends(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("backend", ColumnKind::Text),
            ("backend_answers", ColumnKind::Text),
            ("lock_tables", ColumnKind::Text),
            ("store_answers", ColumnKind::Text),
            ("role", ColumnKind::Text),
            ("state", ColumnKind::Text),
            ("replica_sessions", ColumnKind::Number),
        ];
        AdminTable::of(COLUMNS, self.clusters.iter().flat_map(ClusterView::servers).collect())
    }
}

impl ClusterView {
    /// A row for each server. Of the lock tables only those at the writer are in use.
    fn servers(&self) -> Vec<Vec<Cell>> {
        let config = self.in_force.config();
        let renews = self.metrics.store_up.get() == 1;
        let store = self.engine.as_ref().map(|engine| renews && !engine.misses_answers());
        let reached = self.reach.problem().is_none();
        let counts = self.replicas.as_ref().map(Replicas::sessions);
        let row = |(place, server): (usize, ShownServer)| {
            let ShownServer { address, writer, replica, state } = server;
            let sessions = counts.as_ref().and_then(|counts| counts.get(place));
            let answers = match &state {
                Some(state) if !writer => state.answers(),
                Some(_) | None => reached,
            };
            let role = match (writer, replica && counts.is_some()) {
                (true, _) => "writer",
                (false, true) => "replica",
                (false, false) => "other",
            };
            let url = config.store.as_ref().map(|url| format!("{:?}", url.at(&address.store)));
            vec![
                Cell::text(self.name.as_deref()),
                Cell::Text(address.backend.to_string()),
                Cell::yes(answers),
                Cell::text(url),
                store.filter(|_| writer).map_or(Cell::Null, Cell::yes),
                Cell::Text(role.to_owned()),
                Cell::text(state.as_ref().map(ServerState::to_string)),
                sessions.map_or(Cell::Null, |n| Cell::Number(u64::try_from(*n).unwrap_or(0))),
            ]
        };
        self.reach.writer().shown().into_iter().enumerate().map(row).collect()
    }
}
