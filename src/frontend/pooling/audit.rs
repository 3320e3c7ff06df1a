//! Whether what tied a session to its connection is over: after a stored program, or when its temporary tables are dropped.
//!
//! Nobody reports that, so the server is asked when another session needs the connection. Where its answers leave a doubt,
//! the session stays.

use std::time::Duration;

use super::audit_notes::AuditNotes;
use super::creation::Creation;
use super::lost::is_single;
use super::pins::{Pin, Pins};
use super::pooled_session::{MOST_NAMES, PooledSession};
use crate::backend::session_state::is_plain;
use crate::frontend::shared::audits::Audits;
use crate::sql::find::first_word::begins_with;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::store::session_lists::SessionLists;
use crate::types::Flavour;

/// What may be over without a report.
pub(super) const AUDITED: [Pin; 3] = [Pin::Routine, Pin::TempTable, Pin::OneShotValue];

/// Statements after which it may be over, or there may be more.
const NEWS: [Mark; 7] = [
    Mark::Call,
    Mark::Execute,
    Mark::Block,
    Mark::ServiceLock,
    Mark::TemporaryTable,
    Mark::DropsTable,
    Mark::Deallocates,
];

/// Statements that use up the id of the next row.
const USES: [&[u8]; 3] = [b"insert", b"replace", b"load"];
/// Asked twice. The first is 0 if no id is set; the second advances if no time is set.
const ONE_SHOT: &[u8] = b"SELECT @@insert_id,@@timestamp";

/// What a session counts at the server. Each is there on one of the servers at least.
const COUNTERS: [&str; 9] = [
    "Com_create_table",
    "Com_create_temporary_table",
    "Com_create_sequence",
    "Com_alter_table",
    "Com_rename_table",
    "Com_prepare_sql",
    "Com_dealloc_sql",
    "Com_set_resource_group",
    "Uptime_since_flush_status",
];

impl PooledSession {
    /// The session begins again, on this connection or on another one.
    pub(super) fn forget_audits(&mut self) {
        self.audit = AuditNotes { reading: self.audit.reading, ..AuditNotes::new() };
    }

    /// A text is about to run.
    pub(super) fn note_creation(&mut self, text: &[u8], effects: &SessionEffects) {
        let creation = Creation::read(text, self.state.schema.as_deref());
        let alone = self.loss_tracking.before.is_some() && effects.variables.is_empty();
        self.audit.creations.begin(creation.filter(|_| alone && is_single(text)));
    }

    /// A response has ended.
    pub(super) fn note_created(&mut self, well: bool) {
        self.audit.creations.end(well);
    }

    /// A statement is about to run that has effects.
    pub(super) fn note_for_audit(&mut self, text: &[u8], effects: &SessionEffects) {
        let has = |mark: &Mark| effects.has(*mark);
        if NEWS.iter().any(has) {
            self.audit.futile = false;
        }
        // MySQL lists all that is left.
        if self.flavour == Flavour::MariaDb {
            let unknown = [Mark::Execute, Mark::Block].iter().any(has);
            let called =
                !has(&Mark::Call) || is_single(text) && self.programs.names().know_called(text);
            self.audit.unlisted |= unknown || !called;
        }
    }

    /// A value is set that the next statement uses up, or that has stopped.
    pub(super) fn note_one_shot(&mut self, name: &[u8]) {
        self.pins.add(Pin::OneShotValue);
        self.audit.futile = false;
        self.audit.seeded |= name.starts_with(b"rand_seed");
    }

    /// A statement is about to run that may use up the next id.
    pub(super) fn note_use(&mut self, text: &[u8]) {
        if self.pins.has(Pin::OneShotValue) && begins_with(text, &USES) {
            self.audit.futile = false;
        }
    }

    /// What a statement names may be a stored program that changes the session.
    pub(super) fn note_programs(&mut self, text: &[u8]) {
        let names = self.programs.names();
        if names.are_named_in(text) {
            self.pins.add(Pin::Routine);
            self.audit.futile = false;
            self.audit.unlisted |= names.leave_more(text);
        }
    }

    /// Stored programs have changed: before they are read again, this session may run one.
    pub(super) fn note_programs_changed(&mut self) {
        self.pins.add(Pin::Routine);
        self.audit.futile = false;
        self.audit.reading = self.programs.next_reading();
    }

    /// Whether only such things tie the session to its connection as an audit may find to be over.
    pub(crate) fn may_be_audited(&self) -> bool {
        let AuditNotes { futile, unlisted, seeded, reading, .. } = self.audit;
        let mut others = self.pins;
        for pin in AUDITED {
            others.remove(pin);
        }
        !self.pins.is_empty()
            && others.is_empty()
            && !futile
            && !unlisted
            && !seeded
            && self.programs.last_reading() >= reading
    }

    /// Whether the server's lists are needed for that.
    pub(crate) fn needs_lists(&self) -> bool {
        self.pins.has(Pin::Routine)
    }

    /// Takes in the lists: what the session has is in doubt. Whether it may leave, as far as they tell.
    pub(crate) fn take_in_lists(&mut self, lists: &SessionLists) -> bool {
        let plain = lists.variables.iter().all(|name| is_plain(name));
        let carried = plain && lists.variables.len() <= MOST_NAMES;
        if lists.prepared || lists.locked || !carried {
            return false;
        }
        self.doubts
            .names
            .extend(lists.variables.iter().map(|name| name.to_ascii_lowercase().into()));
        self.doubts.role = true;
        self.doubts.insert_id = true;
        self.doubts.found_rows = true;
        self.doubts.login = false;
        true
    }

    /// Where the server is asked for them.
    pub(crate) fn audits(&self) -> &Audits {
        &self.audits
    }

    /// The pins that an audit may end, which it ends unless they are added again.
    pub(crate) fn lift_audited(&mut self) -> Pins {
        let before = self.pins;
        self.audit.lifted = before;
        for pin in AUDITED {
            self.pins.remove(pin);
        }
        before
    }

    /// Nothing is left: the session may leave.
    pub(crate) fn note_clear(&mut self) {
        self.audit.clear = true;
    }

    /// Whether an audit was what let the session leave.
    pub(super) fn was_audited(&self) -> bool {
        self.audit.clear
    }

    /// The session stays: something is left, or nobody can tell.
    pub(crate) fn note_kept(&mut self, pins: Pins, futile: bool) {
        self.pins = pins.with(self.pins);
        self.audit.futile = futile;
    }

    /// The questions that the session's own connection must answer: its counters at last, whose reply is no error; before
    /// them whether tables that it has made are there, and whether a value is set.
    pub(crate) fn audit_questions(&self) -> Vec<Vec<u8>> {
        let tables = self.audit.creations.names().iter();
        let tables = tables.map(|name| [b"SHOW CREATE TABLE ", &**name].concat());
        let values = self.asks_for_values().then(|| ONE_SHOT.to_vec());
        let names = COUNTERS.join("','");
        let counters = format!("SHOW SESSION STATUS WHERE Variable_name IN ('{names}')");
        let before = values.clone().into_iter().chain(tables);
        before.chain(values).chain([counters.into_bytes()]).collect()
    }

    /// Whether the first question, and the last but one, are for values that may be set.
    pub(crate) fn asks_for_values(&self) -> bool {
        self.audit.lifted.has(Pin::OneShotValue)
    }

    /// Whether these counters leave no doubt that the session has no temporary table but those that it is known to have
    /// made, and no statement that was prepared in SQL.
    pub(crate) fn are_clear(&self, counters: &[(Vec<u8>, u64)]) -> bool {
        let of = |name: &str| {
            let found = counters.iter().find(|c| c.0.eq_ignore_ascii_case(name.as_bytes()));
            found.map(|counter| counter.1)
        };
        let none = |name: &str| of(name) == Some(0);
        let made = of(match self.flavour {
            Flavour::MySql => "Com_create_table",
            Flavour::MariaDb => "Com_create_temporary_table",
        });
        // A table may have another name than it was made with.
        let AuditNotes { creations, since, .. } = &self.audit;
        let renamed = !none("Com_alter_table") || !none("Com_rename_table");
        let tables = made.is_some_and(|made| creations.are_all(made, self.flavour))
            && (creations.names().is_empty() || !renamed);
        let prepared = match (of("Com_prepare_sql"), of("Com_dealloc_sql")) {
            (Some(prepared), Some(dropped)) => dropped >= prepared,
            _ => false,
        };
        let others = match self.flavour {
            Flavour::MySql => none("Com_set_resource_group"),
            Flavour::MariaDb => none("Com_create_sequence"),
        };
        // FLUSH STATUS sets counters to 0, also in a routine.
        let counted = of("Uptime_since_flush_status")
            .is_some_and(|uptime| Duration::from_secs(uptime) > since.elapsed() + SLACK);
        tables && prepared && others && counted
    }
}

/// Whole seconds of the server's clock.
const SLACK: Duration = Duration::from_secs(2);
