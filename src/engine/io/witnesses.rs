//! Failover candidates as witnesses: a grant or a renewal counts only when each of them has executed it.
//!
//! Then a primary that was left alone may go on taking writes without a second holder. A proxy that stays there counts
//! only what the server that was promoted has executed, before that server stopped following
//! (docs/adr/0034-witnesses.md). The rows are read at the candidates themselves. A position in the log would not do:
//! MariaDB says yes for the transaction of another server.

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
    /// The one that is being asked.
    asked: Option<ServerAddress>,
}

impl Witnesses {
    pub(in crate::engine) fn new(access: Arc<StoreAccess>) -> Self {
        Self { access, open: HashMap::new(), known: Vec::new(), asked: None }
    }

    /// What it means that the last question was given up: nothing if none was.
    pub(in crate::engine) fn given_up(&mut self, after: Duration) -> Option<StoreError> {
        let server = self.asked.take()?;
        self.show(&server, false);
        let at = &server.backend;
        let why = format!("the failover candidate {at} gives no answer within {after:.1?}");
        Some(StoreError::Unwitnessed(why))
    }

    /// Waits, at most for `limit`, until each candidate has executed what was written at `writer`, given by address and
    /// identity. If the writer is a candidate, it is not asked.
    pub(in crate::engine) async fn see(
        &mut self,
        what: Evidence<'_>,
        writer: Option<&(ServerAddress, String)>,
        limit: Duration,
    ) -> Result<(), StoreError> {
        if self.access.candidates.all().is_empty() {
            self.forget_others(&[]);
            return Ok(());
        }
        let Some((writer, ident)) = writer else {
            return Err(StoreError::Connect("closed".to_owned()));
        };
        let candidates = self.access.candidates.beside(writer);
        self.forget_others(&candidates);
        // A distant one takes longer to be reached than to answer.
        for server in &candidates {
            self.asked = Some(server.clone());
            let reached = self.reach(server, ident).await;
            self.asked = None;
            self.show(server, reached.is_ok());
            let problem = format!("the failover candidate {} cannot be asked", server.backend);
            reached.map_err(|e| StoreError::Unwitnessed(format!("{problem}: {e}")))?;
        }
        let started = Instant::now();
        for server in &candidates {
            let left = limit.saturating_sub(started.elapsed());
            self.asked = Some(server.clone());
            let seen = timeout(left, self.see_at(server, what)).await;
            self.asked = None;
            self.show(server, matches!(seen, Ok(Ok(()))));
            let at = &server.backend;
            let why = match seen {
                Ok(Ok(())) => continue,
                Ok(Err(e @ StoreError::Foreign(_))) => return Err(e),
                Ok(Err(e)) => format!("the failover candidate {at} cannot be asked: {e}"),
                Err(_) => format!(
                    "the failover candidate {at} has not executed the last change of the lock tables within {limit:.1?}: it \
                     does not follow the writer, or lags"
                ),
            };
            return Err(StoreError::Unwitnessed(why));
        }
        Ok(())
    }

    fn show(&self, server: &ServerAddress, up: bool) {
        let gauge = &self.access.metrics.witness_up;
        gauge.with_label_values(&[&server.backend.to_string()]).set(i64::from(up));
    }

    /// Opens a connection to a candidate unless there is one.
    async fn reach(&mut self, server: &ServerAddress, writer: &str) -> Result<(), StoreError> {
        let at = server.store.to_string();
        if !self.open.contains_key(&at) {
            let url = self.access.url.at(&server.store);
            let conn = StoreConnection::open(&url, self.access.connect_timeout).await?;
            if conn.ident() == writer {
                let why = "it is the writer, by another address".to_owned();
                return Err(StoreError::Connect(why));
            }
            self.open.insert(at, conn);
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
        let at = server.store.to_string();
        // Taken out meanwhile: one that is given up in the middle of an answer is of no use.
        let Some(mut conn) = self.open.remove(&at) else {
            return Err(StoreError::Connect("closed".to_owned()));
        };
        let mut pause = SHORTEST;
        while !has(&mut conn, what).await? {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
        self.open.insert(at, conn);
        Ok(())
    }
}

async fn has(conn: &mut StoreConnection, what: Evidence<'_>) -> Result<bool, StoreError> {
    match what {
        Evidence::Grants(..) if mutants::on(Mutant::UnwitnessedGrant) => Ok(true),
        Evidence::Grants(proxy, grants) => Ok(conn.without_row(proxy, grants).await?.is_empty()),
        Evidence::Renewal { .. } if mutants::on(Mutant::UnwitnessedRenewal) => Ok(true),
        Evidence::Renewal { id, epoch, version } => {
            let rows = conn.read_proxies().await?;
            let follows = rows.iter().any(|row| {
                row.id == id
                    && row.state == ProxyState::Live
                    && (row.epoch, row.rvn) == (epoch, version)
            });
            // The candidate follows the writer, but may have been the primary meanwhile.
            let known = if follows { conn.read_meta().await?.epoch } else { epoch };
            if known > epoch {
                return Err(Foreign::Epoch { epoch, known }.into());
            }
            Ok(follows)
        }
    }
}
