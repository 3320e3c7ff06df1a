//! Which stored programs do to a session what no server reports, and so which words in a text mean that it may
//! run one.

use std::collections::{HashMap, HashSet};

use super::session_effects;
use crate::sql::lexer::dialect::Dialect;

/// A routine, a trigger or a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProgram {
    /// What a statement that runs it names: of a trigger, the table.
    pub name: Vec<u8>,
    /// Its text; empty where it is not shown.
    pub body: Vec<u8>,
}

/// Names that may run stateful programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatefulNames(HashSet<Vec<u8>>);

impl StatefulNames {
    /// Of these programs: those whose own text may do something, and those that name one of them.
    pub fn of(programs: &[StoredProgram], dialect: Dialect) -> Self {
        // Names, and the programs that name them. Each name is followed once.
        let mut named_by: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
        let names: HashSet<Vec<u8>> =
            programs.iter().map(|p| p.name.to_ascii_lowercase()).collect();
        let mut next = Vec::new();
        for program in programs {
            let name = program.name.to_ascii_lowercase();
            let body = &program.body;
            if body.is_empty() || !session_effects(body, dialect).is_empty() {
                next.push(name.clone());
            }
            for word in words(body).filter(|word| names.contains(word)) {
                named_by.entry(word).or_default().push(name.clone());
            }
        }
        let mut stateful = HashSet::new();
        while let Some(name) = next.pop() {
            if stateful.insert(name.clone()) {
                next.extend(named_by.get(&name).into_iter().flatten().cloned());
            }
        }
        Self(stateful)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text names one, anywhere.
    pub fn are_named_in(&self, text: &[u8]) -> bool {
        !self.0.is_empty() && words(text).any(|word| self.0.contains(&word))
    }
}

/// Words as names are written, in lower case. One with other letters in quotes is several words: its program
/// counts as named wherever one of them stands alone, or not at all.
fn words(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | 0x80..);
    text.split(move |b| !is_letter(b))
        .filter(|word| !word.is_empty())
        .map(<[u8]>::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, body: &str) -> StoredProgram {
        StoredProgram { name: name.into(), body: body.into() }
    }

    #[test]
    fn a_program_that_runs_a_stateful_one_is_stateful() {
        let programs = [
            program("Sets", "BEGIN SET @x = 1; END"),
            program("calls_it", "BEGIN CALL app.SETS(); END"),
            program("a_view", "select `calls_it`() AS `x`"),
            program("hidden", ""),
            program("quiet", "RETURN 1 + (SELECT COUNT(*) FROM t)"),
        ];
        let names = StatefulNames::of(&programs, Dialect::MYSQL);
        for text in ["SELECT sets()", "select * from A_VIEW", "SELECT `app`.`hidden`(1)"] {
            assert!(names.are_named_in(text.as_bytes()), "{text}");
        }
        for text in ["SELECT quiet()", "SELECT setsx, x_sets", ""] {
            assert!(!names.are_named_in(text.as_bytes()), "{text}");
        }
        let quiet = StatefulNames::of(&programs[4..], Dialect::MYSQL);
        assert!(quiet.is_empty() && !quiet.are_named_in(b"SELECT quiet()"));
    }

    #[test]
    fn programs_that_name_each_other_come_to_an_end() {
        let programs = [program("a", "CALL b()"), program("b", "CALL a()")];
        assert!(StatefulNames::of(&programs, Dialect::MYSQL).are_named_in(b"CALL a()"));
    }
}
