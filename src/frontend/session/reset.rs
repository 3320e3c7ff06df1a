//! COM_RESET_CONNECTION: what the server forgets, the session forgets.

use super::Session;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::operations::release_held;
use crate::frontend::locks::owner::Locks;
use crate::protocol::command::Command;

impl Session {
    /// COM_RESET_CONNECTION: the server's OK comes after its rollback; then the locks go, and
    /// then the client hears.
    pub(super) async fn reset(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        let mut cx = self.cx();
        cx.count(Command::RESET_CONNECTION);
        let reply = cx.exchange(packet).await?;
        if !reply.is_error() {
            self.begin_anew();
            self.link.pooled_mut().go_back_to_login_names();
            self.link.report_again()?;
            release_held(&mut self.cx()).await?;
        }
        self.link.send_client(&reply.bytes)
    }

    /// Forgets what the server has forgotten.
    pub(super) fn begin_anew(&mut self) {
        self.link.pooled_mut().reset();
        self.link.owed_mut().forget_skipped();
        self.view.reset();
        self.statements.reset();
        self.locks.ledger_mut().reset();
    }
}
