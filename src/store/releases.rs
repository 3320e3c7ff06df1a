//! Releases that administrators ask for: a row for each, read by the proxy whose lock it is.

use super::connection::{StoreConnection, StoreError};
use super::quoting::literal;
use super::rows::{LOCK_ROW, ProxyRow, ProxyState, column, to_row};
use crate::lock::name::Key;
use crate::types::ProxyId;

/// A lock that an administrator wants released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseRequest {
    /// Key of the lock.
    pub key: Key,
    /// The grant's token.
    pub token: u64,
    /// The administrator who asked.
    pub who: String,
}

/// Reads the releases asked of `id`, for [`to_asked`].
pub(super) fn asked_sql(schema: &str, id: ProxyId) -> String {
    format!(
        "SELECT r.k,r.tok,r.who FROM `{schema}`.releases r JOIN `{schema}`.locks l ON l.k=r.k AND l.tok=r.tok \
         WHERE l.holder={}",
        id.0
    )
}

pub(super) fn to_asked(rows: &[mysql_async::Row]) -> Vec<ReleaseRequest> {
    let asked = |r| {
        let key = Key::from_row(&column::<Vec<u8>>(r, 0))?;
        Some(ReleaseRequest { key, token: column(r, 1), who: column(r, 2) })
    };
    rows.iter().filter_map(asked).collect()
}

/// One grant of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantId {
    /// The lock's key.
    pub key: Vec<u8>,
    /// The grant's token.
    pub token: u64,
}

/// The state of a grant that was to be released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseStatus {
    /// The lock is free.
    Free,
    /// The lock is held under a later token.
    Later(u64),
    /// As before, by this proxy; `None` for one that is not known.
    Held(Option<ProxyRow>),
}

impl StoreConnection {
    /// Asks the proxy that holds a lock to release the grant of this token. Requests for
    /// grants that are over are deleted.
    pub async fn ask_release(&mut self, grant: &GrantId, who: &str) -> Result<(), StoreError> {
        let schema = self.schema();
        self.execute(format!(
            "DELETE FROM `{schema}`.releases WHERE NOT EXISTS (SELECT 1 FROM `{schema}`.locks l \
             WHERE l.k=`{schema}`.releases.k AND l.tok=`{schema}`.releases.tok AND l.holder<>0)"
        ))
        .await?;
        let (key, token) = (literal(&grant.key), grant.token);
        let who = literal(who.as_bytes());
        self.execute(format!(
            "INSERT INTO `{schema}`.releases (k,tok,who,since) \
             VALUES ({key},{token},{who},UTC_TIMESTAMP(3)) \
             ON DUPLICATE KEY UPDATE tok={token},who={who},since=UTC_TIMESTAMP(3)"
        ))
        .await?;
        Ok(())
    }

    /// The state of a grant that was to be released.
    pub async fn release_status(&mut self, grant: &GrantId) -> Result<ReleaseStatus, StoreError> {
        let schema = self.schema();
        let sql =
            format!("SELECT {LOCK_ROW} FROM `{schema}`.locks WHERE k={}", literal(&grant.key));
        let rows = self.query(sql, 1).await?;
        let Some(row) = rows[0].first().map(to_row).filter(|row| row.holder != 0) else {
            return Ok(ReleaseStatus::Free);
        };
        let proxies = self.read_proxies().await?;
        let proxy = proxies.into_iter().find(|proxy| proxy.id.0 == row.holder);
        let clean = proxy.as_ref().is_some_and(|p| p.state == ProxyState::Clean);
        Ok(match row.token {
            _ if clean => ReleaseStatus::Free,
            later if later != grant.token => ReleaseStatus::Later(later),
            _ => ReleaseStatus::Held(proxy),
        })
    }
}
