//! The last holders of locks, as administrators are shown them.

use super::control::{ClusterView, Control};
use super::reply::failed;
use super::table::{AdminTable, Cell, ColumnKind, MOST};
use crate::engine::io::last_known::is_like;
use crate::engine::shared::history::PastHold;
use crate::lock::name;
use crate::protocol::reply::ErrorReply;

impl Control {
    /// Locks that sessions of this proxy have had, the one that ended last first; those whose names match a LIKE pattern.
    pub fn history(&self, like: Option<&str>) -> Result<AdminTable, ErrorReply> {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("name", ColumnKind::Text),
            ("token", ColumnKind::Number),
            ("proxy", ColumnKind::Text),
            ("connection_id", ColumnKind::Number),
            ("owner", ColumnKind::Text),
            ("taken_utc", ColumnKind::Text),
            ("ended_utc", ColumnKind::Text),
            ("held_seconds", ColumnKind::Fraction),
            ("ended_by", ColumnKind::Text),
        ];
        if !self.clusters.iter().any(|cluster| cluster.seen.history.is_on()) {
            let how = "no history is kept: set history = 4000 in the configuration, then reload";
            return Err(failed(how.to_owned()));
        }
        let (mut rows, mut cut) = (Vec::new(), false);
        for cluster in self.clusters.iter() {
            let mut past = cluster.seen.history.all();
            past.retain(|hold| like.is_none_or(|like| is_like(&name::shown(&hold.name), like)));
            cut |= past.len() > MOST;
            rows.extend(past.iter().take(MOST).map(|hold| cells(cluster, hold)));
        }
        Ok(AdminTable { columns: COLUMNS, cut, old: None, rows })
    }
}

fn cells(cluster: &ClusterView, hold: &PastHold) -> Vec<Cell> {
    let taken = hold.ended.checked_sub(hold.held);
    let utc = |at| Cell::Text(humantime::format_rfc3339_millis(at).to_string());
    vec![
        Cell::text(cluster.name.as_deref()),
        Cell::name(&hold.name),
        hold.token.map_or(Cell::Null, Cell::Number),
        Cell::Text(cluster.seen.history.proxy().to_string()),
        Cell::Number(hold.conn.0),
        Some(&hold.owner).filter(|owner| !owner.is_empty()).map_or(Cell::Null, |o| Cell::bytes(o)),
        taken.map_or(Cell::Null, utc),
        utc(hold.ended),
        Cell::Seconds(hold.held.as_secs_f64()),
        Cell::Text(hold.end.to_owned()),
    ]
}
