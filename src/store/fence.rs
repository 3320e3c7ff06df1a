//! The question with which a COMMIT of a session that holds locks begins: are the rows still its own?
//!
//! The question runs in the session's own transaction, on its own connection, and share-locks the rows until that has
//! ended. So a takeover either waits for the COMMIT or makes the question fail (I11).

use std::fmt::Write as _;

use super::quoting::{keys, literal};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::{Flavour, ProxyId};

/// Rows of which one question asks.
pub const ROWS: usize = 500;

/// The error of a session whose rows are not its own any more, ER_SUBQUERY_NO_1_ROW.
pub const LOST: u16 = 1242;

/// The statements that ask whether all these locks, at most [`ROWS`], are held by `proxy` with these tokens: the first one
/// fails with [`LOST`] if not.
///
/// The statements leave nothing in the session: no user variable, no report, and on MySQL not even another
/// FOUND_ROWS().
pub fn fence_sql(
    schema: &str,
    proxy: ProxyId,
    grants: &[(Key, u64)],
    flavour: Flavour,
    version: u32,
) -> Vec<String> {
    let mut rows = String::new();
    for (key, token) in grants {
        let between = if rows.is_empty() { "" } else { "," };
        let _ = write!(rows, "{between}({},{token},{})", literal(key.as_bytes()), proxy.0);
    }
    let rows =
        mutants::or(Mutant::FenceByName, format!("(k,tok,holder) IN ({rows})"), "1".to_owned());
    let all = keys(grants.iter().map(|(key, _)| key));
    let share = match flavour {
        Flavour::MySql => "FOR SHARE",
        Flavour::MariaDb => "LOCK IN SHARE MODE",
    };
    // Without the first condition the server would read the whole table.
    let own = format!(
        "(SELECT COUNT(*) FROM `{schema}`.locks WHERE k IN ({all}) AND {rows} {share})={}",
        grants.len()
    );
    let refusal = "(SELECT 1 UNION SELECT 2)";
    match flavour {
        // A setting is as it was. No limit of the session's, on time or rows, is for such a statement.
        Flavour::MySql => {
            let same = "@@session.lock_wait_timeout";
            vec![format!("SET {same}={same}+IF({own},0,{refusal})")]
        }
        // `LIMIT 1`: one of the session's might leave no row, and then nothing is asked.
        Flavour::MariaDb => {
            let question = format!("SELECT IF({own},1,{refusal}) LIMIT 1");
            if isolates_snapshots(version) {
                let set = "SET STATEMENT innodb_snapshot_isolation=OFF FOR";
                // The server reports such a setting again, with the next statement that changes anything.
                let next = "SET lock_wait_timeout=@@session.lock_wait_timeout";
                vec![format!("{set} {question}"), next.to_owned()]
            } else {
                vec![question]
            }
        }
    }
}

/// Whether this MariaDB may refuse to lock a row that has changed since the transaction's snapshot, with an error that
/// rolls back; by default since 11.6.2.
/// (mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation)
fn isolates_snapshots(version: u32) -> bool {
    match version / 100 {
        1006 => version >= 100_618,
        1011 => version >= 101_108,
        1100 => version >= 110_006,
        1101 => version >= 110_105,
        1102 => version >= 110_204,
        line => line >= 1104,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;

    #[test]
    fn all_rows_are_named_with_their_tokens_and_the_incarnation() {
        let key = |name: &[u8]| plain(name, Flavour::MySql).expect("plain").key;
        let grants = [(key(b"a"), 5), (key(b"b"), 6)];
        let text = fence_sql("s", ProxyId(9), &grants, Flavour::MySql, 90_704).concat();
        let [a, b] = [b"a", b"b"].map(|name| literal(key(name).as_bytes()));
        for part in [format!("k IN ({a},{b})"), format!("({a},5,9),({b},6,9)"), ")=2,".to_owned()] {
            assert!(text.contains(&part), "{part} in {text}");
        }
    }

    #[test]
    fn only_servers_that_know_snapshot_isolation_are_told_of_it() {
        for (version, knows) in [
            (100_617, false),
            (100_618, true),
            (101_107, false),
            (101_119, true),
            (110_302, false),
            (110_402, true),
            (120_000, true),
        ] {
            let text = fence_sql("s", ProxyId(9), &[], Flavour::MariaDb, version).concat();
            assert_eq!(text.contains("snapshot"), knows, "{version}");
        }
    }
}
