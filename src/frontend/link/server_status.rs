//! The status flags that a session's server has said last.

use crate::protocol::response::Ending;
use crate::protocol::status::Status;

/// The flags, and whether they are those of the last response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerStatus {
    flags: Status,
    /// The last response said them. An error says none.
    known: bool,
}

impl ServerStatus {
    /// Before the server has said any.
    pub(crate) fn new() -> Self {
        Self { flags: Status(Status::AUTOCOMMIT), known: false }
    }

    /// A response has ended. Whether it said flags.
    pub(crate) fn note(&mut self, ending: Ending) -> bool {
        match ending {
            Ending::Ok { status, .. } => *self = Self { flags: status, known: true },
            // An error may have ended a transaction, or left one open: it does not say.
            Ending::Err { .. } => self.known = false,
            Ending::Plain => {}
        }
        matches!(ending, Ending::Ok { .. })
    }

    /// Another login begins with these.
    pub(crate) fn reset(&mut self) {
        self.flags = Status(Status::AUTOCOMMIT);
    }

    /// The connection has ended, and with it the transaction.
    pub(super) fn end_transaction(&mut self) {
        let lasting = self.flags.lasting() & !(Status::IN_TRANS | Status::IN_TRANS_READONLY);
        *self = Self { flags: Status(lasting), known: true };
    }

    /// The flags that the server said last.
    pub(crate) fn flags(self) -> Status {
        self.flags
    }

    /// Whether the last response said them.
    pub(crate) fn is_known(self) -> bool {
        self.known
    }

    /// Whether a reply that the proxy makes itself cannot be told from the server's: not while
    /// state trackers hang flags and blocks on the next reply, nor after an error.
    pub(crate) fn is_plain(self) -> bool {
        self.known && !self.flags.has(Status::SESSION_STATE_CHANGED)
    }

    /// Whether a transaction is open, as the server said last.
    pub(crate) fn in_transaction(self) -> bool {
        self.flags.has(Status::IN_TRANS)
    }

    /// Whether a transaction may be open in which something was changed: after an error nobody knows.
    pub(crate) fn may_have_changes(self) -> bool {
        let open = self.in_transaction() && !self.flags.has(Status::IN_TRANS_READONLY);
        open || !self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(flags: u16) -> Ending {
        Ending::Ok { status: Status(flags), warnings: 0 }
    }

    #[test]
    fn after_an_error_nobody_knows_whether_a_transaction_is_open() {
        let mut status = ServerStatus::new();
        assert!(status.note(said(Status::AUTOCOMMIT)) && !status.may_have_changes());
        assert!(!status.note(Ending::Err { code: 1213 }));
        assert!(status.may_have_changes() && !status.in_transaction());
        assert!(!status.note(Ending::Plain) && !status.is_known());
    }

    #[test]
    fn a_lost_connection_ends_the_transaction_and_keeps_autocommit() {
        let mut status = ServerStatus::new();
        status.note(said(Status::AUTOCOMMIT | Status::IN_TRANS));
        assert!(status.may_have_changes());
        status.end_transaction();
        assert!(!status.may_have_changes() && status.flags().has(Status::AUTOCOMMIT));
    }

    #[test]
    fn changes_only_in_a_transaction_that_may_write() {
        let mut status = ServerStatus::new();
        status.note(said(Status::IN_TRANS | Status::IN_TRANS_READONLY));
        assert!(status.in_transaction() && !status.may_have_changes());
    }
}
