//! The text of a named statement is run: its calls are carried out, then the server runs the rest
//! with the client's own values for the parameters that are left.

use super::prepare_context::ELSEWHERE;
use super::sql_prepare::{NamedStatement, Request};
use super::sql_text::CONVERTED;
use crate::frontend::link::pending::Behind;
use crate::frontend::locks::arguments::Given;
use crate::frontend::session::{End, Session};
use crate::frontend::statements::composite::{Statement, definitions};
use crate::frontend::statements::rewrite::{Edit, Edits, Which, kept_parameters, spliced};
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::response::{Ending, PrepareOk};
use crate::sql::classify::named::UsingValue;
use crate::sql::expression::composite::{Back, Composite};
use crate::sql::lexer::dialect::Multibyte;
use crate::types::Flavour;

impl Session {
    /// Carries out the calls of a named statement and has the server run the rest.
    pub(in crate::frontend) async fn execute_text(
        &mut self,
        request: &Request<'_>,
        named: &NamedStatement,
        using: &[UsingValue],
    ) -> Result<(), End> {
        let NamedStatement { text, composite, surroundings } = named;
        if using.len() != composite.params.len() {
            return self.other_number(request, named).await;
        }
        if using.iter().any(|value| !value.repeatable) {
            return self.unsupported("such a value for a statement with a lock call");
        }
        self.is_about(text);
        self.count(Command::QUERY);
        let mut edits = self.look_back(composite).await?;
        self.forget_diagnostics(composite, &mut edits);
        if !self.surrounded_alike(surroundings.as_ref()).await? {
            return self.unsupported(ELSEWHERE);
        }
        for (at, value) in composite.params.iter().zip(using) {
            let value = &request.text[value.span.clone()];
            // DEFAULT and IGNORE are no expressions.
            let word = value.iter().all(u8::is_ascii_alphabetic);
            let trial = if word { value.to_vec() } else { [b"(", value, b")"].concat() };
            edits.push(Edit { span: *at..*at + 1, last: b"?".to_vec(), trial, keeps: true });
        }
        self.fill_limits(composite, &mut edits).await?;
        let given: Vec<Given> = using
            .iter()
            .map(|value| match &value.literal {
                Some(literal) => Given::from_text(literal, request.text),
                None => Given::Variable(request.text[value.span.clone()].to_vec()),
            })
            .collect();
        let reply = self.prepare_and_close(&text[..composite.end]).await?;
        if reply.is_error() {
            self.behind = Behind::default();
            return self.send_client(&reply.bytes);
        }
        if let Some(refusal) = self.refuses_types(text, composite, &edits).await? {
            self.behind = Behind::default();
            return self.send_client(&refusal);
        }
        let definitions = definitions(&reply);
        let (prefix, definitions) = (request.prefix, definitions.as_slice());
        let statement = Statement { prefix, text, composite, definitions, values: &given };
        // Found out before anything is carried out: in what modes its text is quoted.
        let quote = if composite.params.is_empty() { None } else { self.quoting(text).await? };
        if !composite.params.is_empty() && quote.is_none() {
            return self.unsupported(CONVERTED);
        }
        if !self.all_carried_out(&statement, &mut edits).await? {
            return Ok(());
        }
        let kept = kept_parameters(composite, &edits);
        let mut last = spliced(text, 0..composite.end, &edits, Which::Last);
        let columns = self.native_columns(&statement, &edits).await?;
        if let Some(backslashes) = quote.filter(|_| !kept.is_empty()) {
            let values: Vec<&[u8]> =
                kept.iter().map(|nth| &request.text[using[*nth].span.clone()]).collect();
            let quoted = quoted(&last, backslashes);
            last = match self.with_values(&quoted, &values.join(&b","[..])).await? {
                Ok(last) => last,
                Err(refusal) => {
                    self.behind = Behind::default();
                    return self.send_client(&refusal);
                }
            };
        }
        self.behind = Behind::default();
        let mut packet = Vec::with_capacity(prefix.len() + last.len() + HEADER);
        put_frame(&mut packet, 0, &[prefix, &last].concat());
        self.describe(columns);
        self.forward(&packet)
    }

    /// With a wrong number of values the server runs nothing; in Oracle mode `:name` is a parameter too.
    async fn other_number(
        &mut self,
        request: &Request<'_>,
        named: &NamedStatement,
    ) -> Result<(), End> {
        let reply = self.prepare_and_close(&named.text).await?;
        let counted = reply.frames().next().and_then(|f| PrepareOk::parse(&f[HEADER..]));
        if counted.is_some_and(|ok| usize::from(ok.params) != named.composite.params.len()) {
            return self.unsupported("a lock call beside such parameters");
        }
        self.forward(request.packet)
    }

    /// MySQL's EXECUTE has cleared them when the statement asks for their number.
    fn forget_diagnostics(&self, composite: &Composite, edits: &mut Edits) {
        let counts = |back: Back| matches!(back, Back::Warnings | Back::Errors);
        let looks = composite.looks_back.iter().filter(|(_, back)| counts(*back));
        for (span, _) in looks.filter(|_| self.flavour == Flavour::MySql) {
            let none = b"CAST('0' AS SIGNED)".to_vec();
            edits.retain(|edit| edit.span != *span);
            edits.push(Edit { span: span.clone(), last: none.clone(), trial: none, keeps: false });
        }
    }

    /// MariaDB's refusal of a number for a name: of parameters it knows the types when it executes.
    async fn refuses_types(
        &mut self,
        text: &[u8],
        composite: &Composite,
        edits: &Edits,
    ) -> Result<Option<Vec<u8>>, End> {
        if self.flavour == Flavour::MySql || composite.params.is_empty() {
            return Ok(None);
        }
        let bound = spliced(text, 0..composite.end, edits, Which::Trial);
        let reply = self.prepare_and_close(&bound).await?;
        Ok(matches!(reply.ending, Ending::Err { code: 4079 }).then_some(reply.bytes))
    }

    /// Numbers behind LIMIT: there the server takes no variable, which a trial would put there.
    async fn fill_limits(&mut self, composite: &Composite, edits: &mut Edits) -> Result<(), End> {
        for at in &composite.limits {
            let Some(edit) = edits.iter_mut().find(|edit| edit.span.start == *at) else { continue };
            let row = self.ask_row(&[b"SELECT ", edit.trial.as_slice()].concat()).await?;
            if let Some([Some(value)]) = row.as_deref()
                && value.iter().all(u8::is_ascii_digit)
            {
                edit.trial.clone_from(value);
            }
        }
        Ok(())
    }

    /// The statement that runs a text with values, or the server's refusal of it.
    async fn with_values(
        &mut self,
        literal: &[u8],
        values: &[u8],
    ) -> Result<Result<Vec<u8>, Vec<u8>>, End> {
        if self.flavour == Flavour::MariaDb {
            return Ok(Ok([b"EXECUTE IMMEDIATE ", literal, b" USING ", values].concat()));
        }
        let own = self
            .named
            .own
            .get_or_insert_with(|| format!("lockstead_{:016x}", rand::random::<u64>()));
        let own = own.clone();
        // It stays until the next one: to deallocate it would clear what the client's EXECUTE leaves.
        let reply = self.ask(&[b"PREPARE ", own.as_bytes(), b" FROM ", literal].concat()).await?;
        if reply.is_error() {
            // Too many statements: the one before is still there.
            return Ok(Err(reply.bytes));
        }
        Ok(Ok([b"EXECUTE ", own.as_bytes(), b" USING ", values].concat()))
    }

    /// Whether a backslash must be doubled in a string; `None` if this text cannot be quoted.
    async fn quoting(&mut self, text: &[u8]) -> Result<Option<bool>, End> {
        let dialect = self.exact_dialect().await?;
        let fits = |multibyte| text.is_ascii() || multibyte == Multibyte::Safe;
        Ok(dialect.filter(|d| fits(d.multibyte)).map(|d| !d.no_backslash_escapes))
    }
}

/// A string literal.
fn quoted(text: &[u8], backslashes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' || (*byte == b'\\' && backslashes) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
    out
}
