//! Texts that ask for the conditions of the last statement, and for nothing else: what they ask for.

use std::ops::Range;

use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::{TokenCursor, tokens};

/// What GET DIAGNOSTICS CONDITION can ask for, as both servers have it.
pub const CONDITION_ITEMS: [&str; 13] = [
    "CLASS_ORIGIN",
    "SUBCLASS_ORIGIN",
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "CATALOG_NAME",
    "SCHEMA_NAME",
    "TABLE_NAME",
    "COLUMN_NAME",
    "CURSOR_NAME",
    "MESSAGE_TEXT",
    "MYSQL_ERRNO",
    "RETURNED_SQLSTATE",
];

/// A user variable that is assigned, as it is written, and one of [`CONDITION_ITEMS`] by its place there.
pub type ItemTarget = (Range<usize>, usize);

/// A text that asks for the conditions of the last statement. Ranges are of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionsQuestion {
    /// SHOW WARNINGS or SHOW ERRORS.
    Rows {
        /// Errors only.
        errors: bool,
        /// Its LIMIT clause; empty if there is none.
        limit: Range<usize>,
    },
    /// GET DIAGNOSTICS of the statement: variables that ROW_COUNT is assigned to.
    Statement(Vec<Range<usize>>),
    /// GET DIAGNOSTICS CONDITION
    Condition {
        /// A number or a user variable.
        number: Range<usize>,
        /// What is assigned.
        targets: Vec<ItemTarget>,
    },
}

impl ConditionsQuestion {
    /// Reads a text; `None` if it is anything else, or not certain to be this.
    pub fn read(text: &[u8], dialect: Dialect) -> Option<Self> {
        // What is left reads alike in all modes and character sets.
        if !text.is_ascii() || memchr::memchr(b'\\', text).is_some() {
            return None;
        }
        let (mut tokens, whole) = tokens(text, dialect);
        if tokens.last().is_some_and(|last| last.kind == Kind::Punct(b';')) {
            tokens.pop();
        }
        let certain = |token: &Token| !matches!(token.kind, Kind::Versioned | Kind::Hint);
        if !whole || !tokens.iter().all(certain) {
            return None;
        }
        let mut cursor = TokenCursor::new(text, &tokens);
        if cursor.word("show") { shown(&mut cursor) } else { got(&mut cursor) }
    }
}

fn shown(cursor: &mut TokenCursor<'_>) -> Option<ConditionsQuestion> {
    let errors = cursor.word("errors");
    if !errors && !cursor.word("warnings") {
        return None;
    }
    let Some(first) = cursor.peek() else {
        return Some(ConditionsQuestion::Rows { errors, limit: 0..0 });
    };
    if !cursor.word("limit") {
        return None;
    }
    let mut limit = first.start..first.end;
    while let Some(token) = cursor.next() {
        if !matches!(token.kind, Kind::Word | Kind::Punct(b',')) {
            return None;
        }
        limit.end = token.end;
    }
    Some(ConditionsQuestion::Rows { errors, limit })
}

fn got(cursor: &mut TokenCursor<'_>) -> Option<ConditionsQuestion> {
    if !cursor.word("get") {
        return None;
    }
    cursor.word("current");
    if !cursor.word("diagnostics") {
        return None;
    }
    if !cursor.word("condition") {
        let all = assignments(cursor)?;
        let counts = all.into_iter().filter(|(_, item)| item.eq_ignore_ascii_case(b"row_count"));
        return Some(ConditionsQuestion::Statement(counts.map(|(target, _)| target).collect()));
    }
    let number = number(cursor)?;
    let mut targets = Vec::new();
    for (target, item) in assignments(cursor)? {
        let known = |name: &&str| item.eq_ignore_ascii_case(name.as_bytes());
        // Others are one server's own, and of no statement that was run outside of a program.
        if let Some(item) = CONDITION_ITEMS.iter().position(known) {
            targets.push((target, item));
        }
    }
    Some(ConditionsQuestion::Condition { number, targets })
}

/// A number, or `@` and a name.
fn number(cursor: &mut TokenCursor<'_>) -> Option<Range<usize>> {
    let first = cursor.next()?;
    if first.kind == Kind::Word {
        let digits = cursor.bytes(first).iter().all(u8::is_ascii_digit);
        return digits.then_some(first.start..first.end);
    }
    let name = cursor.next().filter(|name| {
        first.kind == Kind::Punct(b'@')
            && name.start == first.end
            && matches!(name.kind, Kind::Word | Kind::Quoted | Kind::String)
    })?;
    Some(first.start..name.end)
}

/// `@name = ITEM, …`: the names as they are written, and the items.
fn assignments<'a>(cursor: &mut TokenCursor<'a>) -> Option<Vec<(Range<usize>, &'a [u8])>> {
    let mut all = Vec::new();
    loop {
        let at = cursor.punct(b'@')?;
        let mut target = at.start..at.end;
        while cursor.punct(b'=').is_none() {
            target.end = cursor.next()?.end;
        }
        let item = cursor.next().filter(|item| item.kind == Kind::Word)?;
        all.push((target, cursor.bytes(item)));
        if cursor.left() == 0 {
            return Some(all);
        }
        cursor.punct(b',')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a question as they are written.
    fn read(text: &str) -> Option<String> {
        let part = |range: &Range<usize>| &text[range.clone()];
        Some(match ConditionsQuestion::read(text.as_bytes(), Dialect::MYSQL)? {
            ConditionsQuestion::Rows { errors, limit } => format!("{errors} {}", part(&limit)),
            ConditionsQuestion::Statement(counts) => {
                counts.iter().map(part).collect::<Vec<_>>().join(" ")
            }
            ConditionsQuestion::Condition { number, targets } => {
                let target = |(target, item): &ItemTarget| {
                    format!(" {}={}", part(target), CONDITION_ITEMS[*item])
                };
                let targets: String = targets.iter().map(target).collect();
                format!("{}:{targets}", part(&number))
            }
        })
    }

    #[test]
    fn what_is_asked_is_read() {
        for (text, expected) in [
            ("SHOW WARNINGS", "false "),
            ("/* a */ show errors;", "true "),
            ("SHOW WARNINGS LIMIT 5", "false LIMIT 5"),
            ("SHOW ERRORS LIMIT 1, 2 ;", "true LIMIT 1, 2"),
            ("SHOW WARNINGS LIMIT 3 OFFSET 1", "false LIMIT 3 OFFSET 1"),
            ("GET DIAGNOSTICS @n = NUMBER", ""),
            ("GET CURRENT DIAGNOSTICS @n=NUMBER, @`r s`=ROW_COUNT", "@`r s`"),
            (
                "get diagnostics condition 1 @a.b = message_text, @'c'=MYSQL_ERRNO",
                "1: @a.b=MESSAGE_TEXT @'c'=MYSQL_ERRNO",
            ),
            ("GET DIAGNOSTICS CONDITION @n @t=ROW_NUMBER", "@n:"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_ask_for_something_else() {
        for text in [
            "",
            "SHOW",
            "SHOW COUNT(*) WARNINGS",
            "SHOW WARNINGS; SELECT 1",
            "SHOW WARNINGS LIMIT '1'",
            "SHOW WARNINGS /*!50000 LIMIT 1 */",
            "SHOW WARNINGS LIKE 'a'",
            "SHOW WARNINGS -- \\",
            "GET STACKED DIAGNOSTICS @n = NUMBER",
            "GET DIAGNOSTICS CONDITION 1 + 1 @n = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 1",
            "GET DIAGNOSTICS @n",
            "SELECT @@warning_count",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
