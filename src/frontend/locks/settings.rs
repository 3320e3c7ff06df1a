//! Asking the server for the two settings that change how a lock call is answered.

use super::bare_call::CallInPacket;
use super::call_context::CallContext;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::state::server_view::AnswerSettings;
use crate::protocol::command::Shape;
use crate::protocol::frame::HEADER;
use crate::types::Flavour;

/// What a statement does with an expression in the call's place.
pub(crate) enum Trial {
    /// The server refuses it: its reply.
    Refused(Vec<u8>),
    /// It gives no row, so the call would not be evaluated.
    NoRow,
    /// It gives a row.
    Row,
}

/// The character sets of results in which ASCII is not sent as it is.
const WIDE: &str = "'ucs2','utf16','utf16le','utf32'";

/// Asks the server if a statement has named one of the variables.
pub(crate) async fn learn_settings(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    if !cx.view.asks_for_settings() {
        return Ok(());
    }
    let question =
        format!("SELECT @@sql_select_limit=0,COALESCE(@@character_set_results,'') IN ({WIDE})");
    let row = cx.ask_row(question.as_bytes()).await?.unwrap_or_default();
    let [limited, wide] = [0, 1].map(|i| row.get(i) != Some(&Some(b"0".to_vec())));
    cx.view.learn_settings(limited, wide);
    Ok(())
}

/// Whether the statement gives no row, and so does not call: `sql_select_limit` is 0, or a hint
/// sets it for this statement.
pub(crate) async fn gives_no_row(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
) -> Result<bool, CloseReason> {
    // MySQL runs DO as a SELECT, limit and all; MariaDB's knows no rows.
    if call.bare.is_do && cx.flavour() == Flavour::MariaDb {
        return Ok(false);
    }
    learn_settings(cx).await?;
    if call.bare.is_do {
        return Ok(matches!(cx.view.settings(), AnswerSettings::Unusual { limited: true, .. }));
    }
    if cx.view.settings() == AnswerSettings::Usual && !call.bare.hint {
        return Ok(false);
    }
    Ok(matches!(try_out(cx, call).await?, Trial::NoRow))
}

/// Runs the statement without its call.
pub(crate) async fn try_out(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
) -> Result<Trial, CloseReason> {
    let packet = call.spliced(b"(NULL OR 1)");
    let reply = cx.exchange(&packet, Shape::Results).await?;
    let refused = reply.frames().next().is_some_and(|f| f.get(HEADER) == Some(&0xff));
    Ok(if refused {
        Trial::Refused(reply.bytes)
    } else if reply.row().is_none() {
        Trial::NoRow
    } else {
        Trial::Row
    })
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{Stage, error, row, run};
    use super::*;
    use crate::sql::classify::{Statement, classify};

    fn is_not_evaluated(stage: &mut Stage, text: &str) -> bool {
        let Statement::Bare(bare) = classify(text.as_bytes(), stage.cx().dialect()) else {
            panic!("no bare call: {text}");
        };
        let call = CallInPacket { prefix: b"\x03", text: text.as_bytes(), bare };
        run(gives_no_row(&mut stage.cx(), &call)).expect("the session goes on")
    }

    const CALL: &str = "SELECT GET_LOCK('a', 1)";

    #[test]
    fn the_server_is_not_asked_while_no_statement_names_a_setting() {
        let mut stage = Stage::new(Flavour::MySql);
        assert!(!is_not_evaluated(&mut stage, CALL));
        assert!(stage.server.told.is_empty());
    }

    #[test]
    fn a_limit_of_no_rows_is_found_by_running_the_statement_without_its_call() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.view.note_setting(b"SET sql_select_limit=0", false);
        stage
            .answers("@@sql_select_limit=0", row(&[Some("1"), Some("0")]))
            .answers("SELECT (NULL OR 1)", super::super::fakes::ok());
        assert!(is_not_evaluated(&mut stage, CALL));
        assert!(stage.is_over());
    }

    #[test]
    fn only_mysql_limits_a_do() {
        for (flavour, limited) in [(Flavour::MySql, true), (Flavour::MariaDb, false)] {
            let mut stage = Stage::new(flavour);
            stage.view.note_setting(b"SET sql_select_limit=0", false);
            if limited {
                stage.answers("@@sql_select_limit=0", row(&[Some("1"), Some("0")]));
            }
            assert_eq!(is_not_evaluated(&mut stage, "DO GET_LOCK('a', 1)"), limited);
            assert!(stage.is_over());
        }
    }

    #[test]
    fn what_the_server_does_not_tell_counts_as_unusual() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.view.note_setting(b"SET sql_select_limit=0", false);
        stage.answers("@@sql_select_limit=0", error(1064));
        run(learn_settings(&mut stage.cx())).expect("the session goes on");
        assert_eq!(stage.view.settings(), AnswerSettings::Unusual { limited: true, wide: true });
    }
}
