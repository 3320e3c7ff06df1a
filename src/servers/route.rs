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

/// A connection to the lock tables that is kept open as long as its server is the writer.
#[derive(Debug)]
pub struct KeptConnection {
    route: StoreRoute,
    open: Option<(StoreConnection, Destination)>,
}

impl KeptConnection {
    /// One that is opened when it is asked for.
    pub fn new(route: StoreRoute) -> Self {
        Self { route, open: None }
    }

    /// The connection, and where it leads.
    pub async fn get(&mut self) -> Result<&mut (StoreConnection, Destination), StoreError> {
        self.open.take_if(|(_, to)| to.is_left());
        match &mut self.open {
            Some(open) => Ok(open),
            closed => Ok(closed.insert(self.route.open().await?)),
        }
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.open = None;
    }
}
