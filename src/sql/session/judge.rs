//! Reads the tokens of a text from left to right for what it may do to its session.

use super::effects::{Mark, Marks};
use super::variables::{VariableNames, unquoted};
use super::words::{
    FirstWord, FirstWords, Folded, begins_block, first_word, is_object, is_of_transaction,
    is_program, mark_of_first, mark_of_function, mark_of_name, mark_of_variable, marks_after,
};
use crate::sql::find::first_word::after_comments;
use crate::sql::lexer::dialect::{Dialect, Multibyte};
use crate::sql::lexer::scanner::{Kind, Scanner, Token, is_space};
use crate::types::Flavour;

/// What was found in a text, or in one reading of it.
#[derive(Default)]
pub(super) struct FoundEffects {
    pub(super) marks: Marks,
    pub(super) names: VariableNames,
    pub(super) settings: VariableNames,
}

/// Reads the text in one dialect, and says whether it ends outside strings and comments.
pub(super) fn read(text: &[u8], dialect: Dialect) -> (FoundEffects, bool) {
    let mut judge = SessionJudge::new(text, dialect, false);
    let mut take = |token, _: &[u8]| {
        judge.token(token);
        false
    };
    let mut scanner = Scanner::new(dialect);
    scanner.feed(text, 0, &mut take);
    let whole = scanner.finish(&mut take);
    (judge.found, whole)
}

/// Takes every word for code, in quotes and comments too: at least what any reading finds.
pub(super) fn guess(text: &[u8], dialect: Dialect) -> FoundEffects {
    let mut judge = SessionJudge::new(text, dialect, true);
    let mut at = after_comments(text);
    while let Some(byte) = text.get(at) {
        let in_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
        let length = text[at..].iter().take_while(|b| in_word(b)).count();
        let kind = if length > 0 { Kind::Word } else { Kind::Punct(*byte) };
        let end = at + length.max(1);
        if !is_space(*byte) {
            judge.token(Token { kind, start: at, end });
        }
        at = end;
    }
    judge.found
}

/// Words between SET and TRANSACTION for more than the next one.
const SCOPES: [&str; 3] = ["session", "local", "global"];

/// Where PREPARE has its text from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrepareSource {
    /// FROM has not come yet, or all is said.
    Elsewhere,
    /// The next token tells.
    Next,
    /// From a string; a token after it makes it a part of an expression.
    Literal,
}

struct SessionJudge<'a> {
    text: &'a [u8],
    dialect: Dialect,
    /// Quotes and comments are not known.
    guessing: bool,
    found: FoundEffects,
    /// The next word is the first of a statement.
    starts: bool,
    /// Any word may be the first of a statement.
    open: bool,
    /// After SET STATEMENT: a statement follows FOR.
    set_statement: bool,
    /// Information schemas are named.
    schema: bool,
    /// After `@@`.
    system: bool,
    first: FirstWords,
    last: Option<Token>,
    prepared: PrepareSource,
    /// Tokens that begin before this place belong to the name of a user variable, or to an `@@`.
    passed: usize,
    /// A name in quotes that begins here is one of a user variable.
    named_at: Option<usize>,
}

impl<'a> SessionJudge<'a> {
    fn new(text: &'a [u8], dialect: Dialect, guessing: bool) -> Self {
        Self {
            text,
            dialect,
            guessing,
            found: FoundEffects::default(),
            starts: true,
            open: false,
            set_statement: false,
            schema: false,
            system: false,
            first: FirstWords::default(),
            last: None,
            prepared: PrepareSource::Elsewhere,
            passed: 0,
            named_at: None,
        }
    }

    fn token(&mut self, token: Token) {
        if !token.is_code() || token.start < self.passed {
            return;
        }
        self.prepared(token);
        self.after_begin(token);
        self.setting(token);
        match token.kind {
            Kind::Punct(byte) => self.punct(byte, token),
            Kind::Word => self.word(token),
            Kind::Quoted | Kind::String => self.quoted(token),
            Kind::Hint | Kind::Versioned => {}
        }
        self.last = Some(token);
    }

    fn bytes(&self, token: Token) -> &'a [u8] {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn mark(&mut self, mark: Mark) {
        self.found.marks.add(mark);
    }

    fn mark_if_any(&mut self, mark: Option<Mark>) {
        if let Some(mark) = mark {
            self.mark(mark);
        }
    }

    /// Whether the token before was this word.
    fn follows(&self, words: &[&str]) -> bool {
        self.last.is_some_and(|last| words.iter().any(|w| last.is(self.text, w)))
    }

    /// A number like `1e5` may end where FOR begins.
    fn follows_for(&self) -> bool {
        let last = self.last.map_or(&[][..], |last| self.bytes(last));
        last.last_chunk().is_some_and(|end: &[u8; 3]| end.eq_ignore_ascii_case(b"for"))
    }

    fn follows_punct(&self, byte: u8) -> bool {
        self.last.is_some_and(|last| last.kind == Kind::Punct(byte))
    }

    /// A BEGIN with more than WORK after it begins a block.
    fn after_begin(&mut self, token: Token) {
        if !self.first.has(FirstWord::Begin) {
            return;
        }
        self.first.remove(FirstWord::Begin);
        let work = self.bytes(token).eq_ignore_ascii_case(b"work");
        if !work && !matches!(token.kind, Kind::Punct(b';' | 0)) {
            self.mark(Mark::Block);
            self.open = true;
        }
    }

    fn prepared(&mut self, token: Token) {
        let literal = token.kind == Kind::String
            || (token.kind == Kind::Quoted && self.bytes(token).starts_with(b"\""));
        let ends = matches!(token.kind, Kind::Punct(b';' | 0));
        self.prepared = match self.prepared {
            PrepareSource::Next if literal => {
                self.mark(Mark::PreparesLiteral);
                PrepareSource::Literal
            }
            PrepareSource::Next | PrepareSource::Literal if !ends => {
                self.mark(Mark::PreparesComputed);
                PrepareSource::Elsewhere
            }
            PrepareSource::Elsewhere | PrepareSource::Next | PrepareSource::Literal => {
                PrepareSource::Elsewhere
            }
        };
    }

    fn punct(&mut self, byte: u8, token: Token) {
        let starts = std::mem::take(&mut self.starts);
        match byte {
            b';' => self.end_statement(),
            b'(' => {
                self.starts = starts;
                self.call();
            }
            b'@' => self.at_sign(token),
            _ => {}
        }
        if starts && byte == b'<' {
            // MariaDB's label in Oracle mode: <<label>>
            self.mark(Mark::Block);
            self.open = true;
        }
        // A comment may be before the first word.
        self.open |= self.guessing && starts && !matches!(byte, b';' | b'(');
        self.system &= self.guessing || matches!(byte, b'@' | b'.');
    }

    fn end_statement(&mut self) {
        self.starts = true;
        // A semicolon may be one of a string.
        if !self.open && !self.guessing {
            self.first = FirstWords::default();
            self.set_statement = false;
        }
    }

    /// Notes a call, after a name and at its parenthesis.
    fn call(&mut self) {
        let named = |last: &Token| matches!(last.kind, Kind::Word | Kind::Quoted);
        if let Some(last) = self.last.filter(named) {
            let name = Folded::of(unquoted(last.kind, self.bytes(last)));
            self.mark_if_any(name.and_then(|name| mark_of_function(name.as_bytes())));
        }
    }

    fn at_sign(&mut self, token: Token) {
        let after = self.text.get(token.end..).unwrap_or_default();
        match after.first() {
            Some(b'@') => {
                self.system = true;
                // The first may be the end of a character.
                if !self.guessing {
                    self.passed = token.end + 1;
                }
            }
            Some(b'\'' | b'"' | b'`') if !self.guessing => self.named_at = Some(token.end),
            // A name in MariaDB's brackets may follow, or one whose end is not known.
            Some(b'\'' | b'"' | b'`' | b'[') => self.found.names.more = true,
            _ => {
                let length = self.found.names.add_bare(after);
                let swe7 = self.guessing || self.dialect.multibyte == Multibyte::Swe7;
                let joins = |b: &u8| swe7 && Multibyte::Swe7.is_letter(*b, true);
                self.found.names.more |= after.get(length).is_some_and(joins);
                self.passed = if self.guessing { 0 } else { token.end + length };
            }
        }
    }

    /// The name after an `@@` of SET, if that has no scope in between.
    fn setting(&mut self, token: Token) {
        let sets = self.system && self.first.has(FirstWord::Set) && self.follows_punct(b'@');
        if sets && self.dialect.flavour == Flavour::MariaDb {
            let after = self.text.get(token.end..).unwrap_or_default();
            let name = unquoted(token.kind, self.bytes(token));
            self.found.settings.add_set(name, after, self.guessing);
        }
    }

    fn quoted(&mut self, token: Token) {
        self.starts = false;
        let bytes = self.bytes(token);
        if self.named_at == Some(token.start) {
            self.found.names.add_quoted(bytes);
        } else if token.kind == Kind::Quoted
            && let Some(word) = Folded::of(unquoted(token.kind, bytes))
        {
            self.name(word.as_bytes());
        } else {
            self.system = false;
        }
    }

    fn word(&mut self, token: Token) {
        let starts = std::mem::take(&mut self.starts);
        let Some(word) = Folded::of(self.bytes(token)) else { return };
        let word = word.as_bytes();
        let after_settings = self.set_statement && self.follows_for();
        if starts || self.open || after_settings {
            self.note_first_word(word, starts || after_settings || self.guessing);
        }
        if !self.first.is_empty() {
            self.later(word);
        }
        let of_sequence = if self.guessing {
            matches!(word, b"next" | b"previous")
        } else {
            word == b"value" && self.follows(&["next", "previous"])
        };
        if of_sequence && self.dialect.flavour == Flavour::MariaDb {
            self.mark(Mark::Sequence);
        }
        if self.guessing {
            self.mark_if_any(mark_of_function(word));
        }
        self.name(word);
    }

    /// A word that may be the first of a statement.
    fn note_first_word(&mut self, word: &[u8], certain: bool) {
        self.mark_if_any(mark_of_first(word));
        if let Some(first) = first_word(word) {
            if certain || first != FirstWord::Begin {
                self.first.add(first);
            }
        } else if certain && begins_block(word) {
            self.mark(Mark::Block);
            self.open = true;
        }
    }

    /// A word of a statement whose first word makes it mean something, the first itself included.
    fn later(&mut self, word: &[u8]) {
        let first = self.first;
        // `DEFINER = name`: that is none of the words that tell what is defined.
        if self.follows_punct(b'=') && is_object(word) && !first.has(FirstWord::Set) {
            return;
        }
        for (_, mark) in marks_after(word).iter().filter(|(after, _)| first.has(*after)) {
            self.mark(*mark);
        }
        let is = |word: FirstWord| first.has(word);
        let certain = !self.guessing;
        // A comment may be in between, if that is not known.
        let follows = |words: &[&str]| self.guessing || self.follows(words);
        match word {
            b"from" if is(FirstWord::Prepare) => {
                self.prepared = PrepareSource::Next;
                if self.guessing {
                    self.mark(Mark::PreparesLiteral);
                    self.mark(Mark::PreparesComputed);
                }
            }
            b"with" if is(FirstWord::Flush) && follows(&["table", "tables"]) => {
                self.mark(Mark::GlobalReadLock);
                self.forget(&[FirstWord::Flush]);
            }
            b"variables" if is(FirstWord::Show) && !(certain && follows(&["global"])) => {
                self.mark(Mark::ListsVariables);
            }
            b"transaction" if is(FirstWord::Set) && !(certain && follows(&SCOPES)) => {
                self.mark(Mark::OneShotTransaction);
            }
            b"statement" if is(FirstWord::Set) && follows(&["set"]) => {
                self.mark(Mark::SetStatement);
                self.set_statement = true;
                self.open |= self.guessing;
            }
            _ => {}
        }
        if is_object(word) {
            self.object(word);
        }
    }

    /// After the word that tells what CREATE, ALTER or DROP is about come names.
    fn object(&mut self, word: &[u8]) {
        let defines = self.first.has(FirstWord::Create) || self.first.has(FirstWord::Alter);
        let of_table = self.first.has(FirstWord::Alter) && word == b"table";
        self.open |= defines && is_program(word);
        self.forget(&[FirstWord::Create, FirstWord::Alter, FirstWord::Drop]);
        if of_table {
            self.first.add(FirstWord::AlterTable);
        }
    }

    /// Drops first words that the rest has nothing to do with, if the rest is known.
    fn forget(&mut self, firsts: &[FirstWord]) {
        if !self.open && !self.guessing {
            for first in firsts {
                self.first.remove(*first);
            }
        }
    }

    /// A name, quoted or not.
    fn name(&mut self, word: &[u8]) {
        self.schema |= word == b"information_schema";
        self.mark_if_any(mark_of_name(word, self.dialect.flavour));
        if self.schema && word == b"profiling" {
            self.mark(Mark::Profiling);
        }
        let at = self.follows_punct(b'@');
        let set = self.first.has(FirstWord::Set);
        self.system &= at || self.follows_punct(b'.') || self.guessing;
        let system = self.system;
        if system || set {
            self.mark_if_any(mark_of_variable(word));
        }
        if set && system && (at || self.guessing) && is_of_transaction(word) {
            self.mark(Mark::OneShotTransaction);
        }
    }
}
