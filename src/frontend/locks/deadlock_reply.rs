//! The answer to a wait that was given up to end a deadlock, or that ended its statement: the server's
//! own error, in the server's own diagnostics, behind the columns that it would have sent.

use super::reply::Call;
use crate::frontend::link::server_query::{Reply, frames, is_end};
use crate::frontend::session::{End, Session};
use crate::lock::codes;
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::is_definition;
use crate::protocol::command::Shape;
use crate::protocol::frame::{HEADER, put_frame};
use crate::types::Flavour;

impl Session {
    /// Answers a text call.
    pub(in crate::frontend) async fn answer_deadlock(
        &mut self,
        call: &Call<'_>,
    ) -> Result<(), End> {
        if call.bare.is_do {
            return self.say_deadlock(&[], false, true).await;
        }
        let name = self.source_name(call).await?;
        let expression = Function::GetLock.value_expression(self.flavour, None, &[]);
        let reply = self.exchange(&call.spliced(&expression), Shape::Results).await?;
        let bytes = self.patched(call, name.as_deref(), &reply);
        self.say_deadlock(&bytes, false, false).await
    }

    /// Sends the error behind the columns of `reply`, which is one with a row, or empty.
    pub(in crate::frontend) async fn say_deadlock(
        &mut self,
        reply: &[u8],
        cursor: bool,
        is_do: bool,
    ) -> Result<(), End> {
        if self.flavour == Flavour::MariaDb {
            // The more often it gives up, the later it is again.
            self.deadlocks = self.deadlocks.saturating_add(1);
        }
        // To MariaDB's DO an error is a warning.
        let as_warning = is_do && self.flavour == Flavour::MariaDb;
        let signal = codes::deadlock(self.flavour, as_warning);
        self.let_server_say(&signal, reply, cursor).await
    }

    /// Has the server raise an error, and sends it behind the columns of `reply`.
    pub(in crate::frontend) async fn let_server_say(
        &mut self,
        signal: &str,
        reply: &[u8],
        cursor: bool,
    ) -> Result<(), End> {
        // What is caught up is for the client's next statement, which must not undo this one.
        self.catch_up()?;
        let said = self.ask(signal.as_bytes()).await?;
        self.say_behind_columns(reply, cursor, &said)
    }

    /// Sends what the server said last behind the columns of `reply`.
    pub(in crate::frontend) fn say_behind_columns(
        &mut self,
        reply: &[u8],
        cursor: bool,
        said: &Reply,
    ) -> Result<(), End> {
        let mut out = Vec::with_capacity(reply.len() + said.bytes.len());
        let mut seq = 1;
        // Nothing was opened when a cursor fails.
        let eof = !cursor && !self.capabilities.has(Capabilities::DEPRECATE_EOF);
        for frame in columns(reply, eof) {
            out.extend_from_slice(frame);
            seq += 1;
        }
        if let Some(error) = said.frames().last() {
            put_frame(&mut out, seq, &error[HEADER..]);
        }
        self.send_client(&out)
    }
}

/// The frames of a result set before its rows; with `eof`, one behind the definitions.
fn columns(reply: &[u8], eof: bool) -> impl Iterator<Item = &[u8]> {
    let mut defined = false;
    let mut closed = false;
    frames(reply).take_while(move |frame| {
        let definition = is_definition(&frame[HEADER..]);
        let first = !defined && !definition;
        let end = eof && defined && !definition && !closed && is_end(frame);
        defined |= definition;
        closed |= end;
        first || definition || end
    })
}
