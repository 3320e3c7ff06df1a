//! What a login has given a session that the server has let in, for others like it.

use std::sync::Arc;

use super::Mover;
use crate::backend::admissions::LoginValues;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;

impl Mover<'_> {
    /// Asks the server for the values that a login gives a session. `None`: others cannot be let in by them.
    pub(super) async fn ask_login(&mut self) -> Result<Option<LoginValues>, CloseReason> {
        let Some(pooled) = self.pooled() else { return Ok(None) };
        let questions = pooled.questions_of_login();
        // Begun at the login.
        Asker::of(self.link).let_come_in().await?;
        let replies = Asker::of(self.link).exchange_cleanly(&questions).await?;
        // Of the proxy's own making.
        self.link.server_mut().take_reported();
        let values = replies.first().filter(|reply| !reply.is_error()).and_then(Reply::values);
        let Some(pooled) = self.pooled_mut() else { return Ok(None) };
        pooled.counts.note_move();
        let Some(values) = values else { return Ok(None) };
        let values: LoginValues = Arc::from(values);
        Ok(pooled.know_login(&values).then_some(values))
    }
}
