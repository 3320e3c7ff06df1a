//! The end of a shared connection while its session has it: what that means for the session, and what its
//! client is told.

use super::Link;
use super::close_reason::CloseReason;
use super::pending::{Pending, Recipient};
use crate::frontend::pooling::lost::{BegunAnswer, Loss, WhyEnds};
use crate::frontend::pooling::pins::Pin;
use crate::lock::codes;
use crate::protocol::reply::ErrorReply;
use crate::types::BackendId;

/// A connection that has ended, and what its session's client is to be told.
#[derive(Debug)]
pub(crate) struct LostBackend {
    pub loss: Loss,
    /// Sequence ids of the responses that the client waits for.
    owed: Vec<u8>,
    /// The connection, at the server.
    pub conn: BackendId,
    /// The server's start, if the connection has told it.
    pub run: Option<i64>,
}

/// What the end of the connection means for the session, or why it ends as well.
pub(crate) fn judge_loss(link: &mut Link) -> Result<LostBackend, WhyEnds> {
    let (Some(pooled), Some(conn)) = (link.pooled.session(), link.server.id()) else {
        return Err(WhyEnds::Unproved);
    };
    if pooled.place.is_being_ended() {
        return Err(WhyEnds::Killed);
    }
    let mut owed: Vec<u8> = Vec::new();
    for response in link.owed.iter().filter(|p| p.recipient.is_client()) {
        if !matches!(response.recipient, Recipient::Client) {
            return Err(WhyEnds::Answering);
        }
        owed.push(response.seq);
    }
    match pooled.under_way.if_lost.answering {
        Some(BegunAnswer { said: true, .. }) => return Err(WhyEnds::Answering),
        Some(answer) if !answer.may_fail() => return Err(WhyEnds::Answering),
        Some(_) if owed.is_empty() => owed.push(1),
        // The server was to answer it.
        Some(_) | None => {}
    }
    if has_begun_a_response(link) || link.owed.has_finished() || link.amendments.joins() {
        return Err(WhyEnds::Answering);
    }
    if !link.client.is_between_commands() {
        return Err(WhyEnds::Client);
    }
    let run = pooled.place.current().run();
    let asked = !owed.is_empty();
    let loss = loss_of(link, asked);
    if let Some(pooled) = link.pooled.session_mut() {
        pooled.settle_loss(asked, loss)?;
    }
    Ok(LostBackend { loss, owed, conn, run })
}

/// Whether a part of a response is on its way to the client.
fn has_begun_a_response(link: &Link) -> bool {
    link.server.is_answering() && link.owed.front().is_some_and(|p| p.recipient.is_client())
}

fn loss_of(link: &Link, asked: bool) -> Loss {
    let Some(pooled) = link.pooled.session() else { return Loss::Unknown };
    // Of a text with several statements, an error does not say what those before it have begun.
    let perhaps = !link.status.is_known() && pooled.state.several;
    let inside = link.status.in_transaction() || perhaps;
    let client = |p: &&Pending| p.recipient.is_client();
    let undone = link.owed.iter().filter(client).all(|p| p.undone);
    let answered = pooled.under_way.if_lost.answering.is_none() || pooled.under_way.if_lost.undone;
    match (inside, asked) {
        (false, false) => Loss::Unnoticed,
        (true, false) if !pooled.under_way.if_lost.perhaps_committed => Loss::RolledBack,
        (true, true) if undone && answered && !pooled.under_way.if_lost.perhaps_committed => {
            Loss::RolledBack
        }
        (_, true) | (true, false) => Loss::Unknown,
    }
}

/// The server works for the connection no more, and the session has none: its client is told what that means.
pub(crate) fn go_on_without(link: &mut Link, ended: &LostBackend) -> Result<(), CloseReason> {
    link.owed.clear();
    link.amendments.end();
    link.status.end_transaction();
    link.metrics.pool_lost.with_label_values(&[ended.loss.label()]).inc();
    let Some(pooled) = link.pooled.session_mut() else { return Ok(()) };
    pooled.under_way.if_lost.answering = None;
    pooled.under_way.if_lost.perhaps_committed = false;
    if ended.owed.is_empty() {
        pooled.under_way.if_lost.owes = Some(ended.loss).filter(|loss| *loss != Loss::Unnoticed);
        return Ok(());
    }
    let Some(error) = error_of(ended.loss) else { return Ok(()) };
    for seq in &ended.owed {
        let mut out = Vec::new();
        error.encode(&mut out, *seq, false);
        link.send_client(&out)?;
    }
    Ok(())
}

/// Whether a session whose server has hung up can go on with another connection: it does nothing, and
/// all of its state is known.
pub(super) fn survives(link: &Link) -> bool {
    let Some(pooled) = link.pooled.session().filter(|pooled| !pooled.place.is_killed()) else {
        return false;
    };
    let mut pins = pooled.pins;
    // Of warnings nobody asks who has done nothing since.
    pins.remove(Pin::Diagnostics);
    let outside = link.status.is_known() || !pooled.state.several;
    pins.is_empty() && pooled.is_known() && outside && link.does_nothing()
}

/// Whether the session would end with its connection.
pub(crate) fn ends_with_server(link: &Link) -> bool {
    link.server.is_there() && !survives(link)
}

/// The connection is gone, with which the session did nothing.
pub(super) fn lose_idle_server(link: &mut Link) {
    link.metrics.pool_lost.with_label_values(&[Loss::Unnoticed.label()]).inc();
    link.lose_server();
    link.pooled.note_idle_loss();
}

/// The session ends with its connection: the client hears what the server said last.
pub(crate) fn end_with_server(link: &mut Link, why: WhyEnds) {
    if link.pooled.is_shared() && link.server.is_there() {
        link.metrics.pool_lost.with_label_values(&["closed"]).inc();
        link.metrics.sessions_lost.with_label_values(&[why.label()]).inc();
    }
    let words = std::mem::take(&mut link.last_words);
    if !words.is_empty() && link.server.at_packet_boundary() {
        let _ = link.send_client(&words);
    }
}

/// The error that says so to the client.
pub(crate) fn error_of(loss: Loss) -> Option<ErrorReply> {
    match loss {
        Loss::Unnoticed => None,
        Loss::RolledBack => Some(codes::rolled_back()),
        Loss::Unknown => Some(codes::outcome_unknown()),
    }
}
