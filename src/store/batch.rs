//! Changing locks at the store, and learning the outcome.
//!
//! The reply to the statement tells in the ordinary case that every row was won, and with which
//! tokens; in any other case the rows are read back: a key was won if its row then names this
//! proxy and this grant.

use super::connection::{StoreConnection, StoreError};
use super::rows::{LockRow, to_row};
use super::statement::{
    BatchWriter, LockChange, Others, Precedence, change_sql, hand_over_sql, read_sql, release_sql,
};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};

/// The rows after a batch, and whether the guard still held then.
#[derive(Debug)]
pub struct BatchResult {
    /// Rows of the batch's keys that exist.
    pub rows: Vec<LockRow>,
    /// The guard held: this proxy may write, and with this base of tokens.
    pub guarded: bool,
    /// The base of tokens, if it was read.
    pub base: Option<u64>,
    /// A single release has found no row that was its own.
    pub missed: bool,
}

impl StoreConnection {
    /// Runs a batch. `changes` must be sorted by key, each key once.
    pub async fn run_batch(
        &mut self,
        writer: &BatchWriter,
        changes: &[LockChange],
        others: &Others,
    ) -> Result<BatchResult, StoreError> {
        debug_assert!(sorted(changes) || mutants::on(Mutant::UnsortedBatch));
        if let [change @ LockChange { key, release: Some(token), acquire: None, withdraw: false }] =
            changes
        {
            // A release alone is bound to its token: it needs neither guard nor read-back.
            let (affected, want) = self.change(&release_sql(writer, key, *token)).await?;
            let row = LockRow { want: want.unwrap_or_default(), ..expected(writer, change) };
            let missed = affected == 0;
            return Ok(BatchResult { rows: vec![row], guarded: true, base: None, missed });
        }
        if let [
            change
            @ LockChange { key, release: Some(token), acquire: Some(grant), withdraw: false },
        ] = changes
            && grant.turn == Precedence::Take
            && grant.token > *token
        {
            let statement = hand_over_sql(writer, key, *token, grant, others, self.flavour());
            let (affected, want) = self.change(&statement).await?;
            if affected == 1 {
                let row = LockRow { want: want.unwrap_or_default(), ..expected(writer, change) };
                return Ok(BatchResult {
                    rows: vec![row],
                    guarded: true,
                    base: None,
                    missed: false,
                });
            }
            let read = self.read_back(writer, [key].into_iter()).await;
            return read.map_err(StoreError::after_a_change);
        }
        let statement = change_sql(writer, changes, others, self.flavour());
        let (affected, bumped) = self.change(&statement).await?;
        // A row that was there and has changed counts as two, a new one as one. Without the guard none
        // has changed; and had one not been won, or got a token above the proposed one, the
        // statement would say so.
        let lone_and_new = statement.changes == 1 && affected == 1;
        if bumped.is_none() && (affected == 2 * statement.changes || lone_and_new) {
            let rows = changes.iter().map(|change| expected(writer, change)).collect();
            return Ok(BatchResult { rows, guarded: true, base: None, missed: false });
        }
        let read = self.read_back(writer, changes.iter().map(|c| &c.key)).await;
        read.map_err(StoreError::after_a_change)
    }

    /// Reads the rows of `keys` and the guard, changing nothing.
    pub async fn read_back<'a>(
        &mut self,
        writer: &BatchWriter,
        keys: impl Iterator<Item = &'a Key>,
    ) -> Result<BatchResult, StoreError> {
        let sql = read_sql(writer, keys, self.flavour());
        let mut results = self.query(sql, 1).await?;
        Ok(to_result(&results.pop().unwrap_or_default()))
    }
}

fn sorted(changes: &[LockChange]) -> bool {
    changes.windows(2).all(|w| w[0].key < w[1].key)
}

/// The row after a change that was made as proposed.
fn expected(writer: &BatchWriter, change: &LockChange) -> LockRow {
    let key = change.key.as_bytes().to_vec();
    let row = LockRow { key, token: 0, holder: 0, grant: 0, conn: 0, want: 0, ticket: 0 };
    match &change.acquire {
        Some(grant) => LockRow {
            token: grant.token,
            holder: writer.proxy.0,
            grant: grant.id,
            conn: grant.conn.0,
            ..row
        },
        None => LockRow { token: change.release.unwrap_or_default(), ..row },
    }
}

fn to_result(rows: &[mysql_async::Row]) -> BatchResult {
    // The guard is the row under a key that no lock can have.
    let (guard, rows): (Vec<LockRow>, Vec<LockRow>) =
        rows.iter().map(to_row).partition(|r| r.key.is_empty());
    let guard = guard.first();
    BatchResult {
        rows,
        guarded: guard.is_some_and(|g| g.holder == 1),
        base: guard.map(|g| g.token),
        missed: false,
    }
}
