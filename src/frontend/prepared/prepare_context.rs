//! What a statement was prepared in. The server keeps that with a prepared statement, but what is
//! run in its place is read where the session is now.

use crate::frontend::session::{End, Session};
use crate::sql::expression::composite::Composite;
use crate::sql::find::words::names_schema;

/// Default schema, SQL mode and the client's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::frontend) struct Surroundings(Vec<Option<Vec<u8>>>);

/// Why a statement is refused that was prepared in others.
pub(in crate::frontend) const ELSEWHERE: &str =
    "a lock call in a statement that was prepared in another schema, SQL mode or character set";

impl Session {
    /// What a text with calls is prepared in; `None` if it means the same everywhere.
    pub(in crate::frontend) async fn surroundings(
        &mut self,
        text: &[u8],
        composite: &Composite,
    ) -> Result<Option<Surroundings>, End> {
        let anywhere = text.is_ascii()
            && !text.iter().any(|b| matches!(b, b'"' | b'\\' | b'|' | b'['))
            && !composite.reads
            && !composite.tables
            && composite.repeatable
            && !names_schema(text);
        if anywhere {
            return Ok(None);
        }
        self.current_surroundings().await.map(Some)
    }

    /// Whether a statement is executed where it was prepared.
    pub(in crate::frontend) async fn surrounded_alike(
        &mut self,
        prepared: Option<&Surroundings>,
    ) -> Result<bool, End> {
        let Some(prepared) = prepared else { return Ok(true) };
        Ok(self.current_surroundings().await? == *prepared)
    }

    async fn current_surroundings(&mut self) -> Result<Surroundings, End> {
        let question = b"SELECT HEX(DATABASE()),@@sql_mode,@@character_set_client";
        Ok(Surroundings(self.ask_row(question).await?.unwrap_or_default()))
    }
}
