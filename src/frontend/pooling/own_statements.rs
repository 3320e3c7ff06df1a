//! A session's prepared statements, and how the next ones are read.

use super::named::NamedTexts;
use super::statements::CarriedStatements;
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// A session's prepared statements, and how the next ones are read.
pub(super) struct OwnStatements {
    /// Those that were prepared by a command.
    pub(super) statements: CarriedStatements,
    /// Those that were prepared in SQL.
    pub(super) named: NamedTexts,
    /// How the last text was read.
    pub(super) dialect: Dialect,
    /// The last text means something else when it is prepared again. The text asks for something of the statement
    /// before it, or the types of variables that it reads are bound to it.
    pub(super) stays: bool,
    /// The log has told that the session has too many of these.
    told_of_many: bool,
}

impl OwnStatements {
    /// Of a session right after its login.
    pub(super) fn new(flavour: Flavour, dialect: Dialect, has_schema: bool) -> Self {
        let statements = CarriedStatements::new(flavour, has_schema);
        Self {
            statements,
            named: NamedTexts::default(),
            dialect,
            stays: false,
            told_of_many: false,
        }
    }

    /// The session has reset its connection, or has changed its user.
    pub(super) fn clear(&mut self, has_schema: bool) {
        self.statements.clear(has_schema);
        self.named = NamedTexts::default();
    }

    /// The session has too many statements, and the log has not said so yet.
    pub(super) fn is_first_of_many(&mut self) -> bool {
        !std::mem::replace(&mut self.told_of_many, true)
    }
}
