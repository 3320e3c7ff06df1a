//! Asking the server for the two settings that change how a lock call is answered.

use super::bare_call::Call;
use super::call_context::CallContext;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::state::server_view::Settings;
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
    call: &Call<'_>,
) -> Result<bool, CloseReason> {
    // MySQL runs DO as a SELECT, limit and all; MariaDB's knows no rows.
    if call.bare.is_do && cx.flavour() == Flavour::MariaDb {
        return Ok(false);
    }
    learn_settings(cx).await?;
    if call.bare.is_do {
        return Ok(matches!(cx.view.settings(), Settings::Unusual { limited: true, .. }));
    }
    if cx.view.settings() == Settings::Usual && !call.bare.hint {
        return Ok(false);
    }
    Ok(matches!(try_out(cx, call).await?, Trial::NoRow))
}

/// Runs the statement without its call.
pub(crate) async fn try_out(
    cx: &mut CallContext<'_>,
    call: &Call<'_>,
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
