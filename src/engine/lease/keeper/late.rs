//! Locks whose rows are not written yet: what the own row says of them, and how long a proxy that grants by rows alone waits for
//! those of others (docs/adr/0044-late-rows.md).

use std::time::Duration;

use super::Keeper;
use crate::engine::lease::incarnation::GrantWait;
use crate::mutants::{self, Mutant};

impl Keeper {
    /// What the row of this proxy says of rows that may be older than their locks; 0: none may be.
    pub(super) fn keeps(&self) -> u32 {
        if self.native {
            self.access.late_rows.for_row(!self.others.by_rows)
        } else {
            self.access.keep_names.milliseconds()
        }
    }

    /// Until when nothing is granted. In mode durable a lock may be held whose row is not written yet, until a renewal shows
    /// that there is none: no time says that.
    pub(super) fn withheld_until(&self, wait: GrantWait, until: Duration) -> Duration {
        let by_rows =
            !self.native && wait != GrantWait::Over && !mutants::on(Mutant::LateRowsIgnored);
        if by_rows { Duration::MAX } else { until }
    }

    /// Whether a proxy that grants by rows alone must wait, since another one may have locks without rows (`late`).
    pub(super) fn waits_for_rows(&mut self, late: bool) -> bool {
        let waits = late && !self.native && !mutants::on(Mutant::LateRowsIgnored);
        if waits && !self.waits_for_rows {
            tracing::info!(
                "a proxy in mode coexist has locks whose rows are not written yet: nothing is granted until they are, or it is taken over"
            );
        }
        self.waits_for_rows = waits;
        waits
    }
}
