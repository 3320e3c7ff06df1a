//! Answers that are made once a second, for all who ask within it: the lock tables are read for them.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::status::{Status, error};
use crate::admin::{Control, Table};
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
    "digests",
    "lease",
    "backends",
];
const STATUS: &str = "status";

type Last = Mutex<Option<(Instant, Bytes)>>;

/// JSON by name.
pub(super) struct Answers {
    control: Control,
    status: Status,
    last: HashMap<&'static str, Last>,
}

/// Why there is none.
pub(super) enum Problem {
    /// Nothing has that name.
    Unknown,
    /// In words for people.
    Failed(String),
}

impl Answers {
    pub(super) fn new(control: Control, status: Status) -> Self {
        let last = NAMES.into_iter().map(|name| (name, Last::default())).collect();
        Self { control, status, last }
    }

    /// That of this second.
    pub(super) async fn json(&self, name: &str) -> Result<Bytes, Problem> {
        let last = self.last.get(name).ok_or(Problem::Unknown)?;
        // Who comes while one is made waits for it.
        let mut last = last.lock().await;
        if let Some((_, text)) = last.as_ref().filter(|(at, _)| at.elapsed() < KEPT) {
            return Ok(text.clone());
        }
        let text = if name == STATUS {
            self.status.json().await.to_string()
        } else {
            let table = self.table(name).await.map_err(|e| Problem::Failed(error(&e.message)))?;
            serde_json::Value::from(table.json()).to_string()
        };
        let text = Bytes::from(text + "\n");
        *last = Some((Instant::now(), text.clone()));
        Ok(text)
    }

    /// One of the administration's tables, whole.
    async fn table(&self, name: &str) -> Result<Table, ErrorReply> {
        let control = &self.control;
        match name {
            "locks" => control.locks(None).await,
            "proxies" => control.proxies().await,
            "waiters" => Ok(control.waiters().await),
            "sessions" => Ok(control.sessions().await),
            "deadlocks" => Ok(control.deadlocks().await),
            "digests" => control.digests(),
            "lease" => Ok(control.lease()),
            _ => Ok(control.backends()),
        }
    }
}
