//! The arguments of lock calls, as far as texts and bound values tell them.

use std::sync::Arc;

use crate::lock::name::{Name, is_plain, plain};
use crate::lock::timeout::Timeout;
use crate::observe::event::shown;
use crate::observe::holds::Lock;
use crate::sql::report::call_names::{Use, Written};
use crate::types::Flavour;

/// An argument of a call, as far as its text and the values tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a>(&'a [u8]);

impl<'a> Told<'a> {
    /// The value as it is given.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// As the server compares it, where that is known: MySQL ignores letter case.
    pub(super) fn plain(self, flavour: Flavour) -> Option<Name> {
        Some(self.0).filter(|n| is_plain(n)).and_then(|n| plain(n, flavour))
    }

    pub(super) fn timeout(self, flavour: Flavour) -> Option<Timeout> {
        Timeout::from_decimal(str::from_utf8(self.0).ok()?, flavour)
    }
}

/// `told`: the text in double quotes was no column.
pub(super) fn given<'a>(
    written: &'a Written,
    values: &'a [Option<Vec<u8>>],
    told: bool,
) -> Option<Told<'a>> {
    match written {
        Written::None | Written::Computed => None,
        Written::Double(_) if !told => None,
        Written::Literal(name) | Written::Double(name) => Some(Told(name)),
        Written::Parameter(nth) => values.get(*nth)?.as_deref().map(Told),
    }
}

/// The lock that a call names, for a report.
pub(super) fn lock(call: &Use, values: &[Option<Vec<u8>>], told: bool, flavour: Flavour) -> Lock {
    let unknown = |name: &str| Lock { key: None, name: name.into() };
    match (given(&call.name, values, told), &call.name) {
        (Some(given), _) => {
            let key = given.plain(flavour);
            let name = key.map_or_else(|| shown(given.0), |name| shown(name.key.folded()));
            Lock { key: Some(Arc::clone(&name)), name }
        }
        (None, Written::None) => unknown("<all>"),
        (None, Written::Double(name)) => {
            Lock { key: None, name: shown(&[b"\"", name.as_slice(), b"\""].concat()) }
        }
        (None, Written::Parameter(_)) => unknown("<parameter>"),
        (None, Written::Computed | Written::Literal(_)) => unknown("<computed>"),
    }
}
