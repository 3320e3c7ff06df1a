//! Asks the server, by the store account, what a session has on its connection that no state tracker reports.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

use crate::store::session_lists::SessionLists;
use crate::types::BackendId;

/// Sessions that are asked about at once.
const ROOM: usize = 256;
/// How long one waits for the answer; it stays on its connection then.
const PATIENCE: Duration = Duration::from_secs(2);

/// A question about the session on a connection.
#[derive(Debug)]
pub struct AuditRequest {
    /// The connection.
    pub conn: BackendId,
    /// The address of its server.
    pub server: String,
    /// Takes the answer; `None`: it is not known.
    pub answer: oneshot::Sender<Option<SessionLists>>,
}

/// Where sessions ask. Copies lead to the same.
#[derive(Debug, Clone)]
pub struct Audits {
    asks: mpsc::Sender<AuditRequest>,
    asked: Arc<Mutex<mpsc::Receiver<AuditRequest>>>,
}

impl Default for Audits {
    fn default() -> Self {
        let (asks, asked) = mpsc::channel(ROOM);
        Self { asks, asked: Arc::new(Mutex::new(asked)) }
    }
}

impl Audits {
    /// What the server lists of the session on a connection; `None`: it is not known, now or ever.
    pub(crate) async fn ask(&self, conn: BackendId, server: String) -> Option<SessionLists> {
        let (answer, answered) = oneshot::channel();
        self.asks.try_send(AuditRequest { conn, server, answer }).ok()?;
        timeout(PATIENCE, answered).await.ok()?.ok()?
    }

    /// The next question.
    pub async fn next(&self) -> Option<AuditRequest> {
        self.asked.lock().await.recv().await
    }
}
