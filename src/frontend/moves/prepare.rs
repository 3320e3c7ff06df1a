//! Prepared statements that are prepared again on another connection.

use super::Mover;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::question::Whose;
use crate::frontend::link::within::within;
use crate::frontend::pooling::address::statement_of;
use crate::frontend::pooling::bound::{BindingDoubt, BoundState};
use crate::frontend::pooling::restore::is_without_schema;
use crate::frontend::pooling::statement::Again;
use crate::frontend::pooling::statements::Whereabouts;
use crate::frontend::shared::context::Context;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;

impl Mover<'_> {
    /// Gets what the next command needs of a shared connection. `false`: the prepared statement that it is for is refused.
    pub(super) async fn is_ready_for_next(
        &mut self,
        context: &Context,
    ) -> Result<bool, CloseReason> {
        self.renew(context).await?;
        let Some((command, id)) = statement_of(self.link.client().inbox()) else { return Ok(true) };
        if matches!(command, Command::STMT_CLOSE | Command::STMT_RESET) {
            return Ok(true);
        }
        self.bring(id).await?;
        Ok(self.link.pooled().whereabouts(id) != Whereabouts::Refused)
    }

    /// Prepares a statement on the session's connection, if it is not there. Nothing may be owed. If the server refuses,
    /// so are the statement's next execution and what belongs to it.
    pub(super) async fn bring(&mut self, id: u32) -> Result<(), CloseReason> {
        let Some(pooled) = self.pooled() else { return Ok(()) };
        let Some((id, again)) = pooled.away(id) else { return Ok(()) };
        if pooled.doubts.of_bound() != BindingDoubt::default() {
            // The state that is set back afterwards must be known.
            self.capture().await?;
        }
        let Some(pooled) = self.pooled() else { return Ok(()) };
        let Again { text, bound, .. } = again;
        let today = BoundState::of(&pooled.state, BindingDoubt::default());
        let tells = today.telling_definitions(self.link.capabilities());
        let mut before = if *bound == today {
            Vec::new()
        } else {
            bound.setting(&today, self.link.capabilities())
        };
        before.extend(tells);
        let after = if before.is_empty() {
            Vec::new()
        } else {
            today.setting(&bound, self.link.capabilities())
        };
        let nth = before.len();
        let packets = [before, vec![packet::prepare(&text)], after].concat();
        // The server may wait for a table of the statement's.
        let replies = Asker::of(self.link).exchange_cleanly_for(&packets, Whose::Client).await?;
        // Of the proxy's own making.
        let reported = self.link.server_mut().take_reported();
        let prepared = reported.prepared.first().and_then(|preparation| preparation.statement);
        let Some((until, after)) = replies.split_at_checked(nth + 1) else {
            return Err(CloseReason::Broken("fewer answers than there were questions"));
        };
        let mut failed =
            packets.iter().skip(nth + 1).zip(after).filter(|(_, reply)| reply.is_error());
        let gone = failed.clone().find(|(packet, reply)| is_without_schema(packet, reply.ending));
        if failed.any(|(packet, reply)| !is_without_schema(packet, reply.ending)) {
            return Err(CloseReason::Broken("a session's state could not be set back"));
        }
        let gone = gone.map(|(_, reply)| reply);
        let refusal = until.iter().find(|reply| reply.is_error()).or(gone);
        let outcome = match (refusal, prepared) {
            (None, Some(statement)) => Ok(statement),
            (Some(refusal), prepared) => {
                // The statement was prepared in another state than its own.
                if let Some(statement) = prepared {
                    self.link.send_server(&packet::close_statement(statement.server))?;
                }
                Err(within(&refusal.bytes, HEADER..)?.into())
            }
            (None, None) => {
                return Err(CloseReason::Broken("an answer to a PREPARE without an id"));
            }
        };
        if let Some(pooled) = self.pooled_mut() {
            pooled.counts.note_move();
        }
        if gone.is_some() {
            self.leave_another_schema().await?;
        }
        if let Some(pooled) = self.pooled_mut() {
            pooled.note_brought(id, outcome);
        }
        Ok(())
    }

    /// A connection that an earlier incarnation of the proxy opened is given away for another one, before a lock is
    /// taken on it.
    async fn renew(&mut self, context: &Context) -> Result<(), CloseReason> {
        let outlived = self.has_outlived();
        if outlived && self.link.server().is_there() && self.is_free() {
            self.leave().await?;
            // Without one the command meets the end of the session, which it would have met anyhow.
            self.arrive(context).await?;
        }
        Ok(())
    }

    /// The connection has the schema of a statement, and the session's own is gone: names without one would be found there.
    async fn leave_another_schema(&mut self) -> Result<(), CloseReason> {
        self.link.server_mut().note_schema();
        if let Some(pooled) = self.pooled_mut() {
            pooled.state.schema_gone = true;
        }
        self.leave().await?;
        if self.link.server().is_there() {
            return Err(CloseReason::Broken("a session's default schema is gone"));
        }
        Ok(())
    }
}
