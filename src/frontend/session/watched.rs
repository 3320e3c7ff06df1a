//! Responses that somebody in a session waits for: its observer, whose rows follow them, or the cursor of a statement.

use super::Session;
use crate::frontend::coexist::late::enter_late;
use crate::frontend::coexist::settle::{released, released_all, settle_rows};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::pending::Finished;
use crate::frontend::locks::owner::Locks;
use crate::frontend::observe::held_back::HeldBack;
use crate::frontend::observe::pending_row_update::PendingRowUpdate;
use crate::frontend::observe::row_update::RowUpdate;
use crate::frontend::observe::run_end::RunEnd;
use crate::frontend::prepared::cursor::stand_in_to_close;
use crate::frontend::state::phase::Phase;
use crate::protocol::packet;

impl Session {
    /// Takes in responses that somebody in the session waited for.
    pub(super) fn take_finished(&mut self) -> Result<(), CloseReason> {
        for finished in self.link.owed_mut().take_finished() {
            match finished {
                Finished::Watched(mut seen, ending) => {
                    let (held, sent) = (seen.held.take(), seen.sent);
                    let run = RunEnd::of(&mut seen, ending);
                    let need = self.watch.as_mut().and_then(|watch| watch.ended(*seen, ending));
                    if let Some((need, untold)) = need {
                        self.follow(PendingRowUpdate { need, untold, held, sent, run })?;
                    } else {
                        self.count(run);
                        if let Some(held) = held {
                            self.link.send_client(&held.into_parts().0)?;
                        }
                    }
                }
                Finished::Fetch(id, ending) => {
                    if let Some(id) = stand_in_to_close(&mut self.statements, id, ending) {
                        // A failure to send is noticed at the next command.
                        let _ = self.link.send_unanswered(&packet::close_statement(id));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether rows follow the locks that the server grants to this session.
    pub(super) fn keeps_rows(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.keeps_rows())
    }

    /// A run whose answer is the server's has ended.
    fn count(&self, run: Option<RunEnd>) {
        if let Some(run) = run {
            run.count(&self.context, None);
        }
    }

    /// Does at once what a response means for the rows, or leaves it to [`Self::settle`].
    fn follow(&mut self, unsettled: PendingRowUpdate) -> Result<(), CloseReason> {
        // Earlier responses come first.
        if let (RowUpdate::Claim(name, _), false) =
            (&unsettled.need, matches!(self.phase, Phase::Settling(_)))
            && unsettled.run.as_ref().is_some_and(RunEnd::is_granted)
            && enter_late(&mut self.cx(), name)?
        {
            self.count(unsettled.run);
            let held = unsettled.held.map(HeldBack::into_parts);
            return held.map_or(Ok(()), |(bytes, _)| self.link.send_client(&bytes));
        }
        self.follow_rows(unsettled);
        Ok(())
    }

    /// Does at once what needs no row, or leaves it to [`Self::settle`].
    fn follow_rows(&mut self, mut unsettled: PendingRowUpdate) {
        let nothing_held = self.locks.ledger().holds_nothing();
        let given = unsettled.held.is_none();
        match &unsettled.need {
            RowUpdate::ReleaseAll => {
                released_all(&mut self.cx());
                return self.count(unsettled.run);
            }
            RowUpdate::Release(name) if released(&mut self.cx(), &name.key) => {
                return self.count(unsettled.run);
            }
            RowUpdate::Release(_) | RowUpdate::Read(_) | RowUpdate::Unknown
                if nothing_held && given =>
            {
                return self.count(unsettled.run);
            }
            // Nothing of the answer can be changed any more.
            RowUpdate::Look(..) if given => return self.count(unsettled.run),
            // The lock may have another name, or only the server knows whether it is still held.
            RowUpdate::Release(name) => unsettled.need = RowUpdate::Read(vec![name.clone()]),
            RowUpdate::Claim(..)
            | RowUpdate::Read(_)
            | RowUpdate::Look(..)
            | RowUpdate::WriteLate
            | RowUpdate::Unknown => {}
        }
        match &mut self.phase {
            Phase::Settling(others) => others.push(unsettled),
            phase => *phase = Phase::Settling(vec![unsettled]),
        }
    }

    /// Writes what responses mean for the rows, and lets the client have the ends of them.
    pub(super) async fn settle(
        &mut self,
        unsettled: Vec<PendingRowUpdate>,
    ) -> Result<(), CloseReason> {
        for unsettled in unsettled {
            settle_rows(&mut self.cx(), unsettled).await?;
        }
        self.phase = Phase::Relaying;
        // The server may have answered other commands meanwhile.
        self.take_finished()
    }
}
