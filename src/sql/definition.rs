//! Definitions of stored programs and views, which call lock functions only when they run.

use super::scanner::{Kind, Token};

/// Whether the text defines a stored program or view. With several statements in one text, the
/// definition must be the last: its own body may contain semicolons, so anything behind an END
/// cannot be told from it by a scan, and is not taken for one.
pub(super) fn is_definition(text: &[u8], tokens: &[Token]) -> bool {
    const OBJECTS: [&[u8]; 7] =
        [b"PROCEDURE", b"FUNCTION", b"TRIGGER", b"EVENT", b"VIEW", b"PACKAGE", b"TABLE"];
    let words = |t: &Token| text[t.start..t.end].to_ascii_uppercase();
    let plain: Vec<&Token> =
        tokens.iter().filter(|t| !matches!(t.kind, Kind::Hint | Kind::Versioned)).collect();
    let Some(first) = plain.first() else {
        return false;
    };
    if !matches!(words(first).as_slice(), b"CREATE" | b"ALTER") {
        return false;
    }
    // A table's columns may have such names.
    let object = |t: &&&Token| {
        let word = words(t);
        t.kind == Kind::Word && OBJECTS.contains(&word.as_slice())
    };
    if plain.iter().take(24).find(object).is_none_or(|t| words(t) == b"TABLE") {
        return false;
    }
    let body = plain.iter().rposition(|t| t.kind != Kind::Punct(b';')).map_or(0, |i| i + 1);
    let several = plain[..body].iter().any(|t| t.kind == Kind::Punct(b';'));
    let ends = plain[..body].iter().rev().take(2).any(|t| words(t) == b"END");
    let compound = plain.iter().any(|t| words(t) == b"BEGIN");
    !several || (compound && ends)
}
