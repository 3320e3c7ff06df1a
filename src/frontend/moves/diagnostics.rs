//! Has the server tell the warnings and errors that the session takes along.

use std::time::Duration;

use super::Mover;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::pooling::diagnostics::{COUNTS, Diagnostics, LISTS};
use crate::protocol::packet;

/// A client that asks for warnings does so with its next statement, and in more ways than the session could answer
/// elsewhere. After this time it has gone on. While others wait for a connection, it has no such time.
const SOON: Duration = Duration::from_secs(1);

impl Mover<'_> {
    /// Whether only warnings or errors tie the session to its connection.
    pub(super) fn has_only_diagnostics(&self) -> bool {
        self.pooled().is_some_and(|pooled| pooled.warnings.may_be_taken(pooled.pins))
            && self.link.does_nothing()
    }

    /// Whether it need not wait for its client to ask for them: others wait, or the client has not asked soon.
    fn may_take_diagnostics(&self) -> bool {
        let wanted = self.link.pooled().is_wanted();
        self.has_only_diagnostics() && (wanted || !self.is_soon())
    }

    /// Whether the client has said something a short time ago.
    fn is_soon(&self) -> bool {
        self.link.server().used().elapsed() < SOON
    }

    /// Others wait: results that the client may ask for do not tie the session to its connection for ever.
    pub(super) fn loosen(&mut self) {
        let soon = self.is_soon();
        if self.link.does_nothing()
            && let Some(pooled) = self.pooled_mut()
        {
            pooled.loosen(soon);
        }
    }

    /// Takes them along on the way off the connection.
    pub(super) async fn take_diagnostics_along(&mut self) -> Result<(), CloseReason> {
        if self.may_take_diagnostics() { self.take_diagnostics().await } else { Ok(()) }
    }

    /// Asks for them, and they tie the session no more, unless there are too many.
    async fn take_diagnostics(&mut self) -> Result<(), CloseReason> {
        let counts = self.ask_for_warnings(COUNTS).await?;
        let numbers: Vec<i64> = counts.iter().filter_map(number).collect();
        if !self.pooled_mut().is_some_and(|pooled| pooled.note_numbers(&numbers)) {
            return Ok(());
        }
        let lists = self.ask_for_warnings(LISTS).await?;
        let fine = !lists.iter().any(Reply::is_error);
        let replies = counts.into_iter().chain(lists).map(|reply| reply.bytes.into_boxed_slice());
        let replies = replies.collect::<Vec<_>>().try_into();
        let numbers = numbers.try_into().ok().filter(|_| fine);
        let diagnostics = numbers.zip(replies.ok()).and_then(|(n, r)| Diagnostics::new(n, r));
        if let Some(pooled) = self.pooled_mut() {
            pooled.take_diagnostics(diagnostics);
            // The connection has heard questions that are not the session's.
            pooled.counts.note_move();
        }
        Ok(())
    }

    /// Takes them along at once, if nothing else ties the session to its connection: its next statement clears them.
    pub(super) async fn keep_diagnostics(&mut self) -> Result<(), CloseReason> {
        let may = self.pooled().is_some_and(|pooled| pooled.warnings.may_be_taken(pooled.pins));
        if may { self.take_diagnostics().await } else { Ok(()) }
    }

    async fn ask_for_warnings(&mut self, questions: [&str; 2]) -> Result<Vec<Reply>, CloseReason> {
        let packets =
            questions.map(|text| packet::query(text.as_bytes(), self.link.capabilities()));
        let replies = Asker::of(self.link).exchange_all(&packets).await?;
        // Reports that come late are the session's.
        let mut reported = self.link.server_mut().take_reported();
        (reported.result, reported.warned) = (None, false);
        self.link.take_in_reported(&reported);
        Ok(replies)
    }
}

/// The number that a reply has.
fn number(reply: &Reply) -> Option<i64> {
    std::str::from_utf8(reply.values()?.first()?.as_deref()?).ok()?.parse().ok()
}
