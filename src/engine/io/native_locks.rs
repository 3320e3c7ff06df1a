//! The server's own locks: those of single sessions, for sessions that ask, and those of clients that do not
//! come through a proxy.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::link::{StoreAccess, StoreLink};
use crate::lock::name::{Key, Name};
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::user_locks::UserLocks;
use crate::types::{BackendId, Flavour};

/// Locks of direct clients that are remembered.
const MOST: usize = 10_000;

/// The server's own locks of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeLocks {
    /// Names of the locks.
    pub names: Vec<Name>,
    /// Whether these are all: the server has a list. Otherwise only the names that were asked for were looked at.
    pub complete: bool,
    /// Why there is no list, and what to do about it.
    pub unlisted: Option<&'static str>,
}

/// A question for the server's own locks of a session.
#[derive(Debug)]
pub(in crate::engine) struct NativeQuestion {
    pub(in crate::engine) conn: BackendId,
    /// Names to look at if there is no list.
    pub(in crate::engine) asked: Vec<Name>,
    pub(in crate::engine) reply: oneshot::Sender<Result<NativeLocks, String>>,
}

/// A lock of the server's own that has no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectLock {
    /// The connection that holds it.
    pub conn: BackendId,
    /// The lock's name, as the server compares names.
    pub name: Name,
    /// user@host, if the server tells it.
    pub owner: Option<String>,
    /// The kind of server, which compares names.
    pub flavour: Flavour,
}

/// Locks of clients that do not come through a proxy, as they were listed last.
#[derive(Debug, Default)]
pub struct DirectLocks(Mutex<Option<(Instant, Vec<DirectLock>)>>);

impl DirectLocks {
    /// The locks; of very many, a part.
    pub fn list(&self) -> Vec<DirectLock> {
        self.0.lock().as_ref().map_or_else(Vec::new, |(_, locks)| locks.clone())
    }

    /// How long ago they were listed.
    pub fn age(&self) -> Option<Duration> {
        self.0.lock().as_ref().map(|(at, _)| at.elapsed())
    }

    pub(in crate::engine) fn set(&self, mut locks: Vec<DirectLock>) {
        locks.truncate(MOST);
        *self.0.lock() = Some((Instant::now(), locks));
    }
}

/// NativeAnswers until the last handle is dropped. Sessions that ask while the server is asked get the next
/// answer.
pub(in crate::engine) async fn answer(
    access: Arc<StoreAccess>,
    mut asked: mpsc::UnboundedReceiver<NativeQuestion>,
) {
    let mut link = StoreLink::new(access);
    let mut complaint = Complaint::of(true);
    while let Some(first) = asked.recv().await {
        let mut questions = vec![first];
        while let Ok(another) = asked.try_recv() {
            questions.push(another);
        }
        let mut answers = link.ask(async |conn| read(conn, &questions).await).await;
        if answers.as_ref().is_err_and(StoreError::is_unknown) {
            // An idle connection may have been closed meanwhile.
            answers = link.ask(async |conn| read(conn, &questions).await).await;
        }
        match answers {
            Ok((answers, unlisted)) => {
                complaint.note_unlisted(unlisted);
                for (NativeQuestion { reply, .. }, answer) in questions.into_iter().zip(answers) {
                    let _ = reply.send(Ok(answer));
                }
            }
            Err(e) => {
                for NativeQuestion { reply, .. } in questions {
                    let _ = reply.send(Err(e.to_string()));
                }
            }
        }
    }
}

/// That the server has no list is logged once, and again after it had one.
#[derive(Debug)]
pub(in crate::engine) struct Complaint {
    said: bool,
    native: bool,
}

impl Complaint {
    /// `native`: sessions take the server's own locks.
    pub(in crate::engine) fn of(native: bool) -> Self {
        Self { said: false, native }
    }

    pub(in crate::engine) fn note_unlisted(&mut self, unlisted: Option<&'static str>) {
        let before = std::mem::replace(&mut self.said, unlisted.is_some());
        let Some(why) = unlisted.filter(|_| !before) else { return };
        if self.native {
            tracing::warn!(
                why,
                "the server does not list its own locks: locks whose names are not in a statement's text have no rows"
            );
        } else {
            tracing::info!(
                why,
                "the server does not list its own locks: locks that clients take there directly are not seen"
            );
        }
    }
}

/// The answer to each question; and why there is no list.
type NativeAnswers = (Vec<NativeLocks>, Option<&'static str>);

async fn read(
    conn: &mut StoreConnection,
    questions: &[NativeQuestion],
) -> Result<NativeAnswers, StoreError> {
    let mut ids: Vec<u64> = questions.iter().map(|q| q.conn.0).collect();
    ids.sort_unstable();
    ids.dedup();
    let (locks, garbled, unlisted) = match conn.user_locks(Some(&ids)).await? {
        UserLocks::Listed { locks, garbled } => (locks, garbled, None),
        UserLocks::Unlisted(why) => (Vec::new(), Vec::new(), Some(why)),
    };
    let complete = |conn| unlisted.is_none() && !garbled.contains(&conn);
    let looked: Vec<(Key, BackendId)> = questions
        .iter()
        .filter(|q| !complete(q.conn))
        .flat_map(|q| q.asked.iter().map(|name| (name.key.clone(), q.conn)))
        .collect();
    let held = conn.holds_natively(&looked).await?;
    let held: Vec<&(Key, BackendId)> =
        looked.iter().zip(held).filter(|(_, held)| *held).map(|(lock, _)| lock).collect();
    let answer = |NativeQuestion { conn, asked, .. }: &NativeQuestion| {
        let listed = locks.iter().filter(|lock| lock.conn == *conn).map(|lock| &lock.name);
        let mut names: Vec<Name> = listed
            // As the client wrote it, if that is known.
            .map(|name| asked.iter().find(|a| a.key == name.key).unwrap_or(name).clone())
            .collect();
        for name in asked {
            let is_held = held.iter().any(|(key, of)| *key == name.key && of == conn);
            if is_held && names.iter().all(|known| known.key != name.key) {
                names.push(name.clone());
            }
        }
        NativeLocks { names, complete: complete(*conn), unlisted }
    };
    Ok((questions.iter().map(answer).collect(), unlisted))
}
