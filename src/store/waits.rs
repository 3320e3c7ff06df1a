//! Waits of sessions that hold locks, told to the other proxies: a circle of waits over several
//! proxies shows to none of them alone.

use std::fmt::Write as _;

use super::connection::{StoreConnection, StoreError};
use super::quoting::{literal, numbers};
use super::rows::column;
use crate::lock::name::Key;
use crate::types::{ConnectionId, ProxyId};

/// A wait as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRow {
    /// Id of the request.
    pub id: u64,
    /// The waiting session.
    pub conn: ConnectionId,
    /// How often it gave up to end a deadlock.
    pub weight: u32,
    /// The lock it waits for.
    pub key: Key,
}

/// A session waits for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitEdge {
    /// Id of the request.
    pub id: u64,
    /// Grows in the order in which waits are told.
    pub seq: u64,
    /// The waiting session's proxy.
    pub proxy: ProxyId,
    /// See [`WaitRow`].
    pub weight: u32,
    /// The waiting session.
    pub from: ConnectionId,
    /// The holder.
    pub to: ConnectionId,
    /// The lock, for display.
    pub key: Vec<u8>,
    /// Moves with each look of that proxy which shows it as part of a circle.
    pub beat: u64,
}

impl StoreConnection {
    /// Publishes waits that have begun and takes back those that have ended.
    pub async fn tell_waits(
        &mut self,
        proxy: ProxyId,
        begun: &[WaitRow],
        ended: &[u64],
    ) -> Result<(), StoreError> {
        let schema = self.schema();
        if !ended.is_empty() {
            let ended = numbers(ended.iter().copied());
            self.execute(format!("DELETE FROM `{schema}`.waits WHERE id IN ({ended})")).await?;
        }
        if begun.is_empty() {
            return Ok(());
        }
        let mut sql =
            format!("INSERT IGNORE INTO `{schema}`.waits (id,proxy,conn,weight,k) VALUES ");
        for (n, WaitRow { id, conn, weight, key }) in begun.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let key = literal(key.as_bytes());
            let _ = write!(sql, "{comma}({id},{},{},{weight},{key})", proxy.0, conn.0);
        }
        self.execute(sql).await?;
        Ok(())
    }

    /// Tells the others that the waits of `proxy` are still as told. The column was made for the base
    /// that a proxy has seen, which no statement reads.
    pub async fn beat(&mut self, proxy: ProxyId) -> Result<(), StoreError> {
        let schema = self.schema();
        let id = proxy.0;
        self.execute(format!(
            "UPDATE `{schema}`.proxies SET base_seen=base_seen+1 WHERE id={id} AND state=1"
        ))
        .await
        .map(drop)
    }

    /// All waits with their holders, at one moment. Connection ids of another run of the server mean
    /// nothing in this one.
    pub async fn read_waits(&mut self) -> Result<Vec<WaitEdge>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT w.id,w.seq,w.proxy,w.weight,w.conn,l.conn,w.k,p.base_seen FROM `{schema}`.waits w \
             JOIN `{schema}`.proxies p ON p.id=w.proxy AND p.state=1 \
             JOIN `{schema}`.locks l ON l.k=w.k \
             JOIN `{schema}`.proxies h ON h.id=l.holder AND h.state=1 \
             AND ABS(h.server_start-p.server_start)<=2"
        );
        let rows = self.query(sql, 1).await?;
        let edge = |r: &mysql_async::Row| WaitEdge {
            id: column(r, 0),
            seq: column(r, 1),
            proxy: ProxyId(column(r, 2)),
            weight: column(r, 3),
            from: ConnectionId(column(r, 4)),
            to: ConnectionId(column(r, 5)),
            key: column(r, 6),
            beat: column(r, 7),
        };
        Ok(rows[0].iter().map(edge).collect())
    }
}
