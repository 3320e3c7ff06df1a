//! Temporary tables whose names are known from the texts that made them.

use crate::backend::session_state::{is_plain, quoted};
use crate::sql::find::first_word::after_comments;
use crate::types::Flavour;

/// Tables whose names are kept.
const MOST: usize = 16;

/// A statement that makes a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Creation {
    /// The table is a temporary one.
    pub temporary: bool,
    /// Name of the table for the server, in quotes and with its schema.
    pub name: Vec<u8>,
}

impl Creation {
    /// `None`: it is another statement, or its name cannot be read without doubt.
    pub(super) fn read(text: &[u8], schema: Option<&[u8]>) -> Option<Self> {
        let mut rest = &text[after_comments(text)..];
        let mut word = take_word(&mut rest)?;
        if !word.eq_ignore_ascii_case(b"create") {
            return None;
        }
        word = take_word(&mut rest)?;
        if word.eq_ignore_ascii_case(b"or") {
            take_word(&mut rest).filter(|word| word.eq_ignore_ascii_case(b"replace"))?;
            word = take_word(&mut rest)?;
        }
        let temporary = word.eq_ignore_ascii_case(b"temporary");
        if temporary {
            word = take_word(&mut rest)?;
        }
        if !word.eq_ignore_ascii_case(b"table") {
            return None;
        }
        let before = rest;
        if take_word(&mut rest).is_some_and(|word| word.eq_ignore_ascii_case(b"if")) {
            for expected in [&b"not"[..], b"exists"] {
                take_word(&mut rest).filter(|word| word.eq_ignore_ascii_case(expected))?;
            }
        } else {
            rest = before;
        }
        let mut name = take_name(&mut rest)?;
        let mut schema = schema.filter(|name| is_plain(name)).map(quoted);
        if let Some(after) = rest.strip_prefix(b".") {
            rest = after;
            schema = Some(std::mem::replace(&mut name, take_name(&mut rest)?));
        }
        let ends = rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'(');
        let name = [&*schema?, b".", &name].concat();
        ends.then_some(Self { temporary, name })
    }
}

/// A word and the white space before it.
fn take_word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len());
    *rest = &text[end..];
    (end > 0).then(|| &text[..end])
}

/// A name that is the same in all character sets, as the server takes it in quotes.
fn take_name(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let text = rest.trim_ascii_start();
    let letter = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
    let (name, after) = match text.strip_prefix(b"`") {
        Some(inner) => {
            let end = inner.iter().position(|b| *b == b'`')?;
            (&inner[..end], &inner[end + 1..])
        }
        None => text.split_at(text.iter().position(|b| !letter(b)).unwrap_or(text.len())),
    };
    *rest = after;
    (!name.is_empty() && is_plain(name)).then(|| quoted(name))
}

/// Those of a session on its connection.
#[derive(Debug, Default)]
pub(super) struct Creations {
    /// The one under way.
    current: Option<Creation>,
    /// Statements that have made a table: temporary ones, and all.
    temporary: u64,
    all: u64,
    /// Names of the temporary ones, each once.
    names: Vec<Vec<u8>>,
    /// There are names that are not kept.
    more: bool,
}

impl Creations {
    /// A statement is about to run.
    pub(super) fn note_statement(&mut self, creation: Option<Creation>) {
        self.current = creation;
    }

    /// The statement has ended.
    pub(super) fn end(&mut self, well: bool) {
        let Some(Creation { temporary, name }) = self.current.take().filter(|_| well) else {
            return;
        };
        self.all += 1;
        if !temporary {
            return;
        }
        self.temporary += 1;
        if !self.names.contains(&name) {
            self.more |= self.names.len() >= MOST;
            self.names.push(name);
            self.names.truncate(MOST);
        }
    }

    /// Names of temporary tables that the session has made.
    pub(super) fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// Whether the session has made no others, if the server has run so many statements that make temporary tables:
    /// MySQL counts them with those that make other tables.
    pub(super) fn are_all(&self, made: u64, flavour: Flavour) -> bool {
        let known = match flavour {
            Flavour::MySql => self.all,
            Flavour::MariaDb => self.temporary,
        };
        made == known && !self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_where_they_are_certain() {
        let read = |text: &str| {
            let creation = Creation::read(text.as_bytes(), Some(b"db"))?;
            Some((creation.temporary, String::from_utf8(creation.name).expect("ASCII")))
        };
        for (text, name) in [
            ("CREATE TEMPORARY TABLE t (a INT)", "`db`.`t`"),
            ("create temporary table if not exists `t 1`(a int)", "`db`.`t 1`"),
            ("/* app */ CREATE OR REPLACE TEMPORARY TABLE x.t SELECT 1", "`x`.`t`"),
            ("CREATE TEMPORARY TABLE `x`.`t` LIKE u", "`x`.`t`"),
            ("CREATE TEMPORARY TABLE i_f", "`db`.`i_f`"),
        ] {
            assert_eq!(read(text), Some((true, name.to_owned())), "{text}");
        }
        assert_eq!(read("CREATE TABLE t (a INT)"), Some((false, "`db`.`t`".to_owned())));
        for text in [
            "CREATE TEMPORARY TABLE /* a */ t (a INT)",
            "CREATE TEMPORARY TABLE t/**/(a INT)",
            "CREATE TEMPORARY TABLE `t``u` (a INT)",
            "CREATE TEMPORARY TABLE t\u{e9} (a INT)",
            "CREATE TEMPORARY TABLE \"t\" (a INT)",
            "CREATE TEMPORARY SEQUENCE s",
            "DROP TABLE t",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Creation::read(b"CREATE TEMPORARY TABLE t (a INT)", None), None);
    }

    #[test]
    fn only_what_has_run_counts() {
        let creation = |name: &str| {
            let text = format!("CREATE TEMPORARY TABLE {name} (a INT)");
            Creation::read(text.as_bytes(), Some(b"d"))
        };
        let mut all = Creations::default();
        let both = [Flavour::MySql, Flavour::MariaDb];
        let are_all = |all: &Creations, made: u64| both.map(|flavour| all.are_all(made, flavour));
        assert_eq!(are_all(&all, 0), [true, true]);
        for (name, well) in [("a", true), ("b", false), ("a", true)] {
            all.note_statement(creation(name));
            all.end(well);
        }
        all.note_statement(Creation::read(b"CREATE TABLE p (a INT)", Some(b"d")));
        all.end(true);
        all.end(true);
        assert_eq!(all.names(), [b"`d`.`a`".to_vec()]);
        assert_eq!(are_all(&all, 2), [false, true]);
        assert_eq!(are_all(&all, 3), [true, false], "one was made elsewhere");
        for n in 0..MOST {
            all.note_statement(creation(&format!("t{n}")));
            all.end(true);
        }
        let made = 2 + u64::try_from(MOST).expect("a small number");
        assert!(!all.are_all(made, Flavour::MariaDb), "too many");
    }
}
