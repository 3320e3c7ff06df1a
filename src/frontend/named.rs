//! Lock calls in statements that are prepared under a name in SQL.
//!
//! The client's PREPARE goes to the server as it stands, which refuses what it refuses. An EXECUTE
//! carries out the calls in the text that was prepared; then the server runs that text with their
//! values in it, and with the client's own values for the parameters that are left.

use std::collections::HashMap;
use std::sync::Arc;

use super::owed::Behind;
use super::prepared::{MAX_STATEMENTS, MAX_TEXTS, SO_MANY};
use super::session::{End, Session};
use super::surroundings::Surroundings;
use crate::lock::codes;
use crate::protocol::command::{Command, Shape};
use crate::sql::call;
use crate::sql::composite::Composite;
use crate::sql::named::{Name, Named, Source, may_be_named};
use crate::sql::prefilter::scan;
use crate::sql::words;

/// A statement with lock calls that has a name.
#[derive(Debug)]
pub(super) struct NamedStatement {
    pub(super) text: Vec<u8>,
    pub(super) composite: Composite,
    pub(super) surroundings: Option<Surroundings>,
}

/// What is known of a name.
#[derive(Debug, Clone)]
enum Known {
    Calls(Arc<NamedStatement>),
    /// A PREPARE of it has failed: the server may have kept the statement with calls, or not.
    Doubtful,
}

/// Those of a session.
#[derive(Debug, Default)]
pub(super) struct NamedStatements {
    by_name: HashMap<Vec<u8>, Known>,
    /// The proxy's own.
    pub(super) own: Option<String>,
}

/// What a statement's text holds.
enum Content {
    /// No call.
    Nothing,
    Calls(Composite),
    /// What cannot be carried out.
    Unsupported(&'static str),
}

/// A statement's text, as far as it is known.
enum Text {
    Known(Vec<u8>),
    /// NULL, or an error.
    Refused,
    /// Nobody knows.
    Hidden,
    /// It has calls, and characters that the server reads in another character set.
    Converted,
}

/// A command in its packet.
pub(super) struct Request<'a> {
    pub(super) packet: &'a [u8],
    /// Command byte and query attributes.
    pub(super) prefix: &'a [u8],
    pub(super) text: &'a [u8],
}

impl Session {
    /// PREPARE, EXECUTE and DEALLOCATE.
    pub(super) async fn named(&mut self, request: &Request<'_>, named: &Named) -> Result<(), End> {
        match named {
            Named::Deallocate { name } => {
                self.named.by_name.remove(&name.folded);
                self.forward(request.packet)
            }
            Named::Prepare { name, source } => self.prepare_named(request, name, source).await,
            Named::Execute { name, using } => match self.named.by_name.get(&name.folded) {
                Some(Known::Calls(statement)) => {
                    let statement = Arc::clone(statement);
                    self.execute_text(request, &statement, using).await
                }
                Some(Known::Doubtful) => {
                    self.named.by_name.remove(&name.folded);
                    let name = String::from_utf8_lossy(&name.folded).into_owned();
                    self.ask(format!("DEALLOCATE PREPARE `{name}`").as_bytes()).await?;
                    self.forward(request.packet)
                }
                None => self.forward(request.packet),
            },
            Named::Immediate { source, using } => {
                let text = match self.source_text(request.text, source).await? {
                    Text::Known(text) => text,
                    Text::Refused | Text::Hidden => return self.forward(request.packet),
                    Text::Converted => return self.unsupported(CONVERTED),
                };
                match self.content(&text).await? {
                    Content::Nothing => self.forward(request.packet),
                    Content::Unsupported(what) => self.unsupported(what),
                    Content::Calls(composite) => {
                        let statement = NamedStatement { text, composite, surroundings: None };
                        self.execute_text(request, &statement, using).await
                    }
                }
            }
        }
    }

    /// PREPARE. A refusal leaves the name as it was.
    async fn prepare_named(
        &mut self,
        request: &Request<'_>,
        name: &Name,
        source: &Source,
    ) -> Result<(), End> {
        let text = match self.source_text(request.text, source).await? {
            Text::Known(text) => text,
            Text::Hidden => Vec::new(),
            Text::Refused => return self.pass_prepare(request, name, None).await,
            Text::Converted => return self.unsupported(CONVERTED),
        };
        self.is_about(&text);
        let composite = match self.content(&text).await? {
            Content::Nothing => return self.pass_prepare(request, name, None).await,
            Content::Unsupported(what) => return self.unsupported(what),
            Content::Calls(composite) => composite,
        };
        if !name.plain {
            return self.unsupported("a lock call in a prepared statement of such a name");
        }
        if self.remembers_enough(text.len()) {
            return self.refuse(&codes::unsupported(SO_MANY));
        }
        let surroundings = self.surroundings(&text, &composite).await?;
        let statement = NamedStatement { text, composite, surroundings };
        self.pass_prepare(request, name, Some(statement)).await
    }

    /// Passes a PREPARE, and keeps in mind what the name means then.
    async fn pass_prepare(
        &mut self,
        request: &Request<'_>,
        name: &Name,
        statement: Option<NamedStatement>,
    ) -> Result<(), End> {
        let was_known = self.named.by_name.contains_key(&name.folded);
        if !was_known && statement.is_none() {
            return self.forward(request.packet);
        }
        self.count(Command::QUERY);
        self.behind = Behind::default();
        let reply = self.exchange(request.packet, Shape::Results).await?;
        match statement {
            _ if reply.is_error() && was_known => {
                self.named.by_name.insert(name.folded.clone(), Known::Doubtful);
            }
            Some(statement) if !reply.is_error() => {
                let statement = Known::Calls(Arc::new(statement));
                self.named.by_name.insert(name.folded.clone(), statement);
            }
            Some(_) | None => {
                self.named.by_name.remove(&name.folded);
            }
        }
        self.send_client(&reply.bytes)
    }

    /// Whether a name is known.
    pub(super) fn has_named(&self) -> bool {
        !self.named.by_name.is_empty()
    }

    /// Whether a text may be one of these, or hold one.
    pub(super) fn may_be_named(&self, text: &[u8]) -> bool {
        may_be_named(text, self.has_named())
    }

    /// Whether the session has as many prepared lock calls as it may have.
    pub(super) fn remembers_enough(&self, more: usize) -> bool {
        let texts = self.statements.values().map(|s| s.text.len());
        let named = self.named.by_name.values().map(|known| match known {
            Known::Calls(statement) => statement.text.len(),
            Known::Doubtful => 0,
        });
        let count = self.statements.len() + self.named.by_name.len();
        count >= MAX_STATEMENTS || texts.chain(named).sum::<usize>() + more > MAX_TEXTS
    }

    /// The text that a PREPARE prepares, in the client's character set. A string in which no name
    /// of a function can stand is not asked for.
    async fn source_text(&mut self, text: &[u8], source: &Source) -> Result<Text, End> {
        let source =
            if source.repeatable { &text[source.span.clone()] } else { return Ok(Text::Hidden) };
        let literal = matches!(source.first(), Some(b'\'' | b'"'));
        if literal && !source.contains(&b'\\') && !words::mentions(source) {
            return Ok(Text::Hidden);
        }
        let question =
            [b"SELECT HEX(".as_slice(), source, b"),CHARSET(", source, b"),@@character_set_client"];
        let row = self.ask_row(&question.concat()).await?;
        let Some([Some(hex), Some(charset), Some(client)]) = row.as_deref() else {
            return Ok(Text::Refused);
        };
        let Some(text) = from_hex(hex) else { return Ok(Text::Refused) };
        if scan(&text).setting {
            self.note_setting(&text, true);
        }
        let unicode = |name: &[u8]| name.starts_with(b"utf8");
        // Where the bytes would be converted, they are not the statement's.
        let same = text.is_ascii() || (unicode(charset) && unicode(client));
        if !same && words::mentions(&text) {
            return Ok(Text::Converted);
        }
        Ok(Text::Known(text))
    }

    /// What calls a text has that is prepared.
    async fn content(&mut self, text: &[u8]) -> Result<Content, End> {
        use crate::sql::call::Statement;
        Ok(match self.classify(text).await? {
            // Of several statements the server prepares none, and none that prepares.
            Statement::NoCall
            | Statement::Executes
            | Statement::PerhapsLists
            | Statement::WrongCount
            | Statement::Several(_)
            | Statement::Named(_) => Content::Nothing,
            Statement::Definition => {
                self.note_definition();
                Content::Nothing
            }
            Statement::Composite(composite) if composite.calls.is_empty() => Content::Nothing,
            Statement::Composite(composite) => Content::Calls(composite),
            Statement::Bare(_) => match call::as_composite(text, self.dialect()) {
                Some(composite) => Content::Calls(composite),
                None => Content::Unsupported("a lock call written like this in a named statement"),
            },
            Statement::Other | Statement::Ambiguous => {
                if self.try_prepare(text).await?.is_some() {
                    Content::Nothing
                } else {
                    Content::Unsupported("a lock function in this kind of statement")
                }
            }
        })
    }
}

/// Why a text is refused that cannot be quoted.
pub(super) const CONVERTED: &str = "a lock call in a named statement in this character set";

fn from_hex(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    hex.chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
