//! The findings of `lockstead check`, printed as they are made.

use std::fmt::Display;

use crate::cli::print::print_line;

/// The findings of a check: one line each.
pub(super) struct Findings {
    pub(super) good: bool,
}

impl Findings {
    pub(super) fn fine(label: &str, what: impl Display) {
        print_line(format_args!("{label:<16}{what}"));
    }

    pub(super) fn warn(what: impl Display) {
        print_line(format_args!("warning: {what}"));
    }

    pub(super) fn failed(&mut self, label: &str, why: impl Display) {
        self.good = false;
        Self::fine(label, format_args!("FAILED: {why}"));
    }
}
