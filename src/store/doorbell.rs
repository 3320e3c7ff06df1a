//! Doorbells: a proxy that waits sleeps at the server, and KILL QUERY wakes it.
//!
//! A ring is a hint that may be lost, when it comes between two sleeps: it saves the time to the
//! next look, and nothing depends on it.

use super::connection::{StoreConnection, StoreError};
use super::identity::same_run;
use super::rows::column;
use crate::types::ProxyId;

/// A statement ended by KILL QUERY; MySQL's SLEEP() returns 1 instead.
const INTERRUPTED: u16 = 1317;
const UNKNOWN_THREAD: u16 = 1094;

impl StoreConnection {
    /// Makes this connection the doorbell of `proxy`.
    pub async fn hang_doorbell(&mut self, proxy: ProxyId) -> Result<(), StoreError> {
        let schema = self.schema();
        let (doorbell, id) = (self.id(), proxy.0);
        let sql =
            format!("UPDATE `{schema}`.proxies SET doorbell={doorbell} WHERE id={id} AND state=1");
        self.execute(sql).await?;
        Ok(())
    }

    /// Sleeps until the bell is rung, or for some seconds.
    pub async fn sleep(&mut self, seconds: u8) -> Result<(), StoreError> {
        match self.execute(format!("DO SLEEP({seconds})")).await {
            Ok(_) | Err(StoreError::Refused { code: INTERRUPTED, .. }) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The doorbell of a live proxy. One of another run of the server is none: its id may be
    /// another client's by now.
    pub async fn doorbell_of(&mut self, proxy: ProxyId) -> Result<Option<u64>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT doorbell,server_start FROM `{schema}`.proxies WHERE id={} AND state=1",
            proxy.0
        );
        let rows = self.query(sql, 1).await?;
        let here = |row: &&mysql_async::Row| same_run(column(row, 1), self.started());
        Ok(rows[0].first().filter(here).map(|r| column(r, 0)).filter(|id| *id != 0))
    }

    /// Rings. Whether the connection was still there.
    pub async fn ring(&mut self, doorbell: u64) -> Result<bool, StoreError> {
        match self.execute(format!("KILL QUERY {doorbell}")).await {
            Ok(_) => Ok(true),
            Err(StoreError::Refused { code: UNKNOWN_THREAD, .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }
}
