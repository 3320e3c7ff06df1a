//! Connections to the lock tables: opened when needed, dropped when they fail, and listed.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::{ServerAddress, StoreUrl};
use crate::engine::shared::fenced_sessions::FencedSessions;
use crate::engine::shared::history::History;
use crate::engine::shared::keep_names::KeepNames;
use crate::engine::shared::late_rows::LateRows;
use crate::engine::shared::stuck::Stuck;
use crate::metrics::Metrics;
use crate::servers::candidates::Candidates;
use crate::servers::pairs::Pairs;
use crate::servers::route::StoreRoute;
use crate::servers::writer::{Destination, Writer};
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::identity::Thread;
use crate::store::rights::Rights;

/// The way to the store, and the connections that are open there.
#[derive(Debug)]
pub struct StoreAccess {
    /// The store's servers, account and schema.
    pub url: StoreUrl,
    /// Limit of a connect.
    pub connect_timeout: Duration,
    /// Which of the servers connections go to.
    pub writer: Writer,
    /// Servers that must have executed a grant or a renewal before it counts.
    pub candidates: Candidates,
    /// Whether the sessions of each server are where its lock tables are.
    pub pairs: Pairs,
    /// Ids of the engine's own connections, for the proxies row.
    pub open: Mutex<Vec<Thread>>,
    /// Identity of the server whose locks are kept; none before the first registration.
    pub home: Mutex<Option<Arc<str>>>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Locks that stay held until an operator helps.
    pub stuck: Arc<Stuck>,
    /// Holds that have ended.
    pub history: Arc<History>,
    /// Sessions share their connections to the server: these are found by their tag alone.
    pub shares: bool,
    /// For how long names are kept.
    pub keep_names: KeepNames,
    /// Locks whose rows are written later.
    pub late_rows: Arc<LateRows>,
    /// Sessions of this process's incarnations that are over.
    pub fenced: Arc<FencedSessions>,
}

impl StoreAccess {
    /// Whether the server's lists show the sessions of a proxy that is gone: then its rows may be older than its locks.
    pub fn set_found(&self, found: bool) {
        self.keep_names.set_found(found);
        self.late_rows.set_found(found);
    }

    /// The way to the lock tables.
    fn route(&self) -> StoreRoute {
        let (url, writer) = (self.url.clone(), self.writer.clone());
        StoreRoute { url, limit: self.connect_timeout, writer }
    }

    /// Opens a connection to the writer and lists it.
    async fn connect(&self) -> Result<(StoreConnection, Destination), StoreError> {
        let mut opened = self.route().open().await;
        match &mut opened {
            Ok((conn, to)) => {
                let to = to.clone();
                conn.give_up_when(async move { to.left().await });
                self.open.lock().push(conn.thread());
            }
            Err(e) => self.count(e),
        }
        opened
    }

    /// The server that connections go to, for messages.
    fn server(&self) -> String {
        let last = self.writer.last().map(|to| to.store().to_string());
        last.unwrap_or_else(|| self.writer.to_string())
    }

    /// Strikes a connection off the list. Another may have its id by now, after a restart.
    pub fn forget(&self, thread: &Thread) {
        self.open.lock().retain(|open| open != thread);
    }

    /// Ids of the open connections that lead where `conn` does.
    pub fn beside(&self, conn: &StoreConnection) -> Vec<u64> {
        let open = self.open.lock();
        open.iter()
            .filter(|thread| thread.is_beside(&conn.thread()))
            .map(|thread| thread.id)
            .collect()
    }

    /// Shows the account's rights as metrics.
    pub fn show_rights(&self, rights: Rights) {
        let Rights { process, kill, performance_schema, .. } = rights;
        for (right, has) in
            [("process", process), ("kill", kill), ("performance_schema", performance_schema)]
        {
            self.metrics.store_rights.with_label_values(&[right]).set(i64::from(has));
        }
    }

    /// A store that is never reached.
    #[cfg(test)]
    pub(in crate::engine) fn unreachable() -> Self {
        let url = StoreUrl::parse("mysql://nobody@127.0.0.1:1/lockstead").expect("a URL");
        let store = url.hosts[0].clone();
        let server = crate::config::ServerAddress { backend: store.clone(), store };
        Self {
            writer: Writer::among(vec![server]),
            candidates: Candidates::default(),
            pairs: Pairs::default(),
            shares: false,
            url,
            connect_timeout: Duration::from_secs(1),
            open: Mutex::default(),
            home: Mutex::default(),
            metrics: Arc::new(Metrics::new(None).expect("metrics")),
            stuck: Arc::default(),
            history: History::in_memory(100),
            keep_names: KeepNames::new(|| Duration::ZERO),
            late_rows: Arc::new(LateRows::new(|| Duration::ZERO)),
            fenced: Arc::default(),
        }
    }

    /// Counts an error.
    pub fn count(&self, e: &StoreError) {
        self.metrics.store_errors.with_label_values(&[e.label()]).inc();
    }
}

/// A connection that is opened when needed and dropped when it fails.
#[derive(Debug)]
pub struct StoreLink {
    access: Arc<StoreAccess>,
    conn: Option<StoreConnection>,
    /// Where it leads.
    to: Option<Destination>,
}

impl StoreLink {
    /// A link that is not connected yet.
    pub fn new(access: Arc<StoreAccess>) -> Self {
        Self { access, conn: None, to: None }
    }

    /// An open connection to the server whose locks are kept. An error here means that nothing
    /// was sent.
    ///
    /// Another server's sessions and rows must not be taken for this one's.
    pub async fn get(&mut self) -> Result<&mut StoreConnection, StoreError> {
        let home = self.access.home.lock().clone();
        let at_home = |conn: &StoreConnection| home.as_ref().is_none_or(|h| **h == *conn.ident());
        if self.conn.as_ref().is_some_and(|conn| !at_home(conn)) {
            self.drop_connection();
        }
        if !at_home(self.get_any().await?) {
            self.drop_connection();
            return Err(StoreError::Connect("another server answers".to_owned()));
        }
        // This one, though another server may have become the writer while it was opened: one to that is not asked for.
        self.conn.as_mut().ok_or_else(|| StoreError::Connect("closed".to_owned()))
    }

    /// An open connection to the server that is the writer now, or that the only address leads to now. An error here
    /// means that nothing was sent.
    pub async fn get_any(&mut self) -> Result<&mut StoreConnection, StoreError> {
        if self.to.as_ref().is_some_and(Destination::is_left) {
            self.drop_connection();
        }
        if self.conn.is_none() {
            let opened = self.access.connect().await;
            let why = |e| match e {
                StoreError::Connect(why) => format!("{}: {why}", self.access.server()),
                e => e.to_string(),
            };
            let (conn, to) = opened.map_err(|e| StoreError::Connect(why(e)))?;
            (self.conn, self.to) = (Some(conn), Some(to));
        }
        self.conn.as_mut().ok_or_else(|| StoreError::Connect("closed".to_owned()))
    }

    /// The server that it leads to, and its identity, if it is connected.
    pub fn server(&self) -> Option<(ServerAddress, String)> {
        let conn = self.conn.as_ref()?;
        self.to.as_ref().map(|to| (to.address().clone(), conn.ident().to_owned()))
    }

    /// Takes in a result: an error is counted, and a broken connection dropped.
    pub fn note_result<T>(&mut self, result: &Result<T, StoreError>) {
        if let Err(e) = result {
            self.access.count(e);
            let kept = matches!(
                e,
                StoreError::Refused { .. }
                    | StoreError::Blind
                    | StoreError::Unwitnessed(_)
                    | StoreError::Unchecked(_)
            );
            if !kept || e.is_elsewhere() {
                self.drop_connection();
            }
        }
    }

    /// Asks, and takes in the result.
    pub async fn ask<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut StoreConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = match self.get().await {
            Ok(conn) => ask(conn).await,
            Err(e) => Err(e),
        };
        self.note_result(&result);
        result
    }

    /// An idle connection may have been closed meanwhile: asks again on a new one. The query may
    /// be run twice without harm.
    pub async fn ask_twice<T>(
        &mut self,
        ask: impl AsyncFn(&mut StoreConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.ask(&ask).await {
            Err(e) if e.is_unknown() => self.ask(&ask).await,
            last => last,
        }
    }

    /// Drops the connection.
    pub fn drop_connection(&mut self) {
        self.to = None;
        if let Some(conn) = self.conn.take() {
            self.access.forget(&conn.thread());
        }
    }
}

impl Drop for StoreLink {
    fn drop(&mut self) {
        self.drop_connection();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_of_an_earlier_run_is_not_taken_for_one_with_its_id() {
        let (old, new) = (Thread::of(1000, 12), Thread::of(2000, 12));
        let access = StoreAccess::unreachable();
        access.open.lock().extend([old.clone(), new.clone()]);
        access.forget(&old);
        assert_eq!(*access.open.lock(), [new]);
    }
}
