//! The one statement that changes locks: acquires, releases and hand-overs of many keys at once.
//!
//! A batch is a single autocommit statement, so no transaction of the engine ever spans two
//! packets. Its guard share-locks the meta row and the proxy's own row: a proxy that is no longer
//! LIVE, or on another server or epoch, changes nothing (I3, I14). Rows are in key order, so
//! batches cannot deadlock. The rows are read back behind it: a key was won if it then names this
//! proxy and this grant. A lone grant or release, the common case of a quiet proxy, says all that
//! in its own reply and is not read back.

use std::fmt::Write as _;

use super::connection::{StoreConnection, StoreError, column, literal};
use super::schema::ident_expression;
use crate::lock::name::Key;
use crate::types::{ConnectionId, Flavour, ProxyId};

/// Who writes, and in which epoch.
#[derive(Debug, Clone)]
pub struct Writer {
    /// Schema of the lock tables.
    pub schema: String,
    /// The incarnation.
    pub proxy: ProxyId,
    /// The epoch it joined.
    pub epoch: u64,
    /// Floor of new tokens.
    pub floor: u64,
}

/// What one key asks for: a release, a grant, or a hand-over from one to the other.
#[derive(Debug, Clone)]
pub struct Change {
    /// The key.
    pub key: Key,
    /// Token to release first.
    pub release: Option<u64>,
    /// Grant to try then.
    pub acquire: Option<Grant>,
}

/// A grant to try.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Unique id of the request.
    pub id: u64,
    /// The client's connection id.
    pub conn: ConnectionId,
    /// The name as given.
    pub name: Box<[u8]>,
    /// user@host.
    pub owner: std::sync::Arc<[u8]>,
}

/// A lock row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key's bytes.
    pub key: Vec<u8>,
    /// Token of the last grant.
    pub token: u64,
    /// Incarnation of the holder; 0 for a free row.
    pub holder: u64,
    /// Grant id.
    pub grant: u64,
    /// The holder's connection id.
    pub conn: u64,
}

/// The rows behind a batch, and whether the guard still held then.
#[derive(Debug)]
pub struct BatchResult {
    /// Rows of the batch's keys that exist.
    pub rows: Vec<Row>,
    /// False: this proxy may no longer write.
    pub guarded: bool,
}

impl StoreConnection {
    /// Runs a batch. `changes` must be sorted by key, each key once; `clean` are incarnations
    /// seen in state CLEAN, whose locks may be taken.
    pub async fn run_batch(
        &mut self,
        writer: &Writer,
        changes: &[Change],
        clean: &[ProxyId],
    ) -> Result<BatchResult, StoreError> {
        debug_assert!(changes.windows(2).all(|w| w[0].key < w[1].key));
        match changes {
            [Change { key, release: Some(token), acquire: None }] => {
                return self.release_one(writer, key, *token).await;
            }
            [Change { key, release: None, acquire: Some(grant) }] => {
                return self.acquire_one(writer, key, grant, clean).await;
            }
            _ => {}
        }
        let mut sql = batch_sql(writer, changes, clean, self.flavour());
        sql.push(';');
        sql.push_str(&read_sql(writer, changes.iter().map(|c| &c.key), self.flavour()));
        let mut results = self.query(sql, 2).await?;
        Ok(to_result(&results.pop().unwrap_or_default()))
    }

    /// A release alone: bound to its token, it needs neither guard nor read-back.
    async fn release_one(
        &mut self,
        writer: &Writer,
        key: &Key,
        token: u64,
    ) -> Result<BatchResult, StoreError> {
        let Writer { schema, proxy: ProxyId(me), .. } = writer;
        let key = literal(key.as_bytes());
        self.execute(format!(
            "UPDATE `{schema}`.locks SET sess=0,conn=0,name='',owner='',holder=0 \
             WHERE k={key} AND holder={me} AND tok={token}"
        ))
        .await?;
        Ok(BatchResult { rows: Vec::new(), guarded: true })
    }

    /// A grant alone: the statement's own reply says whether it was won, and with which token.
    async fn acquire_one(
        &mut self,
        writer: &Writer,
        key: &Key,
        grant: &Grant,
        clean: &[ProxyId],
    ) -> Result<BatchResult, StoreError> {
        let sql = acquire_sql(writer, key, grant, clean, self.flavour());
        let token = match self.execute_for_id(sql).await? {
            // A new row starts at the floor; one that was free went on from its last token.
            (1, _) => writer.floor,
            (2, Some(token)) => token,
            // Held by another, or the guard failed: the rows tell.
            _ => return self.read_back(writer, std::iter::once(key)).await,
        };
        let row = Row {
            key: key.as_bytes().to_vec(),
            token,
            holder: writer.proxy.0,
            grant: grant.id,
            conn: grant.conn.0,
        };
        Ok(BatchResult { rows: vec![row], guarded: true })
    }

    /// Reads the rows of `keys` and the guard, changing nothing.
    pub async fn read_back<'a>(
        &mut self,
        writer: &Writer,
        keys: impl Iterator<Item = &'a Key>,
    ) -> Result<BatchResult, StoreError> {
        let sql = read_sql(writer, keys, self.flavour());
        let mut results = self.query(sql, 1).await?;
        Ok(to_result(&results.pop().unwrap_or_default()))
    }
}

fn to_result(rows: &[mysql_async::Row]) -> BatchResult {
    // The guard is the first row, under a key no lock can have.
    let guarded = rows.iter().any(|r| column::<Vec<u8>>(r, 0).is_empty());
    let rows = rows.iter().map(to_row).filter(|r| !r.key.is_empty()).collect();
    BatchResult { rows, guarded }
}

pub(super) fn to_row(row: &mysql_async::Row) -> Row {
    Row {
        key: column(row, 0),
        token: column(row, 1),
        holder: column(row, 2),
        grant: column(row, 3),
        conn: column(row, 4),
    }
}

fn guard(writer: &Writer, flavour: Flavour) -> String {
    let Writer { proxy: ProxyId(me), epoch, .. } = writer;
    let ident = ident_expression(flavour);
    format!(
        "m.id=1 AND m.epoch={epoch} AND m.ident={ident} \
         AND p.id={me} AND p.state=1 AND p.epoch={epoch}"
    )
}

/// The locking clause of the guard.
fn share(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MySql => "FOR SHARE",
        Flavour::MariaDb => "LOCK IN SHARE MODE",
    }
}

/// The condition under which a row may be taken.
fn free(clean: &[ProxyId]) -> String {
    let mut stealable = String::from("NULL");
    for id in clean {
        let _ = write!(stealable, ",{}", id.0);
    }
    format!("(locks.holder=0 OR locks.holder IN ({stealable}))")
}

fn acquire_sql(
    writer: &Writer,
    key: &Key,
    grant: &Grant,
    clean: &[ProxyId],
    flavour: Flavour,
) -> String {
    let Writer { schema, proxy: ProxyId(me), floor, .. } = writer;
    let (free, share, guard) = (free(clean), share(flavour), guard(writer, flavour));
    let key = literal(key.as_bytes());
    let name = literal(&grant.name[..grant.name.len().min(255)]);
    let owner = literal(&grant.owner[..grant.owner.len().min(400)]);
    let (id, conn) = (grant.id, grant.conn.0);
    let mut sql = format!(
        "INSERT INTO `{schema}`.locks (k,tok,holder,sess,conn,name,owner,since) \
         SELECT {key},{floor},{me},{id},{conn},{name},{owner},UTC_TIMESTAMP(3) \
         FROM `{schema}`.meta m STRAIGHT_JOIN `{schema}`.proxies p \
         WHERE {guard} {share} ON DUPLICATE KEY UPDATE "
    );
    // Assignments run from left to right: holder last, tok before it.
    for column in ["sess", "conn", "name", "owner", "since"] {
        let _ = write!(sql, "{column}=IF({free},VALUES({column}),locks.{column}),");
    }
    let _ = write!(
        sql,
        "tok=IF({free},LAST_INSERT_ID(GREATEST(locks.tok+1,VALUES(tok))),locks.tok),\
         holder=IF({free},VALUES(holder),locks.holder)"
    );
    sql
}

fn batch_sql(writer: &Writer, changes: &[Change], clean: &[ProxyId], flavour: Flavour) -> String {
    let Writer { schema, proxy: ProxyId(me), floor, .. } = writer;
    let share = share(flavour);
    let mut sql = format!(
        "INSERT INTO `{schema}`.locks (k,tok,holder,sess,conn,name,owner,since) \
         SELECT v.k,v.tok,v.holder,v.sess,v.conn,v.name,v.owner,UTC_TIMESTAMP(3) \
         FROM `{schema}`.meta m STRAIGHT_JOIN `{schema}`.proxies p STRAIGHT_JOIN ("
    );
    let mut rows = 0;
    let mut row = |sql: &mut String, key: &Key, tok: u64, grant: Option<&Grant>| {
        sql.push_str(if rows == 0 { "SELECT " } else { " UNION ALL SELECT " });
        let names = if rows == 0 {
            [" k", " tok", " holder", " sess", " conn", " name", " owner"]
        } else {
            [""; 7]
        };
        rows += 1;
        let (holder, id, conn) = grant.map_or((0, 0, 0), |g| (*me, g.id, g.conn.0));
        let name = literal(grant.map_or(&[][..], |g| &g.name[..g.name.len().min(255)]));
        let owner = literal(grant.map_or(&[][..], |g| &g.owner[..g.owner.len().min(400)]));
        let key = literal(key.as_bytes());
        let [n0, n1, n2, n3, n4, n5, n6] = names;
        let _ = write!(
            sql,
            "{key}{n0},{tok}{n1},{holder}{n2},{id}{n3},{conn}{n4},{name}{n5},{owner}{n6}"
        );
    };
    for change in changes {
        // A release carries holder 0, so a missing row becomes a free one, not a ghost lock. The
        // grant of a hand-over stands right behind the release: both are one commit.
        if let Some(token) = change.release {
            row(&mut sql, &change.key, token, None);
        }
        if let Some(grant) = &change.acquire {
            row(&mut sql, &change.key, *floor, Some(grant));
        }
    }
    // Assignments run from left to right: holder last, tok before it.
    let free = free(clean);
    let applies =
        format!("IF(VALUES(holder)=0,locks.holder={me} AND locks.tok=VALUES(tok),{free})");
    let _ = write!(sql, ") v WHERE {} {share} ON DUPLICATE KEY UPDATE ", guard(writer, flavour));
    for name in ["sess", "conn", "name", "owner", "since"] {
        let _ = write!(sql, "{name}=IF({applies},VALUES({name}),locks.{name}),");
    }
    let _ = write!(
        sql,
        "tok=IF(VALUES(holder)<>0 AND {free},GREATEST(locks.tok+1,VALUES(tok)),locks.tok),\
         holder=IF({applies},VALUES(holder),locks.holder)"
    );
    sql
}

fn read_sql<'a>(writer: &Writer, keys: impl Iterator<Item = &'a Key>, flavour: Flavour) -> String {
    let schema = &writer.schema;
    let keys: Vec<String> = keys.map(|k| literal(k.as_bytes())).collect();
    format!(
        "SELECT '' k,0 tok,0 holder,0 sess,0 conn FROM `{schema}`.meta m STRAIGHT_JOIN \
         `{schema}`.proxies p WHERE {} UNION ALL \
         SELECT k,tok,holder,sess,conn FROM `{schema}`.locks WHERE k IN ({})",
        guard(writer, flavour),
        keys.join(",")
    )
}
