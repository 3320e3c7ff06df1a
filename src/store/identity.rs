//! Which server answers: its identity, which run of it, and why nothing may be written there.

use sha2::{Digest, Sha256};

use crate::mutants::{self, Mutant};
use crate::types::Flavour;

/// The server's own identity, as text, evaluated on that server. A restart keeps it.
pub fn ident_expression(flavour: Flavour) -> &'static str {
    let ident = match flavour {
        Flavour::MySql => "@@server_uuid",
        // server_uid is made of port and network address: it survives a new data directory.
        Flavour::MariaDb => "CONCAT(@@server_id,':',@@hostname,':',@@port)",
    };
    mutants::or(Mutant::NoEpoch, ident, "'any server'")
}

/// The run of the server as one number, evaluated on that server: 31 bits for its identity, and below them its start in
/// seconds of its clock. So two servers that were started at once have different runs.
///
/// Constant through steps of that clock, since both terms move together.
pub fn run_expression(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MySql => {
            "(SELECT ((CRC32(CONVERT(@@server_uuid USING utf8mb4))&2147483647)<<32)\
             +UNIX_TIMESTAMP()-CAST(variable_value AS SIGNED) \
             FROM performance_schema.global_status WHERE variable_name='Uptime')"
        }
        // The text is the same in every character set of the connection.
        Flavour::MariaDb => {
            "(SELECT ((CRC32(CONVERT(CONCAT(@@server_id,':',@@hostname,':',@@port) USING utf8mb4))\
             &2147483647)<<32)+UNIX_TIMESTAMP()-CAST(variable_value AS SIGNED) \
             FROM information_schema.global_status WHERE variable_name='Uptime')"
        }
    }
}

/// Why nothing may be written on the server that answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// The server is not the one that meta names: a replica, or a copy.
    #[error(
        "another server answers: it is {server}, but its lock tables belong to {named}. If it is \
         the primary now, run `lockstead adopt`"
    )]
    Identity {
        /// The server that meta names.
        named: String,
        /// The one that answers.
        server: String,
    },
    /// The server is the one that meta names, in an epoch that is over: a former primary, or an old copy brought back.
    #[error(
        "a server of an earlier epoch answers: {epoch}, but this proxy knows {known}. If this server \
         is the primary again, run `lockstead adopt --above {known}`"
    )]
    Epoch {
        /// The epoch in meta.
        epoch: u64,
        /// The greatest one known.
        known: u64,
    },
    /// The server is one of these, and cannot become the primary by itself now.
    #[error("{}. It is not taken for the primary by itself: {why}", foreign.fact())]
    Unfit {
        /// What it is.
        foreign: Box<Self>,
        /// Why not.
        why: String,
    },
}

impl Foreign {
    /// The values of the label `reason` in metrics.
    pub const REASONS: [&str; 2] = ["identity", "epoch"];

    /// What is wrong, without the advice that follows it, which is for an operator who has to decide.
    pub fn fact(&self) -> String {
        let text = self.to_string();
        text.split(". If ").next().unwrap_or_default().to_owned()
    }

    /// The label `reason` in metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Identity { .. } => Self::REASONS[0],
            Self::Epoch { .. } => Self::REASONS[1],
            Self::Unfit { foreign, .. } => foreign.reason(),
        }
    }
}

/// A connection as the server knows it: ids mean nothing on another server, or in another run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    ident: Box<str>,
    started: i64,
    /// The server's id of it.
    pub id: u64,
}

impl Thread {
    /// A connection for tests.
    #[cfg(test)]
    pub(crate) fn of(started: i64, id: u64) -> Self {
        Self { ident: "here".into(), started, id }
    }

    /// One of the server with this identity, which was started then.
    pub(super) fn new(ident: &str, started: i64, id: u64) -> Self {
        Self { ident: ident.into(), started, id }
    }

    /// Whether both are connections to the same run of the same server.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.ident == other.ident && same_run(self.started, other.started)
    }
}

/// Seconds by which two readings of one server's start may differ.
pub(super) const SLACK: u64 = 2;

/// Whether two readings of [`run_expression`] are of one run of one server: they differ by at most two seconds
/// then.
pub fn same_run(a: i64, b: i64) -> bool {
    a.abs_diff(b) <= SLACK
}

/// A run of a server as a number, for claims by the server's own locks. The number has a hash of the identity, so that
/// nobody can choose it, and is not 0.
pub fn run_number(ident: &str, started: i64) -> u64 {
    let hash = Sha256::digest(ident);
    let server = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
    let start = u64::try_from(started).unwrap_or_default() & u64::from(u32::MAX);
    (u64::from(server) << 32 | start).max(1)
}

/// Whether two such numbers are of one run.
pub fn is_same_run(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_taken_by_itself_is_no_case_for_an_operator() {
        let foreign = Box::new(Foreign::Epoch { epoch: 1, known: 2 });
        assert!(foreign.to_string().contains("adopt --above 2"));
        let unfit = Foreign::Unfit { foreign, why: "it is read-only".to_owned() };
        let said = unfit.to_string();
        assert!(!said.contains("adopt") && said.ends_with("by itself: it is read-only"), "{said}");
        assert_eq!(unfit.reason(), "epoch");
    }

    #[test]
    fn a_run_names_its_server_as_meta_does() {
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            let named = format!("CRC32(CONVERT({} USING utf8mb4))", ident_expression(flavour));
            assert!(run_expression(flavour).contains(&named), "{flavour:?}");
        }
    }

    #[test]
    fn a_run_is_told_from_those_of_the_server_and_of_others() {
        let run = run_number("a", 1_700_000_000);
        assert!(is_same_run(run, run_number("a", 1_700_000_002)));
        assert!(!is_same_run(run, run_number("a", 1_700_000_003)));
        assert!(!is_same_run(run, run_number("b", 1_700_000_000)));
        assert!(!is_same_run(run, 0));
    }
}
