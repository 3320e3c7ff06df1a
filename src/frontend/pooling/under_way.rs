//! What the statements under way do to a session and its server, until the server has said so.

use super::changes::Changes;
use super::lost::IfLost;

/// What is under way.
#[derive(Debug)]
pub(crate) struct UnderWay {
    /// The client hears what the server reports.
    tracks: bool,
    /// A statement's text tells why the server reports that something has changed.
    pub(super) explained: bool,
    /// The statement may be a SET NAMES with a collation.
    pub(super) collates: bool,
    /// The last statement may have unlocked tables.
    pub(super) unlocks: bool,
    /// What the statement changes beside the session.
    pub(super) changes: Changes,
    /// The client is about to change what the server reports.
    pub(super) leaves_reports: bool,
    /// The server may report what the last statement changed with a later reply only.
    pub(super) reports_late: bool,
    /// A client that hears EOF packets has had rows since the server was last asked, and they may come from what has
    /// changed the session: only the next OK tells.
    pub(super) rows_may_hide: bool,
    /// The statement uses up what was set for the next transaction. MariaDB does not tell a client that hears EOF packets.
    pub(super) uses_up_setting: bool,
    /// That was taken for granted on this connection. A table of another engine uses nothing up.
    pub(super) setting_may_be_left: bool,
    /// What holds if the connection ends.
    pub(crate) if_lost: IfLost,
}

impl UnderWay {
    /// Right after a login. `tracks`: the client hears what the server reports.
    pub(super) fn new(tracks: bool) -> Self {
        Self {
            tracks,
            explained: false,
            collates: false,
            unlocks: false,
            changes: Changes::default(),
            leaves_reports: false,
            reports_late: false,
            rows_may_hide: true,
            uses_up_setting: false,
            setting_may_be_left: false,
            if_lost: IfLost::default(),
        }
    }

    /// Whether the client hears what the server reports.
    pub(crate) fn tracks(&self) -> bool {
        self.tracks
    }

    /// Whether the client is about to change what the server reports; once.
    pub(crate) fn take_leaves_reports(&mut self) -> bool {
        std::mem::take(&mut self.leaves_reports)
    }

    /// Whether the server may have something still to report, to a client that hears EOF packets or not.
    pub(super) fn may_be_late(&self, eof: bool) -> bool {
        self.reports_late || eof && self.rows_may_hide
    }

    /// The server has reported all.
    pub(crate) fn note_all_reported(&mut self) {
        (self.reports_late, self.rows_may_hide) = (false, false);
    }
}
