//! Lock calls: what a parked command is, and what it does. The server owes nothing meanwhile.

use super::arguments::{Given, Judged};
use super::reply::Call;
use super::visible_wait::{Shown, Waited};
use crate::engine::handle::{Acquired, Grant};
use crate::frontend::prepared::sql_prepare::Request;
use crate::frontend::session::{End, Session};
use crate::lock::codes;
use crate::lock::function::Function;
use crate::lock::name::{Key, Name};
use crate::lock::timeout::Timeout;
use crate::metrics::CallOutcome;
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::reply::ErrorReply;
use crate::protocol::response::Ending;
use crate::seldom::Turn;
use crate::sql::classify::at_prepare::preparing_evaluates;
use crate::sql::classify::{self, Statement};
use crate::sql::expression::argument::Argument;

/// What came of a call.
pub(in crate::frontend) enum Outcome {
    /// A value, and the expressions whose warnings the server must repeat.
    Value(Option<u64>, Vec<Vec<u8>>),
    /// The same, but the expressions end the statement with an error.
    Fails(Option<u64>, Vec<Vec<u8>>),
    /// The statement goes to the server as it stands.
    Native,
    /// What the server said to a wait is the answer.
    Said(CallOutcome, Vec<u8>),
    /// The wait was given up to end a deadlock.
    Deadlock,
    /// A name or timeout that nobody can judge.
    Unsupported,
    /// An error.
    Error(ErrorReply),
}

impl Session {
    /// Handles the command at the front of the inbox.
    pub(in crate::frontend) async fn intercept(&mut self) -> Result<(), End> {
        if let Some(dropped) = self.refused.take() {
            return self.refuse_dropped(dropped).await;
        }
        let Some(frame) = FrameHeader::peek(&self.inbox) else {
            return Ok(());
        };
        let rest = self.inbox.split_off((HEADER + frame.len).min(self.inbox.len()));
        let packet = std::mem::replace(&mut self.inbox, rest);
        match packet.get(HEADER).map_or(Command(0), |b| Command(*b)) {
            Command::QUERY => self.query(packet).await,
            Command::STMT_PREPARE => self.prepare(packet).await,
            Command::RESET_CONNECTION => self.reset(&packet).await,
            Command::CHANGE_USER => self.change_user(&packet).await,
            _ => self.prepared_command(packet).await,
        }
    }

    pub(in crate::frontend) async fn query(&mut self, packet: Vec<u8>) -> Result<(), End> {
        let payload = &packet[HEADER..];
        let Some(at) = self.text_start(payload) else {
            self.count(Command::QUERY);
            return self.refuse(&codes::unreadable(self.flavour));
        };
        let text = &payload[at..];
        let statement = self.classify(text).await?;
        // A bare call pays no copy.
        if !matches!(statement, Statement::NoCall | Statement::Bare(_)) {
            self.take_in_hand(&packet, text);
        }
        match statement {
            // A parameter without PREPARE is a syntax error, which takes nothing.
            Statement::Bare(bare) if bare.arguments.contains(&Argument::Parameter) => {
                self.forward(&packet)
            }
            Statement::Bare(bare) => {
                self.count(Command::QUERY);
                let given = bare.arguments.iter().map(|a| Given::from_text(a, text)).collect();
                let call = Call { prefix: &payload[..at], text, bare };
                if let Some(refusal) = self.check_alias(&call).await? {
                    return self.send_client(&refusal);
                }
                let outcome = if self.gives_no_row(&call).await? {
                    Outcome::Native
                } else {
                    let shown = Shown {
                        call: &call,
                        name: None,
                        stale: None,
                        cursor: false,
                        stand_in: false,
                    };
                    self.call(&shown, given).await?
                };
                match outcome {
                    Outcome::Value(value, pure) | Outcome::Fails(value, pure) => {
                        self.answer(&call, value, &pure).await
                    }
                    Outcome::Native => self.forward(&packet),
                    Outcome::Said(_, reply) => self.send_client(&reply),
                    Outcome::Deadlock => self.answer_deadlock(&call).await,
                    Outcome::Unsupported => {
                        self.take_in_hand(&packet, text);
                        self.unsupported(UNJUDGED)
                    }
                    Outcome::Error(error) => self.refuse(&error),
                }
            }
            Statement::Composite(composite) => {
                self.composite(&payload[..at], text, &composite).await
            }
            Statement::Named(named) => {
                let request = Request { packet: &packet, prefix: &payload[..at], text };
                self.named(&request, &named).await
            }
            // The server refuses them all.
            Statement::Several(_) if !self.several => self.forward(&packet),
            // A part of one is a single statement.
            Statement::Several(_) if self.chain.is_some() => {
                self.unsupported("a lock call in these statements")
            }
            Statement::Several(pieces) => {
                self.start_chain(&payload[..at], text, &pieces);
                self.next_in_chain().await
            }
            statement => self.not_bare(&packet, text, &statement).await,
        }
    }

    /// Forwards or refuses a text that is no bare call.
    pub(in crate::frontend) async fn not_bare(
        &mut self,
        packet: &[u8],
        text: &[u8],
        statement: &Statement,
    ) -> Result<(), End> {
        match statement {
            Statement::Definition => {
                // What seems to be the end of its body may be followed by another statement.
                if self.several && !classify::is_single(text, self.dialect()) {
                    let reply = self.prepare_and_close(text).await?;
                    if matches!(reply.ending, Ending::Err { code: 1064 }) {
                        return self.send_client(&reply.bytes);
                    }
                }
                self.note_definition();
                self.forward(packet)
            }
            Statement::Executes if !self.has_named() => self.forward(packet),
            // Bound to a statement id, no server takes PREPARE and EXECUTE.
            Statement::NoCall
            | Statement::PerhapsLists
            | Statement::WrongCount
            | Statement::InTable
            | Statement::Bare(_)
            | Statement::Named(_) => self.forward(packet),
            Statement::Other
            | Statement::Executes
            | Statement::Composite(_)
            | Statement::Several(_)
            | Statement::Ambiguous => {
                // What the server refuses anyway it refuses in its own words: nothing is taken.
                let prepares = packet.get(HEADER) == Some(&Command::STMT_PREPARE.0);
                if (prepares || !self.several || classify::is_single(text, self.dialect()))
                    && let Some(refusal) = self.try_prepare(text).await?
                {
                    return self.send_client(&refusal);
                }
                self.unsupported("a lock function in this kind of statement")
            }
        }
    }

    /// Counts a definition whose calls Lockstead will not see.
    pub(in crate::frontend) fn note_definition(&self) {
        self.context.metrics.definitions.inc();
        if let Some(Turn { left_out }) = self.context.lines.definitions.turn() {
            tracing::warn!(
                connection = %self.connection,
                left_out,
                "a stored program or view with a lock call was passed: its calls take the server's own locks"
            );
        }
    }

    /// The server's refusal to prepare a text; `None` when it can be prepared, or when it is
    /// only the protocol that forbids it.
    pub(in crate::frontend) async fn try_prepare(
        &mut self,
        text: &[u8],
    ) -> Result<Option<Vec<u8>>, End> {
        if preparing_evaluates(text, self.dialect()) {
            return Ok(None);
        }
        let reply = self.prepare_and_close(text).await?;
        Ok(match reply.ending {
            Ending::Err { code: 1295 } | Ending::Ok { .. } | Ending::Plain => None,
            Ending::Err { .. } => Some(reply.bytes),
        })
    }

    /// Closes a statement that the client does not know of.
    pub(in crate::frontend) fn close_statement(&mut self, id: u32) -> Result<(), End> {
        let mut packet = Vec::new();
        let payload = [&[Command::STMT_CLOSE.0][..], &id.to_le_bytes()].concat();
        put_frame(&mut packet, 0, &payload);
        self.send_server(&packet)
    }

    /// Does what a call asks.
    pub(in crate::frontend) async fn call(
        &mut self,
        shown: &Shown<'_>,
        given: Vec<Given>,
    ) -> Result<Outcome, End> {
        let began = self.digest_begins();
        let outcome = self.evaluate(shown, given).await?;
        let label = match &outcome {
            Outcome::Value(Some(0), _) | Outcome::Fails(Some(0), _) => CallOutcome::Zero,
            Outcome::Value(Some(_), _) | Outcome::Fails(Some(_), _) => CallOutcome::One,
            Outcome::Value(None, _) | Outcome::Fails(None, _) => CallOutcome::Null,
            Outcome::Native => CallOutcome::Native,
            Outcome::Said(outcome, _) => *outcome,
            Outcome::Deadlock => CallOutcome::Ended,
            Outcome::Unsupported => CallOutcome::Unsupported,
            Outcome::Error(_) => CallOutcome::Failed,
        };
        self.context.metrics.call(shown.call.bare.function, label);
        self.digest_call(shown, label, began);
        Ok(outcome)
    }

    async fn evaluate(&mut self, shown: &Shown<'_>, given: Vec<Given>) -> Result<Outcome, End> {
        let mut given = given.into_iter();
        let Some(first) = given.next() else {
            return self.release_all().await;
        };
        let (name, mut pure) = match self.judge_name(first).await? {
            Judged::Is(name, pure) | Judged::Fails(name, pure) => (name, pure),
            Judged::Native => return Ok(Outcome::Native),
            Judged::Ended(reply) => return Ok(Outcome::Said(CallOutcome::Ended, reply)),
            Judged::Unsupported => return Ok(Outcome::Unsupported),
        };
        let result = match shown.call.bare.function {
            Function::GetLock => {
                let Some(second) = given.next() else {
                    return Ok(Outcome::Native);
                };
                let timeout = match self.judge_timeout(second).await? {
                    Judged::Is(timeout, more) => {
                        pure.extend(more);
                        timeout
                    }
                    Judged::Fails(timeout, more) => {
                        pure.extend(more);
                        return Ok(match self.get_lock(name, timeout, shown, pure).await? {
                            Outcome::Value(value, pure) => Outcome::Fails(value, pure),
                            outcome => outcome,
                        });
                    }
                    Judged::Native => return Ok(Outcome::Native),
                    Judged::Ended(reply) => return Ok(Outcome::Said(CallOutcome::Ended, reply)),
                    Judged::Unsupported => return Ok(Outcome::Unsupported),
                };
                return self.get_lock(name, timeout, shown, pure).await;
            }
            Function::ReleaseLock => self.release_lock(name.key).await?,
            Function::IsFreeLock => match self.look(name.key).await? {
                Ok(holder) => Ok(Some(u64::from(holder.is_none()))),
                Err(e) => Err(e),
            },
            Function::IsUsedLock => self.look(name.key).await?,
            Function::ReleaseAllLocks => return Ok(Outcome::Native),
        };
        Ok(match result {
            Ok(value) => Outcome::Value(value, pure),
            Err(why) => Outcome::Error(codes::store_failed(&why)),
        })
    }

    async fn get_lock(
        &mut self,
        name: Name,
        timeout: Timeout,
        shown: &Shown<'_>,
        pure: Vec<Vec<u8>>,
    ) -> Result<Outcome, End> {
        if self.held.contains(&name.key) {
            self.check_lease()?;
            self.held.reenter(&name.key);
            return Ok(Outcome::Value(Some(1), pure));
        }
        if let Some(refusal) = self.over_limit(&timeout) {
            return Ok(Outcome::Error(refusal));
        }
        self.check_server().await?;
        let key = name.key.clone();
        let (value, outcome, said) = match self.wait_for(name, timeout, shown, &pure).await? {
            Waited::Decided(Acquired::Granted(grant), said) => {
                if let Err(end) = self.check_server().await {
                    self.context.engine.release(vec![(key, grant.token)], grant.proxy).await;
                    return Err(end);
                }
                self.enter_grant(key, grant)?;
                self.check_lease()?;
                (Some(1), CallOutcome::One, said)
            }
            Waited::Decided(Acquired::NotFree, said) => (Some(0), CallOutcome::Zero, said),
            Waited::Decided(Acquired::Deadlock, _) => return Ok(Outcome::Deadlock),
            Waited::Decided(Acquired::Failed(why), _) => {
                return Ok(Outcome::Error(codes::store_failed(&why)));
            }
            Waited::Null(said) => (None, CallOutcome::Ended, said),
            Waited::Refused(error) => return Ok(Outcome::Said(CallOutcome::Ended, error)),
        };
        Ok(match said {
            Some(reply) => Outcome::Said(outcome, reply),
            None => Outcome::Value(value, pure),
        })
    }

    /// Enters a grant into the ledger.
    pub(in crate::frontend) fn enter_grant(&mut self, key: Key, grant: Grant) -> Result<(), End> {
        // Locks of an incarnation that is over cannot stand beside new ones.
        if !self.held.is_empty() && self.granted_by != Some(grant.proxy) {
            let lost = vec![(key, grant.token)];
            self.context.engine.release_when_gone(self.connection, lost, grant.proxy);
            return Err(End::Fenced);
        }
        self.granted_by = Some(grant.proxy);
        self.held.grant(key, grant.token);
        self.bound_silence();
        Ok(())
    }

    /// Sends an error as the whole response.
    pub(in crate::frontend) fn refuse(&mut self, error: &ErrorReply) -> Result<(), End> {
        let mut out = Vec::new();
        error.encode(&mut out, 1, false);
        self.send_client(&out)
    }
}

/// Why a call is refused of which the server alone knows the name or the timeout.
pub(in crate::frontend) const UNJUDGED: &str = "a lock name or timeout of this type";
