//! How long an answer of a server is waited for.

use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Longest wait for an answer to what the proxy itself asks a server; longer, and the outcome is unknown.
pub const ANSWER: Duration = Duration::from_secs(10);
/// Longest wait for an answer of a server that is not the writer any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why an answer is waited for no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The answer has not come within this limit.
    Silent(Duration),
    /// The server is not the writer any more.
    Left,
}

/// How long the answers on one connection are waited for.
pub(super) struct AnswerLimit {
    /// Ends when the server is not the writer any more, and has had time to answer.
    left: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl AnswerLimit {
    /// The limit with a server that stays what it is.
    pub(super) fn new() -> Self {
        Self { left: Box::pin(pending()) }
    }

    /// With one that is the writer until `left` ends.
    pub(super) fn until(left: impl Future<Output = ()> + Send + 'static) -> Self {
        let left = async {
            left.await;
            sleep(FAREWELL).await;
        };
        Self { left: Box::pin(left) }
    }

    /// What `run` comes to within the limit.
    pub(super) async fn within<T>(
        &mut self,
        limit: Duration,
        run: impl Future<Output = T>,
    ) -> Result<T, NoAnswer> {
        tokio::select! {
            biased;
            done = timeout(limit, run) => done.map_err(|_| NoAnswer::Silent(limit)),
            () = &mut self.left => {
                // The answer may come yet: the connection is of no use any more.
                self.left = Box::pin(poll_fn(|_| Poll::Ready(())));
                Err(NoAnswer::Left)
            }
        }
    }
}

impl fmt::Debug for AnswerLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerLimit")
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn a_server_that_is_not_the_writer_any_more_has_a_moment_to_answer() {
        let mut limit = AnswerLimit::until(ready(()));
        assert_eq!(limit.within(ANSWER, ready(7)).await, Ok(7));
        for _ in 0..2 {
            assert_eq!(limit.within(ANSWER, pending::<()>()).await, Err(NoAnswer::Left));
        }
    }

    #[tokio::test]
    async fn a_silent_server_is_not_waited_for_longer_than_the_limit() {
        let limit = Duration::from_millis(10);
        let outcome = AnswerLimit::new().within(limit, pending::<()>()).await;
        assert_eq!(outcome, Err(NoAnswer::Silent(limit)));
    }
}
