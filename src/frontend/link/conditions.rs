//! The conditions of the last statement of a session that shares its connections: read before it leaves one, and told
//! on the next.

use super::Link;
use super::close_reason::CloseReason;
use super::reply::{Keep, Reply, is_end};
use crate::frontend::pooling::conditions::{ConditionList, KeptConditions, ListedCondition};
use crate::frontend::pooling::pins::Pin;
use crate::protocol::column;
use crate::protocol::command::Shape;
use crate::protocol::cut::Reported;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::packet;
use crate::protocol::reader::Reader;
use crate::protocol::response::Ending;
use crate::sql::find::words::Back;
use crate::sql::session::conditions::ConditionsQuestion;

impl Link {
    /// Reads the conditions of the last statement. Whether the session can leave them; if not, it is tied to its
    /// connection.
    pub(super) async fn keep_conditions(&mut self) -> Result<bool, CloseReason> {
        if !self.seat.as_ref().is_some_and(|seat| seat.conditions.may_be_any()) {
            return Ok(true);
        }
        let list = self.listed_conditions().await?;
        let Some(list) = list.filter(ConditionList::fits) else {
            if let Some(seat) = &mut self.seat {
                seat.pins.add(Pin::Diagnostics);
            }
            return Ok(false);
        };
        let mut kept = self.kept(&list).unwrap_or_default();
        let first = kept.len();
        if first < list.len() {
            let questions = KeptConditions::questions(first, &list, self.capabilities);
            let replies = self.exchange_all(&questions).await?;
            self.server.take_reported();
            let values = replies.last().and_then(Reply::values);
            values
                .and_then(|values| kept.take_in(first, &list, values))
                .ok_or(CloseReason::Broken("conditions that cannot be read"))?;
        }
        if let Some(seat) = &mut self.seat {
            seat.conditions.keep(kept);
        }
        Ok(true)
    }

    async fn listed_conditions(&mut self) -> Result<Option<ConditionList>, CloseReason> {
        let questions = ConditionList::questions(self.capabilities);
        let replies = self.exchange_all(&questions).await?;
        // What an error has changed, MariaDB tells with the next reply that is more than a sign of life.
        self.take_in_changes();
        Ok(read_list(&replies))
    }

    /// Takes in what the replies to the proxy's own questions have reported of earlier statements. They are no results of
    /// the session's.
    pub(super) fn take_in_changes(&mut self) {
        let reported = self.server.take_reported();
        if let Some(seat) = &mut self.seat {
            seat.take_in(&Reported { result: None, ..reported });
        }
    }

    /// Those that were taken along, if they still begin the list.
    fn kept(&mut self, list: &ConditionList) -> Option<KeptConditions> {
        let kept = self.seat.as_mut()?.conditions.take();
        kept.filter(|kept| kept.begin(list))
    }

    /// Has others stand in for the conditions that were taken along. The server counts, keeps and drops those.
    pub(super) async fn stand_in(&mut self) -> Result<(), CloseReason> {
        self.make_stand_ins(&[]).await.map(|_| ())
    }

    /// The same after these statements, of which the client knows nothing. Their replies.
    async fn make_stand_ins(&mut self, before: &[Vec<u8>]) -> Result<Vec<Reply>, CloseReason> {
        let capabilities = self.capabilities;
        let Some(seat) = &self.seat else { return Ok(Vec::new()) };
        let stand_in = seat.conditions.kept().map(|kept| kept.stand_in(capabilities));
        let mut packets = before.to_vec();
        if let Some((statement, _)) = &stand_in {
            packets.push(statement.clone());
            // An error does not tell the status; and this keeps conditions.
            packets.push(packet::ping());
        }
        if packets.is_empty() {
            return Ok(Vec::new());
        }
        let replies = self.exchange_all(&packets).await?;
        self.server.take_reported();
        let made = stand_in.is_none_or(|(_, made)| {
            replies.get(before.len()).is_some_and(|reply| made.is_made_by(reply.ending))
        });
        if let Some(seat) = &mut self.seat {
            seat.note_move();
            if !made {
                seat.conditions.take();
            }
        }
        Ok(replies)
    }

    /// Whether the connection may not know the conditions of the client's last statement, or what else GET DIAGNOSTICS
    /// tells of it.
    pub(crate) fn knows_conditions(&self) -> bool {
        let seat = self.seat.as_ref();
        seat.is_some_and(|seat| seat.conditions.kept().is_some() || seat.has_moved())
    }

    /// Whether the statement that is about to run asks for them.
    pub(crate) fn is_asked_for_conditions(&self) -> bool {
        let asked = self.seat.as_ref().is_some_and(|seat| seat.conditions.question().is_some());
        asked && self.knows_conditions()
    }

    /// Answers a question for them. `text` is what the client has said in this packet.
    pub(crate) async fn answer_question(
        &mut self,
        question: ConditionsQuestion,
        packet: &[u8],
        text: &[u8],
    ) -> Result<(), CloseReason> {
        let row_count = self.remembered(Back::RowCount);
        if self.seat.as_ref().is_some_and(|seat| seat.conditions.kept().is_some()) {
            let list = self.listed_conditions().await?;
            let kept = list.and_then(|list| self.kept(&list));
            if let (Some(seat), Some(kept)) = (&mut self.seat, kept) {
                seat.conditions.keep(kept);
            }
        }
        if let Some(seat) = &mut self.seat {
            seat.conditions.asks(question.clone());
        }
        let reply = self.exchange(packet, Shape::Results, Keep::All).await?;
        let silent = matches!(reply.ending, Ending::Ok { warnings: 0, .. });
        let kept = self.seat.as_ref().and_then(|seat| seat.conditions.kept());
        let (mut statement, mut rows) = (None, false);
        match &question {
            ConditionsQuestion::Rows { errors, limit } => {
                let limit = text.get(limit.clone()).unwrap_or_default();
                rows = kept.is_some() && !reply.is_error();
                statement =
                    kept.filter(|_| rows).map(|kept| kept.rows(*errors, limit, self.capabilities));
            }
            ConditionsQuestion::Statement(targets) if silent => {
                if let Some(count) = row_count.filter(|_| !targets.is_empty()) {
                    let count = count.to_string();
                    let set = |target: &std::ops::Range<usize>| {
                        [&text[target.clone()], b"=", count.as_bytes()].concat()
                    };
                    statement = Some(self.assigning(&targets.iter().map(set).collect::<Vec<_>>()));
                }
            }
            ConditionsQuestion::Condition { number, targets } if silent => {
                let corrections =
                    kept.map(|kept| kept.corrections(text, number, targets)).unwrap_or_default();
                statement = (!corrections.is_empty()).then(|| self.assigning(&corrections));
            }
            ConditionsQuestion::Statement(_) | ConditionsQuestion::Condition { .. } => {}
        }
        let Some(statement) = statement else { return self.send_client(&reply.bytes) };
        let replies = self.make_stand_ins(&[statement]).await?;
        self.until_certain().await?;
        match replies.first().filter(|_| rows) {
            Some(others) => self.send_client(&with_rows(&reply, others)),
            None => self.send_client(&reply.bytes),
        }
    }

    fn assigning(&self, assignments: &[Vec<u8>]) -> Vec<u8> {
        packet::query(&[b"SET ", &*assignments.join(&b',')].concat(), self.capabilities)
    }
}

/// The list of conditions that the replies to the questions for it tell; `None` if they cannot be understood.
fn read_list(replies: &[Reply]) -> Option<ConditionList> {
    let [listed, warnings, errors] = replies else { return None };
    let rows = row_frames(listed).map(|frame| plain_row(Reader::new(&frame[HEADER..])));
    let count = |reply: &Reply| -> Option<usize> {
        let value = reply.values()?.into_iter().next()??;
        std::str::from_utf8(&value).ok()?.parse().ok()
    };
    Some(ConditionList::new(rows.collect::<Option<_>>()?, count(warnings)?, count(errors)?))
}

/// The response `shown` with other rows: those of `rows`, as many as there are in it.
pub(crate) fn with_rows(shown: &Reply, rows: &Reply) -> Vec<u8> {
    let others: Vec<&[u8]> = row_frames(rows).collect();
    let mut others = others.into_iter();
    let (mut out, mut seq) = (Vec::new(), 1u8);
    let mut definitions = true;
    for (n, frame) in shown.frames().enumerate() {
        let payload = &frame[HEADER..];
        definitions &= n == 0 || column::is_definition(payload) || is_end(frame);
        let other = if definitions || is_end(frame) { None } else { others.next() };
        put_frame(&mut out, seq, other.map_or(payload, |other| &other[HEADER..]));
        seq = seq.wrapping_add(1);
    }
    out
}

/// The frames of rows in the response to one text query.
fn row_frames(reply: &Reply) -> impl Iterator<Item = &[u8]> {
    let after = |frame: &&[u8]| !column::is_definition(&frame[HEADER..]) && !is_end(frame);
    let rows = if reply.is_error() { 0 } else { usize::MAX };
    reply.frames().skip(1).filter(after).take(rows)
}

/// A row without the zeros that wide character sets put beside ASCII.
fn plain_row(mut row: Reader<'_>) -> Option<ListedCondition> {
    let mut value = || -> Option<Vec<u8>> {
        Some(row.lenenc_bytes()?.iter().copied().filter(|byte| *byte != 0).collect())
    };
    Some([value()?, value()?, value()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::status::Status;

    const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\x80\0\0\0\0";
    const END: &[u8] = b"\xfe\0\0\x02\0";

    fn reply(payloads: &[&[u8]]) -> Reply {
        let mut bytes = Vec::new();
        for (seq, payload) in (1..).zip(payloads) {
            put_frame(&mut bytes, seq, payload);
        }
        Reply { bytes, ending: Ending::Ok { status: Status(2), warnings: 0 } }
    }

    #[test]
    fn a_list_is_read() {
        let count = reply(&[b"\x01", DEFINITION, END, b"\x011", END]);
        let none = reply(&[b"\x01", DEFINITION, END, b"\x010", END]);
        let head: [&[u8]; 5] = [b"\x03", DEFINITION, DEFINITION, DEFINITION, END];
        let listed = |row: &[u8]| reply(&[&head[..], &[row, END]].concat());
        let warning = listed(b"\x07Warning\x041264\x02\0b");
        let list = read_list(&[warning, count, none]).expect("a list");
        assert!(list.fits() && list.len() == 1);
        let count = || reply(&[b"\x01", DEFINITION, END, b"\x011", END]);
        assert!(read_list(&[listed(b"\x05Error"), count(), count()]).is_none());
        assert!(read_list(&[count()]).is_none());
    }

    #[test]
    fn rows_are_replaced() {
        let shown = [b"\x01" as &[u8], DEFINITION, END, b"\x01a", b"\x01b", END];
        let rows = [b"\x01" as &[u8], DEFINITION, END, b"\x01c", b"\x01d", b"\x01e", END];
        let expected = [b"\x01" as &[u8], DEFINITION, END, b"\x01c", b"\x01d", END];
        assert_eq!(with_rows(&reply(&shown), &reply(&rows)), reply(&expected).bytes);
    }
}
