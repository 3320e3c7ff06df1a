//! A statement that is one call: what its text says, and whether the server would evaluate it.

use super::call_context::CallContext;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::state::server_view::AnswerSettings;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::sql::classify::{Alias, BareCall};
use crate::types::Flavour;

/// Longest column name that no server cuts, in bytes.
const NAME_MAX: usize = 255;

/// A bare call in its packet.
pub(crate) struct CallInPacket<'a> {
    /// Command byte and query attributes.
    pub prefix: &'a [u8],
    /// The statement.
    pub text: &'a [u8],
    pub bare: BareCall,
}

impl CallInPacket<'_> {
    /// The statement with an expression in the call's place.
    pub(crate) fn spliced(&self, expression: &[u8]) -> Vec<u8> {
        let span = &self.bare.call;
        let (before, after) = (&self.text[..span.start], &self.text[span.end..]);
        let (opens, closes) = self.bare.around;
        packet::command(&[
            self.prefix,
            before,
            opens.as_bytes(),
            expression,
            closes.as_bytes(),
            after,
        ])
    }

    /// The column's name, where the server would not have to convert or cut it.
    pub(crate) fn plain_name(&self) -> Option<&[u8]> {
        let name = match &self.bare.alias {
            Alias::None if self.bare.odd => return None,
            Alias::None => &self.text[self.bare.call.clone()],
            Alias::Simple { text, .. } => &self.text[text.clone()],
            Alias::Complex => return None,
        };
        is_plain_name(name).then_some(name)
    }
}

/// Whether a name is the same in every usual character set.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    name.len() <= NAME_MAX && name.iter().all(|b| b.is_ascii() && *b != 0)
}

/// What a statement does with an expression in the call's place.
enum Trial {
    /// The server refuses it: its reply.
    Refused(Vec<u8>),
    /// The statement gives no row, so the call would not be evaluated.
    NoRow,
    /// The statement gives a row.
    Row,
}

/// Whether the server takes the alias: a bare word may be reserved. The refusal is its reply
/// to the statement without the call.
pub(crate) async fn check_alias(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
) -> Result<Option<Vec<u8>>, CloseReason> {
    let alias = match &call.bare.alias {
        // The server must read the comments as the proxy does.
        _ if call.bare.odd => b"",
        Alias::None | Alias::Simple { bare: false, .. } => return Ok(None),
        Alias::Simple { text, bare: true } => &call.text[text.clone()],
        Alias::Complex => b"",
    };
    if cx.view.takes_alias(alias) {
        return Ok(None);
    }
    if let Trial::Refused(reply) = try_out(cx, call).await? {
        return Ok(Some(reply));
    }
    cx.view.note_alias(alias);
    Ok(None)
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
    let settings = cx.settings().await?;
    if call.bare.is_do {
        return Ok(matches!(settings, AnswerSettings::Unusual { limited: true, .. }));
    }
    if settings == AnswerSettings::Usual && !call.bare.hint {
        return Ok(false);
    }
    Ok(matches!(try_out(cx, call).await?, Trial::NoRow))
}

/// Runs the statement without its call.
async fn try_out(cx: &mut CallContext<'_>, call: &CallInPacket<'_>) -> Result<Trial, CloseReason> {
    let packet = call.spliced(b"(NULL OR 1)");
    let reply = cx.exchange(&packet).await?;
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
    fn a_setting_that_the_server_does_not_tell_counts_as_unusual() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.view.note_setting(b"SET sql_select_limit=0", false);
        stage.answers("@@sql_select_limit=0", error(1064));
        let settings = run(stage.cx().settings()).expect("the session goes on");
        assert_eq!(settings, AnswerSettings::Unusual { limited: true, wide: true });
    }

    #[test]
    fn a_bare_word_is_tried_as_an_alias_once() {
        let mut stage = Stage::new(Flavour::MySql);
        let text = "SELECT GET_LOCK('a', 1) AS x";
        let Statement::Bare(bare) = classify(text.as_bytes(), stage.cx().dialect()) else {
            panic!("no bare call");
        };
        let call = CallInPacket { prefix: b"\x03", text: text.as_bytes(), bare };
        stage.answers("SELECT (NULL OR 1) AS x", row(&[Some("1")]));
        assert!(matches!(run(check_alias(&mut stage.cx(), &call)), Ok(None)));
        assert!(matches!(run(check_alias(&mut stage.cx(), &call)), Ok(None)), "known by now");
        assert!(stage.is_over());
        stage.view.reset();
        stage.answers("AS x", error(1064));
        assert!(matches!(run(check_alias(&mut stage.cx(), &call)), Ok(Some(_))));
    }
}
