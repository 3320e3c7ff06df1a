//! How the server reads a text. Where the bytes do not tell, it is asked.

use std::ops::Range;

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::sql::classify::commits::pieces_with_commits;
use crate::sql::classify::{self, Judging, Statement};
use crate::sql::find::readings::Readings;
use crate::sql::find::words;
use crate::sql::lexer::dialect::{Dialect, Multibyte};

/// Bytes of a text in all its readings up to which the server need not be asked first.
const GUESSES: usize = 64 * 1024;
/// A shorter text is done with before another session notices.
const SHORT: usize = 4 * 1024;

/// Lets the other sessions of the thread have their turns.
async fn give_way(text: &[u8]) {
    if text.len() > SHORT {
        tokio::task::yield_now().await;
    }
}

/// Classifies a text; where that depends on modes only the server knows, it is asked: before
/// all possible readings of a long text are looked at, else after them.
pub(crate) async fn classify_text(
    cx: &mut CallContext<'_>,
    text: &[u8],
) -> Result<Statement, CloseReason> {
    // The first of several statements may change how the others read.
    let varies = cx.view.several() && words::may_change_modes(text);
    let mut judging = Judging::of(text, cx.dialect());
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
    let Some(dialect) = exact_dialect(cx).await? else { return Ok(verdict) };
    let verdict = classify::classify_exactly(text, dialect);
    give_way(text).await;
    Ok(verdict)
}

/// The statements of a text, if one after the first commits. `None` also where nobody knows how the server reads them.
pub(crate) async fn pieces_of(
    cx: &mut CallContext<'_>,
    text: &[u8],
) -> Result<Option<Vec<Range<usize>>>, CloseReason> {
    let mut readings = Readings::of(text, cx.dialect()).flatten();
    let first = readings.next().and_then(|dialect| pieces_with_commits(text, dialect));
    let mut differs = false;
    while let Some(dialect) = readings.next().filter(|_| !differs) {
        give_way(text).await;
        differs = pieces_with_commits(text, dialect) != first;
    }
    if !differs {
        return Ok(first);
    }
    // The question would come before what the text looks back at.
    if words::may_change_modes(text) || words::looks_back(text) {
        return Ok(None);
    }
    let dialect = exact_dialect(cx).await?;
    Ok(dialect.and_then(|dialect| pieces_with_commits(text, dialect)))
}

/// How the server reads this session's statements: it is asked.
pub(crate) async fn exact_dialect(
    cx: &mut CallContext<'_>,
) -> Result<Option<Dialect>, CloseReason> {
    let row = cx.question_row(b"SELECT @@sql_mode,@@character_set_client").await?;
    let Some([Some(mode), Some(charset)]) = row.as_deref() else {
        return Ok(None);
    };
    let mode = String::from_utf8_lossy(mode);
    Ok(Some(Dialect {
        ansi_quotes: mode.contains("ANSI_QUOTES"),
        no_backslash_escapes: mode.contains("NO_BACKSLASH_ESCAPES"),
        brackets: mode.contains("MSSQL"),
        multibyte: Multibyte::from_charset(&String::from_utf8_lossy(charset)),
        ..cx.dialect()
    }))
}
