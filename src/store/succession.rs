//! How a proxy opens the next epoch by itself, and how holders carry their locks into it.
//!
//! `store::epoch` has the other way, for which a lease is waited *before* the epoch: all locks end. Here the lease
//! is waited in the epoch, as its grace, and incarnations stay LIVE (I12).

use std::collections::HashSet;
use std::sync::Arc;

use super::change_rows::{padded, table, values};
use super::changes::{GrantAttempt, LockChange, Precedence};
use super::connection::{StoreConnection, StoreError};
use super::epoch::PASSES_READ_ONLY;
use super::identity::{Foreign, ident_expression};
use super::meta::Meta;
use super::proxies::join;
use super::quoting::{literal, numbers};
use super::rows::{ProxyRow, column};
use super::statement::ParameterizedSql;
use super::writability::ANSWER;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::{ConnectionId, Flavour, ProxyId};

/// A lock that is held, as its row should say in the new epoch.
#[derive(Debug, Clone)]
pub struct CarriedLock {
    /// The lock.
    pub key: Key,
    /// Fencing token of the grant.
    pub token: u64,
    /// The session's own id.
    pub conn: ConnectionId,
    /// The name as the client wrote it.
    pub name: Box<[u8]>,
    /// user@host.
    pub owner: Arc<[u8]>,
}

/// Locks that one statement carries over.
pub const CARRIED: usize = 256;

impl StoreConnection {
    /// Opens the next epoch on this server, whose `meta` was judged as `foreign`, above `known`. Whether it was this
    /// call that opened it: of many proxies, one does.
    ///
    /// Nothing is granted in it for the longest lease, of which `longest` milliseconds are known. Only an
    /// acknowledged write proves that the server takes writes.
    pub async fn succeed(
        &mut self,
        foreign: &Foreign,
        known: u64,
        longest: u32,
        who: &str,
    ) -> Result<bool, StoreError> {
        let schema = self.schema();
        if let Some(why) = self.unfit().await? {
            let foreign = Box::new(foreign.clone());
            return Err(Foreign::Unfit { foreign, why }.into());
        }
        let from = self.standing().await?;
        if from.meta.check(known).is_ok() {
            return Ok(false);
        }
        let epoch = from.next_epoch(known, self.now().await?);
        let longest = longest.max(from.longest_lease());
        let sql = succession_sql(&schema, &from.meta, epoch, longest, who, self.flavour());
        let opened = self.query(sql, 7).await?;
        Ok(opened[6].first().is_some_and(|r| column::<u8>(r, 0) == 1))
    }

    /// Why this server cannot be taken for the primary by itself.
    pub async fn unfit(&mut self) -> Result<Option<String>, StoreError> {
        let from = match self.standing().await {
            Err(e @ StoreError::Blind) => return Ok(Some(e.to_string())),
            from => from?,
        };
        if let Some(why) = from.unfit() {
            return Ok(Some(why.to_owned()));
        }
        if self.passes_read_only().await? {
            return Ok(Some(PASSES_READ_ONLY.to_owned()));
        }
        // In a cluster, a member without a majority is not read-only.
        let refusal = self.writability(ANSWER).await?.refusal();
        Ok(refusal.map(|why| format!("the server {why}")))
    }

    /// The epoch from which this one was opened, if that was recorded.
    pub async fn epoch_before(&mut self, epoch: u64) -> Result<Option<u64>, StoreError> {
        let schema = self.schema();
        let sql = format!("SELECT old_epoch FROM `{schema}`.adoptions WHERE epoch={epoch}");
        Ok(self.query(sql, 1).await?[0].first().map(|row| column(row, 0)))
    }

    /// Has the tables say that the grace of an epoch is over: somebody has waited it.
    pub async fn end_grace(&mut self, epoch: u64) -> Result<(), StoreError> {
        let schema = self.schema();
        let ident = ident_expression(self.flavour());
        let sql = format!(
            "UPDATE `{schema}`.meta SET grace_done={epoch} WHERE id=1 AND epoch={epoch} AND ident={ident}"
        );
        self.execute(sql).await.map(drop)
    }

    /// Enters an incarnation that was registered on another server and that this one does not know, as one of the epoch
    /// `old`. The incarnation is LIVE then, and can neither renew nor grant before it joins `epoch`.
    pub async fn enter_again(
        &mut self,
        row: &ProxyRow,
        old: u64,
        epoch: u64,
    ) -> Result<(), StoreError> {
        let schema = self.schema();
        let ProxyRow { id, rvn, ttl_ms, addr, native, tables, keeps, .. } = row;
        let addr = literal(addr.as_bytes());
        let ident = ident_expression(self.flavour());
        let sql = format!(
            "INSERT IGNORE INTO `{schema}`.proxies \
             (id,state,rvn,epoch,base_seen,ttl_ms,addr,server_start,conns,mode,tables,keeps) \
             SELECT {},1,{rvn},{old},base,{ttl_ms},{addr},0,'',{},{tables},{keeps} FROM `{schema}`.meta \
             WHERE id=1 AND epoch={epoch} AND ident={ident}",
            id.0,
            u8::from(*native)
        );
        self.execute(sql).await.map(drop)
    }

    /// Writes the rows of held locks, [`CARRIED`] at most, unless a row has a greater token: then the lock was
    /// granted to another one later. Which of them it does not have now.
    ///
    /// The rows count only if the incarnation joins `epoch` afterwards, which shows that the guard held here.
    pub async fn carry_over(
        &mut self,
        proxy: ProxyId,
        epoch: u64,
        held: &[CarriedLock],
    ) -> Result<HashSet<Key>, StoreError> {
        let schema = self.schema();
        if !held.is_empty() && !mutants::on(Mutant::RenewWithoutReclaim) {
            let statement = carrying_sql(&schema, proxy, epoch, held, self.flavour());
            self.change(&statement).await?;
        }
        let locks: Vec<(Key, u64)> = held.iter().map(|h| (h.key.clone(), h.token)).collect();
        if locks.is_empty() || mutants::on(Mutant::RenewWithoutReclaim) {
            return Ok(HashSet::new());
        }
        Ok(self.without_row(proxy, &locks).await?.into_iter().map(|(key, _)| key).collect())
    }

    /// The incarnation joins an epoch: from now on its renewals count there (I13). `versions`: all that its row may
    /// have if it has done so before; `longest`: the longest lease that is known, in milliseconds. Whether it has joined; if not, it was revoked, or another epoch has begun.
    pub async fn rejoin(
        &mut self,
        row: &ProxyRow,
        epoch: u64,
        versions: &[u64],
        longest: u32,
    ) -> Result<bool, StoreError> {
        let schema = self.schema();
        let ProxyRow { id, rvn, ttl_ms, server_start, conns, .. } = row;
        let conns = join(conns);
        let ident = ident_expression(self.flavour());
        let reign = format!("id=1 AND epoch={epoch} AND ident={ident}");
        let versions = numbers(versions.iter().copied());
        let joined = self
            .execute(format!(
                "UPDATE `{schema}`.proxies SET epoch={epoch}, rvn={rvn}, ttl_ms={ttl_ms}, \
                 server_start={server_start}, conns='{conns}' \
                 WHERE id={} AND state=1 AND (epoch<{epoch} OR rvn IN ({versions})) \
                 AND EXISTS (SELECT 1 FROM `{schema}`.meta WHERE {reign})",
                id.0
            ))
            .await?;
        if joined == 1 {
            self.execute(format!(
                "UPDATE `{schema}`.meta SET ttl_ms=GREATEST(ttl_ms,{longest}) WHERE {reign}"
            ))
            .await?;
        }
        Ok(joined == 1)
    }
}

/// One transaction in one packet: everything after the first change depends on it.
fn succession_sql(
    schema: &str,
    meta: &Meta,
    epoch: u64,
    longest: u32,
    who: &str,
    flavour: Flavour,
) -> String {
    let (old, ident) = (meta.epoch, literal(meta.ident.as_bytes()));
    let server = ident_expression(flavour);
    let base = mutants::or(Mutant::TokenWithoutEpoch, epoch << 31, meta.base);
    let who: String = who.chars().take(255).collect();
    let who = literal(who.as_bytes());
    // Ids of connections that another server gave mean nothing here.
    let others = if meta.here { "0" } else { "1" };
    [
        "START TRANSACTION".to_owned(),
        format!(
            "UPDATE `{schema}`.meta SET epoch={epoch}, base={base}, grace_done={old}, \
             ttl_ms=GREATEST(ttl_ms,{longest}), ident={server} \
             WHERE id=1 AND epoch={old} AND ident={ident} AND @@global.read_only=0"
        ),
        "SET @opened=ROW_COUNT()".to_owned(),
        format!(
            "UPDATE `{schema}`.proxies SET server_start=0, conns='' \
             WHERE epoch<>{epoch} AND @opened=1 AND {others}"
        ),
        format!(
            "INSERT INTO `{schema}`.adoptions (epoch,old_epoch,old_ident,ident,who,since) \
             SELECT epoch,{old},{ident},ident,{who},UTC_TIMESTAMP(3) \
             FROM `{schema}`.meta WHERE id=1 AND @opened=1"
        ),
        "COMMIT".to_owned(),
        "SELECT @opened=1".to_owned(),
    ]
    .join(";")
}

/// The rows of held locks, in the order of their keys.
fn carrying_sql(
    schema: &str,
    proxy: ProxyId,
    epoch: u64,
    held: &[CarriedLock],
    flavour: Flavour,
) -> ParameterizedSql {
    let mut changes: Vec<LockChange> = held.iter().map(to_change).collect();
    changes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let mut values = values(proxy.0, &changes, None);
    let (rows, width) = (changes.len(), values.len() / changes.len().max(1));
    for _ in rows..padded(rows) {
        values.extend_from_within(values.len() - width..);
    }
    let table = table(padded(rows), false, flavour);
    let ident = ident_expression(flavour);
    let share = match flavour {
        Flavour::MySql => "FOR SHARE OF m,p",
        Flavour::MariaDb => "LOCK IN SHARE MODE",
    };
    // From left to right: tok last, since the others ask for it.
    let later = "locks.tok<VALUES(tok)";
    let each = ["sess", "conn", "name", "owner", "since"]
        .map(|column| format!("{column}=IF({later},VALUES({column}),locks.{column}),"));
    let sql = format!(
        "INSERT INTO `{schema}`.locks (k,tok,holder,sess,conn,name,owner,ticket,since) \
         SELECT v.*,UTC_TIMESTAMP(3) \
         FROM `{schema}`.meta m STRAIGHT_JOIN `{schema}`.proxies p STRAIGHT_JOIN {table} \
         WHERE m.id=1 AND m.epoch={epoch} AND m.ident={ident} AND p.id={} AND p.state=1 {share} \
         ON DUPLICATE KEY UPDATE {}holder=IF(locks.tok<=VALUES(tok),VALUES(holder),locks.holder),\
         tok=GREATEST(locks.tok,VALUES(tok))",
        proxy.0,
        each.concat()
    );
    ParameterizedSql { sql, values, changes: rows as u64 }
}

/// As a grant under the token that the session has.
fn to_change(held: &CarriedLock) -> LockChange {
    let grant = GrantAttempt {
        // The id of no attempt: nobody asks for this one.
        id: GrantAttempt::new_id(),
        token: held.token,
        conn: held.conn,
        name: held.name.clone(),
        owner: Arc::clone(&held.owner),
        turn: Precedence::Yield,
        native: false,
        after: None,
    };
    LockChange { key: held.key.clone(), release: None, acquire: Some(grant), withdraw: false }
}
