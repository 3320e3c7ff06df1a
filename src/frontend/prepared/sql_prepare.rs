//! Lock calls in statements that are prepared under a name in SQL.
//!
//! The client's PREPARE goes to the server as it stands, which refuses what it refuses. An EXECUTE
//! carries out the calls in the text that was prepared; then the server runs that text with their
//! values in it, and with the client's own values for the parameters that are left.

use std::collections::HashMap;
use std::sync::Arc;

use super::prepare_context::Surroundings;
use super::sql_text::Text;
use crate::frontend::link::pending::Behind;
use crate::frontend::session::{End, Session};
use crate::protocol::command::{Command, Shape};
use crate::sql::classify;
use crate::sql::classify::named::{Named, StatementName, TextSource, may_be_named};
use crate::sql::expression::composite::Composite;

/// A statement with lock calls that has a name.
#[derive(Debug)]
pub(in crate::frontend) struct NamedStatement {
    pub(in crate::frontend) text: Vec<u8>,
    pub(in crate::frontend) composite: Composite,
    pub(in crate::frontend) surroundings: Option<Surroundings>,
}

impl NamedStatement {
    /// Bytes that it takes: what is known of a text is about as long as the text.
    fn size(&self) -> usize {
        size_of::<Self>() + 2 * self.text.len()
    }
}

/// Why a text with a lock call is refused that is prepared or executed with settings.
pub(in crate::frontend) const SET: &str = "a lock call in a named statement behind SET STATEMENT";

/// What is known of a name.
#[derive(Debug, Clone)]
enum Known {
    Calls(Arc<NamedStatement>),
    /// A PREPARE of it has failed: the server may have kept the statement with calls, or not.
    Doubtful,
}

/// Those of a session.
#[derive(Debug, Default)]
pub(in crate::frontend) struct NamedStatements {
    by_name: HashMap<Vec<u8>, Known>,
    /// The proxy's own.
    pub(in crate::frontend) own: Option<String>,
}

impl NamedStatements {
    /// Bytes that they take.
    pub(in crate::frontend) fn size(&self) -> usize {
        let one = |(name, known): (&Vec<u8>, &Known)| match known {
            Known::Calls(statement) => name.len() + statement.size(),
            Known::Doubtful => name.len(),
        };
        self.by_name.iter().map(one).sum()
    }
}

/// What a statement's text holds.
enum Content {
    /// No call.
    Nothing,
    Calls(Composite),
    /// What cannot be carried out.
    Unsupported(&'static str),
}

/// A command in its packet.
pub(in crate::frontend) struct Request<'a> {
    pub(in crate::frontend) packet: &'a [u8],
    /// Command byte and query attributes.
    pub(in crate::frontend) prefix: &'a [u8],
    pub(in crate::frontend) text: &'a [u8],
}

impl Session {
    /// PREPARE, EXECUTE and DEALLOCATE.
    pub(in crate::frontend) async fn named(
        &mut self,
        request: &Request<'_>,
        named: &Named,
    ) -> Result<(), End> {
        if self.may_mean_another(named) {
            self.no_way_back();
            return self.unsupported("such a name beside a prepared statement with a lock call");
        }
        match named {
            Named::Deallocate { name } => {
                self.named.by_name.remove(&name.folded);
                self.forward(request.packet)
            }
            Named::Prepare { name, source } => self.prepare_named(request, name, source).await,
            Named::Execute { name, using } => match self.named.by_name.get(&name.folded) {
                Some(Known::Calls(_)) if name.set => self.unsupported(SET),
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
                    Text::Uncovered(why) => return self.unsupported(why),
                    Text::Ended(reply) => return self.say_ended(&reply),
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
        name: &StatementName,
        source: &TextSource,
    ) -> Result<(), End> {
        let text = match self.source_text(request.text, source).await? {
            Text::Known(text) => text,
            Text::Hidden => Vec::new(),
            Text::Refused => return self.pass_prepare(request, name, None).await,
            Text::Uncovered(why) => return self.uncovered_prepare(request, name, why).await,
            Text::Ended(reply) => return self.say_ended(&reply),
        };
        self.is_about(&text);
        let composite = match self.content(&text).await? {
            Content::Nothing => return self.pass_prepare(request, name, None).await,
            Content::Unsupported(why) => return self.uncovered_prepare(request, name, why).await,
            Content::Calls(composite) => composite,
        };
        if !name.plain {
            let why = "a lock call in a prepared statement of such a name";
            return self.uncovered_prepare(request, name, why).await;
        }
        let surroundings = self.surroundings(&text, &composite).await?;
        let statement = NamedStatement { text, composite, surroundings };
        if statement.size() + name.folded.len() > self.room() {
            return self.refuse(&self.no_room());
        }
        self.pass_prepare(request, name, Some(statement)).await
    }

    /// PREPARE of what is not covered: where the server prepares it, the name means that from then on.
    async fn uncovered_prepare(
        &mut self,
        request: &Request<'_>,
        name: &StatementName,
        why: &str,
    ) -> Result<(), End> {
        if !self.runs_uncovered() {
            return self.unsupported(why);
        }
        self.note_unsupported(why, request.text, true);
        self.pass_prepare(request, name, None).await
    }

    /// Whether a name may be one that is known, in other letters: servers do not tell all apart.
    fn may_mean_another(&self, named: &Named) -> bool {
        match named {
            Named::Prepare { name, .. }
            | Named::Execute { name, .. }
            | Named::Deallocate { name } => !name.plain && self.has_named(),
            Named::Immediate { .. } => false,
        }
    }

    /// Passes a PREPARE, and keeps in mind what the name means then.
    async fn pass_prepare(
        &mut self,
        request: &Request<'_>,
        name: &StatementName,
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
    pub(in crate::frontend) fn has_named(&self) -> bool {
        !self.named.by_name.is_empty()
    }

    /// Whether a text may be one of these, or hold one.
    pub(in crate::frontend) fn may_be_named(&self, text: &[u8]) -> bool {
        may_be_named(text, self.has_named())
    }

    /// What calls a text has that is prepared.
    async fn content(&mut self, text: &[u8]) -> Result<Content, End> {
        use crate::sql::classify::Statement;
        Ok(match self.classify(text).await? {
            // Of several statements the server prepares none, and none that prepares.
            Statement::NoCall
            | Statement::Executes
            | Statement::PerhapsLists
            | Statement::WrongCount
            | Statement::InTable
            | Statement::Several(_)
            | Statement::Named(_) => Content::Nothing,
            Statement::Definition => {
                self.note_definition();
                Content::Nothing
            }
            Statement::Composite(composite) if composite.calls.is_empty() => Content::Nothing,
            Statement::Composite(composite) => Content::Calls(composite),
            Statement::Bare(_) => match classify::as_composite(text, self.dialect()) {
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
