//! Changing locks at the store, and learning the outcome.
//!
//! In the ordinary case the reply to the statement tells that every row was won, and with which tokens. In any other
//! case the rows are read back: a key was won if its row then names this proxy and this grant.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::connection::{StoreConnection, StoreError};
use super::proof::{asked_sql, to_held};
use super::rows::{LockRow, to_row};
use super::statement::{
    BatchWriter, LockChange, Others, Precedence, change_sql, hand_over_sql, read_sql, release_sql,
};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::BackendId;

/// The rows after a batch, and whether the guard still held then.
#[derive(Debug, Default)]
pub struct BatchResult {
    /// Rows of the batch's keys that exist.
    pub rows: Vec<LockRow>,
    /// The guard held: this proxy may write, and with this base of tokens.
    pub guarded: bool,
    /// The base of tokens, if it was read.
    pub base: Option<u64>,
    /// A single release has found no row that was its own.
    pub missed: bool,
    /// Keys that were claimed by the server's own lock, which the claim's connection does not hold.
    pub unproven: HashSet<Key>,
}

impl BatchResult {
    /// The rows are as proposed.
    fn done(rows: Vec<LockRow>) -> Self {
        Self { rows, guarded: true, ..Self::default() }
    }
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
        if let [
            change @ LockChange { key, release: Some(release), acquire: None, withdraw: false },
        ] = changes
        {
            // A release alone is bound to its token: it needs neither guard nor read-back.
            let (affected, want) = self.change(&release_sql(writer, key, *release)).await?;
            let row = LockRow { want: want.unwrap_or_default(), ..expected(writer, change) };
            let missed = affected == 0;
            return Ok(BatchResult { missed, ..BatchResult::done(vec![row]) });
        }
        if let [
            change @ LockChange {
                key,
                release: Some(release),
                acquire: Some(grant),
                withdraw: false,
            },
        ] = changes
            && matches!(grant.turn, Precedence::Take | Precedence::Show(_))
            && grant.token > release.last
            && !grant.native
        {
            let token = release.token;
            let statement = hand_over_sql(writer, key, token, grant, others, self.flavour(), 0);
            let (affected, want) = self.change(&statement).await?;
            if affected == 1 {
                let row = LockRow { want: want.unwrap_or_default(), ..expected(writer, change) };
                return Ok(BatchResult::done(vec![row]));
            }
            let read = self.read_back(writer, changes).await;
            return read.map_err(StoreError::after_a_change);
        }
        let run = self.run_number();
        if let [change @ LockChange { key, release: None, acquire: Some(grant), withdraw: false }] =
            changes
            && let Some(token) = grant.after
            && grant.turn == Precedence::Pass
            && grant.token > token
        {
            let flavour = self.flavour();
            let statement = hand_over_sql(writer, key, token, grant, others, flavour, run);
            let (affected, want) = self.change(&statement).await?;
            if affected == 1 {
                let row = expected(writer, change);
                let row = LockRow { want: want.unwrap_or_default(), run, ..row };
                return Ok(BatchResult::done(vec![row]));
            }
            // Another session has had the lock since, or the claim is not proven: the statement for all cases tells.
        }
        let statement = change_sql(writer, changes, others, self.flavour(), run);
        let (affected, bumped) = self.change(&statement).await?;
        // A row that was there and has changed counts as two, a new one as one. Without the guard none
        // has changed; and had one not been won, or got a token above the proposed one, the
        // statement would say so.
        let lone_and_new = statement.changes == 1 && affected == 1;
        if bumped.is_none() && (affected == 2 * statement.changes || lone_and_new) {
            let row = |change: &LockChange| {
                let run = if change.is_native() { run } else { 0 };
                LockRow { run, ..expected(writer, change) }
            };
            return Ok(BatchResult::done(changes.iter().map(row).collect()));
        }
        let read = self.read_back(writer, changes).await;
        read.map_err(StoreError::after_a_change)
    }

    /// Reads the rows of these changes and the guard, and whether claims by the server's own locks can
    /// still be proven. Changes nothing.
    pub async fn read_back(
        &mut self,
        writer: &BatchWriter,
        changes: &[LockChange],
    ) -> Result<BatchResult, StoreError> {
        let mut sql = read_sql(writer, changes.iter().map(|c| &c.key), self.flavour());
        let claimed = |change: &LockChange| {
            let grant = change.acquire.as_ref().filter(|grant| grant.native)?;
            Some((change.key.clone(), grant.conn.of_one_backend()))
        };
        let claims: Vec<(Key, BackendId)> = changes.iter().filter_map(claimed).collect();
        if claims.is_empty() {
            let results = self.query(sql, 1).await?;
            return Ok(to_result(&results[0]));
        }
        let _ = write!(sql, ";SELECT {}", asked_sql(claims.iter()));
        let results = self.query(sql, 2).await?;
        let held = to_held(&results[1], claims.len());
        let unproven = claims.into_iter().zip(held).filter(|(_, held)| !held);
        let unproven = unproven.map(|((key, _), _)| key).collect();
        Ok(BatchResult { unproven, ..to_result(&results[0]) })
    }
}

fn sorted(changes: &[LockChange]) -> bool {
    changes.windows(2).all(|w| w[0].key < w[1].key)
}

/// The row after a change that was made as proposed.
fn expected(writer: &BatchWriter, change: &LockChange) -> LockRow {
    let key = change.key.as_bytes().to_vec();
    let row = LockRow { key, token: 0, holder: 0, grant: 0, conn: 0, want: 0, ticket: 0, run: 0 };
    match &change.acquire {
        Some(grant) => LockRow {
            token: grant.token,
            holder: writer.proxy.0,
            grant: grant.id,
            conn: grant.conn.0,
            ..row
        },
        None => LockRow { token: change.release.map_or(0, |release| release.last), ..row },
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
        ..BatchResult::default()
    }
}
