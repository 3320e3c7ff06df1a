//! Wakes of a relay thread's sessions by other threads, gathered.
//!
//! A wake from another thread costs a single-threaded runtime a write to its eventfd, each time. The engine's answers to
//! a batch of locks wake many sessions at once: one ring a thread, and one task of the thread wakes all of them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::{self, ThreadId};

use parking_lot::Mutex;
use tokio::sync::Notify;

thread_local! {
    /// Threads that are rung when [`together`] ends, if this thread is within it.
    static TO_RING: RefCell<Option<Vec<Arc<Wakes>>>> = const { RefCell::new(None) };
}

/// Does what may wake many tasks of other threads. Each thread is rung once, at the end: one that is awake at the first wake would
/// serve it, and be asleep again at the second.
pub fn together<R>(wake: impl FnOnce() -> R) -> R {
    let outer = TO_RING.replace(Some(Vec::new()));
    let _rings = RingsAtTheEnd(outer);
    wake()
}

/// Rings also if the caller of [`together`] panics: the tasks are on the lists.
struct RingsAtTheEnd(Option<Vec<Arc<Wakes>>>);

impl Drop for RingsAtTheEnd {
    fn drop(&mut self) {
        let to_ring = TO_RING.replace(self.0.take());
        for wakes in to_ring.into_iter().flatten() {
            wakes.bell.notify_one();
        }
    }
}

/// The wakes of one thread's tasks.
#[derive(Debug)]
pub struct Wakes {
    thread: ThreadId,
    /// Tasks that other threads have woken.
    woken: Mutex<Vec<Waker>>,
    bell: Notify,
}

impl Wakes {
    /// Of the calling thread, which must run [`Wakes::pass_on`] and all tasks.
    pub fn of_this_thread() -> Arc<Self> {
        let thread = thread::current().id();
        Arc::new(Self { thread, woken: Mutex::default(), bell: Notify::new() })
    }

    /// Wakes the tasks, for ever.
    pub async fn pass_on(self: Arc<Self>) {
        loop {
            self.bell.notified().await;
            let woken = std::mem::take(&mut *self.woken.lock());
            woken.into_iter().for_each(Waker::wake);
        }
    }

    /// Has the tasks on the list woken.
    fn ring(self: &Arc<Self>) {
        let later = TO_RING.with_borrow_mut(|to_ring| {
            let to_ring = to_ring.as_mut()?;
            if !to_ring.iter().any(|other| Arc::ptr_eq(other, self)) {
                to_ring.push(Arc::clone(self));
            }
            Some(())
        });
        if later.is_none() {
            // A notification costs a write only if the task that passes wakes on is asleep.
            self.bell.notify_one();
        }
    }

    /// Runs a task whose wakes are gathered. Its caller has pinned it: an `async fn` would have room for the task twice.
    pub fn gather<F: Future + Unpin>(
        self: Arc<Self>,
        mut task: F,
    ) -> impl Future<Output = F::Output> {
        let mut gathered: Option<(Waker, Waker)> = None;
        poll_fn(move |cx| {
            let (_, waker) = match gathered.take() {
                Some(pair) if pair.0.will_wake(cx.waker()) => gathered.insert(pair),
                _ => {
                    let own = cx.waker().clone();
                    let through = Gathered { wakes: Arc::clone(&self), task: own.clone() };
                    gathered.insert((own, Arc::new(through).into()))
                }
            };
            Pin::new(&mut task).poll(&mut Context::from_waker(waker))
        })
    }
}

/// The waker of a task.
struct Gathered {
    wakes: Arc<Wakes>,
    task: Waker,
}

impl Wake for Gathered {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if thread::current().id() == self.wakes.thread {
            self.task.wake_by_ref();
        } else {
            self.wakes.woken.lock().push(self.task.clone());
            self.wakes.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    #[test]
    fn tasks_are_woken_by_their_own_thread_and_by_others() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let wakes = Wakes::of_this_thread();
            tokio::spawn(Arc::clone(&wakes).pass_on());
            let mut tasks = Vec::new();
            let mut others = Vec::new();
            for n in 0..100_u32 {
                let (there, mut back) = (oneshot::channel(), mpsc::unbounded_channel());
                others.push((there.0, back.0));
                tasks.push(tokio::spawn(Arc::clone(&wakes).gather(Box::pin(async move {
                    let first = there.1.await.expect("an answer");
                    first + n + back.1.recv().await.expect("another one")
                }))));
            }
            tokio::task::yield_now().await;
            let other = thread::spawn(move || {
                let mut others = others.into_iter();
                for (there, back) in others.by_ref().take(50) {
                    there.send(1).expect("a task");
                    back.send(2).expect("a task");
                }
                together(|| {
                    for (there, back) in others {
                        there.send(1).expect("a task");
                        back.send(2).expect("a task");
                    }
                });
            });
            for (n, task) in (0..).zip(tasks) {
                assert_eq!(task.await.expect("no panic"), n + 3);
            }
            other.join().expect("no panic");
            assert!(wakes.woken.lock().is_empty(), "none is left");
        });
    }
}
