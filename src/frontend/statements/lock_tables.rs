//! Statements that read a table of the server's own that lists locks: they see the durable locks
//! too, and who waits for them, in the same columns.
//!
//! A common table expression takes the table's name in the statement: the table's own rows, and one for
//! each held lock. The session reads no lock tables for it, so that it needs no right to them, and its
//! transactions are what they would be
//! ([ADR 13](../../docs/adr/0013-listed-locks.md)).

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use std::fmt::Write as _;

use super::rewrite::{Edit, Edits, Which, spliced};
use crate::engine::io::gatekeeper;
use crate::engine::io::held_locks::HeldLock;
use crate::lock::name::Key;
use crate::protocol::column;
use crate::sql::expression::composite::Composite;
use crate::sql::expression::listing::{Listing, Place, Table};
use crate::types::Flavour;

/// Bytes of locks in one statement; servers take packets of 16 MiB by default.
const MAX_SIZE: usize = 512 * 1024;
/// Letters of a name that the tables show.
const MAX_CHARS: usize = 64;
/// The table, where its own name means another that is read too.
const OTHER: &[u8] = b"lockstead_listed";
/// The held locks: name, connection, tag, age.
const HELD: &str = "lockstead_held";

/// What makes the statement list durable locks. Nothing where that is not certain, or where the
/// server does not take it, or would describe other columns: it then sees the server's own.
pub(crate) async fn list_locks(
    cx: &mut CallContext<'_>,
    text: &[u8],
    composite: &Composite,
    native: &[Vec<u8>],
) -> Result<Edits, CloseReason> {
    let Some(listing) = &composite.lists else { return Ok(Edits::new()) };
    if cx.context.replicas.is_some() {
        // Connections of another server hold the durable ones.
        return Ok(Edits::new());
    }
    let mut name = &text[listing.name.clone()];
    if listing.unqualified && !is_servers_own(cx, listing, name).await? {
        name = OTHER;
    }
    if !listing.is_for(cx.flavour()) || (name == OTHER && listing.qualified.is_empty()) {
        return Ok(Edits::new());
    }
    let Ok(Some(held)) = cx.locks.census().await else { return Ok(Edits::new()) };
    let tag = |key: &Key| cx.locks.tag(key);
    let held = held_locks(cx.flavour(), &held, tag);
    let expressions = expressions(cx.flavour(), listing.table, name, &held);
    if expressions.len() > MAX_SIZE {
        return Ok(Edits::new());
    }
    let edits = edits(listing, name, &expressions);
    let listed = spliced(text, 0..composite.end, &edits, Which::Last);
    let reply = cx.prepare_and_close(&listed).await?;
    let kinds = |columns: &[Vec<u8>]| columns.iter().map(|c| column::kind(c)).collect::<Vec<_>>();
    let alike = !reply.is_error() && kinds(&reply.definitions()) == kinds(native);
    Ok(if alike { edits } else { Edits::new() })
}

/// Whether a name without a schema means the server's table.
async fn is_servers_own(
    cx: &mut CallContext<'_>,
    listing: &Listing,
    name: &[u8],
) -> Result<bool, CloseReason> {
    let reply = cx.prepare_and_close(&[b"SELECT * FROM ", name].concat()).await?;
    let (schema, _) = listing.table.full_name();
    Ok(reply.definitions().first().is_some_and(|d| column::schema(d) == Some(schema.as_bytes())))
}

/// The expressions in their place, and the table's name without its schema.
fn edits(listing: &Listing, name: &[u8], expressions: &[u8]) -> Edits {
    let (at, parts) = match listing.place {
        Place::Select(at) => (at, [b"WITH ", expressions, b" "]),
        Place::With(at) => (at, [b" ", expressions, b","]),
    };
    let names = listing.qualified.iter();
    let names = names.map(|span| Edit::everywhere(span.clone(), name.to_vec()));
    std::iter::once(Edit::everywhere(at..at, parts.concat())).chain(names).collect()
}

/// The definitions of two common table expressions: the held locks, and the table with them.
fn expressions(flavour: Flavour, table: Table, name: &[u8], held: &str) -> Vec<u8> {
    let rows = match (table, flavour) {
        (Table::MetadataLocks, Flavour::MySql) => mysql_locks(),
        (Table::MetadataLocks, Flavour::MariaDb) => mariadb_locks(),
        (Table::MetadataLockInfo, _) => lock_info(),
    };
    [held.as_bytes(), b",", name, b" AS (", rows.as_bytes(), b")"].concat()
}

fn held_locks(flavour: Flavour, held: &[HeldLock], tag: impl Fn(&Key) -> u64) -> String {
    let row = match flavour {
        Flavour::MySql => "ROW",
        Flavour::MariaDb => "",
    };
    // A row that is none has the types.
    let mut values = format!("{HELD}(n,c,t,a) AS (VALUES {row}(x'',0,0,0)");
    for HeldLock { key, conn, held_ms } in held {
        let name = hex::encode(shown(key.folded(), flavour));
        let _ = write!(values, ",{row}(x'{name}',{},{},{held_ms})", conn.0, tag(key));
    }
    values.push(')');
    values
}

/// A lock's name as the server shows it.
fn shown(folded: &[u8], flavour: Flavour) -> String {
    let mut shown = String::new();
    for c in String::from_utf8_lossy(folded).chars() {
        match c {
            char::REPLACEMENT_CHARACTER => shown.push('?'),
            // A name is bytes to MariaDB, shown in a character set that has three at most.
            '\u{10000}'.. if flavour == Flavour::MariaDb => shown.push_str("????"),
            _ => shown.push(c),
        }
    }
    shown.chars().take(MAX_CHARS).collect()
}

/// Whether a row of the server's own is a lock of the proxy's.
fn is_ours(name: &str) -> String {
    let gate = gatekeeper::PREFIX;
    let probe = super::probe::PREFIX;
    format!("(LEFT({name},{})='{gate}' OR LEFT({name},{})='{probe}')", gate.len(), probe.len())
}

/// A lock's name in the character set of the tables.
fn name(flavour: Flavour) -> String {
    let (charset, collation) = collation(flavour);
    format!("CAST(h.n AS CHAR({MAX_CHARS}) CHARACTER SET {charset}) COLLATE {collation}")
}

fn collation(flavour: Flavour) -> (&'static str, &'static str) {
    match flavour {
        Flavour::MySql => ("utf8mb4", "utf8mb4_0900_ai_ci"),
        Flavour::MariaDb => ("utf8mb3", "utf8mb3_general_ci"),
    }
}

/// A session at a gate waits for the lock that the gate's name ends with.
fn waits(flavour: Flavour) -> String {
    let (gate, length) = (gatekeeper::PREFIX, gatekeeper::PREFIX.len());
    let (_, collation) = collation(flavour);
    // MySQL's CONV and UNHEX warn of other rows' names.
    format!(
        "LEFT JOIN {HELD} h ON m.OBJECT_TYPE='USER LEVEL LOCK' AND m.LOCK_STATUS='PENDING' \
         AND LEFT(m.OBJECT_NAME,{length})='{gate}' AND h.c>0 \
         AND RIGHT(m.OBJECT_NAME,16) COLLATE {collation}=LPAD(HEX(h.t),16,'0') \
         WHERE h.c IS NOT NULL OR NOT(m.OBJECT_TYPE='USER LEVEL LOCK' AND {})",
        is_ours("m.OBJECT_NAME")
    )
}

fn mysql_locks() -> String {
    let (name, waits) = (name(Flavour::MySql), waits(Flavour::MySql));
    // PS_THREAD_ID is an error where performance_schema is off.
    format!(
        "SELECT m.OBJECT_TYPE,m.OBJECT_SCHEMA,IFNULL({name},m.OBJECT_NAME) AS OBJECT_NAME,\
         m.COLUMN_NAME,m.OBJECT_INSTANCE_BEGIN,m.LOCK_TYPE,m.LOCK_DURATION,m.LOCK_STATUS,m.SOURCE,\
         m.OWNER_THREAD_ID,m.OWNER_EVENT_ID FROM performance_schema.metadata_locks m {waits} \
         UNION ALL SELECT 'USER LEVEL LOCK',NULL,{name},NULL,CAST(h.t AS UNSIGNED),'EXCLUSIVE',\
         'EXPLICIT','GRANTED',NULL,IF(@@performance_schema,PS_THREAD_ID(h.c),NULL),\
         CAST(NULL AS UNSIGNED) FROM {HELD} h WHERE h.c>0 AND @@performance_schema"
    )
}

fn mariadb_locks() -> String {
    let (name, waits) = (name(Flavour::MariaDb), waits(Flavour::MariaDb));
    format!(
        "SELECT m.OBJECT_TYPE,m.OBJECT_SCHEMA,IFNULL({name},m.OBJECT_NAME) AS OBJECT_NAME,\
         m.OBJECT_INSTANCE_BEGIN,m.LOCK_TYPE,m.LOCK_DURATION,m.LOCK_STATUS,m.SOURCE,\
         m.OWNER_THREAD_ID,m.OWNER_EVENT_ID FROM performance_schema.metadata_locks m {waits} \
         UNION ALL SELECT 'USER LEVEL LOCK',NULL,{name},CAST(h.t AS UNSIGNED),'SHARED_NO_WRITE',\
         'EXPLICIT','GRANTED','',o.THREAD_ID,CAST(NULL AS UNSIGNED) \
         FROM {HELD} h JOIN performance_schema.threads o ON o.PROCESSLIST_ID=h.c WHERE h.c>0"
    )
}

/// METADATA_LOCK_INFO of MariaDB with the durable locks. The server's own table has no rows of those who wait.
fn lock_info() -> String {
    let name = name(Flavour::MariaDb);
    format!(
        "SELECT m.THREAD_ID,m.LOCK_MODE,m.LOCK_DURATION,m.LOCK_TIME_MS,m.LOCK_TYPE,\
         m.TABLE_CATALOG,m.TABLE_SCHEMA,m.TABLE_NAME FROM information_schema.METADATA_LOCK_INFO m \
         WHERE NOT(m.LOCK_TYPE='User lock' AND {}) UNION ALL SELECT CAST(h.c AS UNSIGNED),\
         'MDL_SHARED_NO_WRITE',NULL,CAST(h.a AS UNSIGNED),'User lock','def',{name},'' \
         FROM {HELD} h WHERE h.c>0",
        is_ours("m.TABLE_SCHEMA")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_the_server_shows_them() {
        for (name, flavour, expected) in [
            (&b"mylock \xc3\xa4"[..], Flavour::MySql, "mylock ä"),
            (b"\xe4\xf6\xffAB", Flavour::MariaDb, "???AB"),
            ("a😀b".as_bytes(), Flavour::MariaDb, "a????b"),
            (&[b'x'; 190], Flavour::MariaDb, &"x".repeat(64)),
            ("ä".repeat(70).as_bytes(), Flavour::MariaDb, &"ä".repeat(64)),
        ] {
            assert_eq!(shown(name, flavour), expected);
        }
    }
}
