//! Failover candidates as witnesses: a grant or a renewal counts only when each of them has executed it.
//!
//! Then the primary may be left alone, and go on taking writes, without a second holder: what it acknowledges to a proxy that
//! stays there has been executed by the server that was promoted, before that stopped following it (docs/adr/0034-witnesses.md).
//! The rows are read at the candidates themselves. A position in the log would not do: MariaDB says yes for the
//! transaction of another server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::link::StoreAccess;
use crate::config::ServerAddress;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::identity::Foreign;
use crate::store::rows::ProxyState;
use crate::types::ProxyId;

/// The first pause between two looks at a candidate.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest.
const LONGEST: Duration = Duration::from_millis(50);

/// What a candidate must have.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) enum Evidence<'a> {
    /// Rows that name the incarnation as the holder, with these tokens.
    Grants(ProxyId, &'a [(Key, u64)]),
    /// The incarnation's row, in this epoch and version.
    Renewal { id: ProxyId, epoch: u64, version: u64 },
}

/// Connections to the candidates.
#[derive(Debug)]
pub(in crate::engine) struct Witnesses {
    access: Arc<StoreAccess>,
    /// By host and port.
    open: HashMap<String, StoreConnection>,
    /// The candidates when they were asked last.
    known: Vec<ServerAddress>,
}

impl Witnesses {
    pub(in crate::engine) fn new(access: Arc<StoreAccess>) -> Self {
        Self { access, open: HashMap::new(), known: Vec::new() }
    }

    /// Waits, at most for `limit`, until each candidate beside the writer has executed it.
    pub(in crate::engine) async fn see(
        &mut self,
        what: Evidence<'_>,
        writer: Option<&ServerAddress>,
        limit: Duration,
    ) -> Result<(), StoreError> {
        let all = self.access.candidates.all();
        self.forget_others(&all);
        let started = Instant::now();
        let mut asked = false;
        for server in all.iter().filter(|server| Some(*server) != writer) {
            asked = true;
            let left = limit.saturating_sub(started.elapsed());
            let seen = timeout(left, self.see_at(server, what)).await;
            let up =
                self.access.metrics.witness_up.with_label_values(&[&server.backend.to_string()]);
            up.set(i64::from(matches!(seen, Ok(Ok(())))));
            let why = match seen {
                Ok(Ok(())) => continue,
                Ok(Err(e @ StoreError::Foreign(_))) => return Err(e),
                Ok(Err(e)) => {
                    format!("the failover candidate {} cannot be asked: {e}", server.backend)
                }
                Err(_) => format!(
                    "the failover candidate {} has not executed the last change of the lock tables within {limit:.1?}: it \
                     does not follow the writer, or lags",
                    server.backend
                ),
            };
            return Err(StoreError::Unwitnessed(why));
        }
        if asked {
            self.access.metrics.witness_seconds.observe(started.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Forgets servers that are no candidates any more.
    fn forget_others(&mut self, all: &[ServerAddress]) {
        for gone in self.known.iter().filter(|server| !all.contains(server)) {
            self.open.remove(&gone.store.to_string());
            let _ =
                self.access.metrics.witness_up.remove_label_values(&[&gone.backend.to_string()]);
        }
        if self.known != all {
            self.known = all.to_vec();
        }
    }

    async fn see_at(
        &mut self,
        server: &ServerAddress,
        what: Evidence<'_>,
    ) -> Result<(), StoreError> {
        let access = Arc::clone(&self.access);
        let at = server.store.to_string();
        // Taken out meanwhile: one that is given up in the middle of an answer is of no use.
        let mut conn = match self.open.remove(&at) {
            Some(conn) => conn,
            None => {
                StoreConnection::open(&access.url.at(&server.store), access.connect_timeout).await?
            }
        };
        if access.home.lock().as_ref().is_some_and(|home| **home == *conn.ident()) {
            return Err(StoreError::Connect("it is the writer, by another address".to_owned()));
        }
        let mut pause = SHORTEST;
        while !has(&mut conn, &access.url.schema, what).await? {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
        self.open.insert(at, conn);
        Ok(())
    }
}

async fn has(
    conn: &mut StoreConnection,
    schema: &str,
    what: Evidence<'_>,
) -> Result<bool, StoreError> {
    match what {
        Evidence::Grants(..) if mutants::on(Mutant::UnwitnessedGrant) => Ok(true),
        Evidence::Grants(proxy, grants) => {
            Ok(conn.without_row(schema, proxy, grants).await?.is_empty())
        }
        Evidence::Renewal { .. } if mutants::on(Mutant::UnwitnessedRenewal) => Ok(true),
        Evidence::Renewal { id, epoch, version } => {
            let rows = conn.read_proxies(schema).await?;
            let follows = rows.iter().any(|row| {
                row.id == id
                    && row.state == ProxyState::Live
                    && (row.epoch, row.rvn) == (epoch, version)
            });
            // It follows the writer, and may have been the primary meanwhile.
            let known = if follows { conn.read_meta(schema).await?.epoch } else { epoch };
            if known > epoch {
                return Err(Foreign::Epoch { epoch, known }.into());
            }
            Ok(follows)
        }
    }
}
