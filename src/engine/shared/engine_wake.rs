//! When requests wake the engine.
//!
//! While batches are under way, most requests only join what the next batch will contain. Waking the engine for each of
//! them costs a write, and two switches of threads. So the engine says how many it needs before it can send
//! a batch, and reads its channel when so many have come, or when a batch has come back.

use std::sync::atomic::{AtomicUsize, Ordering, fence};

use tokio::sync::Notify;

/// When requests wake one engine.
#[derive(Debug)]
pub(in crate::engine) struct EngineWake {
    /// Requests that may wait, and have come since the engine read its channel.
    come: AtomicUsize,
    /// Number of requests that wake the engine; 1: it waits at the channel itself.
    needed: AtomicUsize,
    bell: Notify,
}

impl Default for EngineWake {
    fn default() -> Self {
        Self { come: AtomicUsize::new(0), needed: AtomicUsize::new(1), bell: Notify::new() }
    }
}

impl EngineWake {
    /// A request is in the channel that only a batch can answer.
    pub(in crate::engine) fn may_wait(&self) {
        let come = self.come.fetch_add(1, Ordering::Relaxed) + 1;
        self.ring_if(|needed| come >= needed);
    }

    /// A request is in the channel that is to be served now.
    pub(in crate::engine) fn urgent(&self) {
        self.ring_if(|_| true);
    }

    fn ring_if(&self, enough: impl FnOnce(usize) -> bool) {
        // Either this sees the number that the engine has set, or the engine sees the request: see `needs`.
        fence(Ordering::SeqCst);
        let needed = self.needed.load(Ordering::Relaxed);
        if needed > 1 && enough(needed) {
            self.bell.notify_one();
        }
    }

    /// The engine reads its channel now.
    pub(in crate::engine) fn reads(&self) {
        self.come.store(0, Ordering::Relaxed);
    }

    /// Sets how many more requests let a batch go out. Then the engine must check whether its channel is empty.
    pub(in crate::engine) fn needs(&self, requests: usize) {
        self.needed.store(requests, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Waits until somebody rings.
    pub(in crate::engine) async fn rung(&self) {
        self.bell.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use tokio::sync::mpsc;

    use super::*;

    /// Whether the bell has been rung since this was asked last.
    async fn rung(wake: &EngineWake) -> bool {
        tokio::select! {
            biased;
            () = wake.rung() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn it_rings_for_what_is_urgent_and_for_enough_of_the_rest() {
        let wake = EngineWake::default();
        wake.urgent();
        wake.may_wait();
        assert!(!rung(&wake).await, "the engine waits at its channel");
        wake.reads();
        wake.needs(3);
        wake.may_wait();
        wake.may_wait();
        assert!(!rung(&wake).await, "two");
        wake.may_wait();
        assert!(rung(&wake).await, "three");
        wake.reads();
        wake.may_wait();
        assert!(!rung(&wake).await, "counted anew");
        wake.urgent();
        assert!(rung(&wake).await, "urgent");
    }

    /// With a number that never comes, only what is urgent wakes the reader, and each time.
    #[test]
    fn nothing_urgent_is_missed() {
        const REQUESTS: u32 = 20_000;
        let wake = Arc::new(EngineWake::default());
        let (requests, mut channel) = mpsc::unbounded_channel();
        let (read, last) = std::sync::mpsc::channel();
        let sender = {
            let wake = Arc::clone(&wake);
            thread::spawn(move || {
                for n in 0..REQUESTS {
                    requests.send(n).expect("a reader");
                    wake.urgent();
                    assert_eq!(last.recv().expect("a reader"), n);
                }
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut next = 0;
            while next < REQUESTS {
                loop {
                    wake.reads();
                    while let Ok(n) = channel.try_recv() {
                        assert_eq!(n, next);
                        next += 1;
                        read.send(n).expect("a sender");
                    }
                    wake.needs(usize::MAX);
                    if channel.is_empty() {
                        break;
                    }
                }
                if next < REQUESTS {
                    wake.rung().await;
                }
            }
        });
        sender.join().expect("no panic");
    }
}
