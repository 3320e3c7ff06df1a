//! The one statement that changes locks: acquires, releases and hand-overs of many keys at once.
//!
//! A batch is a single autocommit statement, so no transaction of the engine ever spans two
//! packets. Its guard share-locks the meta row and the proxy's own row: a proxy that is no longer
//! LIVE, or on another server or epoch, changes nothing (I3, I14). Rows are in key order, so
//! batches cannot deadlock.

use std::fmt::Write as _;
use std::sync::Arc;

use mysql_async::Value;

use super::identity::ident_expression;
use super::quoting::{ids, keys, literal};
use super::rows::LOCK_ROW;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::{ConnectionId, Flavour, ProxyId};

/// The incarnation that writes, and its epoch.
#[derive(Debug, Clone)]
pub struct BatchWriter {
    /// Schema of the lock tables.
    pub schema: String,
    /// The incarnation.
    pub proxy: ProxyId,
    /// The epoch it joined.
    pub epoch: u64,
    /// Base of new tokens, which are greater. A batch does nothing if it has moved on: rows with
    /// tokens below the base may be deleted, and must not come back with smaller ones.
    pub base: u64,
    /// The server's start: connection ids in this incarnation's rows are of this run of it.
    pub run: i64,
}

/// A change of one key: a release, a grant, or a hand-over from one session to another; or the end of
/// this proxy's wait for it.
#[derive(Debug, Clone)]
pub struct LockChange {
    /// The key.
    pub key: Key,
    /// Token to release first.
    pub release: Option<u64>,
    /// Grant to try then.
    pub acquire: Option<GrantAttempt>,
    /// Whether to leave the row's place for a waiting proxy.
    pub withdraw: bool,
}

/// A grant to try.
#[derive(Debug, Clone)]
pub struct GrantAttempt {
    /// Unique id of the attempt.
    pub id: u64,
    /// Proposed token. The row gets it, or one above its last if that is not smaller.
    pub token: u64,
    /// The client's connection id.
    pub conn: ConnectionId,
    /// The name as given.
    pub name: Box<[u8]>,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// Before or after a proxy that waits.
    pub turn: Precedence,
}

/// How a grant treats other proxies that want the same lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precedence {
    /// Leaves a free row to the proxy that it names as waiting.
    Yield,
    /// The same; and if it does not get the lock, the row names it as waiting since this token, unless
    /// it names a proxy that waits longer.
    Queue(u64),
    /// Takes a free row even if another proxy waits.
    Take,
}

/// The other incarnations, as a batch needs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// In state CLEAN: their locks may be taken.
    pub clean: Vec<ProxyId>,
    /// LIVE: a free row that names one of them as waiting is left to it.
    pub waiting: Vec<ProxyId>,
}

/// A statement with `?` for its values.
#[derive(Debug)]
pub(super) struct ParameterizedSql {
    /// The text; of few different lengths, so that the server can keep it prepared.
    pub(super) sql: String,
    /// Its values, in order.
    pub(super) values: Vec<Value>,
    /// The number of rows that it should change.
    pub(super) changes: u64,
}

impl ParameterizedSql {
    /// The statement with its values in it.
    pub(super) fn to_text(&self) -> String {
        let mut pieces = self.sql.split('?');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for (piece, value) in pieces.zip(&self.values) {
            match value {
                Value::Bytes(bytes) => text.push_str(&literal(bytes)),
                value => text.push_str(&value.as_sql(true)),
            }
            text.push_str(piece);
        }
        text
    }
}

/// A release alone.
pub(super) fn release_sql(writer: &BatchWriter, key: &Key, token: u64) -> ParameterizedSql {
    let BatchWriter { schema, proxy: ProxyId(me), .. } = writer;
    // LAST_INSERT_ID() tells who waits.
    let sql = format!(
        "UPDATE `{schema}`.locks SET holder=0,want=IF(want IN (0,{me}),want,LAST_INSERT_ID(want)) \
         WHERE k=? AND holder={me} AND tok=?"
    );
    ParameterizedSql { sql, values: vec![key.as_bytes().into(), token.into()], changes: 1 }
}

/// A hand-over alone: what [`change_sql`] does in less time (docs/performance.md). A row that was changed was
/// won, with the proposed token, which must be greater than the one released.
pub(super) fn hand_over_sql(
    writer: &BatchWriter,
    key: &Key,
    token: u64,
    grant: &GrantAttempt,
    others: &Others,
    flavour: Flavour,
) -> ParameterizedSql {
    let BatchWriter { schema, proxy: ProxyId(me), .. } = writer;
    let (guard, live) = (guard(writer, flavour), ids(&others.waiting));
    let share = match flavour {
        Flavour::MySql => "FOR SHARE",
        Flavour::MariaDb => "LOCK IN SHARE MODE",
    };
    // LAST_INSERT_ID() tells who waits.
    let sql = format!(
        "UPDATE `{schema}`.locks SET sess=?,conn=?,name=?,owner=?,since=UTC_TIMESTAMP(3),tok=?,\
         want=IF(want<>{me} AND want IN ({live}),LAST_INSERT_ID(want),0) \
         WHERE k=? AND holder={me} AND tok=? AND (SELECT COUNT(*) FROM `{schema}`.meta m \
         STRAIGHT_JOIN `{schema}`.proxies p WHERE {guard} {share})=1"
    );
    let mut values: Vec<Value> = vec![grant.id.into(), grant.conn.0.into()];
    values.extend([name(grant), owner(grant), grant.token.into()]);
    values.extend([key.as_bytes().into(), token.into()]);
    ParameterizedSql { sql, values, changes: 1 }
}

/// The name as the row keeps it.
fn name(grant: &GrantAttempt) -> Value {
    grant.name[..grant.name.len().min(255)].into()
}

/// The owner as the row keeps it.
fn owner(grant: &GrantAttempt) -> Value {
    grant.owner[..grant.owner.len().min(400)].into()
}

/// Numbers of rows for which statements are made; between them the last row is repeated, which
/// changes nothing, since it has then done its work or been refused.
fn padded(rows: usize) -> usize {
    let power = rows.next_power_of_two();
    if rows <= power / 4 * 3 && power >= 4 { power / 4 * 3 } else { power }
}

/// The first row gives the others their types. MySQL takes a tenth less time for rows of VALUES
/// than for a UNION; MariaDB has no ROW() and makes no difference.
const MYSQL_FIRST: &str = "(VALUES ROW(CAST(? AS BINARY),CAST(? AS UNSIGNED),CAST(? AS UNSIGNED),\
    CAST(? AS UNSIGNED),CAST(? AS UNSIGNED),CAST(? AS BINARY),CAST(? AS BINARY),\
    CAST(? AS UNSIGNED))";
const MYSQL_LAST: &str = ") v(k,tok,holder,sess,conn,name,owner,ticket)";
const MARIADB_FIRST: &str = "(SELECT LEFT(CAST(? AS BINARY),255) k,CAST(? AS UNSIGNED) tok,\
    CAST(? AS UNSIGNED) holder,CAST(? AS UNSIGNED) sess,CAST(? AS UNSIGNED) conn,\
    LEFT(CAST(? AS BINARY),255) name,LEFT(CAST(? AS BINARY),400) owner,\
    CAST(? AS UNSIGNED) ticket";
/// Without the lengths MariaDB takes the strings for BLOBs, and keeps the rows in a table on disk:
/// a quarter of the batch's processor time.
const MARIADB_NEXT: &str = " UNION ALL SELECT LEFT(CAST(? AS BINARY),255),?,?,?,?,\
    LEFT(CAST(? AS BINARY),255),LEFT(CAST(? AS BINARY),400),?";
const COLUMNS: usize = 8;

/// Bytes of the longest statement on the lock tables.
pub const NEEDED: u64 = 1 << 20;

/// A row's `ticket` with this value asks, in a grant, to take the row even if another proxy waits; in a
/// release, to leave the place of a waiting proxy. Greater ones, in a grant, are tokens since which this proxy waits.
const AT_ONCE: u64 = 1;

/// All changes of a batch.
///
/// Its affected rows are two for each row that was there and was changed. LAST_INSERT_ID() is set
/// by every grant of a row that was there and was not won, by one that got another token than the
/// proposed one, and by the release of a row in which another proxy waits.
pub(super) fn change_sql(
    writer: &BatchWriter,
    changes: &[LockChange],
    others: &Others,
    flavour: Flavour,
) -> ParameterizedSql {
    let BatchWriter { schema, proxy: ProxyId(me), .. } = writer;
    let mut values = values(*me, changes);
    let rows = values.len() / COLUMNS;
    let padded = padded(rows);
    for _ in rows..padded {
        values.extend_from_within(values.len() - COLUMNS..);
    }
    let mut sql = format!(
        "INSERT INTO `{schema}`.locks (k,tok,holder,sess,conn,name,owner,ticket,since) \
         SELECT v.*,UTC_TIMESTAMP(3) \
         FROM `{schema}`.meta m STRAIGHT_JOIN `{schema}`.proxies p STRAIGHT_JOIN "
    );
    let (first, next, last, share) = match flavour {
        Flavour::MySql => (MYSQL_FIRST, ",ROW(?,?,?,?,?,?,?,?)", MYSQL_LAST, "FOR SHARE OF m,p"),
        Flavour::MariaDb => (MARIADB_FIRST, MARIADB_NEXT, ") v", "LOCK IN SHARE MODE"),
    };
    sql.push_str(first);
    for _ in 1..padded {
        sql.push_str(next);
    }
    sql.push_str(last);
    let guard = guard(writer, flavour);
    let _ = write!(sql, " WHERE {guard} {share} ON DUPLICATE KEY UPDATE ");
    sql.push_str(&assignments(*me, others));
    ParameterizedSql { sql, values, changes: rows as u64 }
}

/// The rows of a batch: for each key a release, a grant, or both.
fn values(me: u64, changes: &[LockChange]) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::with_capacity(changes.len() * COLUMNS);
    for LockChange { key, release, acquire, withdraw } in changes {
        // A release carries holder 0, so a missing row becomes a free one, not a ghost lock. The
        // grant of a hand-over comes right after the release: both are one commit.
        if release.is_some() || *withdraw {
            let zero = || Value::UInt(0);
            let none = || Value::Bytes(Vec::new());
            let ticket = if *withdraw { AT_ONCE } else { 0 };
            values.push(key.as_bytes().into());
            values.extend([release.unwrap_or_default().into(), zero(), zero(), zero()]);
            values.extend([none(), none(), ticket.into()]);
        }
        if let Some(grant) = acquire {
            values.push(key.as_bytes().into());
            values.extend([grant.token.into(), me.into(), grant.id.into(), grant.conn.0.into()]);
            values.extend([name(grant), owner(grant)]);
            values.push(match grant.turn {
                Precedence::Yield => Value::UInt(0),
                Precedence::Queue(since) => since.max(AT_ONCE + 1).into(),
                Precedence::Take => AT_ONCE.into(),
            });
        }
    }
    values
}

/// The change of a row that is there.
fn assignments(me: u64, others: &Others) -> String {
    let free = free(others);
    let mut sql = String::new();
    // Assignments run from left to right: holder after the columns whose conditions ask whether the
    // row is free, tok before it. A release leaves what the row says of its last holder: a row that keeps its size
    // is changed in place.
    let next = "IF(locks.tok<VALUES(tok),VALUES(tok),LAST_INSERT_ID(locks.tok+1))";
    let next = mutants::or(Mutant::TokenByCounter, next, "VALUES(tok)");
    let granted = format!("VALUES(holder)<>0 AND {free}");
    for name in ["sess", "conn", "name", "owner", "since"] {
        let _ = write!(sql, "{name}=IF({granted},VALUES({name}),locks.{name}),");
    }
    let _ = write!(
        sql,
        "tok=IF({granted},\
         {next},locks.tok),\
         holder=IF({granted} OR (VALUES(holder)=0 AND locks.holder={me} AND \
         locks.tok=VALUES(tok)),VALUES(holder),locks.holder),"
    );
    // The place for one waiting proxy. A grant and a withdrawal leave it, and that of a proxy that is
    // not live is empty. A grant that was not won always says so, and takes the place if it is empty
    // or its owner has come later.
    let live = ids(&others.waiting);
    let gone = format!("locks.want NOT IN ({live})");
    let _ = write!(
        sql,
        "want=CASE \
         WHEN locks.want=0 AND VALUES(holder)=0 THEN 0 \
         WHEN VALUES(holder)=0 THEN \
           IF(locks.want={me},IF(VALUES(ticket)={AT_ONCE},0,locks.want),\
           IF({gone},0,LAST_INSERT_ID(locks.want))) \
         WHEN locks.holder={me} AND locks.sess=VALUES(sess) THEN \
           IF(locks.want={me} OR {gone},0,locks.want) \
         WHEN LAST_INSERT_ID({me})=0 THEN 0 \
         WHEN VALUES(ticket)>{AT_ONCE} AND (locks.want IN (0,{me}) OR {gone} OR \
           VALUES(ticket)<locks.ticket) THEN {me} \
         ELSE locks.want END,\
         ticket=IF(VALUES(holder)<>0 AND VALUES(ticket)>{AT_ONCE} AND locks.want={me},\
           VALUES(ticket),locks.ticket)"
    );
    sql
}

/// Reads the rows of `wanted`, and before them one with an empty key: the base as its token, and as
/// its holder 1 if the guard holds.
pub(super) fn read_sql<'a>(
    writer: &BatchWriter,
    wanted: impl Iterator<Item = &'a Key>,
    flavour: Flavour,
) -> String {
    let schema = &writer.schema;
    format!(
        "SELECT '' k,m.base tok,COALESCE({},0) holder,0 sess,0 conn,0 want,0 ticket \
         FROM `{schema}`.meta m \
         LEFT JOIN `{schema}`.proxies p ON p.id={} WHERE m.id=1 UNION ALL \
         SELECT {LOCK_ROW} FROM `{schema}`.locks WHERE k IN ({})",
        guard(writer, flavour),
        writer.proxy.0,
        keys(wanted)
    )
}

fn guard(writer: &BatchWriter, flavour: Flavour) -> String {
    let BatchWriter { proxy: ProxyId(me), epoch, base, .. } = writer;
    let ident = ident_expression(flavour);
    format!(
        "m.id=1 AND m.epoch={epoch} AND m.base={base} AND m.ident={ident} \
         AND p.id={me} AND p.state=1 AND p.epoch={epoch}"
    )
}

/// The condition under which a row may be taken. Never NULL.
fn free(others: &Others) -> String {
    let mut free = format!("locks.holder IN (0,{})", ids(&others.clean));
    if !others.waiting.is_empty() {
        let _ = write!(
            free,
            " AND (locks.want NOT IN ({}) OR VALUES(ticket)={AT_ONCE})",
            ids(&others.waiting)
        );
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_batch_fits_into_a_packet_that_is_demanded() {
        let grant = |id| GrantAttempt {
            id,
            token: u64::MAX,
            conn: ConnectionId(u64::MAX),
            name: vec![0xff; 255].into(),
            owner: vec![0xff; 400].into(),
            turn: Precedence::Queue(u64::MAX),
        };
        let key = |n: u8| Key::from_row(&[&[b'L'][..], &[n; 254]].concat()).expect("a key");
        let change = |n: u8| LockChange {
            key: key(n),
            release: Some(u64::MAX),
            acquire: Some(grant(u64::MAX)),
            withdraw: false,
        };
        let changes: Vec<_> = (0..=u8::MAX).map(change).collect();
        let all = vec![ProxyId(u64::MAX); 200];
        let others = Others { clean: all.clone(), waiting: all };
        let (schema, proxy) = ("s".repeat(64), ProxyId(u64::MAX));
        let writer = BatchWriter { schema, proxy, epoch: u64::MAX, base: u64::MAX, run: i64::MAX };
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            let text = change_sql(&writer, &changes, &others, flavour).to_text();
            assert!((text.len() as u64) < NEEDED, "{flavour:?}: {}", text.len());
        }
    }
}
