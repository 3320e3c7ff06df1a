//! A renewal that fails while the lock tables can be read: during a backup, or on a server that is read-only
//! (docs/adr/0037-standstill.md).

use tokio::time::timeout;

use super::Keeper;
use crate::clock;
use crate::engine::lease::incarnation::{GrantWait, Incarnation};
use crate::store::connection::StoreError;
use crate::store::identity::same_run;

impl Keeper {
    /// The lease was renewed: whether the server's own locks would protect without rows.
    pub(super) fn note_written(&mut self) {
        let waits = self.incarnation.as_ref().is_none_or(|mine| mine.wait != GrantWait::Over);
        self.set_server_protects(self.native && !waits && !self.others.by_rows);
        let again = self.access.metrics.store_unwritable.get() != 0;
        self.set_unwritable(None);
        if again {
            tracing::info!("the lock tables can be written again");
        }
    }

    /// Notices the first replica of the server. Each renewal asks the server again, until there is one.
    pub(super) async fn look_for_peers(&mut self) {
        if self.had_peers {
            return;
        }
        // By the connection that has just renewed the lease.
        let link = &mut self.link;
        let look = async { link.get_any().await?.has_peers().await };
        match timeout(self.terms.ttl / 8, look).await {
            Ok(Ok(found)) => self.had_peers = found,
            Ok(Err(_)) | Err(_) => self.link.drop_connection(),
        }
    }

    /// The lease was not renewed, by this error. A reading says what still holds.
    pub(super) async fn read_instead(&mut self, error: &StoreError) {
        let elsewhere = self.lease.obstacle().is_some();
        let Some(mine) = self.incarnation.clone().filter(|_| !elsewhere) else {
            return self.set_unwritable(None);
        };
        // As long as a beat may take.
        let limit = self.terms.ttl / 4;
        let read = timeout(limit, self.read_standstill(&mine, error)).await;
        let read = read.unwrap_or_else(|_| {
            self.reader.drop_connection();
            Err(StoreError::Silent(limit))
        });
        self.reader.note_result(&read);
        // Without an answer, what was read last is the last that is known: the lease runs on from there.
        let Ok(why) = read else { return };
        if let Some(why) = why.as_ref().filter(|_| self.lease.unwritable().is_none()) {
            let protected = self.lease.server_protects();
            tracing::warn!(why, protected, "the lock tables cannot be written, but read");
        }
        self.set_unwritable(why);
    }

    /// Whether the server's own locks protect without rows. Then rows may be late, too, if this proxy's row says so, and all
    /// others were renewed in this run of the server.
    fn set_server_protects(&self, protects: bool) {
        self.lease.set_server_protects(protects);
        let late = &self.access.late_rows;
        let told = self.tells_of_late_rows && self.others.in_this_run;
        late.allow(protects && told && late.is_wanted());
    }

    fn set_unwritable(&self, why: Option<String>) {
        self.access.metrics.store_unwritable.set(i64::from(why.is_some()));
        self.lease.set_unwritable(why);
    }

    /// Why the tables cannot be written, if nobody has revoked the incarnation, nor can another server be the primary. Where
    /// all proxies take the server's own locks, the lease goes on as by a renewal: none passes to another session by
    /// its row alone.
    async fn read_standstill(
        &mut self,
        mine: &Incarnation,
        error: &StoreError,
    ) -> Result<Option<String>, StoreError> {
        let alone = self.access.writer.servers().len() <= 1;
        let conn = self.reader.get().await?;
        if !same_run(conn.started(), mine.run) {
            return Ok(None);
        }
        let sent = clock::now();
        let read = conn.read_standstill().await?;
        // A read-only server may be a former primary, also one that its replicas have left meanwhile.
        if read.read_only && (!alone || self.had_peers || conn.has_peers().await?) {
            return Ok(None);
        }
        let why = match conn.read_lock_holder().await? {
            _ if read.read_only => "the server is read-only".to_owned(),
            Some(id) => format!("connection {id} of the server holds the global read lock"),
            None => error.to_string(),
        };
        self.server.check(&read.meta)?;
        if read.meta.epoch != mine.epoch || !read.has(mine.id, &mine.versions) {
            return Ok(None);
        }
        let others = read.others(mine.id);
        let protects = self.native && mine.wait == GrantWait::Over && !others.by_rows;
        self.know_others(others);
        self.set_server_protects(protects);
        if protects {
            self.lease.renewed(sent, self.terms.deadline(sent), self.terms.jeopardy(sent));
            self.suspension.resume();
        } else {
            self.suspension.prolong(sent);
        }
        Ok(Some(why))
    }
}
