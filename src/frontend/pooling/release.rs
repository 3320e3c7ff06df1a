//! COMMIT RELEASE and ROLLBACK RELEASE: the server ends the connection after its OK, and the session ends with it.

use super::pooled_session::PooledSession;
use crate::sql::find::release::ConnectionRelease;

impl PooledSession {
    /// Whether the server ends the connection, now that a text with this at its end has run.
    pub(crate) fn releases(&self, release: ConnectionRelease) -> bool {
        match release {
            ConnectionRelease::No => false,
            ConnectionRelease::Yes => true,
            ConnectionRelease::ByDefault => {
                let default = self.state.variable(b"completion_type");
                default.is_some_and(|how| how.eq_ignore_ascii_case(b"release"))
            }
        }
    }
}
