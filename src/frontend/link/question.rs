//! What the proxy has asked the session's server, and for how long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::super::shared::log_lines::Lines;
use crate::clock;
use crate::store::patience::ANSWER;

/// How often it is checked that the server can still answer. A process that was stopped has not looked meanwhile.
const LOOK: Duration = Duration::from_secs(1);

/// Whom a question is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The proxy's own, which the server answers at once.
    Proxy,
    /// Something of the client's, which may take as long as the client likes.
    Client,
}

/// What the server has yet to answer, and where it is said if it does not.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) question: Option<Box<OpenQuestion>>,
    pub(super) lines: Arc<Lines>,
}

impl Unanswered {
    /// The server is asked something, and nothing is owed before it.
    pub(super) fn note_asked(&mut self, whose: Whose) {
        self.question = Some(Box::new(OpenQuestion::new(whose, false)));
    }

    /// The server is asked something of the proxy's own, and one of the responses that are owed answers it.
    pub(super) fn begin_owed(&mut self) {
        match &mut self.question {
            Some(question) if question.is_owed() => question.begin_again(),
            _ => self.question = Some(Box::new(OpenQuestion::new(Whose::Proxy, true))),
        }
    }

    /// The question was answered, or the connection is the session's no more.
    pub(super) fn end(&mut self) {
        self.question = None;
    }
}

/// A question that the server has yet to answer.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    whose: Whose,
    owed: bool,
    look: Pin<Box<Sleep>>,
    /// How often it was looked in vain.
    looks: u32,
    asked: Duration,
}

impl OpenQuestion {
    /// Asked now; `owed`: one of the responses that are owed answers it.
    pub(super) fn new(whose: Whose, owed: bool) -> Self {
        let (look, asked) = (Box::pin(sleep(LOOK)), clock::now());
        Self { whose, owed, look, looks: 0, asked }
    }

    /// Whether one of the responses that are owed answers it.
    pub(super) fn is_owed(&self) -> bool {
        self.owed
    }

    /// When it was asked, on the boot clock.
    pub(super) fn asked(&self) -> Duration {
        self.asked
    }

    /// The question's time begins again.
    pub(super) fn begin_again(&mut self) {
        (self.looks, self.asked) = (0, clock::now());
    }

    /// Whether it is time to check that the server can still answer.
    pub(super) fn poll_look(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.look.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.look.as_mut().reset(Instant::now() + LOOK);
        self.looks += 1;
        Poll::Ready(())
    }

    /// Whether the server should have answered.
    pub(super) fn is_overdue(&self) -> bool {
        self.whose == Whose::Proxy && LOOK * self.looks >= ANSWER
    }
}
