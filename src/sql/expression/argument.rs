//! Reads the arguments of a call: literals and parameters.

use std::ops::Range;

use crate::lock::name::is_plain;
use crate::sql::lexer::scanner::Kind;
use crate::sql::lexer::tokens::TokenCursor;

/// An argument as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// NULL.
    Null,
    /// A single-quoted string of printable ASCII without escapes: its content.
    Plain(Range<usize>),
    /// A number of digits, sign and point.
    Number(Range<usize>),
    /// A literal only the server can evaluate.
    Literal(Range<usize>),
    /// `?`
    Parameter,
}

/// Reads one argument; `None` when it is no literal and no parameter.
pub(in crate::sql) fn argument(c: &mut TokenCursor<'_>) -> Option<Argument> {
    if c.punct(b'?').is_some() {
        return Some(Argument::Parameter);
    }
    let first = c.peek()?;
    let mut signed = false;
    while c.punct(b'-').is_some() || c.punct(b'+').is_some() {
        if signed {
            return None;
        }
        signed = true;
    }
    let start = c.next()?;
    let mut end = start.end;
    match start.kind {
        Kind::String => {
            // Adjacent strings are one.
            let mut pieces = 1;
            while c.peek().is_some_and(|t| t.kind == Kind::String) {
                end = c.next()?.end;
                pieces += 1;
            }
            let inner = start.start + 1..start.end - 1;
            let plain = pieces == 1 && !signed && c.text()[start.start] == b'\'' && {
                let content = &c.text()[inner.clone()];
                is_plain(content) && !content.contains(&b'\\') && !content.contains(&b'\'')
            };
            let collated = collation(c, &mut end)?;
            return Some(if plain && !collated {
                Argument::Plain(inner)
            } else {
                Argument::Literal(first.start..end)
            });
        }
        Kind::Word => {
            let word = c.bytes(start);
            // _charset'…', _charset x'…', N'…', x'…', b'…'
            let introducer = word[0] == b'_';
            if introducer {
                let _ = c.word("x") || c.word("b");
            }
            if introducer || matches!(word, b"n" | b"N" | b"x" | b"X" | b"b" | b"B") {
                let mut end = c.next().filter(|t| t.kind == Kind::String)?.end;
                collation(c, &mut end)?;
                return Some(Argument::Literal(first.start..end));
            }
            let typed = [&b"DATE"[..], b"TIME", b"TIMESTAMP"];
            if typed.iter().any(|t| t.eq_ignore_ascii_case(word)) {
                let end = c.next().filter(|t| t.kind == Kind::String)?.end;
                return (!signed).then_some(Argument::Literal(first.start..end));
            }
            if word.eq_ignore_ascii_case(b"NULL") && !signed {
                return Some(Argument::Null);
            }
            let known = word.eq_ignore_ascii_case(b"TRUE") || word.eq_ignore_ascii_case(b"FALSE");
            if !known && !word[0].is_ascii_digit() {
                return None;
            }
        }
        Kind::Punct(b'.') => {}
        // \N, another NULL.
        Kind::Punct(b'\\') if !signed => {
            let n = c.next().filter(|t| t.start == end && c.bytes(*t) == b"N")?;
            return Some(Argument::Literal(first.start..n.end));
        }
        _ => return None,
    }
    Some(number(c, first.start, end))
}

/// The rest of a number: points, digits, an exponent with its sign, all without gaps.
fn number(c: &mut TokenCursor<'_>, start: usize, mut end: usize) -> Argument {
    while let Some(t) = c.peek() {
        let exponent = c.text()[..t.start].ends_with(b"e") || c.text()[..t.start].ends_with(b"E");
        let part = match t.kind {
            Kind::Word | Kind::Punct(b'.') => true,
            Kind::Punct(b'-' | b'+') => exponent,
            _ => false,
        };
        if !part || t.start != end {
            break;
        }
        end = t.end;
        c.next();
    }
    let span = start..end;
    let decimal = c.text()[span.clone()]
        .iter()
        .enumerate()
        .all(|(i, b)| b.is_ascii_digit() || *b == b'.' || (i == 0 && matches!(b, b'-' | b'+')));
    if decimal { Argument::Number(span) } else { Argument::Literal(span) }
}

/// Reads COLLATE and its name, if they stand there.
fn collation(c: &mut TokenCursor<'_>, end: &mut usize) -> Option<bool> {
    if !c.word("COLLATE") {
        return Some(false);
    }
    *end = c.next().filter(|t| t.kind == Kind::Word)?.end;
    Some(true)
}
