//! Statements that a session has prepared in SQL: while there are any, they keep it on its connection.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::classify::named::{Named, TextSource, plain_literal};
use crate::sql::classify::{Statement, classify};
use crate::sql::lexer::dialect::Dialect;
use crate::sql::session::effects::{Mark, SessionEffects};

/// Names that are kept, and bytes of a text.
const MOST: usize = 32;
const LONGEST: usize = 4096;

/// A text, and how it is read; `None`: it is not known.
pub(super) type KnownText = Option<(Arc<[u8]>, Dialect)>;

/// The statements by their names.
#[derive(Debug, Default)]
pub(crate) struct NamedTexts {
    known: HashMap<Vec<u8>, KnownText>,
    /// There may be others, and those that are known may be others.
    more: bool,
}

impl NamedTexts {
    /// Takes in what a statement does to them. The text that it executes, if that is known.
    pub(super) fn note_statement(
        &mut self,
        text: &[u8],
        dialect: Dialect,
        effects: &SessionEffects,
    ) -> KnownText {
        let has = |mark| effects.has(mark);
        let prepares = has(Mark::PreparesLiteral) || has(Mark::PreparesComputed);
        if !prepares && (self.known.is_empty() || !has(Mark::Execute) && !has(Mark::Deallocates)) {
            return None;
        }
        let named = match classify(text, dialect) {
            Statement::Named(named) => Some(named),
            _ => None,
        };
        match named {
            Some(Named::Prepare { name, source }) if name.plain && !name.set => {
                if self.known.len() >= MOST && !self.known.contains_key(&name.folded) {
                    self.more = true;
                } else {
                    let literal = literal(text, &source).filter(|text| text.len() <= LONGEST);
                    self.known.insert(name.folded, literal.map(|text| (text.into(), dialect)));
                }
                None
            }
            Some(Named::Execute { name, .. }) if name.plain && !name.set && !self.more => {
                self.known.get(&name.folded).cloned().flatten()
            }
            Some(Named::Deallocate { name }) => {
                self.known.remove(&name.folded);
                None
            }
            _ => {
                self.more |= prepares;
                None
            }
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && !self.more
    }
}

/// The text of a PREPARE, if it is one string that means what it says.
fn literal<'a>(text: &'a [u8], source: &TextSource) -> Option<&'a [u8]> {
    plain_literal(text.get(source.span.clone()).filter(|_| source.literal)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::session::session_effects;
    use crate::types::Flavour;

    #[test]
    fn statements_are_known_until_they_are_deallocated() {
        let dialect = Dialect::by_default(Flavour::MySql, 90_700);
        let mut named = NamedTexts::default();
        let mut run = |text: &str| {
            let effects = session_effects(text.as_bytes(), dialect);
            let executed = named.note_statement(text.as_bytes(), dialect, &effects);
            let executed = executed.map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
            (executed, named.is_empty())
        };
        assert_eq!(run("SELECT 1"), (None, true));
        assert_eq!(run("PREPARE s FROM 'SELECT ?'"), (None, false));
        assert_eq!(run("prepare T from @x"), (None, false));
        assert_eq!(run("EXECUTE S USING @a"), (Some("SELECT ?".to_owned()), false));
        assert_eq!(run("EXECUTE t"), (None, false));
        assert_eq!(run("DEALLOCATE PREPARE s"), (None, false));
        assert_eq!(run("EXECUTE s"), (None, false));
        assert_eq!(run("DROP PREPARE t"), (None, true));
        assert_eq!(run("PREPARE s FROM 'a''b'"), (None, false));
        assert_eq!(run("EXECUTE s"), (None, false));
        assert_eq!(run("DEALLOCATE PREPARE s"), (None, true));
        assert_eq!(run("PREPARE s FROM 'SELECT 1'; SELECT 2"), (None, false));
        assert_eq!(run("DEALLOCATE PREPARE s"), (None, false), "it cannot be read");
    }

    #[test]
    fn names_are_bounded() {
        let dialect = Dialect::by_default(Flavour::MariaDb, 101_100);
        let mut named = NamedTexts::default();
        for n in 0..100 {
            let text = format!("PREPARE s{n} FROM 'DO 1'");
            named.note_statement(
                text.as_bytes(),
                dialect,
                &session_effects(text.as_bytes(), dialect),
            );
        }
        assert!(named.known.len() == MOST && named.more);
    }
}
