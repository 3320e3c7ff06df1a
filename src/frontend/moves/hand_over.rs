//! A session that has got another connection puts its state there.

use super::Mover;
use crate::backend::left::Left;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::pooling::capture::{started, to_start};
use crate::frontend::pooling::restore::{Restoration, Restored, is_without_schema, restoring};
use crate::protocol::frame::HEADER;
use crate::protocol::packet;

impl Mover<'_> {
    /// Puts the session's state on its connection.
    pub(super) async fn restore(&mut self) -> Result<Restored, CloseReason> {
        let left = self.link.server_mut().take_left();
        let restored = self.restore_over(&left).await?;
        // A session may set what another one has no right to set back, such as `require_row_format`.
        if matches!((&restored, &left), (Restored::Refused(_), Left::Known(_))) {
            return self.restore_over(&Left::Unknown).await;
        }
        Ok(restored)
    }

    /// Puts the session's state in place of what was left.
    async fn restore_over(&mut self, left: &Left) -> Result<Restored, CloseReason> {
        let Some(pooled) = self.pooled() else { return Ok(Restored::Done) };
        let Restoration { mut packets, sent, resets } =
            restoring(&pooled.state, left, self.link.capabilities());
        self.link.metrics().pool_moves.with_label_values(&[sent]).inc();
        let asks = self.link.server().run().is_none();
        // After a reset, and before the session's own state is set.
        let question = usize::from(resets);
        if asks {
            let question_of_run = [b"SELECT ", started(pooled.flavour), b" LIMIT 1"].concat();
            packets.insert(question, packet::query(&question_of_run, self.link.capabilities()));
        }
        let replies = Asker::of(self.link).exchange_cleanly(&packets).await?;
        if asks {
            let values = replies.get(question).and_then(Reply::values).unwrap_or_default();
            let Some(run) = to_start(values.first().and_then(|value| value.as_deref())) else {
                let why = "the server does not report its uptime".to_owned();
                return Ok(Restored::Refused(why));
            };
            self.link.server_mut().note_run(run);
        }
        let mut errors = packets.iter().zip(&replies).filter(|(_, reply)| reply.is_error());
        let gone = errors.clone().any(|(packet, reply)| is_without_schema(packet, reply.ending));
        if let Some(pooled) = self.pooled_mut() {
            pooled.state.schema_gone = gone;
            pooled.counts.note_move();
        }
        // Of the proxy's own making.
        self.link.server_mut().take_reported();
        self.link.take_in_reports();
        let refusal = errors.find(|(packet, reply)| !is_without_schema(packet, reply.ending));
        if let Some((_, reply)) = refusal {
            let text = reply.bytes.get(HEADER + 9..).unwrap_or_default();
            return Ok(Restored::Refused(String::from_utf8_lossy(text).into_owned()));
        }
        let schemaless = self.link.server().is_schemaless();
        Ok(if gone && !schemaless { Restored::InAnotherSchema } else { Restored::Done })
    }
}
