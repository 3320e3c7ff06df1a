//! One bare call: a statement of nothing but a lock function, which the proxy can answer.

use std::ops::Range;

use crate::lock::function::Function;
use crate::sql::expression::argument::{Argument, argument};
use crate::sql::lexer::scanner::{Kind, Token, is_space};
use crate::sql::lexer::tokens::{TokenCursor, code, holds};

/// A statement of one call.
pub(super) enum Bare {
    /// With as many arguments as the function takes.
    Call(BareCall),
    /// With another number of arguments, which the server refuses before it locks.
    WrongCount,
}

/// `SELECT|DO fn(arguments) [[AS] alias] [FROM DUAL] [LIMIT 1] [;]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BareCall {
    /// DO instead of SELECT: an OK packet instead of rows.
    pub is_do: bool,
    /// The function.
    pub function: Function,
    /// Arguments of the call.
    pub arguments: Vec<Argument>,
    /// The call's source text, which names its column.
    pub call: Range<usize>,
    /// The alias.
    pub alias: Alias,
    /// The column's name is not simply the call's source text.
    pub odd: bool,
    /// Text that must surround an expression in the call's place: half a versioned comment, if one
    /// begins or ends in the call.
    pub around: (&'static str, &'static str),
    /// Where a LIMIT would begin, and what makes the statement one without rows there.
    pub none: (usize, &'static str),
    /// An optimizer hint, which may set variables for the statement.
    pub hint: bool,
    /// A hint, or something after the semicolon: only the server's own reply is right.
    pub special: bool,
}

/// A column alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alias {
    /// None: the source text is the name.
    None,
    /// A name that needs no conversion. A bare word may be reserved, which only the server knows.
    Simple {
        /// The alias's text.
        text: Range<usize>,
        /// Not quoted.
        bare: bool,
    },
    /// Any other: the server names the column.
    Complex,
}

/// Reads the statement as a bare call; `None` if it is anything else.
pub(super) fn read(text: &[u8], tokens: &[Token]) -> Option<Bare> {
    let hint = tokens.iter().any(|t| t.kind == Kind::Hint);
    let marks: Vec<Token> = tokens.iter().copied().filter(|t| t.kind == Kind::Versioned).collect();
    let tokens = code(tokens);
    let inside = |at: usize| {
        let before = marks.partition_point(|m| m.start < at);
        marks[..before].last().is_some_and(|m| m.opens(text))
    };
    let mut c = TokenCursor::new(text, &tokens);
    let is_do = c.word("DO");
    if !is_do && !c.word("SELECT") {
        return None;
    }
    let brace = c.punct(b'{');
    if brace.is_some() && !c.word("fn") {
        return None;
    }
    let name = c.next()?;
    let unquoted = match name.kind {
        Kind::Quoted => text.get(name.start + 1..name.end - 1)?,
        _ => c.bytes(name),
    };
    let function = Function::from_name(unquoted)?;
    let (arguments, close) = arguments(&mut c, &marks)?;
    let call = match brace {
        Some(brace) => brace.start..c.punct(b'}')?.end,
        None => name.start..close.end,
    };
    // Versioned comments are left out of the column's name.
    let comment = |c: &&[u8]| memchr::memmem::find(&text[call.clone()], c).is_some();
    let odd = brace.is_some() || !marks.is_empty() || [&b"/*!"[..], b"/*M!"].iter().any(comment);
    let alias = if is_do { Alias::None } else { alias(&mut c)? };
    if !is_do && c.word("FROM") && !c.word("DUAL") {
        return None;
    }
    let body = tokens[..tokens.len() - c.left()].last().map_or(0, |t| t.end);
    if !is_do && c.word("LIMIT") && !c.word("1") {
        return None;
    }
    // After a semicolon there may be an empty statement with a result of its own.
    let tail = c.peek().map_or(text.len(), |t| t.end);
    let more = !text[tail..].iter().all(|b| is_space(*b));
    while c.punct(b';').is_some() || c.punct(0).is_some() {}
    if c.peek().is_some() {
        return None;
    }
    if arguments.len() != function.arity() {
        return Some(Bare::WrongCount);
    }
    let (opens, closes) = match (inside(call.start), inside(call.end)) {
        (true, false) => ("", "*/"),
        (false, true) => ("/*!", ""),
        (true, true) | (false, false) => ("", ""),
    };
    Some(Bare::Call(BareCall {
        is_do,
        function,
        arguments,
        call,
        alias,
        odd,
        around: (opens, closes),
        none: (body, if inside(body) { " LIMIT 0 */" } else { " LIMIT 0" }),
        hint,
        special: hint || more || odd,
    }))
}

/// The arguments in parentheses, and the closing one.
fn arguments(c: &mut TokenCursor<'_>, marks: &[Token]) -> Option<(Vec<Argument>, Token)> {
    c.punct(b'(')?;
    let mut arguments = Vec::new();
    loop {
        if let Some(close) = c.punct(b')') {
            return Some((arguments, close));
        }
        if !arguments.is_empty() {
            c.punct(b',')?;
        }
        let argument = argument(c)?;
        // The literal is evaluated as an expression of its own, which half a comment would break.
        if let Argument::Literal(span) = &argument
            && holds(marks, span)
        {
            return None;
        }
        arguments.push(argument);
    }
}

fn alias(c: &mut TokenCursor<'_>) -> Option<Alias> {
    let with_as = c.word("AS");
    let Some(t) = c.peek() else {
        return (!with_as).then_some(Alias::None);
    };
    let word = c.bytes(t);
    match t.kind {
        Kind::Word => {
            let keyword = ["FROM", "LIMIT"].iter().any(|k| k.as_bytes().eq_ignore_ascii_case(word));
            if !with_as && keyword {
                return Some(Alias::None);
            }
            c.next();
            let text = t.start..t.end;
            let simple = word.iter().all(u8::is_ascii) && word.len() <= 64;
            Some(if simple { Alias::Simple { text, bare: true } } else { Alias::Complex })
        }
        Kind::Quoted | Kind::String => {
            c.next();
            let text = t.start + 1..t.end - 1;
            let inner = &c.bytes(t)[1..word.len() - 1];
            let simple = (1..=64).contains(&inner.len())
                && inner.iter().all(|b| b.is_ascii_alphanumeric() || b"_$-.:".contains(b));
            Some(if simple { Alias::Simple { text, bare: false } } else { Alias::Complex })
        }
        _ if with_as => None,
        _ => Some(Alias::None),
    }
}
