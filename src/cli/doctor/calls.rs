//! Finds lock calls in a definition, as the server that runs it reads it.

use serde::Serialize;

use crate::cli::terminal_text::plain;
use crate::lock::function::Function;
use crate::sql::find::finder::Finder;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Scanner};
use crate::store::definitions::Definition;
use crate::types::Flavour;

/// A line of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CallLine {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Text of the line, or the part of it around the name.
    pub(crate) source: String,
}

/// What a definition does with locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefinitionVerdict {
    /// The definition calls a lock function in these lines.
    Calls(Vec<CallLine>),
    /// The definition prepares statements, and has strings with the name of a lock function in these lines.
    MayCall(Vec<CallLine>),
    /// Neither.
    Nothing,
}

/// Judges a definition.
pub(crate) fn classify_definition(
    definition: &Definition,
    flavour: Flavour,
    version: u32,
) -> DefinitionVerdict {
    let text = &definition.text;
    let dialect = dialect(&definition.sql_mode, flavour, version);
    let finder = Finder::of(text, dialect);
    if !finder.calls().is_empty() {
        return DefinitionVerdict::Calls(lines(text, finder.calls().iter().map(|c| c.start)));
    }
    let named = strings_with_a_name(text, dialect);
    if named.is_empty() || finder.prepares_after().is_none() {
        return DefinitionVerdict::Nothing;
    }
    DefinitionVerdict::MayCall(lines(text, named.into_iter()))
}

/// The server gives the text in UTF-8, whatever it was written in.
fn dialect(sql_mode: &str, flavour: Flavour, version: u32) -> Dialect {
    let has = |mode| sql_mode.split(',').any(|m| m == mode);
    Dialect {
        ansi_quotes: has("ANSI_QUOTES"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        brackets: flavour == Flavour::MariaDb && has("MSSQL"),
        ..Dialect::by_default(flavour, version)
    }
}

/// Where strings have a function's name.
fn strings_with_a_name(text: &[u8], dialect: Dialect) -> Vec<usize> {
    let mut found = Vec::new();
    Scanner::new(dialect).feed(text, 0, |token, _| {
        if token.kind == Kind::String {
            let inner = token.bytes(text).to_ascii_uppercase();
            let place = |f: Function| memchr::memmem::find(&inner, f.name().as_bytes());
            found
                .extend(Function::ALL.into_iter().filter_map(place).min().map(|n| token.start + n));
        }
        false
    });
    found
}

/// Characters of a line that are shown, and how many of them in front of the name.
const SHOWN: usize = 100;
const BEFORE: usize = 40;

/// The lines at these places, each once.
fn lines(text: &[u8], places: impl Iterator<Item = usize>) -> Vec<CallLine> {
    let mut all: Vec<CallLine> = Vec::new();
    for at in places {
        let line = memchr::memchr_iter(b'\n', &text[..at]).count() + 1;
        if all.last().is_none_or(|l| l.line != line) {
            all.push(CallLine { line, source: excerpt(text, at) });
        }
    }
    all
}

fn excerpt(text: &[u8], at: usize) -> String {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |n| n + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
    let before = String::from_utf8_lossy(&text[start..at]);
    let before = before.trim_start();
    let cut = before.chars().count().saturating_sub(BEFORE);
    let after = String::from_utf8_lossy(&text[at..end]);
    let rest = before.chars().skip(cut).chain(after.trim_end().chars());
    let shown: String = rest.clone().take(SHOWN).collect();
    let head = if cut > 0 { "…" } else { "" };
    let tail = if rest.count() > SHOWN { "…" } else { "" };
    format!("{head}{}{tail}", plain(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str, sql_mode: &str) -> DefinitionVerdict {
        let definition = Definition { text: text.into(), sql_mode: sql_mode.to_owned() };
        classify_definition(&definition, Flavour::MariaDb, 101_119)
    }

    fn found(text: &str) -> Vec<(usize, String)> {
        match verdict(text, "") {
            DefinitionVerdict::Calls(lines) => {
                lines.into_iter().map(|l| (l.line, l.source)).collect()
            }
            DefinitionVerdict::MayCall(_) | DefinitionVerdict::Nothing => vec![],
        }
    }

    #[test]
    fn a_call_is_found_with_its_line() {
        let text = "CREATE PROCEDURE `p`()\nBEGIN\n  -- GET_LOCK(1)\n\tDO get_lock('a',\n 0), IS_FREE_LOCK('b');\nEND";
        let expected =
            [(4, "DO get_lock('a',".to_owned()), (5, "0), IS_FREE_LOCK('b');".to_owned())];
        assert_eq!(found(text), expected);
        assert_eq!(found("CREATE FUNCTION `get_lock`(a INT) RETURNS INT RETURN 'GET_LOCK(1)'"), []);
    }

    #[test]
    fn the_mode_of_the_object_decides() {
        for (text, mode, calls) in [
            ("SELECT \"x\", \"GET_LOCK\"('a',0)", "ANSI_QUOTES", true),
            ("SELECT \"a', GET_LOCK('a',0), '\"", "", false),
            ("SELECT '\\', GET_LOCK('a',0)", "NO_BACKSLASH_ESCAPES", true),
            ("SELECT '\\', GET_LOCK(', 0", "", false),
            ("SELECT [GET_LOCK]('a',0)", "MSSQL,ANSI_QUOTES", true),
        ] {
            let judged = verdict(text, mode);
            assert_eq!(matches!(judged, DefinitionVerdict::Calls(_)), calls, "{text}: {judged:?}");
        }
    }

    #[test]
    fn a_name_in_a_string_counts_only_beside_a_prepare() {
        let text = "BEGIN\n SET @s = 'SELECT Release_Lock(1)';\n PREPARE s FROM @s; END";
        let line = CallLine { line: 2, source: "SET @s = 'SELECT Release_Lock(1)';".to_owned() };
        assert_eq!(verdict(text, ""), DefinitionVerdict::MayCall(vec![line]));
        assert_eq!(verdict(&text.replace("PREPARE", "-- PREPARE"), ""), DefinitionVerdict::Nothing);
        assert_eq!(verdict("EXECUTE IMMEDIATE CONCAT('SELECT 1')", ""), DefinitionVerdict::Nothing);
    }

    #[test]
    fn a_long_line_is_cut_around_the_call_and_shows_no_control_characters() {
        let text = format!(
            "SELECT '{}\x1b[2J\u{202e}', GET_LOCK('{}', 0)",
            "ä".repeat(90),
            "b".repeat(90)
        );
        let (_, source) = found(&text).remove(0);
        assert!(source.starts_with("…ä") && source.ends_with("b…"), "{source}");
        assert!(source.contains("\\u{1b}[2J\\u{202e}', GET_LOCK('bb"), "{source}");
        assert!(source.chars().count() < 130, "{source}");
    }
}
