//! What must hold of any bytes as a statement: no panic, the same verdict in any chunks, spans that
//! are calls.
//!
//! Three bytes say how the text is read and in which chunks, the rest is the text.

#![no_main]

use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use lockstead::sql::expression::argument::Argument;
use lockstead::sql::classify::{Statement, classify, classify_exactly};
use lockstead::sql::expression::composite::{Call, Composite};
use lockstead::sql::lexer::dialect::{Dialect, Multibyte};
use lockstead::sql::find::finder::Finder;
use lockstead::sql::classify::named::may_be_named;
use lockstead::sql::find::prefilter::scan;
use lockstead::sql::find::stream::{StreamFound, Stream};
use lockstead::types::Flavour;

const CHARSETS: [&str; 16] = [
    "utf8mb4", "gbk", "gb18030", "big5", "sjis", "latin1", "latin2", "latin7", "hebrew", "cp1250",
    "cp1251", "cp850", "cp866", "hp8", "macroman", "koi8r",
];

fuzz_target!(|data: &[u8]| {
    if let [modes, charset, size, text @ ..] = data {
        check(text, dialect(*modes, *charset), 1 + usize::from(*size));
    }
});

fn dialect(modes: u8, charset: u8) -> Dialect {
    let mariadb = modes & 8 > 0;
    Dialect {
        flavour: if mariadb { Flavour::MariaDb } else { Flavour::MySql },
        version: if mariadb { 101_119 } else { 90_704 },
        ansi_quotes: modes & 1 > 0,
        no_backslash_escapes: modes & 2 > 0,
        brackets: mariadb && modes & 4 > 0,
        multibyte: Multibyte::from_charset(CHARSETS[usize::from(charset) % CHARSETS.len()]),
    }
}

fn check(text: &[u8], dialect: Dialect, size: usize) {
    let verdict = classify_exactly(text, dialect);
    assert_eq!(verdict, classify_exactly(text, dialect), "another verdict the second time");
    let general = classify(text, dialect);
    assert!(general == verdict || general == Statement::Ambiguous, "a reading left out");
    spans(text, &verdict);
    let whole = Finder::of(text, dialect);
    if !scan(text).call {
        assert_eq!(whole.calls(), [], "a call that the prefilter does not see");
        // Other texts are looked at because the call may be in a text that is prepared.
        let named = may_be_named(text, true);
        assert!(named || verdict == Statement::NoCall, "a verdict that the prefilter does not see");
    }
    let mut pieces = Finder::new(dialect);
    for chunk in text.chunks(size) {
        pieces.feed(chunk, 0);
    }
    assert_eq!(pieces.calls(), whole.calls(), "other calls in chunks");
    assert_eq!(pieces.first_call(), whole.first_call(), "another first call in chunks");
    assert_eq!(pieces.prepares_after(), whole.prepares_after(), "another PREPARE in chunks");
    stream(text, dialect, &whole, size);
}

/// A statement that is forwarded while it is searched.
fn stream(text: &[u8], dialect: Dialect, whole: &Finder, size: usize) {
    let mut stream = Stream::after(dialect, 0);
    let mut passed = text.to_vec();
    let mut found = None;
    for chunk in passed.chunks_mut(size) {
        found = found.or(stream.pass(chunk));
    }
    let kept = passed.iter().zip(text).take_while(|(passed, byte)| passed == byte).count();
    if let Some(first) = whole.first_call() {
        assert!(found.is_some(), "no call in a stream");
        // A byte of the text may be what it is overwritten with.
        assert!(kept <= first + overwritten(&text[first..]), "a stream that goes on after a call");
    }
    // Half a character at the end of a name may be a whole one in another character set.
    if found == Some(StreamFound::Call) && text.is_ascii() {
        let quoted = Dialect { ansi_quotes: true, ..dialect };
        let seen = [dialect, quoted].iter().any(|d| Finder::of(text, *d).first_call().is_some());
        assert!(seen, "a call in a stream only");
    }
    if found.is_none() {
        assert_eq!(passed, text, "a stream that changes what has no call");
    }
}

/// How many bytes are as if they had been overwritten.
fn overwritten(text: &[u8]) -> usize {
    let bad = |at: usize| if at == 1 { b'\n' } else { 1 };
    text.iter().enumerate().take_while(|(at, byte)| **byte == bad(*at)).count()
}

fn spans(text: &[u8], verdict: &Statement) {
    match verdict {
        Statement::Bare(bare) => {
            is_call(text, &bare.call);
            for argument in &bare.arguments {
                if let Argument::Plain(span) | Argument::Number(span) | Argument::Literal(span) =
                    argument
                {
                    assert!(span.start >= bare.call.start && span.end < bare.call.end);
                    assert!(span.start <= span.end);
                }
            }
            assert!(bare.none.0 <= text.len());
        }
        Statement::Composite(composite) => is_composite(text, composite),
        Statement::Several(pieces) => {
            let ends = pieces.iter().map(|piece| piece.end);
            let starts = pieces.iter().map(|piece| piece.start);
            assert!(starts.eq(std::iter::once(0).chain(ends.take(pieces.len() - 1))), "a gap");
            assert_eq!(pieces.last().map(|piece| piece.end), Some(text.len()));
        }
        Statement::NoCall
        | Statement::PerhapsLists
        | Statement::WrongCount
        | Statement::InTable
        | Statement::Definition
        | Statement::Named(_)
        | Statement::Executes
        | Statement::Other
        | Statement::Ambiguous => {}
    }
}

fn is_composite(text: &[u8], composite: &Composite) {
    assert!(composite.end <= text.len());
    calls(text, &composite.calls, &(0..composite.end));
    let params = &composite.params;
    assert!(params.iter().all(|at| text[*at] == b'?') && params.is_sorted());
    let back = composite.looks_back.iter().map(|(span, _)| span);
    let into = composite.into.iter().map(|(span, _)| span);
    assert!(back.chain(into).all(|span| span.start < span.end && span.end <= text.len()));
}

/// Calls stand one after the other, and inside of what is around them.
fn calls(text: &[u8], calls: &[Call], around: &Range<usize>) {
    let mut at = around.start;
    for call in calls {
        is_call(text, &call.span);
        assert!(call.span.start >= at && call.span.end <= around.end, "a call that overlaps");
        at = call.span.end;
        let mut inside = call.span.start;
        for part in &call.arguments {
            assert!(part.span.start >= inside && part.span.end < call.span.end, "an argument");
            inside = part.span.end;
            self::calls(text, &part.calls, &part.span);
        }
    }
}

/// Asserts that a call begins with a name, in quotes or in `{fn …}`, and ends with what closes it.
fn is_call(text: &[u8], span: &Range<usize>) {
    let call = &text[span.clone()];
    let begins = matches!(call[0], b'{' | b'`' | b'"' | b'[') || call[0].is_ascii_alphabetic();
    assert!(begins && matches!(call[call.len() - 1], b')' | b'}'), "{}", call.escape_ascii());
}
