//! Has the server tell whether what ties a session to its connection is over.

use super::Link;
use super::close_reason::CloseReason;
use super::reply::{Reply, is_row};
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

impl Link {
    /// Whether the session could give its connection back if an audit finds that nothing is left on it.
    pub(super) fn may_be_audited(&self) -> bool {
        // Without autocommit the questions would begin a transaction.
        self.pooled.as_ref().is_some_and(|pooled| pooled.may_be_audited())
            && self.status.has(Status::AUTOCOMMIT)
            && self.does_nothing()
    }

    /// Audits the connection. Whether the session may leave it.
    pub(super) async fn audit(&mut self) -> Result<bool, CloseReason> {
        let Some(pooled) = &mut self.pooled else { return Ok(false) };
        let needs_lists = pooled.needs_lists();
        let pins = pooled.lift_audited();
        let found = self.find_left(needs_lists).await;
        let counted = *found.as_ref().unwrap_or(&AuditOutcome::Unknown);
        self.metrics.pool_audits.with_label_values(&[counted.label()]).inc();
        if let Some(pooled) = &mut self.pooled {
            match counted {
                AuditOutcome::Clear => pooled.note_clear(),
                AuditOutcome::Left | AuditOutcome::Unknown => {
                    pooled.note_kept(pins, counted == AuditOutcome::Left);
                }
            }
            pooled.show_pins();
        }
        found?;
        Ok(self.is_free())
    }

    async fn find_left(&mut self, needs_lists: bool) -> Result<AuditOutcome, CloseReason> {
        if needs_lists {
            let Some(pooled) = &self.pooled else { return Ok(AuditOutcome::Unknown) };
            let (Some(conn), Some(to)) = (pooled.current.id(), self.server.to()) else {
                return Ok(AuditOutcome::Unknown);
            };
            let server = to.backend().to_string();
            let Some(lists) = pooled.audits().ask(conn, server).await else {
                return Ok(AuditOutcome::Unknown);
            };
            if !self.pooled.as_mut().is_some_and(|pooled| pooled.take_in_lists(&lists)) {
                return Ok(AuditOutcome::Left);
            }
        }
        // Before other questions: some of its state is of the last statement.
        self.learn().await?;
        let Some(pooled) = self.pooled.as_ref().filter(|_| self.is_free()) else {
            return Ok(AuditOutcome::Left);
        };
        let questions = pooled.audit_questions();
        let packets: Vec<_> =
            questions.iter().map(|text| packet::query(text, self.capabilities)).collect();
        let replies = self.exchange_cleanly(&packets).await?;
        self.server.take_reported();
        let mut replies = replies.iter();
        let counters = replies.next_back().map(counters).unwrap_or_default();
        let Some(pooled) = &self.pooled else { return Ok(AuditOutcome::Left) };
        let used_up = !pooled.asks_for_values() || is_used_up(replies.next(), replies.next_back());
        let clear = used_up && pooled.are_clear(&counters) && replies.all(is_gone);
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
