//! What a session is doing.

use super::several::Several;
use crate::frontend::link::input::Dropped;
use crate::frontend::observe::pending_row_update::PendingRowUpdate;

/// What a session is doing.
#[derive(Debug, Default)]
pub(crate) enum Phase {
    /// Bytes pass in both directions, and nothing waits.
    #[default]
    Relaying,
    /// The command at the front of the inbox waits until the server owes nothing.
    Parked,
    /// A command for this prepared statement waits until the server owes nothing. Then the statement must be on the
    /// session's connection.
    Bringing(u32),
    /// A packet that was dropped waits until the server owes nothing, and is then answered.
    Refusing(Dropped),
    /// The proxy answers a command, or did when the session ended.
    Answering,
    /// The proxy runs the statements of a text, one after the other.
    Several(Box<Several>),
    /// Responses report locks, and the rows are to follow; the end of the last one is held back.
    Settling(Vec<PendingRowUpdate>),
}

impl Phase {
    /// Whether something waits until the server owes nothing.
    pub(crate) fn waits(&self) -> bool {
        match self {
            Self::Parked | Self::Bringing(_) | Self::Refusing(_) | Self::Several(_) => true,
            Self::Relaying | Self::Answering | Self::Settling(_) => false,
        }
    }

    /// Whether the client's commands are looked at.
    pub(crate) fn takes_commands(&self) -> bool {
        matches!(self, Self::Relaying)
    }

    /// Whether the proxy answers a command.
    pub(crate) fn answers(&self) -> bool {
        match self {
            Self::Answering | Self::Settling(_) => true,
            Self::Several(several) => several.has_begun(),
            Self::Relaying | Self::Parked | Self::Bringing(_) | Self::Refusing(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_looked_at_while_one_waits_or_is_answered() {
        let several =
            || Phase::Several(Box::new(Several::of_text(b"\x03", b"DO 1", &[], |_, _| false)));
        for (phase, waits, answers) in [
            (Phase::Relaying, false, false),
            (Phase::Parked, true, false),
            (Phase::Bringing(1), true, false),
            (Phase::Answering, false, true),
            (Phase::Settling(Vec::new()), false, true),
            (several(), true, false),
        ] {
            assert_eq!(phase.waits(), waits, "{phase:?}");
            assert_eq!(phase.answers(), answers, "{phase:?}");
            assert_eq!(phase.takes_commands(), matches!(phase, Phase::Relaying), "{phase:?}");
        }
        let Phase::Several(mut begun) = several() else { return };
        let _ = begun.next();
        assert!(Phase::Several(begun).answers());
    }
}
