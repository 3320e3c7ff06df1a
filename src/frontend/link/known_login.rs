//! A session whose login the server has not judged, since it has judged one like it a short time ago.

use std::sync::Arc;

use tokio::time::Instant;

use super::Link;
use super::close_reason::CloseReason;
use super::reply::Reply;
use crate::backend::admissions::LoginValues;
use crate::frontend::pooling::pooled_session::PooledSession;

impl Link {
    /// The session begins without a connection, with these values.
    pub(crate) fn begin_known(&mut self, mut pooled: PooledSession, values: &LoginValues) {
        pooled.begin_known(values);
        self.pooled = Some(Box::new(pooled));
        self.begin_idle(Instant::now());
    }

    /// Asks the server for the values that a login gives a session. `None`: others cannot be let in by them.
    pub(super) async fn ask_login(&mut self) -> Result<Option<LoginValues>, CloseReason> {
        let Some(pooled) = &self.pooled else { return Ok(None) };
        let questions = pooled.questions_of_login();
        // Begun at the login.
        self.let_come_in().await?;
        let replies = self.exchange_cleanly(&questions).await?;
        // Of the proxy's own making.
        self.server.take_reported();
        let values = replies.first().filter(|reply| !reply.is_error()).and_then(Reply::values);
        let Some(pooled) = &mut self.pooled else { return Ok(None) };
        pooled.note_move();
        let Some(values) = values else { return Ok(None) };
        let values: LoginValues = Arc::from(values);
        Ok(pooled.know_login(&values).then_some(values))
    }
}
