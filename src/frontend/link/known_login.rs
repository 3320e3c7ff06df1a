//! A session whose login the server has not judged, since it has judged one like it a short time ago.

use std::sync::Arc;

use tokio::time::Instant;

use super::Link;
use super::close_reason::CloseReason;
use super::reply::Reply;
use crate::backend::admissions::LoginValues;
use crate::frontend::pooling::seat::Seat;

impl Link {
    /// The session begins without a connection, with these values.
    pub(crate) fn begin_known(&mut self, mut seat: Seat, values: &LoginValues) {
        seat.begin_known(values);
        self.seat = Some(Box::new(seat));
        self.begin_idle(Instant::now());
    }

    /// Asks the server for the values that a login gives a session. `None`: others cannot be let in by them.
    pub(super) async fn ask_login(&mut self) -> Result<Option<LoginValues>, CloseReason> {
        let Some(seat) = &self.seat else { return Ok(None) };
        let questions = seat.questions_of_login();
        // Begun at the login.
        self.let_come_in().await?;
        let replies = self.exchange_cleanly(&questions).await?;
        // Of the proxy's own making.
        self.server.take_reported();
        let values = replies.first().filter(|reply| !reply.is_error()).and_then(Reply::values);
        let Some(seat) = &mut self.seat else { return Ok(None) };
        seat.note_move();
        let Some(values) = values else { return Ok(None) };
        let values: LoginValues = Arc::from(values);
        Ok(seat.know_login(&values).then_some(values))
    }
}
