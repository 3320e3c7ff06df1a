//! Answers that are made at most once a second, for all requests within it: they read the lock tables.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::status::{PageStatus, error};
use crate::admin::{AdminTable, Control, failed};
use crate::protocol::reply::ErrorReply;

const KEPT: Duration = Duration::from_secs(1);

/// The tables that are shown, and the status made of them.
const NAMES: [&str; 9] = [
    STATUS,
    "locks",
    "proxies",
    "waiters",
    "sessions",
    "deadlocks",
    "history",
    "lease",
    "backends",
];
const STATUS: &str = "status";

/// An answer, or why there is none.
type ReadAnswer = Result<Bytes, Bytes>;
type Last = Mutex<Option<(Instant, ReadAnswer)>>;

/// JSON by name.
pub(super) struct Answers {
    control: Control,
    status: PageStatus,
    last: HashMap<&'static str, Last>,
}

impl Answers {
    pub(super) fn new(control: Control, status: PageStatus) -> Self {
        let last = NAMES.into_iter().map(|name| (name, Last::default())).collect();
        Self { control, status, last }
    }

    /// The answer of this second; `None`: nothing has that name.
    pub(super) async fn json(&self, name: &str) -> Option<ReadAnswer> {
        let last = self.last.get(name)?;
        // A request that comes while one is made waits for it.
        let mut last = last.lock().await;
        if let Some((_, answer)) = last.as_ref().filter(|(at, _)| at.elapsed() < KEPT) {
            return Some(answer.clone());
        }
        let answer = self.make(name).await;
        let answer = answer.map(|text| text + "\n").map_err(|e| error(&e.message) + "\n");
        let answer = answer.map(Bytes::from).map_err(Bytes::from);
        *last = Some((Instant::now(), answer.clone()));
        Some(answer)
    }

    async fn make(&self, name: &str) -> Result<String, ErrorReply> {
        if name == STATUS {
            return Ok(self.status.json().await.to_string());
        }
        let table = self.table(name).await?;
        // An old answer without rows does not prove that there are none now.
        if table.rows.is_empty() && table.old.is_some() {
            return Err(failed(table.notes().join("; ")));
        }
        Ok(serde_json::Value::from(table.json()).to_string())
    }

    /// One of the administration's tables, whole.
    async fn table(&self, name: &str) -> Result<AdminTable, ErrorReply> {
        let control = &self.control;
        match name {
            "locks" => control.locks(None).await,
            "proxies" => control.proxies().await,
            "waiters" => Ok(control.waiters().await),
            "sessions" => Ok(control.sessions().await),
            "deadlocks" => Ok(control.deadlocks().await),
            "history" => control.history(None),
            "lease" => Ok(control.lease()),
            _ => Ok(control.backends()),
        }
    }
}
