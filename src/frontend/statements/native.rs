//! Calls in a larger statement that take nothing, so that the server may run them itself.

use super::composite::Statement;
use super::probe::PREFIX;
use super::rewrite::{Edits, Which, spliced};
use crate::frontend::session::{End, Session};
use crate::sql::expression::composite::Call;
use crate::types::Flavour;

/// What the server makes of a call that is its own.
pub(in crate::frontend) enum Native {
    /// NULL.
    TakesNothing,
    /// An error, which ends the statement.
    Fails,
    /// It is not its own after all.
    Unclear,
}

impl Session {
    /// What the server makes of a call that is its own because it takes nothing. That it takes
    /// nothing is asked, not trusted: its lock would be nobody's.
    pub(in crate::frontend) async fn native(
        &mut self,
        statement: &Statement<'_>,
        call: &Call,
        edits: &Edits,
    ) -> Result<Native, End> {
        let argument = |nth: usize| {
            let span = call.arguments.get(nth)?.span.clone();
            Some(spliced(statement.text, span, edits, Which::Trial))
        };
        let Some(name) = argument(0) else { return Ok(Native::Unclear) };
        let row = self.ask_row(&[b"SELECT IS_FREE_LOCK(", name.as_slice(), b")"].concat()).await?;
        match row.as_deref() {
            None => return Ok(Native::Fails),
            Some([None]) => return Ok(Native::TakesNothing),
            Some(_) => {}
        }
        let Some(timeout) = argument(1).filter(|_| self.flavour == Flavour::MariaDb) else {
            return Ok(Native::Unclear);
        };
        // MariaDB refuses some timeouts, with a lock that nobody else knows as with any.
        let probe = format!("_utf8mb4'{PREFIX}{:016x}'", rand::random::<u64>());
        let sql = [b"SELECT GET_LOCK(", probe.as_bytes(), b",", timeout.as_slice(), b")"].concat();
        if self.ask_row(&sql).await?.as_deref() == Some(&[None]) {
            return Ok(Native::TakesNothing);
        }
        self.ask(format!("DO RELEASE_LOCK({probe})").as_bytes()).await?;
        Ok(Native::Unclear)
    }
}
