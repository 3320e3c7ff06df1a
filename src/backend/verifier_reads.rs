//! Reading what the server keeps of passwords, when a session cannot wait for the next turn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Between two reads, however many sessions want one: a client causes a wish by each wrong password.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a session waits for a read. All that want one get one in this time.
const LIMIT: Duration = Duration::from_secs(2);
const _: () = assert!(PAUSE.as_secs() < LIMIT.as_secs());

/// Between those who want a read, and the one who reads.
#[derive(Debug)]
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
    /// Waits until all is read again, for some seconds at most. Where nobody reads there is nothing to wait for.
    pub async fn again(&self) {
        self.again_within(LIMIT).await;
    }

    async fn again_within(&self, limit: Duration) {
        let mut ended = self.ended.subscribe();
        let begun = self.begun.load(Ordering::Acquire);
        if begun == 0 {
            return;
        }
        self.wanted.notify_one();
        // A read that is under way may have passed what is asked for.
        let _ = timeout(limit, ended.wait_for(|number| *number > begun)).await;
    }

    /// A read begins.
    pub fn note_start(&self) {
        self.begun.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that a read has ended, with or without success.
    pub fn end(&self) {
        self.ended.send_replace(self.begun.load(Ordering::Acquire));
    }

    /// Waits until it is time for the next read, after one that has begun at this moment: somebody wants it, or `every`
    /// has passed.
    pub async fn next(&self, before: Instant, every: Duration) {
        tokio::select! {
            () = sleep(every) => {}
            () = self.wanted.notified() => sleep_until(before + PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::JoinHandle;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    fn asking(reads: &Arc<VerifierReads>) -> JoinHandle<()> {
        let reads = Arc::clone(reads);
        tokio::spawn(async move { reads.again().await })
    }

    #[tokio::test]
    async fn a_session_waits_for_a_read_that_begins_after_its_wish() {
        let reads = Arc::new(VerifierReads::default());
        reads.again().await;
        let before = Instant::now();
        reads.note_start();
        let asks = asking(&reads);
        reads.next(before, LONG).await;
        reads.end();
        tokio::task::yield_now().await;
        assert!(!asks.is_finished(), "this one had begun before");
        reads.note_start();
        reads.end();
        asks.await.expect("no panic");
        // No read ends, so the limit ends the wait.
        reads.again_within(Duration::from_millis(10)).await;
    }

    #[tokio::test]
    async fn wishes_that_come_fast_share_a_read() {
        let reads = Arc::new(VerifierReads::default());
        let begun = Instant::now();
        let reader = tokio::spawn({
            let reads = Arc::clone(&reads);
            async move {
                loop {
                    let before = Instant::now();
                    reads.note_start();
                    reads.end();
                    reads.next(before, LONG).await;
                }
            }
        });
        tokio::task::yield_now().await;
        for _ in 0..2 {
            let all: Vec<_> = (0..100).map(|_| asking(&reads)).collect();
            for one in all {
                one.await.expect("no panic");
            }
        }
        // The last of them may not be over.
        let read = *reads.ended.borrow();
        assert!(read <= 2 + begun.elapsed().as_secs(), "{read} reads for 200 wishes");
        reader.abort();
    }
}
