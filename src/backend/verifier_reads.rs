//! Reading what the server keeps of passwords, when a session cannot wait for the next turn.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// Between those who want a read, and the one who reads.
pub struct VerifierReads {
    wanted: Notify,
    /// Number of the last read that has begun; 0: nobody reads.
    begun: AtomicU64,
    /// Number of the last read that has ended.
    ended: watch::Sender<u64>,
}

impl Default for VerifierReads {
    fn default() -> Self {
        Self { wanted: Notify::new(), begun: AtomicU64::new(0), ended: watch::Sender::new(0) }
    }
}

impl VerifierReads {
    /// Waits until all is read again, so long at most. Where nobody reads there is nothing to wait for.
    pub async fn again(&self, limit: Duration) {
        let mut ended = self.ended.subscribe();
        let begun = self.begun.load(Ordering::Acquire);
        if begun == 0 {
            return;
        }
        self.wanted.notify_one();
        // One that is under way may have passed what is asked for.
        let _ = timeout(limit, ended.wait_for(|number| *number > begun)).await;
    }

    /// A read begins.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::AcqRel);
    }

    /// It has ended, with or without success.
    pub fn end(&self) {
        self.ended.send_replace(self.begun.load(Ordering::Acquire));
    }

    /// Waits until somebody wants a read.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }
}

impl fmt::Debug for VerifierReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifierReads")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test]
    async fn a_session_waits_for_a_read_that_begins_after_its_wish() {
        let reads = Arc::new(VerifierReads::default());
        reads.again(LONG).await;
        reads.begin();
        let asks = tokio::spawn({
            let reads = Arc::clone(&reads);
            async move { reads.again(LONG).await }
        });
        reads.wanted().await;
        reads.end();
        tokio::task::yield_now().await;
        assert!(!asks.is_finished(), "this one had begun before");
        reads.begin();
        reads.end();
        asks.await.expect("no panic");
        // Nobody ends it.
        reads.again(Duration::from_millis(10)).await;
    }
}
