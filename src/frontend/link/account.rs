//! Whose session it is that shares its connections, and its end by KILL, or by COMMIT RELEASE.

use std::sync::Arc;

use super::Link;
use super::close_reason::CloseReason;
use crate::backend::pool::PoolKey;
use crate::frontend::pooling::account::ChangedAccount;
use crate::protocol::handshake::ChangeUser;
use crate::sql::find::release::ConnectionRelease;

impl Link {
    /// The session is this account's from here on, and so is the connection that it has.
    pub(crate) fn change_user(&mut self, change: &ChangeUser<'_>) {
        let Some(pooled) = &mut self.pooled else { return };
        let schema = Some(change.database).filter(|name| !name.is_empty());
        if schema.is_some()
            && let Some(backend) = self.server.backend()
        {
            backend.note_schema();
        }
        pooled.change_user(ChangedAccount {
            user: change.user_name(pooled.flavour),
            collation: change.collation_of_login(),
            schema: schema.map(Into::into),
        });
    }

    /// The server has denied a change of user, and counts that against the connection that the session has.
    pub(crate) fn note_denied_change(&mut self) {
        if let Some(pooled) = &mut self.pooled {
            pooled.denied = true;
        }
    }

    /// Which connections the session may have, if it shares them.
    pub(crate) fn pool_key(&self) -> Option<Arc<PoolKey>> {
        self.pooled.as_ref().map(|pooled| Arc::clone(&pooled.key))
    }

    /// A part of a text is about to run, which may end the connection.
    pub(crate) fn note_part(&mut self, release: ConnectionRelease) {
        if let Some(pooled) = &mut self.pooled {
            pooled.loss_tracking.releases = release;
        }
    }

    /// KILL has ended the session. If its connection is meant, the server ends that, with its last words.
    pub(crate) fn is_killed(&mut self) -> Result<(), CloseReason> {
        match &mut self.pooled {
            Some(pooled) if self.server.is_there() && pooled.current.is_condemned() => {
                pooled.killed = true;
                Ok(())
            }
            Some(_) | None => Err(CloseReason::Killed),
        }
    }
}
