//! The changes of a batch as rows of a table, in the statement that carries them out.

use mysql_async::Value;

use super::changes::{GrantAttempt, LockChange, Precedence};
use crate::types::Flavour;

/// A row's `ticket` with this value asks, in a grant, to take the row even if another proxy waits; in a
/// release, to leave the place of a waiting proxy.
pub(super) const AT_ONCE: u64 = 1;
/// A row's `ticket` with this value asks for [`Precedence::Pass`] in a grant. Those above [`ASK`], in a grant, are tokens
/// since which this proxy waits.
pub(super) const PASS: u64 = 2;
/// A row's `ticket` with this value asks for [`Precedence::Ask`] in a grant, and without a holder for
/// [`Precedence::Answer`].
pub(super) const ASK: u64 = 3;

/// The rows of a batch: for each key a release, a grant, or both. With `run`, each has a further column.
pub(super) fn values(me: u64, changes: &[LockChange], run: Option<u64>) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::with_capacity(changes.len() * (COLUMNS + 1));
    for LockChange { key, release, acquire, withdraw } in changes {
        // A release carries holder 0, so a missing row becomes a free one, not a ghost lock. The
        // grant of a hand-over comes right after the release: both are one commit. `conn` is the token that the row
        // has.
        if release.is_some() || *withdraw {
            let zero = || Value::UInt(0);
            let none = || Value::Bytes(Vec::new());
            let ticket = if *withdraw { AT_ONCE } else { 0 };
            let (token, last) = release.map_or((0, 0), |release| (release.token, release.last));
            values.push(key.as_bytes().into());
            values.extend([last.into(), zero(), zero(), token.into()]);
            values.extend([none(), none(), ticket.into()]);
            values.extend(run.map(|_| zero()));
        }
        if acquire.as_ref().is_some_and(|grant| grant.turn == Precedence::Answer) {
            let (zero, none) = (|| Value::UInt(0), || Value::Bytes(Vec::new()));
            values.push(key.as_bytes().into());
            values.extend([zero(), zero(), zero(), zero(), none(), none(), ASK.into()]);
            values.extend(run.map(|_| zero()));
        } else if let Some(grant) = acquire {
            values.push(key.as_bytes().into());
            values.extend([grant.token.into(), me.into(), grant.id.into(), grant.conn.0.into()]);
            values.extend([name(grant), owner(grant)]);
            values.push(match grant.turn {
                Precedence::Yield => Value::UInt(0),
                Precedence::Pass => PASS.into(),
                Precedence::Queue(since) => since.max(ASK + 1).into(),
                Precedence::Ask | Precedence::Answer => ASK.into(),
                Precedence::Show(token) => token.into(),
                Precedence::Take => AT_ONCE.into(),
            });
            values.extend(run.map(|run| Value::UInt(if grant.native { run } else { 0 })));
        }
    }
    values
}

/// The name as the row keeps it.
pub(super) fn name(grant: &GrantAttempt) -> Value {
    grant.name[..grant.name.len().min(255)].into()
}

/// The owner as the row keeps it.
pub(super) fn owner(grant: &GrantAttempt) -> Value {
    grant.owner[..grant.owner.len().min(400)].into()
}

/// Numbers of rows for which statements are made; between them the last row is repeated, which
/// changes nothing, since it has then done its work or been refused.
pub(super) fn padded(rows: usize) -> usize {
    let power = rows.next_power_of_two();
    if rows <= power / 4 * 3 && power >= 4 { power / 4 * 3 } else { power }
}

/// The first row gives the others their types. MySQL takes a tenth less time for rows of VALUES
/// than for a UNION; MariaDB has no ROW() and makes no difference.
const MYSQL_FIRST: &str = "VALUES ROW(CAST(? AS BINARY),CAST(? AS UNSIGNED),CAST(? AS UNSIGNED),\
    CAST(? AS UNSIGNED),CAST(? AS UNSIGNED),CAST(? AS BINARY),CAST(? AS BINARY),\
    CAST(? AS UNSIGNED)";
const MYSQL_NEXT: &str = ",ROW(?,?,?,?,?,?,?,?";
const MYSQL_COLUMNS: &str = "k,tok,holder,sess,conn,name,owner,ticket";
const MARIADB_FIRST: &str = "SELECT LEFT(CAST(? AS BINARY),255) k,CAST(? AS UNSIGNED) tok,\
    CAST(? AS UNSIGNED) holder,CAST(? AS UNSIGNED) sess,CAST(? AS UNSIGNED) conn,\
    LEFT(CAST(? AS BINARY),255) name,LEFT(CAST(? AS BINARY),400) owner,\
    CAST(? AS UNSIGNED) ticket";
/// Without the lengths MariaDB takes the strings for BLOBs, and keeps the rows in a table on disk:
/// a quarter of the batch's processor time.
const MARIADB_NEXT: &str = " UNION ALL SELECT LEFT(CAST(? AS BINARY),255),?,?,?,?,\
    LEFT(CAST(? AS BINARY),255),LEFT(CAST(? AS BINARY),400),?";
pub(super) const COLUMNS: usize = 8;

/// The rows as a table `v`: so many of them. `runs`: with a further column, `run`.
pub(super) fn table(rows: usize, runs: bool, flavour: Flavour) -> String {
    let (first, next, last) = match flavour {
        Flavour::MySql => (
            format!("{MYSQL_FIRST}{})", if runs { ",CAST(? AS UNSIGNED)" } else { "" }),
            format!("{MYSQL_NEXT}{})", if runs { ",?" } else { "" }),
            format!("v({MYSQL_COLUMNS}{})", if runs { ",run" } else { "" }),
        ),
        Flavour::MariaDb => (
            format!("{MARIADB_FIRST}{}", if runs { ",CAST(? AS UNSIGNED) run" } else { "" }),
            format!("{MARIADB_NEXT}{}", if runs { ",?" } else { "" }),
            "v".to_owned(),
        ),
    };
    format!("({first}{}) {last}", next.repeat(rows - 1))
}
