//! The conditions of the last statement of a session that shares its connections: read before it leaves one, and told
//! on the next.

use super::Link;
use super::close_reason::CloseReason;
use super::reply::{Keep, Reply};
use crate::frontend::pooling::conditions::{ConditionList, KeptConditions, with_rows};
use crate::frontend::pooling::pins::Pin;
use crate::protocol::command::Shape;
use crate::protocol::cut::Reported;
use crate::protocol::packet;
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
            kept.take_in(first, &list, &replies)
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
        let changes = self.server.take_reported().changes;
        if let Some(seat) = &mut self.seat {
            seat.take_in(&Reported { changes, ..Reported::default() });
        }
        Ok(ConditionList::read(&replies))
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
