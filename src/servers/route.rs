//! The way to the lock tables, wherever they are.

use std::time::Duration;

use super::writer::{Destination, Writer};
use crate::config::StoreUrl;
use crate::store::connection::{StoreConnection, StoreError};

/// The way to the lock tables.
#[derive(Debug, Clone)]
pub struct StoreRoute {
    /// Account and schema.
    pub url: StoreUrl,
    /// Limit of a connect.
    pub limit: Duration,
    /// Which server it leads to.
    pub writer: Writer,
}

impl StoreRoute {
    /// Opens a connection to the writer. While none is known, to the one that was it last: it says itself whether it
    /// takes writes.
    pub async fn open(&self) -> Result<(StoreConnection, Destination), StoreError> {
        let to = self.writer.last();
        let to =
            to.ok_or_else(|| StoreError::Connect(self.writer.problem().unwrap_or_default()))?;
        let opened = StoreConnection::open(&self.url.at(to.store()), self.limit).await?;
        Ok((opened, to))
    }
}
