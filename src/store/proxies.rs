//! The proxies table: registering, renewing, observing, revoking, cleaning.

use std::collections::HashSet;

use super::connection::{StoreConnection, StoreError};
use super::identity::{ident_expression, same_run};
use super::meta::{Meta, meta_sql, to_meta};
use super::quoting::{literal, numbers};
use super::reads::{PAGE, between};
use super::releases::{ReleaseRequest, asked_sql, to_asked};
use super::rows::{PROXY_ROW, ProxyRow, ProxyState, UNKNOWN_RUN, column, to_proxy};
use super::schema::VERSION;
use super::statement::{Others, WINDOW};
use crate::types::ProxyId;

/// The result of a renewal.
#[derive(Debug)]
pub struct Renewal {
    /// Whether the row was LIVE with the expected version, and now has the new one.
    pub renewed: bool,
    /// The row of `meta`.
    pub meta: Meta,
    /// All proxies, this one included.
    pub proxies: Vec<ProxyRow>,
    /// Locks of this proxy that administrators want released.
    pub asked: Vec<ReleaseRequest>,
}

impl Renewal {
    /// The incarnations beside `me`, as batches need to know them.
    pub fn others(&self, me: ProxyId) -> Others {
        others_of(&self.proxies, me)
    }
}

/// The incarnations of these rows beside `me`, as batches need to know them.
pub(super) fn others_of(proxies: &[ProxyRow], me: ProxyId) -> Others {
    let of = |state| {
        let rows = proxies.iter().filter(|p| p.state == state && p.id != me);
        let mut ids: Vec<ProxyId> = rows.map(|p| p.id).collect();
        ids.sort_unstable();
        ids
    };
    let any = |is: fn(&ProxyRow) -> bool| proxies.iter().any(|p| p.id != me && is(p));
    Others {
        clean: of(ProxyState::Clean),
        waiting: of(ProxyState::Live),
        // Of a dead one the server's own locks tell nothing: it may have been another server.
        by_rows: any(|p| match p.state {
            ProxyState::Live => !p.native,
            ProxyState::Dead => true,
            ProxyState::Clean => false,
        }),
        native: any(|p| p.state == ProxyState::Live && p.native),
        keeping: {
            let live = |p: &&ProxyRow| p.state == ProxyState::Live && p.id != me;
            let keeps = |p: &&ProxyRow| live(p) && !p.native && p.keeps > 0;
            proxies.iter().filter(keeps).map(|p| p.id).collect()
        },
        know_windows: !any(|p| p.state == ProxyState::Live && p.tables < 3),
        late: any(|p| p.state != ProxyState::Clean && p.native && p.keeps > 0),
        in_this_run: proxies.iter().find(|p| p.id == me).is_some_and(|mine| {
            let live = |p: &&ProxyRow| p.state == ProxyState::Live;
            let beside =
                |p: &ProxyRow| p.epoch == mine.epoch && same_run(p.server_start, mine.server_start);
            proxies.iter().filter(live).all(beside)
        }),
    }
}

impl StoreConnection {
    /// Enters a new incarnation, LIVE, if this is the server and the epoch that meta names.
    pub async fn register(&mut self, row: &ProxyRow, epoch: u64) -> Result<(), StoreError> {
        let schema = self.schema();
        let ProxyRow { id, rvn, ttl_ms, addr, server_start, conns, native, keeps, .. } = row;
        let addr = literal(addr.as_bytes());
        let conns = join(conns);
        let reign =
            format!("id=1 AND epoch={epoch} AND ident={}", ident_expression(self.flavour()));
        let sql = format!(
            "INSERT INTO `{schema}`.proxies \
             (id,state,rvn,epoch,base_seen,ttl_ms,addr,server_start,conns,mode,tables,keeps) \
             SELECT {},1,{rvn},{epoch},base,{ttl_ms},{addr},{server_start},'{conns}',{},{VERSION},{keeps} \
             FROM `{schema}`.meta WHERE {reign}",
            id.0,
            u8::from(*native)
        );
        if self.execute(sql).await? == 0 {
            let message = "another epoch has begun".to_owned();
            return Err(StoreError::Refused { code: 1105, message });
        }
        // After the row: a proxy that forgets a longer lease would have seen it.
        self.execute(format!(
            "UPDATE `{schema}`.meta SET ttl_ms=GREATEST(ttl_ms,{ttl_ms}) WHERE {reign}"
        ))
        .await
        .map(drop)
    }

    /// Replaces the longest lease known (`old`) by a shorter one, unless a proxy has a longer one.
    pub async fn forget_longest(
        &mut self,
        epoch: u64,
        old: u32,
        shorter: u32,
    ) -> Result<(), StoreError> {
        let schema = self.schema();
        let ident = ident_expression(self.flavour());
        let sql = format!(
            "UPDATE `{schema}`.meta SET ttl_ms={shorter} \
             WHERE id=1 AND epoch={epoch} AND ident={ident} AND ttl_ms={old} AND NOT EXISTS \
             (SELECT 1 FROM `{schema}`.proxies WHERE state<>3 AND ttl_ms>{shorter})"
        );
        self.execute(sql).await.map(drop)
    }

    /// Renews by compare-and-set on the version (`old`: all it may have), in its epoch and on its
    /// server only (I13, I14), and looks at everyone in the same packet. The row then names this run of the server.
    pub async fn renew(
        &mut self,
        id: ProxyId,
        epoch: u64,
        old: &[u64],
        new: u64,
        conns: &[u64],
        keeps: u32,
    ) -> Result<Renewal, StoreError> {
        let schema = self.schema();
        let run = self.started();
        let ident = ident_expression(self.flavour());
        let meta = meta_sql(&schema, self.flavour());
        let asked = asked_sql(&schema, id);
        let id = id.0;
        let conns = join(conns);
        let old = numbers(old.iter().copied());
        let sql = format!(
            "UPDATE `{schema}`.proxies SET rvn={new}, conns='{conns}', server_start={run}, keeps={keeps} \
             WHERE id={id} AND state=1 AND epoch={epoch} AND rvn IN ({old}) AND EXISTS \
             (SELECT 1 FROM `{schema}`.meta WHERE id=1 AND epoch={epoch} AND ident={ident});\
             {meta};\
             SELECT {PROXY_ROW} FROM `{schema}`.proxies;{asked}"
        );
        let results = self.query(sql, 4).await?;
        let meta = to_meta(&schema, &results[1])?;
        let proxies: Vec<ProxyRow> = results[2].iter().map(to_proxy).collect();
        let renewed =
            proxies.iter().any(|p| p.id.0 == id && p.state == ProxyState::Live && p.rvn == new);
        Ok(Renewal { renewed, meta, proxies, asked: to_asked(&results[3]) })
    }

    /// LIVE to DEAD, if the version is still the one seen. Whether this call did it.
    pub async fn revoke(&mut self, id: ProxyId, seen: u64) -> Result<bool, StoreError> {
        let schema = self.schema();
        let id = id.0;
        let sql = format!(
            "UPDATE `{schema}`.proxies SET state=2 WHERE id={id} AND state=1 AND rvn={seen}"
        );
        Ok(self.execute(sql).await? == 1)
    }

    /// Holders of locks that no row of `proxies` names: it was deleted.
    pub async fn orphan_holders(&mut self) -> Result<HashSet<ProxyId>, StoreError> {
        let schema = self.schema();
        let mut ids = HashSet::new();
        let mut from = None;
        while let Some(page) = self.next_page(from.as_deref(), PAGE).await? {
            let sql = format!(
                "SELECT DISTINCT l.holder FROM `{schema}`.locks l WHERE {} AND l.holder<>0 \
                 AND NOT EXISTS (SELECT 1 FROM `{schema}`.proxies p WHERE p.id=l.holder)",
                between(from.as_deref(), &page)
            );
            ids.extend(self.query(sql, 1).await?[0].iter().map(|r| ProxyId(column(r, 0))));
            from = Some(page);
        }
        Ok(ids)
    }

    /// Enters such a holder as DEAD, so that its locks are taken over. Only when its lease is certainly
    /// over.
    pub async fn enter_dead(&mut self, id: ProxyId, epoch: u64) -> Result<(), StoreError> {
        let schema = self.schema();
        let reign =
            format!("id=1 AND epoch={epoch} AND ident={}", ident_expression(self.flavour()));
        let rvn: u64 = rand::random();
        let sql = format!(
            "INSERT IGNORE INTO `{schema}`.proxies \
             (id,state,rvn,epoch,base_seen,ttl_ms,addr,server_start,conns) \
             SELECT {},2,{rvn},{epoch},base,0,'unknown',{UNKNOWN_RUN},'' \
             FROM `{schema}`.meta WHERE {reign}",
            id.0
        );
        self.execute(sql).await.map(drop)
    }

    /// DEAD to CLEAN. Only when no server session of the incarnation is left.
    pub async fn declare_clean(&mut self, id: ProxyId) -> Result<(), StoreError> {
        let schema = self.schema();
        let id = id.0;
        self.execute(format!("UPDATE `{schema}`.proxies SET state=3 WHERE id={id} AND state=2"))
            .await?;
        Ok(())
    }

    /// Removes CLEAN incarnations that no lock row names any more. Ids are never reused, so
    /// no proxy needs them.
    pub async fn sweep_clean(&mut self) -> Result<(), StoreError> {
        let schema = self.schema();
        let sql = format!("SELECT id FROM `{schema}`.proxies WHERE state=3");
        let rows = self.query(sql, 1).await?;
        for row in &rows[0] {
            let id: u64 = column(row, 0);
            self.free_held(ProxyId(id)).await?;
            self.execute(format!("DELETE FROM `{schema}`.proxies WHERE id={id} AND state=3"))
                .await?;
        }
        // Waits of proxies that are gone, which no proxy reads.
        self.execute(format!(
            "DELETE FROM `{schema}`.waits WHERE proxy NOT IN (SELECT id FROM `{schema}`.proxies)"
        ))
        .await?;
        Ok(())
    }

    /// Frees all rows that name `proxy` as holder, page by page.
    async fn free_held(&mut self, proxy: ProxyId) -> Result<(), StoreError> {
        let schema = self.schema();
        let mut from = None;
        while let Some(page) = self.next_page(from.as_deref(), PAGE).await? {
            let page_of = between(from.as_deref(), &page);
            let sql = format!(
                "UPDATE `{schema}`.locks SET holder=0,tok=tok+{WINDOW} WHERE {page_of} AND holder={}",
                proxy.0
            );
            self.execute(sql).await?;
            from = Some(page);
        }
        Ok(())
    }
}

/// Connections that a row has room for; a proxy has about a dozen.
const CONNS: usize = 24;

pub(super) fn join(ids: &[u64]) -> String {
    numbers(ids.iter().take(CONNS).copied())
}
