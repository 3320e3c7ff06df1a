//! The word that a statement begins with.

use crate::sql::lexer::scanner::is_space;

/// A statement's first word: the letters after white space, parentheses and plain comments. Empty where the text begins
/// with something else, or where the word goes on with other bytes: then only a whole reading can tell.
pub fn first_word(text: &[u8]) -> &[u8] {
    let mut text = text;
    loop {
        text = &text[after_comments(text)..];
        match text.first() {
            Some(b'(') => text = &text[1..],
            Some(_) | None => break,
        }
    }
    let end = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len());
    let whole =
        text.get(end).is_none_or(|b| b.is_ascii() && !matches!(b, b'_' | b'$' | b'0'..=b'9'));
    if whole { &text[..end] } else { b"" }
}

/// Whether a statement begins with one of these words, in small letters.
pub fn begins_with(text: &[u8], words: &[&[u8]]) -> bool {
    let first = first_word(text);
    words.iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// Where white space and plain comments at the start of a text end: some clients write them before each statement.
pub fn after_comments(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += text[at..].iter().take_while(|b| is_space(**b)).count();
        // `/*!`, `/*M!` and `/*+` are more than comments.
        let rest = &text[at..];
        let comment = match rest {
            [b'/', b'*', b'!' | b'M' | b'+', ..] => None,
            [b'/', b'*', inner @ ..] => memchr::memmem::find(inner, b"*/").map(|n| n + 4),
            [b'#', ..] => Some(line(rest)),
            [b'-', b'-', after, ..] if is_space(*after) => Some(line(rest)),
            _ => None,
        };
        match comment {
            Some(length) => at += length,
            None => return at,
        }
    }
}

/// How long a comment up to the end of its line is.
fn line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found_after_what_says_nothing() {
        for (text, word) in [
            ("SELECT 1", "SELECT"),
            (" \n/* a */ ( /**/ (select(1))", "select"),
            ("SET@a=1", "SET"),
            ("KILL", "KILL"),
            ("begin;", "begin"),
            ("/*! COMMIT */", ""),
            ("/*M! COMMIT */", ""),
            ("/*+ a */ SELECT 1", ""),
            ("/* open", ""),
            ("/* a */", ""),
            ("-- a\nSELECT 1", "SELECT"),
            ("--\n--\t/* a\r\n# b */\n/* c */ select", "select"),
            ("--a\nSELECT 1", ""),
            ("--\u{a0}a\nSELECT 1", ""),
            ("# SELECT 1", ""),
            ("--", ""),
            ("SELECT_", ""),
            ("select\u{e9}", ""),
            ("set1", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(text.as_bytes()), word.as_bytes(), "{text}");
        }
        assert!(begins_with(b"(Select 1)", &[b"insert", b"select"]));
        assert!(!begins_with(b"", &[b"select"]));
    }
}
