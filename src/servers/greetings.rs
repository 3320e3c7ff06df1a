//! Connections that wait for a server's greeting. If they lead back to this proxy, directly or over others, each makes
//! a client here that needs one as well, and none is greeted. So only some wait at a time. If none is greeted for a
//! while, one of the clients that wait for a turn is refused with a mark. A proxy that is refused with its own mark
//! knows where its connection has led.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use memchr::memmem;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::config::HostPort;

/// How many may wait at a time. A server greets within a millisecond or so.
const MOST: usize = 100;

/// Tells the refusals of one cluster of one process from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RouteMark(u64);

impl RouteMark {
    pub(super) fn random() -> Self {
        Self(rand::random())
    }

    fn text(self) -> String {
        format!("route {:016x}", self.0)
    }
}

/// Why a connection is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTurn {
    /// Nobody was greeted for a while.
    #[error(
        "for {waited:?} none of {MOST} connections before this one was greeted; if `backend` leads back to this proxy, \
         none will be ({mark})"
    )]
    Crowded {
        /// How long it was waited for.
        waited: Duration,
        /// Tells this proxy's refusals from others'.
        mark: String,
    },
    /// The connection would come back as a client.
    #[error(
        "`backend` leads back to this proxy, directly or over other proxies: let it name the server ({mark})"
    )]
    Ring {
        /// Tells this proxy's refusals from others'.
        mark: String,
    },
}

/// Connections that wait for the greeting of one server.
#[derive(Debug)]
pub struct Greetings {
    mark: RouteMark,
    turns: Semaphore,
    /// How many were greeted.
    greeted: AtomicU64,
    /// When a client was refused last to find out.
    scouted: Mutex<Option<Instant>>,
    /// Connections come back as clients.
    ring: AtomicBool,
}

impl Greetings {
    pub(super) fn new(mark: RouteMark) -> Self {
        Self {
            mark,
            turns: Semaphore::new(MOST),
            greeted: AtomicU64::new(0),
            scouted: Mutex::default(),
            ring: AtomicBool::new(false),
        }
    }

    /// The right to wait for a greeting. An error for one of those who wait if nobody is greeted within `patience`; the caller
    /// ends it for the others.
    pub async fn turn(&self, patience: Duration) -> Result<SemaphorePermit<'_>, NoTurn> {
        loop {
            if self.ring.load(Ordering::Relaxed) {
                return Err(NoTurn::Ring { mark: self.mark.text() });
            }
            let before = self.greeted.load(Ordering::Relaxed);
            match timeout(patience, self.turns.acquire()).await {
                Ok(Ok(turn)) => return Ok(turn),
                // Others were greeted meanwhile: the server is slow, and there is no ring.
                Err(_) if self.greeted.load(Ordering::Relaxed) != before => {}
                Err(_) if !self.may_scout(patience) => {}
                Ok(Err(_)) | Err(_) => {
                    return Err(NoTurn::Crowded { waited: patience, mark: self.mark.text() });
                }
            }
        }
    }

    /// Whether one more client is to find out where connections lead: one in each such time.
    fn may_scout(&self, each: Duration) -> bool {
        let mut scouted = self.scouted.lock();
        let may = scouted.is_none_or(|last| last.elapsed() >= each);
        if may {
            *scouted = Some(Instant::now());
        }
        may
    }

    /// A server has greeted.
    pub fn greeted(&self) {
        self.greeted.fetch_add(1, Ordering::Relaxed);
        self.ring.store(false, Ordering::Relaxed);
    }

    /// Takes in an error that has come from `backend` in place of a greeting. An error if it is this proxy's own.
    pub fn refused(&self, frame: &[u8], backend: &HostPort) -> Result<(), NoTurn> {
        let mark = self.mark.text();
        if memmem::find(frame, mark.as_bytes()).is_none() {
            return Ok(());
        }
        if !self.ring.swap(true, Ordering::Relaxed) {
            tracing::error!(
                %backend,
                "`backend` leads back to this proxy, directly or over other proxies: no client is served before it leads \
                 to a server"
            );
        }
        Err(NoTurn::Ring { mark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend() -> HostPort {
        HostPort { host: "db".to_owned(), port: 3306 }
    }

    #[tokio::test]
    async fn a_proxy_knows_its_own_refusal_and_no_others() {
        let (own, other) =
            (Greetings::new(RouteMark::random()), Greetings::new(RouteMark::random()));
        let patience = Duration::from_millis(1);
        let mut turns = Vec::new();
        for _ in 0..MOST {
            turns.push(own.turn(patience).await.expect("a turn"));
        }
        let refused = own.turn(patience).await.expect_err("no turn is left").to_string();
        assert_eq!(other.refused(refused.as_bytes(), &backend()), Ok(()));
        assert!(other.turn(patience).await.is_ok());
        let ring = own.refused(refused.as_bytes(), &backend()).expect_err("its own");
        drop(turns);
        assert_eq!(own.turn(patience).await.expect_err("refused at once"), ring);
        own.greeted();
        assert!(own.turn(patience).await.is_ok());
    }
}
