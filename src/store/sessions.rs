//! The server's sessions: which of them it still works for, and their end.
//!
//! A list proves nothing by what it does not show, unless it is known to show all.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::sleep;

use super::connection::{StoreConnection, StoreError};
use super::quoting::numbers;
use super::rows::column;
use crate::protocol::handshake::TAG_ATTRIBUTE;
use crate::types::{BackendId, ConnectionId, Flavour, ProxyId};

/// MySQL's answer about a thread that it does not know, or that is being cleaned up: no statement
/// of it is begun any more.
const NO_SUCH_THREAD: u16 = 1094;

/// Longer than the time since the last reading for which MySQL answers from its cache of transactions.
const CACHED: Duration = Duration::from_millis(120);
/// Readings of it, in some seconds, of which one must be new.
const ATTEMPTS: u32 = 6;

/// The server's reply to KILL CONNECTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillResult {
    /// The session ends, or is gone already.
    Accepted,
    /// The store account may not end it.
    NotAllowed,
}

/// The ids of connections that a server, or a proxy in its place, gives out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionIds {
    /// The ids are the server's.
    Server,
    /// None is told: a proxy lends the server's connections in turn.
    Untold,
    /// The ids are a proxy's own.
    Foreign,
}

impl StoreConnection {
    /// Compares the id that this connection was told with the server's. An expression, since some proxies answer the
    /// bare call themselves.
    pub async fn ids(&mut self) -> Result<ConnectionIds, StoreError> {
        let told = u64::from(self.id());
        if told == 0 {
            return Ok(ConnectionIds::Untold);
        }
        let rows = self.query("SELECT CONNECTION_ID()+0".to_owned(), 1).await?;
        // A greeting has the lower 32 bits of the id.
        let is = rows[0].first().is_some_and(|row| column::<u64>(row, 0) & 0xffff_ffff == told);
        Ok(if is { ConnectionIds::Server } else { ConnectionIds::Foreign })
    }

    /// Whether a connection with this id has been greeted by the server, and has not logged in yet. `None` if the account
    /// does not see the connections of others.
    pub async fn has_greeted(&mut self, id: BackendId) -> Result<Option<bool>, StoreError> {
        if !self.sees_all().await? {
            return Ok(None);
        }
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE id={id} AND user='unauthenticated user'"
        );
        let rows = self.query(sql, 1).await?;
        Ok(Some(rows[0].first().is_some_and(|row| column::<u64>(row, 0) > 0)))
    }

    /// Which of these connection ids the server still works for; an error when that cannot be
    /// known. An id that a proxy has made stands for the connection that carries it in its tag.
    pub async fn still_there(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        let mut there = self.known_there(ids).await?;
        there.extend(self.tagged_with(ids).await?.into_iter().map(|(made, _)| made));
        Ok(there)
    }

    async fn known_there(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        if self.flavour() == Flavour::MariaDb {
            if !self.sees_all().await? {
                return Err(StoreError::Blind);
            }
            return self.among_processes(ids).await;
        }
        if let Some(there) = self.among_threads(ids).await? {
            return Ok(there);
        }
        let mut there = self.at_work(ids).await?;
        let rest: Vec<u64> = ids.iter().copied().filter(|id| !there.contains(id)).collect();
        there.extend(self.among_transactions(&rest).await?);
        Ok(there)
    }

    /// Which of these connections are still there, if they are this very account's and changed nothing but lock tables.
    /// What they have not committed, they never will.
    pub async fn own_still_there(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        match self.flavour() {
            // The list always shows an account its own.
            Flavour::MariaDb => self.among_processes(ids).await,
            Flavour::MySql => match self.among_threads(ids).await? {
                Some(there) => Ok(there),
                None => self.at_work(ids).await,
            },
        }
    }

    async fn among_processes(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        let list = self.with_own(ids);
        let sql = format!("SELECT id FROM information_schema.processlist WHERE id IN ({list})");
        let rows = self.query(sql, 1).await?;
        let mut there: Vec<u64> = rows[0].iter().map(|r| column(r, 0)).collect();
        self.without_own(&mut there).then_some(there).ok_or(StoreError::Blind)
    }

    /// MySQL: performance_schema.threads shows a killed session to the end of its rollback. `None` where the table does
    /// not show this very connection, because it is off or not allowed. Also `None` where it has room for a fixed
    /// number of threads, and leaves out the others. (The counter of those left out is no help: FLUSH STATUS sets it to
    /// 0.)
    async fn among_threads(&mut self, ids: &[u64]) -> Result<Option<Vec<u64>>, StoreError> {
        let sql = format!(
            "SELECT processlist_id,@@global.performance_schema_max_thread_instances \
             FROM performance_schema.threads WHERE processlist_id IN ({})",
            self.with_own(ids)
        );
        let rows = match self.query(sql, 1).await {
            Err(StoreError::Refused { code: 1142, .. }) => return Ok(None),
            rows => rows?,
        };
        let mut there: Vec<u64> = rows[0].iter().map(|r| column(r, 0)).collect();
        let grows = rows[0].first().is_some_and(|r| column::<i64>(r, 1) == -1);
        Ok((self.without_own(&mut there) && grows).then_some(there))
    }

    /// MySQL: those that may still begin a statement, or are in the middle of one.
    async fn at_work(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        let mut there = Vec::new();
        for id in ids {
            // The server knows every thread here, even one that the process list hides because it was killed, and the
            // statement does the thread no harm.
            match self.execute(format!("EXPLAIN FOR CONNECTION {id}")).await {
                Err(StoreError::Refused { code: NO_SUCH_THREAD, .. }) => {}
                Ok(_) | Err(StoreError::Refused { .. }) => there.push(*id),
                Err(e) => return Err(e),
            }
        }
        Ok(there)
    }

    /// MySQL: those of a session whose last statement is over that have a transaction to roll back.
    async fn among_transactions(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        if !self.sees_all().await? {
            return Err(StoreError::Blind);
        }
        for attempt in 0..ATTEMPTS {
            if let Some(there) = self.transactions_now(ids).await? {
                return Ok(there);
            }
            // Several proxies may look at once: each leaves the others more and more room.
            let pauses = rand::random_range(1.0..=f64::from(1_u32 << attempt) + 1.0);
            sleep(CACHED.mul_f64(pauses)).await;
        }
        let message =
            "another client reads information_schema.innodb_trx so often that it does not change";
        Err(StoreError::Refused { code: 1105, message: message.to_owned() })
    }

    /// `None` where the server has answered from its cache, which readers in quick succession keep
    /// from ever being filled again: if it shows this statement, this statement has filled it.
    async fn transactions_now(&mut self, ids: &[u64]) -> Result<Option<Vec<u64>>, StoreError> {
        let (own, mark) = (self.id(), rand::random::<u64>());
        let sql = format!(
            "START TRANSACTION WITH CONSISTENT SNAPSHOT;\
             SELECT /* {mark:016x} */ trx_mysql_thread_id FROM information_schema.innodb_trx \
             WHERE trx_mysql_thread_id IN ({}) AND \
             (trx_mysql_thread_id<>{own} OR LOCATE('{mark:016x}',trx_query)>0);\
             COMMIT",
            self.with_own(ids)
        );
        let rows = self.query(sql, 3).await;
        if rows.is_err() {
            // Nothing later may run inside of this transaction.
            self.execute("ROLLBACK".to_owned()).await.map_err(StoreError::after_a_change)?;
        }
        let mut there: Vec<u64> = rows?[1].iter().map(|r| column(r, 0)).collect();
        Ok(self.without_own(&mut there).then_some(there))
    }

    fn with_own(&self, ids: &[u64]) -> String {
        numbers(ids.iter().copied().chain([u64::from(self.id())]))
    }

    /// Leaves the ids of others; false if this connection's own is not there, so that nothing is
    /// proved.
    fn without_own(&self, ids: &mut Vec<u64>) -> bool {
        let own = u64::from(self.id());
        let shown = ids.contains(&own);
        ids.retain(|id| *id != own);
        shown
    }

    /// MySQL: whether performance_schema.threads may be read, is on, and lists all threads.
    pub(super) async fn lists_all_threads(&mut self) -> Result<bool, StoreError> {
        Ok(self.among_threads(&[]).await?.is_some())
    }

    /// The server sessions of a proxy. Some carry its tag, and have an id up to `tagged`. Others are named by its lock
    /// rows (`named`, meaningful only in the server run that gave these ids).
    pub async fn sessions_of(
        &mut self,
        proxy: ProxyId,
        tagged: Option<u64>,
        named: bool,
    ) -> Result<Vec<u64>, StoreError> {
        let mut ids = Vec::new();
        if named {
            ids.extend(self.read_held(proxy).await?.into_iter().map(|r| r.conn));
        }
        if let Some(last) = tagged
            && self.has_performance_schema().await?
        {
            let tag = String::from_utf8_lossy(TAG_ATTRIBUTE);
            let sql = format!(
                "SELECT processlist_id FROM performance_schema.session_connect_attrs \
                 WHERE attr_name='{tag}' AND (attr_value='{proxy}' OR attr_value LIKE '{proxy}/%') \
                 AND processlist_id<={last}"
            );
            match self.query(sql, 1).await {
                Ok(rows) => ids.extend(rows[0].iter().map(|r| column::<u64>(r, 0))),
                // Without the right to look there, the lock rows name the sessions that matter.
                Err(StoreError::Refused { code: 1142, .. }) => {}
                Err(e) => return Err(e),
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| *id != 0 && *id != u64::from(self.id()));
        Ok(ids)
    }

    /// Sessions whose connection only its tag tells, by the ids that a proxy has made for them: each with the server's
    /// id of its connection.
    async fn tagged_with(&mut self, ids: &[u64]) -> Result<Vec<(u64, u64)>, StoreError> {
        let made: Vec<_> = ids.iter().copied().filter(|id| ConnectionId(*id).is_made()).collect();
        if made.is_empty() || !self.has_performance_schema().await? {
            return Ok(Vec::new());
        }
        let tag = String::from_utf8_lossy(TAG_ATTRIBUTE);
        let sql = format!(
            "SELECT CAST(SUBSTRING_INDEX(attr_value,'/',-1) AS UNSIGNED) made,processlist_id \
             FROM performance_schema.session_connect_attrs \
             WHERE attr_name='{tag}' AND attr_value LIKE '%/%' HAVING made IN ({})",
            numbers(made.into_iter())
        );
        match self.query(sql, 1).await {
            Ok(rows) => Ok(rows[0].iter().map(|r| (column(r, 0), column(r, 1))).collect()),
            // No proxy makes such ids for its locks without that right.
            Err(StoreError::Refused { code: 1142, .. }) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// Whether the sessions of a proxy can be found by their tag.
    pub async fn finds_tagged(&mut self) -> Result<bool, StoreError> {
        if !self.has_performance_schema().await? {
            return Ok(false);
        }
        let sql = "SELECT processlist_id FROM performance_schema.session_connect_attrs LIMIT 0";
        match self.execute(sql.to_owned()).await {
            Ok(_) => Ok(true),
            Err(StoreError::Refused { code: 1142, .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether the tag finds each session of a proxy, however many there are.
    pub async fn finds_all_tagged(&mut self) -> Result<bool, StoreError> {
        if !self.finds_tagged().await? {
            return Ok(false);
        }
        let sql = "SELECT @@global.performance_schema_session_connect_attrs_size<>0 \
                   AND @@global.performance_schema_max_thread_instances=-1";
        let rows = self.query(sql.to_owned(), 1).await?;
        Ok(rows[0].first().is_some_and(|row| column::<u8>(row, 0) == 1))
    }

    async fn has_performance_schema(&mut self) -> Result<bool, StoreError> {
        let rows = self.query("SELECT @@global.performance_schema".to_owned(), 1).await?;
        Ok(rows[0].first().is_some_and(|r| column::<u8>(r, 0) == 1))
    }

    /// Those of these connections that sessions of proxies have, by their tags.
    pub async fn tagged_among(&mut self, ids: &[u64]) -> Result<HashSet<u64>, StoreError> {
        if !self.has_performance_schema().await? {
            return Ok(HashSet::new());
        }
        let tag = String::from_utf8_lossy(TAG_ATTRIBUTE);
        let sql = format!(
            "SELECT DISTINCT processlist_id FROM performance_schema.session_connect_attrs \
             WHERE attr_name='{tag}' AND processlist_id IN ({})",
            numbers(ids.iter().copied())
        );
        match self.query(sql, 1).await {
            Ok(rows) => Ok(rows[0].iter().map(|r| column(r, 0)).collect()),
            Err(StoreError::Refused { code: 1142, .. }) => Ok(HashSet::new()),
            Err(e) => Err(e),
        }
    }

    /// Ends a server session. If only its connection's tag tells which it is, that may be no session's by now.
    pub async fn kill(&mut self, id: u64) -> Result<KillResult, StoreError> {
        for (_, tagged) in self.tagged_with(&[id]).await? {
            if self.kill_connection(tagged).await? == KillResult::NotAllowed {
                return Ok(KillResult::NotAllowed);
            }
        }
        self.kill_connection(id).await
    }

    async fn kill_connection(&mut self, id: u64) -> Result<KillResult, StoreError> {
        match self.execute(format!("KILL CONNECTION {id}")).await {
            Ok(_) | Err(StoreError::Refused { code: NO_SUCH_THREAD, .. }) => {
                Ok(KillResult::Accepted)
            }
            Err(StoreError::Refused { code: 1095 | 1227, .. }) => Ok(KillResult::NotAllowed),
            Err(e) => Err(e),
        }
    }
}
