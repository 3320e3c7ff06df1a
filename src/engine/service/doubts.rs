//! Sessions that wait until it is certain whether a holder stays.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::keys::KeyState;
use crate::engine::messages::{Look, SessionEvent};
use crate::lock::name::Key;

/// How long the release of a session that ends is waited for.
const LEAVING: Duration = Duration::from_secs(1);
/// How long a session may take to look for its client. One that is busy runs something for it.
const LOOKING: Duration = Duration::from_millis(100);
/// When a row that another proxy holds is looked at a second time.
pub(super) const SECOND_LOOK: Duration = Duration::from_millis(10);

/// The answer that is given when it is certain.
pub(super) enum PendingAnswer {
    /// A try of the waiter with this id.
    Try(u64),
    /// A question about the key.
    Look(oneshot::Sender<Look>),
    /// A question about a key that another proxy holds, before the second look.
    SecondLook(oneshot::Sender<Look>),
    /// A question about a key whose owner was asked, first at this time.
    Owner(oneshot::Sender<Look>, Instant),
}

/// A wait for certainty.
pub(super) struct Doubt {
    pub(super) key: Key,
    pub(super) answer: PendingAnswer,
    until: Instant,
    /// The question that its holder was asked; none if that is leaving.
    question: Option<u64>,
}

impl Doubt {
    /// Whether its holder was asked this question, or an earlier one.
    pub(super) fn was_asked(&self, question: u64) -> bool {
        self.question.is_some_and(|asked| asked <= question)
    }

    /// Whether its holder was asked, and does not leave.
    pub(super) fn has_question(&self) -> bool {
        self.question.is_some()
    }
}

/// All doubts about holders.
#[derive(Default)]
pub(super) struct HolderDoubts {
    list: Vec<Doubt>,
    /// Questions put to holders so far.
    questions: u64,
}

impl HolderDoubts {
    /// Lets a session wait for a key that another one here holds.
    pub(super) fn enter(&mut self, key: &Key, answer: PendingAnswer, state: Option<&KeyState>) {
        let holder = state.filter(|s| !s.is_leaving()).and_then(|s| s.held.as_ref());
        let question = holder.and_then(|held| {
            self.questions += 1;
            // If its session has ended, its release is on the way.
            let asked = held.events.send(SessionEvent::Look(self.questions));
            asked.is_ok().then_some(self.questions)
        });
        let until = Instant::now() + if question.is_some() { LOOKING } else { LEAVING };
        self.list.push(Doubt { key: key.clone(), answer, until, question });
    }

    /// Lets a session wait for the second look.
    pub(super) fn enter_second_look(&mut self, key: &Key, reply: oneshot::Sender<Look>) {
        let (answer, until) = (PendingAnswer::SecondLook(reply), Instant::now() + SECOND_LOOK);
        self.list.push(Doubt { key: key.clone(), answer, until, question: None });
    }

    /// Lets a session wait for the owner of a name.
    pub(super) fn enter_asked(&mut self, key: &Key, reply: oneshot::Sender<Look>, asked: Instant) {
        let (answer, until) = (PendingAnswer::Owner(reply, asked), Instant::now() + SECOND_LOOK);
        self.list.push(Doubt { key: key.clone(), answer, until, question: None });
    }

    /// When the first doubt ends.
    pub(super) fn due(&self) -> Option<Instant> {
        self.list.iter().map(|doubt| doubt.until).min()
    }

    /// Takes the doubts that have waited long enough.
    pub(super) fn take_due(&mut self) -> Vec<Doubt> {
        let now = Instant::now();
        self.take(|doubt| doubt.until <= now)
    }

    /// Takes the doubts that are over.
    pub(super) fn take(&mut self, is_over: impl Fn(&Doubt) -> bool) -> Vec<Doubt> {
        self.list.extract_if(.., |doubt| is_over(doubt)).collect()
    }

    /// Doubts that asked the holder of a key wait for its release instead.
    pub(super) fn wait_for_release(&mut self, key: &Key) {
        for doubt in self.list.iter_mut().filter(|d| d.key == *key && d.question.is_some()) {
            doubt.question = None;
            doubt.until = Instant::now() + LEAVING;
        }
    }
}
