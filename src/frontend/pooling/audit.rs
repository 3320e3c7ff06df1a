//! Whether what tied a session to its connection is over: after a stored program, or when its temporary tables are dropped.
//!
//! Nobody reports that, so the server is asked when another session needs the connection. Where its answers leave a doubt,
//! the session stays.

use std::time::Duration;

use tokio::time::Instant;

use super::capture::{Doubts, MOST_NAMES};
use super::creation::{Creation, Creations};
use super::lost::is_single;
use super::pins::{Pin, Pins};
use crate::backend::session_state::is_plain;
use crate::frontend::shared::audits::Audits;
use crate::frontend::shared::programs::KnownPrograms;
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

/// What is known of a session on its connection, for an audit.
pub(crate) struct AuditNotes {
    audits: Audits,
    programs: KnownPrograms,
    creations: Creations,
    /// The last audit found that the session must stay, and nothing that could change that has run since.
    futile: bool,
    /// Something may have run that leaves what no server lists.
    unlisted: bool,
    /// An audit has found nothing: what it cannot see would be lost by a reset at least.
    clear: bool,
    /// The seeds of RAND() were set: nothing uses them up.
    seeded: bool,
    /// The pins that the audit under way may end.
    lifted: Pins,
    /// The reading of stored programs before which their changes are not known.
    reading: u64,
    /// The session has the connection since then.
    since: Instant,
}

impl AuditNotes {
    /// On a connection without any state.
    pub(super) fn new(audits: Audits, programs: KnownPrograms) -> Self {
        Self {
            audits,
            programs,
            creations: Creations::default(),
            futile: false,
            unlisted: false,
            clear: false,
            seeded: false,
            lifted: Pins::default(),
            reading: 0,
            since: Instant::now(),
        }
    }

    /// What is known of stored programs.
    pub(super) fn programs(&self) -> &KnownPrograms {
        &self.programs
    }

    /// The session begins again, on this connection or on another one.
    pub(super) fn forget(&mut self) {
        let fresh = Self::new(self.audits.clone(), self.programs.clone());
        *self = Self { reading: self.reading, ..fresh };
    }

    /// A text is about to run; `alone`: the server owes nothing before it, and it names no variables.
    pub(super) fn note_creation(&mut self, text: &[u8], schema: Option<&[u8]>, alone: bool) {
        let creation = Creation::read(text, schema);
        self.creations.note_statement(creation.filter(|_| alone && is_single(text)));
    }

    /// A response has ended.
    pub(super) fn note_created(&mut self, well: bool) {
        self.creations.end(well);
    }

    /// A statement is about to run that has effects.
    pub(super) fn note_effects(&mut self, text: &[u8], effects: &SessionEffects, flavour: Flavour) {
        let has = |mark: &Mark| effects.has(*mark);
        if NEWS.iter().any(has) {
            self.futile = false;
        }
        // MySQL lists all that is left.
        if flavour == Flavour::MariaDb {
            let unknown = [Mark::Execute, Mark::Block].iter().any(has);
            let called =
                !has(&Mark::Call) || is_single(text) && self.programs.names().know_called(text);
            self.unlisted |= unknown || !called;
        }
    }

    /// A value is set that the next statement uses up, or that has stopped.
    pub(super) fn note_one_shot(&mut self, name: &[u8], pins: &mut Pins) {
        pins.add(Pin::OneShotValue);
        self.futile = false;
        self.seeded |= name.starts_with(b"rand_seed");
    }

    /// A statement is about to run that may use up the next id.
    pub(super) fn note_use(&mut self, text: &[u8], pins: Pins) {
        if pins.has(Pin::OneShotValue) && begins_with(text, &USES) {
            self.futile = false;
        }
    }

    /// What a statement names may be a stored program that changes the session.
    pub(super) fn note_programs(&mut self, text: &[u8], pins: &mut Pins) {
        let names = self.programs.names();
        if names.are_named_in(text) {
            pins.add(Pin::Routine);
            self.futile = false;
            self.unlisted |= names.leave_more(text);
        }
    }

    /// Stored programs have changed: before they are read again, this session may run one.
    pub(super) fn note_programs_changed(&mut self, pins: &mut Pins) {
        pins.add(Pin::Routine);
        self.futile = false;
        self.reading = self.programs.next_reading();
    }

    /// Whether only such things tie the session to its connection as an audit may find to be over.
    pub(crate) fn is_worth(&self, pins: Pins) -> bool {
        let Self { futile, unlisted, seeded, reading, .. } = *self;
        let mut others = pins;
        for pin in AUDITED {
            others.remove(pin);
        }
        !pins.is_empty()
            && others.is_empty()
            && !futile
            && !unlisted
            && !seeded
            && self.programs.last_reading() >= reading
    }

    /// Takes in the lists: what the session has is in doubt. Whether it may leave, as far as they tell.
    pub(crate) fn take_in_lists(lists: &SessionLists, doubts: &mut Doubts) -> bool {
        let plain = lists.variables.iter().all(|name| is_plain(name));
        let carried = plain && lists.variables.len() <= MOST_NAMES;
        if lists.prepared || lists.locked || !carried {
            return false;
        }
        let names = lists.variables.iter().map(|name| name.to_ascii_lowercase().into());
        doubts.names.extend(names);
        doubts.role = true;
        doubts.insert_id = true;
        doubts.found_rows = true;
        doubts.login = false;
        true
    }

    /// Where the server is asked for them.
    pub(crate) fn audits(&self) -> &Audits {
        &self.audits
    }

    /// The pins that an audit may end, which it ends unless they are added again.
    pub(crate) fn lift(&mut self, pins: &mut Pins) -> Pins {
        self.lifted = *pins;
        for pin in AUDITED {
            pins.remove(pin);
        }
        self.lifted
    }

    /// Nothing is left: the session may leave.
    pub(crate) fn note_clear(&mut self) {
        self.clear = true;
    }

    /// Whether an audit was what let the session leave.
    pub(super) fn was_audited(&self) -> bool {
        self.clear
    }

    /// The session stays: something is left, or nobody can tell.
    pub(crate) fn note_kept(&mut self, futile: bool) {
        self.futile = futile;
    }

    /// The questions that the session's own connection must answer. The first ones are whether tables that it has made
    /// are there, and whether a value is set. The last one is for its counters, whose reply is no error.
    pub(crate) fn questions(&self) -> Vec<Vec<u8>> {
        let tables = self.creations.names().iter();
        let tables = tables.map(|name| [b"SHOW CREATE TABLE ", &**name].concat());
        let values = self.asks_for_values().then(|| ONE_SHOT.to_vec());
        let names = COUNTERS.join("','");
        let counters = format!("SHOW SESSION STATUS WHERE Variable_name IN ('{names}')");
        let before = values.clone().into_iter().chain(tables);
        before.chain(values).chain([counters.into_bytes()]).collect()
    }

    /// Whether the first question, and the last but one, are for values that may be set.
    pub(crate) fn asks_for_values(&self) -> bool {
        self.lifted.has(Pin::OneShotValue)
    }

    /// Whether these counters leave no doubt that the session has no temporary table but those that it is known to have
    /// made, and no statement that was prepared in SQL.
    pub(crate) fn are_clear(&self, counters: &[(Vec<u8>, u64)], flavour: Flavour) -> bool {
        let of = |name: &str| {
            let found = counters.iter().find(|c| c.0.eq_ignore_ascii_case(name.as_bytes()));
            found.map(|counter| counter.1)
        };
        let none = |name: &str| of(name) == Some(0);
        let made = of(match flavour {
            Flavour::MySql => "Com_create_table",
            Flavour::MariaDb => "Com_create_temporary_table",
        });
        // A table may have another name than it was made with.
        let Self { creations, since, .. } = self;
        let renamed = !none("Com_alter_table") || !none("Com_rename_table");
        let tables = made.is_some_and(|made| creations.are_all(made, flavour))
            && (creations.names().is_empty() || !renamed);
        let prepared = match (of("Com_prepare_sql"), of("Com_dealloc_sql")) {
            (Some(prepared), Some(dropped)) => dropped >= prepared,
            _ => false,
        };
        let others = match flavour {
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
