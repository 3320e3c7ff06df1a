//! COMMIT RELEASE and ROLLBACK RELEASE: the server ends the connection after its OK.

use crate::sql::find::first_word::begins_with;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::tokens;

/// Whether the server ends the connection after a text whose last statement has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectionRelease {
    /// The connection stays.
    #[default]
    No,
    /// Yes.
    Yes,
    /// If that is how transactions end where a statement does not say it.
    ByDefault,
}

const ENDS: [&[u8]; 2] = [b"commit", b"rollback"];

impl ConnectionRelease {
    /// What the last statement of a text says. An earlier one that releases leaves the response without its end.
    pub fn of(text: &[u8], dialect: Dialect) -> Self {
        if !may_end(text) {
            return Self::No;
        }
        let (tokens, whole) = tokens(text, dialect);
        if !whole {
            return Self::No;
        }
        let is_code = |token: &&Token| token.is_code() && token.kind != Kind::Punct(0);
        let code: Vec<&Token> = tokens.iter().filter(is_code).collect();
        let mut statements = code.split(|token| token.kind == Kind::Punct(b';'));
        let Some(last) = statements.rfind(|statement| !statement.is_empty()) else {
            return Self::No;
        };
        let words: Option<Vec<Vec<u8>>> = last
            .iter()
            .map(|t| (t.kind == Kind::Word).then(|| t.bytes(text).to_ascii_lowercase()))
            .collect();
        words.map_or(Self::No, |words| of_words(&words))
    }
}

/// Whether a text can end a transaction, by a look at its bytes.
fn may_end(text: &[u8]) -> bool {
    if begins_with(text, &ENDS) {
        return true;
    }
    // After a semicolon, or in a comment for certain versions.
    let has = |what: &[u8]| memchr::memmem::find(text, what).is_some();
    (has(b";") || has(b"/*!") || has(b"/*M!"))
        && (names(text, ENDS[0], b'm', 2) || names(text, ENDS[1], b'k', 7))
}

/// Whether a text has a word, in letters of any case; `letter`, which is rare, stands `at` that place in it.
fn names(text: &[u8], word: &[u8], letter: u8, at: usize) -> bool {
    memchr::memchr2_iter(letter, letter.to_ascii_uppercase(), text).any(|found| {
        let start = found.checked_sub(at);
        let there = start.and_then(|start| text.get(start..start + word.len()));
        there.is_some_and(|there| there.eq_ignore_ascii_case(word))
    })
}

/// COMMIT or ROLLBACK [WORK] [AND [NO] CHAIN] [[NO] RELEASE], and nothing else.
fn of_words(words: &[Vec<u8>]) -> ConnectionRelease {
    let mut words = words.iter().map(Vec::as_slice).peekable();
    if !words.next().is_some_and(|word| ENDS.contains(&word)) {
        return ConnectionRelease::No;
    }
    let _ = words.next_if_eq(&&b"work"[..]);
    let mut chains = false;
    if words.next_if_eq(&&b"and"[..]).is_some() {
        chains = words.next_if_eq(&&b"no"[..]).is_none();
        if words.next() != Some(b"chain") {
            return ConnectionRelease::No;
        }
    }
    let refuses = words.next_if_eq(&&b"no"[..]).is_some();
    match (words.next(), words.next()) {
        (Some(b"release"), None) if !refuses => ConnectionRelease::Yes,
        (None, None) if !refuses && !chains => ConnectionRelease::ByDefault,
        _ => ConnectionRelease::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_by_its_words() {
        for dialect in [Dialect::MYSQL, Dialect::MARIADB] {
            let of = |text: &str| ConnectionRelease::of(text.as_bytes(), dialect);
            for text in [
                "COMMIT RELEASE",
                "/* app */ rollback work\nand no chain release ; ",
                "COMMIT -- why\n RELEASE",
                "COMMIT /* why */ RELEASE -- done",
                "/*! COMMIT */ RELEASE",
                "SELECT 1; SELECT ';'; COMMIT RELEASE;",
                "COMMIT; ROLLBACK RELEASE; # done",
                "DO 1; -- why\n RollBack release",
            ] {
                assert_eq!(of(text), ConnectionRelease::Yes, "{text}");
            }
            for text in ["COMMIT", "ROLLBACK WORK", "commit and no chain;", "SET @a = 1; COMMIT"] {
                assert_eq!(of(text), ConnectionRelease::ByDefault, "{text}");
            }
            for text in [
                "COMMIT NO RELEASE",
                "COMMIT AND CHAIN",
                "COMMIT AND CHAIN NO RELEASE",
                "ROLLBACK TO release",
                "ROLLBACK WORK TO SAVEPOINT release",
                "COMMIT RELEASE; SELECT 1",
                "SELECT 'a; COMMIT RELEASE'",
                "SELECT 1 -- ; COMMIT RELEASE",
                "COMMIT AND RELEASE",
                "COMMIT `RELEASE`",
                "COMMIT RELEASE 1",
                "COMMITS RELEASE",
                "RELEASE SAVEPOINT a",
                "SELECT 1",
                "",
                ";",
            ] {
                assert_eq!(of(text), ConnectionRelease::No, "{text}");
            }
        }
    }
}
