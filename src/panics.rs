//! Panics, which are faults of the program: one ends the task that it happens in, and nothing else.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use std::thread;

thread_local! {
    /// Whether the code that runs now is part of a contained task. Set at each poll, so it must be cheap.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
    /// What the last panic in a contained task has said, and where.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From here on panics are lines of the log. Those of a contained task are left to who runs it.
pub fn log_all() {
    panic::set_hook(Box::new(|info| {
        let backtrace = Backtrace::capture();
        let mut words = info.to_string();
        if backtrace.status() == BacktraceStatus::Captured {
            words = format!("{words}\n{backtrace}");
        }
        if CONTAINED.get() {
            SAID.set(Some(words));
        } else {
            let thread = thread::current();
            let thread = thread.name().unwrap_or_default();
            tracing::error!(thread, what = words, "a part of the proxy has panicked");
        }
    }));
}

/// Runs a task, which its caller has pinned: an `async fn` would have room for the task twice. If it panics, that is the
/// error: what it was, and where. What the task had is dropped by the caller.
pub fn contained<F: Future + Unpin>(
    mut task: F,
) -> impl Future<Output = Result<F::Output, String>> {
    poll_fn(move |cx| {
        let outer = CONTAINED.replace(true);
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut task).poll(cx)));
        CONTAINED.set(outer);
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(words(&*payload))),
        }
    })
}

/// What a panic was, with its place if that was noted.
fn words(payload: &(dyn Any + Send)) -> String {
    if let Some(words) = SAID.take() {
        return words;
    }
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use super::*;

    async fn fails(number: usize) -> usize {
        tokio::task::yield_now().await;
        [7, 8][number]
    }

    #[tokio::test]
    async fn a_panic_is_the_result_of_its_task() {
        assert_eq!(contained(pin!(fails(1))).await, Ok(8));
        let words = contained(pin!(fails(2))).await.expect_err("it panics");
        assert!(words.contains("index out of bounds"), "{words}");
        let text = "seven".to_owned();
        let words = contained(pin!(async { assert!(text.is_empty(), "{text}") })).await;
        assert_eq!(words, Err(text));
    }

    #[tokio::test]
    async fn others_go_on() {
        let (failing, other) = (pin!(fails(9)), pin!(fails(0)));
        let (failing, other) = tokio::join!(contained(failing), contained(other));
        assert!(failing.is_err());
        assert_eq!(other, Ok(7));
        let waits = contained(pending::<()>());
        assert!(matches!(futures_poll(waits).await, Poll::Pending));
    }

    /// The first poll of a future.
    async fn futures_poll<F: Future>(future: F) -> Poll<F::Output> {
        let mut future = pin!(future);
        poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
    }
}
