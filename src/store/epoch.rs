//! Epochs: the reign of one server over the lock tables, and how the next one begins.

use super::connection::{StoreConnection, StoreError};
use super::identity::ident_expression;
use super::meta::Meta;
use super::quoting::literal;
use super::rows::{ProxyRow, ProxyState, column};
use super::schema::VERSION;
use crate::types::{Flavour, version_number};

/// The state that a new epoch starts from, which must not change while a lease passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochBasis {
    /// The meta row.
    pub meta: Meta,
    /// The incarnations, in the order of their ids.
    pub proxies: Vec<ProxyRow>,
    /// The server takes no writes from ordinary accounts.
    pub read_only: bool,
    /// The server takes changes over from another server.
    pub replicates: bool,
}

impl EpochBasis {
    /// Incarnations that may hold a lease, for all that this server knows.
    pub fn alive(&self) -> impl Iterator<Item = &ProxyRow> {
        self.proxies.iter().filter(|p| p.state == ProxyState::Live)
    }

    /// Why this server cannot be the primary now.
    pub fn unfit(&self) -> Option<&'static str> {
        if self.replicates {
            Some(
                "the server replicates from another one: stop that first (STOP REPLICA, RESET REPLICA ALL)",
            )
        } else if self.read_only {
            Some("the server is read-only: it is not the primary, or not yet")
        } else {
            None
        }
    }

    /// The longest lease known here, in milliseconds.
    pub fn longest_lease(&self) -> u32 {
        self.proxies.iter().map(|p| p.ttl_ms).fold(self.meta.max_ttl_ms, u32::max)
    }

    /// The epoch after this one and after `known`, for a server whose clock says `now`.
    ///
    /// Tokens of the new epoch begin above all earlier ones. Garbage collection has moved the base on by far less than
    /// 2^31 a second, but a clock may have gone back.
    pub fn next_epoch(&self, known: u64, now: u64) -> u64 {
        [self.meta.epoch + 1, known + 1, (self.meta.base >> 31) + 1, now]
            .into_iter()
            .fold(0, u64::max)
    }
}

/// Why an account that `read_only` does not stop opens no epoch.
pub const PASSES_READ_ONLY: &str = "the store account may write on a read-only server (READ ONLY ADMIN, ALL PRIVILEGES), so a replica would not refuse it: use an account with the privileges that `lockstead grants` prints";

/// A new epoch to be opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The state it starts from, unchanged for the longest lease.
    pub from: &'a EpochBasis,
    /// Number of the epoch.
    pub epoch: u64,
    /// The user who opens it, for the record.
    pub who: &'a str,
}

impl StoreConnection {
    /// Reads the state that a new epoch starts from.
    pub async fn standing(&mut self) -> Result<EpochBasis, StoreError> {
        let meta = self.read_meta().await?;
        if meta.version < VERSION {
            let version = meta.version;
            let message = format!(
                "the lock schema has version {version}, this build needs {VERSION}: run `lockstead schema install`"
            );
            return Err(StoreError::Refused { code: 1105, message });
        }
        let mut proxies = self.read_proxies().await?;
        proxies.sort_by_key(|p| p.id.0);
        let read_only = self.read_settings().await?.read_only;
        Ok(EpochBasis { meta, proxies, read_only, replicates: self.replicates().await? })
    }

    /// Seconds of the server's clock.
    pub async fn now(&mut self) -> Result<u64, StoreError> {
        let rows = self.query("SELECT UNIX_TIMESTAMP()".to_owned(), 1).await?;
        Ok(rows[0].first().map(|r| column(r, 0)).unwrap_or_default())
    }

    /// MariaDB: whether `read_only` does not keep this account from writing. MySQL has
    /// `super_read_only`, which no account passes.
    pub async fn passes_read_only(&mut self) -> Result<bool, StoreError> {
        if self.flavour() == Flavour::MySql {
            return Ok(false);
        }
        let version = self.read_settings().await?.version;
        // SUPER has it no longer since 10.11.
        let super_passes = version_number(&version) < 101_100;
        let grants = self.query("SHOW GRANTS".to_owned(), 1).await?;
        Ok(grants[0].iter().map(|r| column::<String>(r, 0).to_ascii_uppercase()).any(|grant| {
            grant.contains(" ON *.* ")
                && (grant.contains("READ ONLY ADMIN")
                    || grant.contains("ALL PRIVILEGES")
                    || (super_passes && grant.contains("SUPER")))
        }))
    }

    /// Opens an epoch on this server: `meta` names it from now on, and earlier incarnations are DEAD.
    /// Whether it was opened: if something has changed meanwhile, nothing is done.
    ///
    /// The caller has seen that no proxy renewed for the longest lease, so it is entitled to revoke
    /// (I5). The locks of the DEAD pass on by the usual takeover: by proxies that join the epoch,
    /// when this server shows no session of theirs (I8). Ids of connections that another server
    /// gave mean nothing here, and are forgotten.
    pub async fn open_epoch(&mut self, opening: Opening<'_>) -> Result<bool, StoreError> {
        let schema = self.schema();
        let opened = self.query(opening_sql(&schema, opening, self.flavour()), 8).await?;
        Ok(opened[7].first().is_some_and(|r| column::<u8>(r, 0) == 1))
    }

    /// Whether an opening whose reply was lost has been done.
    pub async fn has_opened(&mut self, epoch: u64) -> Result<bool, StoreError> {
        let meta = self.read_meta().await?;
        Ok(meta.here && meta.epoch == epoch)
    }
}

/// One transaction in one packet: everything after the first change depends on it.
fn opening_sql(
    schema: &str,
    Opening { from, epoch, who }: Opening<'_>,
    flavour: Flavour,
) -> String {
    let EpochBasis { meta, .. } = from;
    let (old, base, ident) = (meta.epoch, meta.base, literal(meta.ident.as_bytes()));
    let server = ident_expression(flavour);
    let versions: Vec<String> = from.alive().map(|p| format!("{}:{}", p.id.0, p.rvn)).collect();
    let versions = versions.join(",");
    let ttl = from.longest_lease();
    let opened = "@opened=1";
    let forget = if meta.here { "" } else { ", server_start=0, conns=''" };
    let who: String = who.chars().take(255).collect();
    let who = literal(who.as_bytes());
    let next = epoch << 31;
    [
        "START TRANSACTION".to_owned(),
        format!(
            "UPDATE `{schema}`.meta SET epoch={epoch}, base={next}, ident={server}, \
             grace_done={epoch} WHERE id=1 AND epoch={old} AND base={base} AND ident={ident} \
             AND @@global.read_only=0 AND COALESCE((SELECT GROUP_CONCAT(CONCAT(id,':',rvn) \
             ORDER BY id) FROM `{schema}`.proxies WHERE state=1),'')='{versions}'"
        ),
        "SET @opened=ROW_COUNT()".to_owned(),
        format!(
            "UPDATE `{schema}`.proxies SET state=2{forget} \
             WHERE state<>3 AND epoch<>{epoch} AND {opened}"
        ),
        // Holders without a row in this copy; without one their locks would never become free.
        format!(
            "INSERT INTO `{schema}`.proxies \
             (id,state,rvn,epoch,base_seen,ttl_ms,addr,server_start,conns) \
             SELECT DISTINCT holder,2,0,{old},{base},{ttl},'',0,'' FROM `{schema}`.locks \
             WHERE holder<>0 AND holder NOT IN (SELECT id FROM `{schema}`.proxies) AND {opened}"
        ),
        format!(
            "INSERT INTO `{schema}`.adoptions (epoch,old_epoch,old_ident,ident,who,since) \
             SELECT epoch,{old},{ident},ident,{who},UTC_TIMESTAMP(3) \
             FROM `{schema}`.meta WHERE id=1 AND {opened}"
        ),
        "COMMIT".to_owned(),
        format!("SELECT {opened}"),
    ]
    .join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> Meta {
        Meta {
            epoch: 100,
            base: 100 << 31,
            version: 1,
            ident: "a".to_owned(),
            server: "a".to_owned(),
            here: true,
            max_ttl_ms: 1000,
            grace_done: 0,
        }
    }

    #[test]
    fn a_server_is_judged_by_name_and_by_the_epochs_that_are_known() {
        assert_eq!(meta().check(100), Ok(()));
        assert_eq!(meta().check(0), Ok(()));
        let refused = meta().check(101).expect_err("an earlier epoch");
        assert!(refused.to_string().contains("adopt --above 101"), "{refused}");
        let copy = Meta { server: "b".to_owned(), here: false, epoch: 200, ..meta() };
        assert_eq!(copy.check(100).map_err(|f| f.reason()), Err("identity"));
    }

    #[test]
    fn an_epoch_is_above_all_that_is_known() {
        let from = |meta| EpochBasis { meta, proxies: vec![], read_only: false, replicates: false };
        assert_eq!(from(meta()).next_epoch(0, 1000), 1000);
        assert_eq!(from(meta()).next_epoch(2000, 1000), 2001);
        // The clock of the new server is slow.
        assert_eq!(from(meta()).next_epoch(0, 90), 101);
        let collected = Meta { base: (300 << 31) + 5, ..meta() };
        assert_eq!(from(collected).next_epoch(0, 90), 301);
    }
}
