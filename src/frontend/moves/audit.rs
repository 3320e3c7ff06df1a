//! Has the server tell whether what ties a session to its connection is over.

use super::Mover;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::{Reply, is_row};
use crate::frontend::pooling::audit::AuditNotes;
use crate::frontend::pooling::pins::Pin;
use crate::protocol::packet;
use crate::protocol::reader::Reader;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;

/// No such table.
const NO_TABLE: u16 = 1146;

/// What an audit has found, as its metric has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditOutcome {
    /// Nothing is left: the session may leave.
    Clear,
    /// Something is left, or perhaps.
    Left,
    /// The server did not show its lists to the store account.
    Unknown,
}

impl AuditOutcome {
    fn label(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Left => "left",
            Self::Unknown => "unknown",
        }
    }
}

impl Mover<'_> {
    /// Whether the session could give its connection back if an audit finds that nothing is left on it.
    pub(super) fn may_be_audited(&self) -> bool {
        // Without autocommit the questions would begin a transaction.
        self.pooled().is_some_and(|pooled| pooled.audit.is_worth(pooled.pins))
            && self.link.status().flags().has(Status::AUTOCOMMIT)
            && self.link.does_nothing()
    }

    /// Audits the connection. Whether the session may leave it.
    pub(super) async fn audit(&mut self) -> Result<bool, CloseReason> {
        let Some(pooled) = self.pooled_mut() else { return Ok(false) };
        let needs_lists = pooled.pins.has(Pin::Routine);
        let pins = pooled.audit.lift(&mut pooled.pins);
        let found = self.find_left(needs_lists).await;
        let counted = *found.as_ref().unwrap_or(&AuditOutcome::Unknown);
        self.link.metrics().pool_audits.with_label_values(&[counted.label()]).inc();
        if let Some(pooled) = self.pooled_mut() {
            match counted {
                AuditOutcome::Clear => pooled.audit.note_clear(),
                AuditOutcome::Left | AuditOutcome::Unknown => {
                    pooled.pins = pins.with(pooled.pins);
                    pooled.audit.note_kept(counted == AuditOutcome::Left);
                }
            }
            pooled.show_pins();
        }
        found?;
        Ok(self.is_free())
    }

    async fn find_left(&mut self, needs_lists: bool) -> Result<AuditOutcome, CloseReason> {
        if needs_lists {
            let Some(pooled) = self.pooled() else { return Ok(AuditOutcome::Unknown) };
            let (Some(conn), Some(to)) = (pooled.place.current().id(), self.link.server().to())
            else {
                return Ok(AuditOutcome::Unknown);
            };
            let server = to.backend().to_string();
            let Some(lists) = pooled.audit.audits().ask(conn, server).await else {
                return Ok(AuditOutcome::Unknown);
            };
            if !self
                .pooled_mut()
                .is_some_and(|pooled| AuditNotes::take_in_lists(&lists, &mut pooled.doubts))
            {
                return Ok(AuditOutcome::Left);
            }
        }
        // Before other questions: some of its state is of the last statement.
        self.learn().await?;
        let Some(pooled) = self.pooled().filter(|_| self.is_free()) else {
            return Ok(AuditOutcome::Left);
        };
        let questions = pooled.audit.questions();
        let packets: Vec<_> =
            questions.iter().map(|text| packet::query(text, self.link.capabilities())).collect();
        let replies = Asker::of(self.link).exchange_cleanly(&packets).await?;
        self.link.server_mut().take_reported();
        let mut replies = replies.iter();
        let counters = replies.next_back().map(counters).unwrap_or_default();
        let Some(pooled) = self.pooled() else { return Ok(AuditOutcome::Left) };
        let used_up =
            !pooled.audit.asks_for_values() || is_used_up(replies.next(), replies.next_back());
        let clear =
            used_up && pooled.audit.are_clear(&counters, pooled.flavour) && replies.all(is_gone);
        Ok(if clear { AuditOutcome::Clear } else { AuditOutcome::Left })
    }
}

/// Names and numbers, a pair in each row.
fn counters(reply: &Reply) -> Vec<(Vec<u8>, u64)> {
    let rows = reply.payloads().skip(1).filter(|payload| is_row(payload));
    rows.filter_map(|row| {
        let mut r = Reader::new(row);
        // ucs2 and others have zeros beside each letter.
        let mut text = || -> Option<Vec<u8>> {
            Some(r.lenenc_bytes()?.iter().copied().filter(|byte| *byte != 0).collect())
        };
        let (name, value) = (text()?, text()?);
        Some((name, std::str::from_utf8(&value).ok()?.parse().ok()?))
    })
    .collect()
}

/// Whether no id is set for the next row, and the time advances.
fn is_used_up(first: Option<&Reply>, second: Option<&Reply>) -> bool {
    let values = |reply: Option<&Reply>| reply.and_then(Reply::values).unwrap_or_default();
    match (&*values(first), &*values(second)) {
        ([Some(id), Some(moment)], [Some(_), Some(later)]) => **id == *b"0" && moment != later,
        _ => false,
    }
}

/// Whether no temporary table has the name that SHOW CREATE TABLE was asked about.
fn is_gone(reply: &Reply) -> bool {
    match reply.ending {
        Ending::Err { code } => code == NO_TABLE,
        Ending::Ok { .. } | Ending::Plain => {
            let row = reply.values().unwrap_or_default();
            let text = row.get(1).and_then(|text| text.as_deref()).unwrap_or_default();
            text.starts_with(b"CREATE TABLE")
        }
    }
}
