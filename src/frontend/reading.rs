//! How the server reads a text. Where the bytes do not tell, it is asked.

use super::session::{End, Session};
use crate::sql::call::{self, Statement};
use crate::sql::dialect::{Dialect, Multibyte};
use crate::sql::words;

impl Session {
    /// Classifies a text; where that depends on modes only the server knows, it is asked.
    pub(super) async fn classify(&mut self, text: &[u8]) -> Result<Statement, End> {
        let verdict = call::classify(text, self.dialect());
        match verdict {
            // The first of several statements may change how the others read.
            Statement::Ambiguous if self.several && words::may_change_modes(text) => {
                return Ok(verdict);
            }
            Statement::Ambiguous | Statement::PerhapsLists => {}
            statement => return Ok(statement),
        }
        let dialect = self.exact_dialect().await?;
        Ok(dialect.map_or(verdict, |dialect| call::classify_exactly(text, dialect)))
    }

    /// How the server reads this session's statements: it is asked.
    pub(super) async fn exact_dialect(&mut self) -> Result<Option<Dialect>, End> {
        let row = self.ask_row(b"SELECT @@sql_mode,@@character_set_client").await?;
        let Some([Some(mode), Some(charset)]) = row.as_deref() else {
            return Ok(None);
        };
        let mode = String::from_utf8_lossy(mode);
        Ok(Some(Dialect {
            ansi_quotes: mode.contains("ANSI_QUOTES"),
            no_backslash_escapes: mode.contains("NO_BACKSLASH_ESCAPES"),
            brackets: mode.contains("MSSQL"),
            multibyte: Multibyte::from_charset(&String::from_utf8_lossy(charset)),
            ..self.dialect()
        }))
    }
}
