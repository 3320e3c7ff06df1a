//! The one row of `meta`: which server the lock tables belong to, and in which epoch.

use std::time::Duration;

use super::connection::{StoreConnection, StoreError};
use super::identity::{Foreign, ident_expression};
use super::rows::column;
use crate::mutants::{self, Mutant};
use crate::types::Flavour;

/// The row of `meta`, and the server it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The present epoch.
    pub epoch: u64,
    /// Floor of new tokens.
    pub base: u64,
    /// Version of the tables.
    pub version: u32,
    /// Identity of the server that the schema belongs to.
    pub ident: String,
    /// Identity of the server it was read from.
    pub server: String,
    /// Whether they are the same.
    pub here: bool,
    /// Longest lease a proxy was ever started with, in milliseconds.
    pub max_ttl_ms: u32,
    /// The latest epoch whose grace is over; 0 while none was opened by a proxy.
    pub grace_done: u64,
}

impl Meta {
    /// Whether holders may still carry their locks into this epoch, so that nobody may be granted one.
    pub fn is_in_grace(&self) -> bool {
        self.grace_done != 0 && self.grace_done < self.epoch
    }

    /// Whether locks may be kept where this was read, by one who has learned of the epoch `known`.
    pub fn check(&self, known: u64) -> Result<(), Foreign> {
        if !self.here {
            return Err(Foreign::Identity {
                named: self.ident.clone(),
                server: self.server.clone(),
            });
        }
        if self.epoch < known && !mutants::on(Mutant::IdentityAlone) {
            return Err(Foreign::Epoch { epoch: self.epoch, known });
        }
        Ok(())
    }
}

/// The server that the lock tables name, and its epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reigning {
    /// The epoch.
    pub epoch: u64,
    /// The server's identity.
    pub ident: String,
}

impl StoreConnection {
    /// The server that the lock tables here name; `None` if there are no such tables.
    pub async fn reigning(&mut self, limit: Duration) -> Result<Option<Reigning>, StoreError> {
        let schema = self.schema();
        let sql = format!("SELECT epoch, ident FROM `{schema}`.meta WHERE id=1");
        match self.query_within(limit, sql, 1).await {
            // The account may see none before there is one.
            Err(StoreError::Refused { code: 1049 | 1146 | 1142 | 1044, .. }) => Ok(None),
            rows => {
                let row = |row| Reigning { epoch: column(row, 0), ident: column(row, 1) };
                Ok(rows?[0].first().map(row))
            }
        }
    }

    /// Reads the meta row.
    pub async fn read_meta(&mut self) -> Result<Meta, StoreError> {
        let schema = self.schema();
        let rows = self.query(meta_sql(&schema, self.flavour()), 1).await?;
        to_meta(&schema, &rows[0])
    }
}

/// Reads the meta row, for [`to_meta`].
pub(super) fn meta_sql(schema: &str, flavour: Flavour) -> String {
    let server = ident_expression(flavour);
    format!(
        "SELECT epoch, base, ver, ident, {server}, ident={server}, ttl_ms, grace_done \
         FROM `{schema}`.meta WHERE id=1"
    )
}

pub(super) fn to_meta(schema: &str, rows: &[mysql_async::Row]) -> Result<Meta, StoreError> {
    let Some(row) = rows.first() else {
        let message = format!("`{schema}`.meta is empty: run `lockstead schema install`");
        return Err(StoreError::Refused { code: 1146, message });
    };
    Ok(Meta {
        epoch: column(row, 0),
        base: column(row, 1),
        version: column(row, 2),
        ident: column(row, 3),
        server: column(row, 4),
        here: column::<u8>(row, 5) == 1,
        max_ttl_ms: column(row, 6),
        grace_done: column(row, 7),
    })
}
