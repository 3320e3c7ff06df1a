//! Definitions of stored programs and views, which call lock functions only when they run.

use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::code;

const OBJECTS: [&str; 7] =
    ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "VIEW", "PACKAGE", "TABLE"];

/// Whether the text defines a stored program or view. With several statements in one text, the definition must be the
/// last. A body may contain semicolons, so a scan cannot tell it from what comes after it. Text after an END is
/// therefore not taken for another statement.
pub(in crate::sql) fn is_definition(text: &[u8], tokens: &[Token]) -> bool {
    let is = |t: &Token, word: &str| t.is(text, word);
    let plain = code(tokens);
    if !plain.first().is_some_and(|t| is(t, "CREATE") || is(t, "ALTER")) {
        return false;
    }
    // A table's columns may have such names.
    let object = |t: &&Token| OBJECTS.iter().any(|object| is(t, object));
    if plain.iter().take(24).find(object).is_none_or(|t| is(t, "TABLE")) {
        return false;
    }
    let body = plain.iter().rposition(|t| t.kind != Kind::Punct(b';')).map_or(0, |i| i + 1);
    let several = plain[..body].iter().any(|t| t.kind == Kind::Punct(b';'));
    let ends = plain[..body].iter().rev().take(2).any(|t| is(t, "END"));
    let compound = plain.iter().any(|t| is(t, "BEGIN"));
    !several || (compound && ends)
}

/// Of the definition of an event, where the statement begins that it runs; the end of the text if it
/// has none.
pub(in crate::sql) fn event_body(text: &[u8], tokens: &[Token]) -> Option<usize> {
    let is = |t: &Token, word: &str| t.is(text, word);
    let object = tokens.iter().find(|t| OBJECTS.iter().any(|object| is(t, object)))?;
    let body = tokens.iter().find(|t| is(t, "DO"));
    is(object, "EVENT").then(|| body.map_or(text.len(), |t| t.start))
}

/// Whether the text defines a table or an index, and evaluates nothing: it has no query, and no
/// partitions.
pub(in crate::sql) fn is_table(text: &[u8], tokens: &[Token]) -> bool {
    const EVALUATED: [&str; 7] =
        ["SELECT", "VALUES", "VALUE", "WITH", "PARTITION", "SYSTEM_TIME", "DUPLICATE"];
    let is = |t: &Token, word: &str| t.is(text, word);
    let mut code = tokens.iter().filter(|t| t.is_code());
    let defines = code.next().is_some_and(|t| is(t, "CREATE") || is(t, "ALTER"));
    let object = code.clone().take(4).any(|t| is(t, "TABLE") || is(t, "INDEX"));
    let queries = code.clone().any(|t| EVALUATED.iter().any(|word| is(t, word)));
    let tables = code.clone().filter(|t| is(t, "TABLE")).count();
    let several = code.any(|t| t.kind == Kind::Punct(b';'));
    defines && object && !queries && tables < 2 && !several
}
