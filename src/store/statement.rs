//! The one statement that changes locks: acquires, releases and hand-overs of many keys at once.
//!
//! A batch is a single autocommit statement, so no transaction of the engine ever spans two packets. The guard in it
//! share-locks the meta row and the proxy's own row. So a proxy that is no longer LIVE, or on another server or epoch,
//! changes nothing (I3, I14). Rows are in key order, so batches cannot deadlock.

use std::fmt::Write as _;

use mysql_async::Value;

pub use super::changes::{
    BatchWriter, EXACT, GrantAttempt, LockChange, Others, Precedence, RowRelease, SHOW, WINDOW,
};

use super::change_rows::{ASK, AT_ONCE, COLUMNS, PASS, name, owner, padded, table, values};
use super::identity::ident_expression;
use super::proof;
use super::quoting::{ids, keys, literal};
use super::rows::LOCK_ROW;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::{Flavour, ProxyId};

/// A statement with `?` for its values.
#[derive(Debug)]
pub(super) struct ParameterizedSql {
    /// The text; of few different lengths, so that the server can keep it prepared.
    pub(super) sql: String,
    /// Values of the statement, in order.
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
pub(super) fn release_sql(
    writer: &BatchWriter,
    key: &Key,
    release: RowRelease,
) -> ParameterizedSql {
    let BatchWriter { schema, proxy: ProxyId(me), .. } = writer;
    let guard = format!("holder={me} AND tok=?");
    let guard = mutants::or(Mutant::ReleaseWithoutGuard, guard, "?<>0".to_owned());
    // LAST_INSERT_ID() tells who waits.
    let sql = format!(
        "UPDATE `{schema}`.locks SET holder=0,tok=?,want=IF(want IN (0,{me}),want,LAST_INSERT_ID(want)) \
         WHERE k=? AND {guard}"
    );
    let RowRelease { token, last } = release;
    let values = vec![last.into(), key.as_bytes().into(), token.into()];
    ParameterizedSql { sql, values, changes: 1 }
}

/// A hand-over alone, from one session of this proxy to another: what [`change_sql`] does, in less time
/// (docs/performance-reference.md). A changed row means that the lock was won, with the proposed token, which must be
/// greater than the one before. By the server's own locks, `run` is the run of the server that executes the statement.
pub(super) fn hand_over_sql(
    writer: &BatchWriter,
    key: &Key,
    token: u64,
    grant: &GrantAttempt,
    others: &Others,
    flavour: Flavour,
    run: u64,
) -> ParameterizedSql {
    let BatchWriter { schema, proxy: ProxyId(me), .. } = writer;
    let (guard, live) = (guard(writer, flavour), ids(&others.waiting));
    let share = match flavour {
        Flavour::MySql => "FOR SHARE",
        Flavour::MariaDb => "LOCK IN SHARE MODE",
    };
    let (set, proven) = if grant.native {
        (format!("run={run},proof=sess,"), format!(" AND {}", proof::of_own_row(key, run)))
    } else {
        <_>::default()
    };
    // LAST_INSERT_ID() tells who waits.
    let sql = format!(
        "UPDATE `{schema}`.locks SET sess=?,conn=?,name=?,owner=?,since=UTC_TIMESTAMP(3),tok=?,{set}\
         want=IF(want<>{me} AND want IN ({live}),LAST_INSERT_ID(want),0) \
         WHERE k=? AND holder={me} AND tok=? AND (SELECT COUNT(*) FROM `{schema}`.meta m \
         STRAIGHT_JOIN `{schema}`.proxies p WHERE {guard} {share})=1{proven}"
    );
    let mut values: Vec<Value> = vec![grant.id.into(), grant.conn.0.into()];
    values.extend([name(grant), owner(grant), grant.token.into()]);
    values.extend([key.as_bytes().into(), token.into()]);
    values.extend(grant.native.then(|| grant.conn.0.into()));
    ParameterizedSql { sql, values, changes: 1 }
}

/// Bytes of the longest statement on the lock tables.
pub const NEEDED: u64 = 1 << 20;

/// All changes of a batch.
///
/// Affected rows are two for each row that was there and was changed. LAST_INSERT_ID() is set by every grant of a row
/// that was there and was not won, and by one that got another token than the proposed one. The release of a row in
/// which another proxy waits sets it, too.
///
/// Grants by the server's own locks are judged in it: `run` is the run of the server that executes it.
pub(super) fn change_sql(
    writer: &BatchWriter,
    changes: &[LockChange],
    others: &Others,
    flavour: Flavour,
    run: u64,
) -> ParameterizedSql {
    let BatchWriter { schema, proxy: ProxyId(me), .. } = writer;
    let native = changes.iter().any(LockChange::is_native).then_some(run);
    let mut values = values(*me, changes, native);
    let columns = COLUMNS + usize::from(native.is_some());
    let rows = values.len() / columns;
    let padded = padded(rows);
    for _ in rows..padded {
        values.extend_from_within(values.len() - columns..);
        if native.is_some() {
            // A claim that is repeated would be granted twice.
            let key = values.len() - columns;
            values[key] = Value::Bytes(Vec::new());
        }
    }
    let (into, more, proven) = match native {
        None => ("", "", String::new()),
        Some(_) => (
            "run,proof,",
            "IF(v.run=0,0,v.sess),",
            format!(" AND v.k<>'' AND {}", proof::of_new_rows()),
        ),
    };
    let table = table(padded, native.is_some(), flavour);
    let guard = guard(writer, flavour);
    let share = match flavour {
        Flavour::MySql => "FOR SHARE OF m,p",
        Flavour::MariaDb => "LOCK IN SHARE MODE",
    };
    let mut sql = format!(
        "INSERT INTO `{schema}`.locks (k,tok,holder,sess,conn,name,owner,ticket,{into}since) \
         SELECT v.*,{more}UTC_TIMESTAMP(3) \
         FROM `{schema}`.meta m STRAIGHT_JOIN `{schema}`.proxies p STRAIGHT_JOIN {table} \
         WHERE {guard}{proven} {share} ON DUPLICATE KEY UPDATE "
    );
    sql.push_str(&assignments(*me, others, native));
    ParameterizedSql { sql, values, changes: rows as u64 }
}

/// The change of a row that is there.
fn assignments(me: u64, others: &Others, run: Option<u64>) -> String {
    let free = |token| free(others, token);
    let mut sql = String::new();
    // Assignments run from left to right: holder after the columns whose conditions ask whether the
    // row is free, tok before it. A release leaves what the row says of its last holder: a row that keeps its size
    // is changed in place.
    // Nobody knows which tokens an owner that is gone has handed out.
    let gone = ids(&others.clean);
    let floor = format!("locks.tok+IF(locks.holder IN ({gone}) AND locks.holder<>0,{WINDOW},0)");
    let floor = mutants::or(Mutant::WindowUsedAgain, floor, "locks.tok".to_owned());
    let next = format!("IF({floor}<VALUES(tok),VALUES(tok),LAST_INSERT_ID({floor}+1))");
    let next = mutants::or(Mutant::TokenByCounter, next, "VALUES(tok)".to_owned());
    let mut columns = vec!["conn", "name", "owner", "since"];
    let (decided, granted, with_token) = if let Some(run) = run {
        columns.extend(["run", "proof"]);
        let passes = format!("VALUES(ticket) IN ({AT_ONCE},{PASS})");
        let free = format!("({})", free("ticket"));
        let decided = proof::of_present_rows(&free, others, run, &passes);
        // The server is asked once: its answer may change within the statement.
        let granted = "VALUES(holder)<>0 AND locks.sess=VALUES(sess)";
        (decided, granted.to_owned(), granted.to_owned())
    } else {
        let granted = |token| format!("VALUES(holder)<>0 AND {}", free(token));
        (free("ticket"), granted("ticket"), granted("tok"))
    };
    let exact = format!("locks.sess|IF(VALUES(ticket)={ASK} AND locks.holder={me},{EXACT},0)");
    let _ =
        write!(sql, "sess=IF(VALUES(holder)<>0,IF({decided},VALUES(sess),locks.sess),{exact}),");
    for name in columns {
        let _ = write!(sql, "{name}=IF({granted},VALUES({name}),locks.{name}),");
    }
    // A released row has its last token by the time that its holder goes.
    let mine = |token| {
        let mine = format!("locks.holder={me} AND locks.tok=VALUES({token})");
        mutants::or(Mutant::ReleaseWithoutGuard, mine, "1".to_owned())
    };
    let (before, after) = (mine("conn"), mine("tok"));
    let _ = write!(
        sql,
        "tok=IF({granted},{next},IF(VALUES(holder)=0 AND {before},VALUES(tok),locks.tok)),\
         holder=IF({with_token} OR (VALUES(holder)=0 AND {after}),VALUES(holder),locks.holder),"
    );
    // The place for one waiting proxy. A grant and a withdrawal leave it, and that of a proxy that is
    // not live is empty. A grant that was not won always says so, and takes the place if it is empty
    // or its owner has come later.
    let live = ids(&others.waiting);
    let gone = format!("locks.want NOT IN ({live})");
    // From one native holder to the next, the reply tells who is passed by. A hand-over has a statement of its own.
    let kept = if run.is_some() { "LAST_INSERT_ID(locks.want)" } else { "locks.want" };
    let _ = write!(
        sql,
        "want=CASE \
         WHEN locks.want=0 AND VALUES(holder)=0 THEN 0 \
         WHEN VALUES(holder)=0 AND VALUES(ticket)={ASK} THEN \
           IF(locks.holder={me} AND locks.ticket={ASK},0,locks.want) \
         WHEN VALUES(holder)=0 THEN \
           IF(locks.want={me},IF(VALUES(ticket)={AT_ONCE},0,locks.want),\
           IF({gone},0,LAST_INSERT_ID(locks.want))) \
         WHEN locks.holder={me} AND locks.sess=VALUES(sess) THEN \
           IF(locks.want IN (0,{me}) OR {gone},0,{kept}) \
         WHEN LAST_INSERT_ID({me})=0 THEN 0 \
         WHEN VALUES(ticket)>{PASS} AND VALUES(sess)<{SHOW} AND (locks.want IN (0,{me}) OR {gone} OR \
           (VALUES(ticket)<locks.ticket AND VALUES(ticket)<>{ASK})) THEN {me} \
         ELSE locks.want END,\
         ticket=IF(VALUES(holder)<>0 AND VALUES(ticket)>{PASS} AND locks.want={me},\
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
        "SELECT '' k,m.base tok,COALESCE({},0) holder,0 sess,0 conn,0 want,0 ticket,0 run \
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

/// The condition under which a row may be taken. Never NULL. `token`: the column with the token that a row has which is
/// to show who has the lock.
fn free(others: &Others, token: &str) -> String {
    // One that shows who has the lock follows the release of its row, which has left that with its token.
    let mut free = format!(
        "locks.holder IN (0,{}) AND VALUES(ticket)<>{ASK} \
         AND (VALUES(sess)<{SHOW} OR (locks.holder=0 AND locks.tok=VALUES({token})))",
        ids(&others.clean)
    );
    if !others.waiting.is_empty() {
        let _ = write!(
            free,
            " AND (locks.want NOT IN ({}) OR VALUES(ticket)={AT_ONCE} OR VALUES(sess)>={SHOW})",
            ids(&others.waiting)
        );
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ConnectionId;

    #[test]
    fn the_longest_batch_fits_into_a_packet_that_is_demanded() {
        let grant = |id| GrantAttempt {
            id,
            token: u64::MAX,
            conn: ConnectionId(u64::MAX),
            name: vec![0xff; 255].into(),
            owner: vec![0xff; 400].into(),
            turn: Precedence::Queue(u64::MAX),
            native: true,
            after: None,
        };
        let key = |n: u8| Key::from_row(&[&[b'L'][..], &[n; 254]].concat()).expect("a key");
        let change = |n: u8| LockChange {
            key: key(n),
            release: Some(RowRelease::of(u64::MAX)),
            acquire: Some(grant(u64::MAX)),
            withdraw: false,
        };
        let changes: Vec<_> = (0..=u8::MAX).map(change).collect();
        let all = vec![ProxyId(u64::MAX); 200];
        let others = Others {
            clean: all.clone(),
            waiting: all,
            keeping: vec![],
            by_rows: true,
            native: true,
            know_windows: true,
            late: true,
            in_this_run: true,
        };
        let (schema, proxy) = ("s".repeat(64), ProxyId(u64::MAX));
        let writer = BatchWriter { schema, proxy, epoch: u64::MAX, base: u64::MAX, run: i64::MAX };
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            let text = change_sql(&writer, &changes, &others, flavour, u64::MAX).to_text();
            assert!((text.len() as u64) < NEEDED, "{flavour:?}: {}", text.len());
        }
    }
}
