//! The administration's tables as JSON, for the page and for scripts.

use serde_json::{Map, Value, json};

use super::rates::Rates;
use crate::admin::{AdminTable, Control};
use crate::engine::handle::Engine;
use crate::protocol::reply::ErrorReply;

/// Rows of locks, waits and contended locks in a status.
const LOCKS: usize = 50;
const WAITS: usize = 200;
const CONTENDED: usize = 8;
const DEADLOCKS: usize = 20;
const PAST: usize = 50;

/// What holds while the lock tables cannot be written.
const PROTECTED: &str = "the server's own locks protect, and their rows follow";
const UNPROTECTED: &str = "nothing is granted";

/// Makes statuses.
pub(super) struct PageStatus {
    control: Control,
    rates: Vec<Rates>,
}

impl PageStatus {
    pub(super) fn new(control: Control, rates: Vec<Rates>) -> Self {
        Self { control, rates }
    }

    /// The status of this moment.
    pub(super) async fn json(&self) -> Value {
        let (mut locks, locks_failed) = told(self.control.locks(None).await);
        let (proxies, proxies_failed) = told(self.control.proxies().await);
        let failed = locks_failed.or(proxies_failed);
        let waiters = self.control.waiters().await.json();
        let of = |rows: &[Value], cluster: &Value| {
            rows.iter().filter(|row| row["cluster"] == *cluster).count()
        };
        let clusters = self.control.clusters.iter().zip(&self.rates).map(|(cluster, rates)| {
            let name = cluster.name.as_deref().map_or(Value::Null, Value::from);
            json!({
                "cluster": name,
                "problem": cluster.health().err(),
                "unfenced": cluster.unfenced(),
                "stuck": cluster.engine.as_ref().map_or_else(Vec::new, warnings),
                "observes": cluster.engine.is_none(),
                "held": of(&locks, &name),
                "waiting": cluster.metrics.waiting.get(),
                "rates": rates.json(),
            })
        });
        let clusters: Vec<Value> = clusters.collect();
        let mut contended: Vec<Value> =
            locks.iter().filter(|row| row["waiters_here"].as_u64() > Some(0)).cloned().collect();
        contended.sort_by_key(|row| std::cmp::Reverse(row["waiters_here"].as_u64()));
        contended.truncate(CONTENDED);
        let age = |row: &Value| row["held_seconds"].as_f64().unwrap_or_default();
        locks.sort_by(|a, b| age(b).total_cmp(&age(a)));
        // How long the server has held its own locks is not known.
        let (rows, of_server): (Vec<Value>, Vec<Value>) =
            locks.into_iter().partition(|row| row["held_by"] == "row");
        let locks = [cut(rows, LOCKS), cut(of_server, LOCKS)].concat();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "draining": self.control.is_leaving(),
            "failed": failed.as_ref().map(|(why, _)| why),
            "seen_seconds_ago": failed.as_ref().and_then(|(_, age)| *age),
            "clusters": clusters,
            "lease": self.control.lease().json(),
            "backends": self.control.backends().json(),
            "proxies": proxies,
            "locks": locks,
            "contended": contended,
            "waiters": cut(waiters, WAITS),
            // Where it is off there is none.
            "history": cut(self.control.history(None).map(|t| t.json()).unwrap_or_default(), PAST),
            "deadlocks": cut(self.control.deadlocks().await.json(), DEADLOCKS),
        })
    }
}

/// What an operator should know of a cluster.
fn warnings(engine: &Engine) -> Vec<String> {
    let unwritable = engine.lease().unwritable();
    let unwritable = unwritable.map(|why| {
        let until = if engine.lease().server_protects() { PROTECTED } else { UNPROTECTED };
        format!("the lock tables cannot be written ({why}): {until}")
    });
    engine.stuck().all().into_iter().chain(unwritable).collect()
}

fn cut(mut rows: Vec<Value>, most: usize) -> Vec<Value> {
    rows.truncate(most);
    rows
}

/// The rows; and why they are not of this moment, with their age if there are any, when the store does
/// not answer.
fn told(table: Result<AdminTable, ErrorReply>) -> (Vec<Value>, Option<(String, Option<u64>)>) {
    match table {
        Ok(table) => {
            let old = table.old.as_ref();
            let failed = old.map(|old| {
                (format!("the lock tables do not answer: {}", old.why), Some(old.age.as_secs()))
            });
            (table.json(), failed)
        }
        Err(e) => (Vec::new(), Some((e.message, None))),
    }
}

/// An object of one word.
pub(super) fn error(text: &str) -> String {
    Value::Object(Map::from_iter([("error".to_owned(), Value::from(text))])).to_string()
}
