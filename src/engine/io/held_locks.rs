//! All locks that are held, for statements that ask about names they compute row by row, and for
//! those that list locks.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::link::{StoreAccess, StoreLink};
use crate::lock::name::Key;
use crate::types::ConnectionId;

/// More held locks than this are not listed.
const MOST: usize = 10_000;

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLock {
    /// The lock.
    pub key: Key,
    /// The connection that holds it.
    pub conn: ConnectionId,
    /// How long it has been held, for display.
    pub held_ms: u64,
}

/// All held locks; `None` if there are more than [`MOST`].
pub type Census = Option<Arc<[HeldLock]>>;

/// A question for all held locks.
pub(in crate::engine) type CensusRequest = oneshot::Sender<Result<Census, String>>;

/// Starts the task that answers.
pub(in crate::engine) fn start(access: &Arc<StoreAccess>) -> mpsc::UnboundedSender<CensusRequest> {
    let (census, asked) = mpsc::unbounded_channel();
    tokio::spawn(answer(Arc::clone(access), asked));
    census
}

/// Answers until the last handle is dropped. Those who ask while the rows are read get the next
/// reading.
async fn answer(access: Arc<StoreAccess>, mut asked: mpsc::UnboundedReceiver<CensusRequest>) {
    let mut link = StoreLink::new(access);
    while let Some(first) = asked.recv().await {
        let mut replies = vec![first];
        while let Ok(another) = asked.try_recv() {
            replies.push(another);
        }
        let census = read(&mut link).await;
        for reply in replies {
            let _ = reply.send(census.clone());
        }
    }
}

async fn read(link: &mut StoreLink) -> Result<Census, String> {
    // An idle connection may have been closed meanwhile: again on a new one.
    for last in [false, true] {
        let conn = link.get().await.map_err(|e| e.to_string())?;
        let rows = conn.read_all_held(MOST + 1).await;
        link.note_result(&rows);
        match rows {
            Ok(rows) if rows.len() > MOST => return Ok(None),
            Ok(rows) => {
                let held = rows.iter().filter_map(|row| {
                    let key = Key::from_row(&row.key)?;
                    Some(HeldLock { key, conn: ConnectionId(row.conn), held_ms: row.held_ms })
                });
                return Ok(Some(held.collect()));
            }
            Err(e) if last || !e.is_unknown() => return Err(e.to_string()),
            Err(_) => {}
        }
    }
    Err("no answer".to_owned())
}
