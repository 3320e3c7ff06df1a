//! What the server is asked after a login that it has judged, so that others like it need none.

use super::Session;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::attend::attend;
use crate::frontend::moves::errands::read_login;

impl Session {
    /// Asks the server for what its login has given the session, so that others like it need no login there.
    pub(super) async fn ask_login(&mut self) -> Result<(), CloseReason> {
        let Some(judged) = self.judged.take() else { return Ok(()) };
        let values = attend(&mut self.locks, &self.context, read_login(&mut self.link)).await?;
        if let (Some(values), Some(shared)) = (values, &self.context.shared) {
            let ttl = self.context.config.pooling.login_check_ttl;
            shared.secrets.admissions().remember(*judged, values, ttl);
        }
        Ok(())
    }
}
