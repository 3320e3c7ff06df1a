//! How the server reads a text. Where the bytes do not tell, it is asked.

use super::{End, Session};
use crate::sql::classify::{self, Judging, Statement};
use crate::sql::find::words;
use crate::sql::lexer::dialect::{Dialect, Multibyte};

/// Bytes of a text in all its readings up to which the server need not be asked first.
const GUESSES: usize = 64 * 1024;
/// A shorter text is done with before anybody notices.
const SHORT: usize = 4 * 1024;

/// Lets the other sessions of the thread have their turns.
async fn give_way(text: &[u8]) {
    if text.len() > SHORT {
        tokio::task::yield_now().await;
    }
}

impl Session {
    /// Classifies a text; where that depends on modes only the server knows, it is asked: before
    /// all possible readings of a long text are looked at, else behind them.
    pub(in crate::frontend) async fn classify(&mut self, text: &[u8]) -> Result<Statement, End> {
        // The first of several statements may change how the others read.
        let varies = self.several && words::may_change_modes(text);
        let mut judging = Judging::of(text, self.dialect());
        let guesses = judging.work() <= GUESSES || varies || words::looks_back(text);
        let mut verdict = Statement::Ambiguous;
        if guesses {
            verdict = loop {
                if let Some(verdict) = judging.step() {
                    break verdict;
                }
                give_way(text).await;
            };
            match verdict {
                Statement::Ambiguous if varies => return Ok(verdict),
                Statement::Ambiguous | Statement::PerhapsLists => {}
                statement => return Ok(statement),
            }
        }
        let Some(dialect) = self.exact_dialect().await? else { return Ok(verdict) };
        let verdict = classify::classify_exactly(text, dialect);
        give_way(text).await;
        Ok(verdict)
    }

    /// How the server reads this session's statements: it is asked.
    pub(in crate::frontend) async fn exact_dialect(&mut self) -> Result<Option<Dialect>, End> {
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
