//! The server's own locks by which a wait is shown to it.

use super::connection::{StoreConnection, StoreError};
use super::rows::column;

impl StoreConnection {
    /// Takes the locks of `close` and releases those of `open`; for each of `close` and of `check`,
    /// whether it is held now. Names are plain words.
    pub async fn turn_gates(
        &mut self,
        close: &[&str],
        check: &[&str],
        open: &[&str],
    ) -> Result<Vec<bool>, StoreError> {
        let asked = close.len() + check.len();
        let check_calls =
            check.iter().map(|gate| format!("IS_USED_LOCK('{gate}')=CONNECTION_ID()"));
        let close_calls = close.iter().map(|gate| format!("GET_LOCK('{gate}',0)"));
        let open_calls = open.iter().map(|gate| format!("RELEASE_LOCK('{gate}')"));
        let calls: Vec<String> = close_calls.chain(check_calls).chain(open_calls).collect();
        let rows = self.query(format!("SELECT {}", calls.join(",")), 1).await?;
        let row = rows.first().and_then(|rows| rows.first());
        Ok((0..asked).map(|i| row.is_some_and(|row| column::<i64>(row, i) == 1)).collect())
    }
}
