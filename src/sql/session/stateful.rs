//! Which stored programs do to a session what no server reports, and so which words in a text mean that it may
//! run one.

use std::collections::{HashMap, HashSet};

use super::effects::Mark;
use super::session_effects;
use crate::sql::find::first_word::after_comments;
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// A routine, a trigger or a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProgram {
    /// What a statement that runs it names: of a trigger, the table.
    pub name: Vec<u8>,
    /// Text of the program; empty where it is not shown.
    pub body: Vec<u8>,
}

/// Names that may run stateful programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatefulNames {
    stateful: HashSet<Vec<u8>>,
    /// Names of programs that may leave what no server lists of a session.
    unlisted: HashSet<Vec<u8>>,
    /// Names of programs that may change accounts.
    accounts: HashSet<Vec<u8>>,
    /// All.
    names: HashSet<Vec<u8>>,
}

/// Names, and the programs that name them.
type NamedBy = HashMap<Vec<u8>, Vec<Vec<u8>>>;

impl StatefulNames {
    /// Of these programs: those whose own text may do something, and those that name one of them.
    pub fn of(programs: &[StoredProgram], dialect: Dialect) -> Self {
        let mut named_by = NamedBy::new();
        let names: HashSet<Vec<u8>> =
            programs.iter().map(|p| p.name.to_ascii_lowercase()).collect();
        let (mut stateful, mut unlisted, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
        for program in programs {
            let name = program.name.to_ascii_lowercase();
            let body = &program.body;
            let effects = session_effects(body, dialect);
            if body.is_empty() || !effects.is_empty() {
                stateful.push(name.clone());
            }
            // Sequences are MariaDB's alone; a text that is computed may use one.
            let any = dialect.flavour == Flavour::MariaDb
                && UNLISTED.iter().any(|mark| effects.has(*mark));
            if body.is_empty() || any {
                unlisted.push(name.clone());
            }
            if body.is_empty() || ACCOUNTS.iter().any(|mark| effects.has(*mark)) {
                accounts.push(name.clone());
            }
            for word in words(body).filter(|word| names.contains(word)) {
                named_by.entry(word).or_default().push(name.clone());
            }
        }
        let stateful = with_callers(stateful, &named_by);
        let [unlisted, accounts] = [unlisted, accounts].map(|all| with_callers(all, &named_by));
        Self { stateful, unlisted, accounts, names }
    }

    /// Whether a text names one, anywhere.
    pub fn are_named_in(&self, text: &[u8]) -> bool {
        !self.stateful.is_empty() && words(text).any(|word| self.stateful.contains(&word))
    }

    /// Whether one that a text names may leave what no server lists of a session.
    pub fn leave_more(&self, text: &[u8]) -> bool {
        words(text).any(|word| self.unlisted.contains(&word))
    }

    /// Whether a text with CALL may change accounts.
    pub fn change_accounts(&self, text: &[u8]) -> bool {
        !self.know_called(text) || self.name_account_changes(text)
    }

    /// Whether a text names a routine that changes accounts.
    pub fn name_account_changes(&self, text: &[u8]) -> bool {
        words(text).any(|word| self.accounts.contains(&word))
    }

    /// Whether the routine is known whose CALL a text is.
    pub fn know_called(&self, text: &[u8]) -> bool {
        let Some(called) = after_call(text) else { return false };
        let mut parts = called.split(|b| *b == b'.').map(<[u8]>::trim_ascii);
        let plain = |part: &[u8]| {
            let part = part.strip_prefix(b"`").and_then(|p| p.strip_suffix(b"`")).unwrap_or(part);
            self.names.contains(&part.to_ascii_lowercase())
        };
        let (first, second) = (parts.next(), parts.next());
        parts.next().is_none() && second.or(first).is_some_and(plain)
    }
}

/// What is not in its text, or is not listed by MariaDB.
const UNLISTED: [Mark; 5] = [
    Mark::Sequence,
    Mark::PreparesLiteral,
    Mark::PreparesComputed,
    Mark::Execute,
    Mark::SessionUser,
];

/// What changes accounts, or may run any text.
const ACCOUNTS: [Mark; 5] = [
    Mark::Accounts,
    Mark::Privileges,
    Mark::PreparesLiteral,
    Mark::PreparesComputed,
    Mark::Execute,
];

/// These, and those that name one of them. Each name is followed once.
fn with_callers(mut next: Vec<Vec<u8>>, named_by: &NamedBy) -> HashSet<Vec<u8>> {
    let mut all = HashSet::new();
    while let Some(name) = next.pop() {
        if all.insert(name.clone()) {
            next.extend(named_by.get(&name).into_iter().flatten().cloned());
        }
    }
    all
}

/// The name in a text that is one CALL, up to its parenthesis or the end.
fn after_call(text: &[u8]) -> Option<&[u8]> {
    let text = &text[after_comments(text)..];
    let (call, rest) = text.split_at_checked(4)?;
    let separated = rest.first().is_some_and(|b| b.is_ascii_whitespace() || *b == b'`');
    let end = rest.iter().position(|b| matches!(b, b'(' | b';')).unwrap_or(rest.len());
    (call.eq_ignore_ascii_case(b"call") && separated).then(|| rest[..end].trim_ascii())
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
        assert!(quiet.stateful.is_empty() && !quiet.are_named_in(b"SELECT quiet()"));
    }

    #[test]
    fn calls_that_may_change_accounts_are_told_from_others() {
        let programs = [
            program("Rotates", "BEGIN ALTER USER app IDENTIFIED BY 'x'; END"),
            program("calls_it", "CALL rotates()"),
            program("runs_text", "BEGIN PREPARE s FROM 'DROP USER a'; EXECUTE s; END"),
            program("hidden", ""),
            program("sets", "SET @x = 1"),
            program("user", "SELECT 1"),
        ];
        for dialect in [Dialect::MYSQL, Dialect::MARIADB] {
            let names = StatefulNames::of(&programs, dialect);
            for text in
                ["CALL ROTATES()", "call app.calls_it(1)", "CALL runs_text", "CALL hidden()"]
            {
                assert!(names.change_accounts(text.as_bytes()), "{text}");
            }
            for text in ["CALL unknown()", "SET @x = 1; CALL sets()", "EXECUTE s"] {
                assert!(names.change_accounts(text.as_bytes()), "{text}");
            }
            for text in ["CALL sets()", "/* a */ CALL `app`.`user`(1)"] {
                assert!(!names.change_accounts(text.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn programs_that_name_each_other_come_to_an_end() {
        let programs = [program("a", "CALL b()"), program("b", "CALL a()")];
        assert!(StatefulNames::of(&programs, Dialect::MYSQL).are_named_in(b"CALL a()"));
    }

    #[test]
    fn texts_tell_which_programs_leave_more_than_a_server_lists() {
        let programs = [
            program("counts", "BEGIN SELECT NEXTVAL(s) INTO @x; END"),
            program("calls_it", "CALL counts()"),
            program("runs_text", "EXECUTE IMMEDIATE x"),
            program("plain", "BEGIN SELECT 1 INTO @x; END"),
            program("hidden", ""),
        ];
        let names = StatefulNames::of(&programs, Dialect::MARIADB);
        let more = ["counts", "calls_it", "runs_text", "hidden"];
        for program in &programs {
            let name = String::from_utf8_lossy(&program.name).into_owned();
            let text = format!("CALL {name}(1)");
            assert_eq!(names.leave_more(text.as_bytes()), more.contains(&&*name), "{name}");
        }
        assert!(!StatefulNames::of(&programs[..4], Dialect::MYSQL).leave_more(b"CALL runs_text()"));
        for text in
            ["CALL plain", "/* a */ call `Plain`(1)", "CALL db . plain (plain)", "CALL`plain`()"]
        {
            assert!(names.know_called(text.as_bytes()), "{text}");
        }
        for text in [
            "CALL other(plain)",
            "CALL plain.other()",
            "SELECT plain()",
            "CALL a.b.plain()",
            "CALL",
        ] {
            assert!(!names.know_called(text.as_bytes()), "{text}");
        }
    }
}
