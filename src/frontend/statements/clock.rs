//! The clock of a statement whose calls waited: NOW() and defaults of columns are those of its start.

use std::time::Duration;

use tokio::time::Instant;

use super::rewrite::{Edit, Edits};
use super::statement::CallStatement;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::sql::expression::clock::ClockPlace;

/// Sets the clock of what is left of the statement back to when it `began`, by the server's time. A statement of which none can
/// be set runs with the time of the wait's end.
pub(super) async fn set_clock(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    began: Instant,
    edits: &mut Edits,
) -> Result<(), CloseReason> {
    if !cx.command.has_waited() {
        return Ok(());
    }
    let dialect = cx.dialect();
    let place = ClockPlace::find(statement.text, statement.composite.start, dialect);
    let Some(place) = place else { return Ok(()) };
    // The time of a session that has set its own does not advance.
    let first = server_time(cx).await?;
    let elapsed = began.elapsed();
    let second = server_time(cx).await?;
    if let (Some(first), Some(second)) = (first, second)
        && first != second
    {
        let setting = place.setting(second.saturating_sub(elapsed)).into_bytes();
        let span = place.at..place.at;
        edits.push(Edit { span, last: setting, trial: Vec::new(), keeps: true });
    }
    Ok(())
}

/// The server's time since the epoch as the session has it, if it may be set.
async fn server_time(cx: &mut CallContext<'_>) -> Result<Option<Duration>, CloseReason> {
    let row = cx.question_row(b"SELECT @@timestamp,@@secure_timestamp='NO'").await?;
    Ok(match row.as_deref() {
        Some([Some(time), Some(may)]) if may == b"1" => duration(time),
        _ => None,
    })
}

/// Of seconds with six digits after the point, which no float has exactly.
fn duration(text: &[u8]) -> Option<Duration> {
    let (seconds, fraction) = std::str::from_utf8(text).ok()?.split_once('.')?;
    let micros = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some(Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_microsecond() {
        for (text, micros) in [
            (&b"1795703371.876605"[..], Some(1_795_703_371_876_605)),
            (b"1795703371.8", Some(1_795_703_371_800_000)),
            (b"1795703371.000001", Some(1_795_703_371_000_001)),
            (b"1795703371", None),
            (b"1.x", None),
            (b"", None),
        ] {
            assert_eq!(
                duration(text),
                micros.map(Duration::from_micros),
                "{}",
                text.escape_ascii()
            );
        }
    }
}
