//! The proof by which a row is claimed: the server's own lock of this name is held by the claim's connection.
//! Two sessions of one server never hold it at once.
//!
//! The server must look when the statement has the row, not before: a claim that waits for the row may be late.

use super::changes::Others;
use super::identity::SLACK;
use super::quoting::{ids, literal};
use super::rows::column;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::BackendId;

/// The lock's name as the server compares names, from an expression for the key. A name that ends
/// with its first letter's NUL has an empty key, but an empty name is none.
fn name_in(key: &str) -> String {
    format!("IF(LENGTH({key})=1,x'00',SUBSTR({key},2))")
}

/// Whether a connection holds the lock of a key, from expressions for both. Never NULL.
fn proof(key: &str, conn: &str) -> String {
    format!("IS_USED_LOCK({})<=>{conn}", name_in(key))
}

/// The condition for rows that are not there yet, in front of the statement's changes.
pub(super) fn of_new_rows() -> String {
    let proof = judged("v.k", "v.conn");
    format!("(v.run=0 OR {proof})")
}

/// The condition under which a row that is there is claimed. `free`: under which it may be taken without
/// a former holder's leave. `passes` is a condition under which a waiting proxy is passed by.
pub(super) fn of_present_rows(free: &str, others: &Others, run: u64, passes: &str) -> String {
    let waiting = if others.waiting.is_empty() {
        String::new()
    } else {
        format!(" AND (locks.want NOT IN ({}) OR {passes})", ids(&others.waiting))
    };
    let (from, to) = (run.saturating_sub(SLACK), run.saturating_add(SLACK));
    // The holder had the server's lock in this run of the server, so it has released the lock.
    let left = format!(
        "locks.holder<>0 AND locks.proof=locks.sess AND locks.run BETWEEN {from} AND {to}{waiting}"
    );
    let proof = if mutants::on(Mutant::ProofBeforeRow) {
        // Of new rows it is judged nevertheless, before the statement has any row.
        "1".to_owned()
    } else {
        judged("locks.k", "VALUES(conn)")
    };
    format!("IF(VALUES(run)=0,{free},({free} OR {left}) AND {proof})")
}

/// The condition under which a session takes the row that another session of its proxy has had by the server's
/// own lock; with a `?` for its connection.
///
/// The name is that in the row, although the statement tells it: of a literal the server would make a constant,
/// before it has the row.
pub(super) fn of_own_row(key: &Key, run: u64) -> String {
    let (from, to) = (run.saturating_sub(SLACK), run.saturating_add(SLACK));
    let key = mutants::or(Mutant::ProofBeforeRow, "k".to_owned(), literal(key.as_bytes()));
    let proof = mutants::or(Mutant::ClaimWithoutProof, proof(&key, "?"), "?<>0".to_owned());
    format!("proof=sess AND run BETWEEN {from} AND {to} AND {proof}")
}

/// The proof, unless the rule is left out.
fn judged(key: &str, conn: &str) -> String {
    mutants::or(Mutant::ClaimWithoutProof, proof(key, conn), "1".to_owned())
}

/// The name of a key's lock, as the server compares names.
pub(super) fn name_of(key: &Key) -> &[u8] {
    match key.folded() {
        [] => b"\0",
        name => name,
    }
}

/// Expressions, one for each key and connection: whether the connection holds the server's lock of this name.
pub(super) fn asked_sql<'a>(asked: impl Iterator<Item = &'a (Key, BackendId)>) -> String {
    let each = |(key, conn): &(Key, BackendId)| {
        format!("IS_USED_LOCK({})<=>{}", literal(name_of(key)), conn.0)
    };
    asked.map(each).collect::<Vec<_>>().join(",")
}

/// The values of the expressions of [`asked_sql`].
pub(super) fn to_held(rows: &[mysql_async::Row], asked: usize) -> Vec<bool> {
    let row = rows.first();
    (0..asked).map(|i| row.is_some_and(|row| column::<i64>(row, i) == 1)).collect()
}
