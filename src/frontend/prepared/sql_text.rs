//! The text that a PREPARE or EXECUTE IMMEDIATE prepares: the server is asked for it.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::protocol::command::Command;
use crate::sql::classify::commits::may_commit;
use crate::sql::classify::named::{TextSource, plain_literal};
use crate::sql::find::prefilter::scan;
use crate::sql::find::words;

/// A command in its packet.
pub(crate) struct Request<'a> {
    /// The packet.
    pub packet: &'a [u8],
    /// Command byte and query attributes.
    pub prefix: &'a [u8],
    /// The text of the statement.
    pub text: &'a [u8],
}

/// Why a text with a lock call is refused that is prepared or executed with settings.
pub(crate) const SET: &str = "a lock call in a named statement after SET STATEMENT";

/// A statement's text, as far as it is known.
pub(crate) enum PreparedText {
    Known(Vec<u8>),
    /// NULL, or an error.
    Refused,
    /// The text has no calls, or nobody knows whether it has any.
    Hidden,
    /// The text has calls, and cannot be looked at.
    Uncovered(&'static str),
    /// The question was interrupted, as the statement would have been: the server's words.
    Ended(Vec<u8>),
}

/// Why a text is refused that cannot be quoted.
pub(crate) const CONVERTED: &str = "a lock call in a named statement in this character set";
const LONG: &str = "a lock call in a named statement longer than 256 KiB";
const ANOTHER: &str = "a lock call in a text that changes with each evaluation";
/// Bytes of a text that are looked at.
const MAX_TEXT: usize = 256 << 10;
/// Character sets in which ASCII is not ASCII; the server converts such a text before it reads it.
const WIDE: [&str; 5] = ["ucs2", "utf16", "utf16le", "utf32", "swe7"];

/// The text that is prepared, in the client's character set. A string in which no name of a
/// function can stand is not asked for.
pub(crate) async fn text_of_source(
    cx: &mut CallContext<'_>,
    text: &[u8],
    source: &TextSource,
) -> Result<PreparedText, CloseReason> {
    let expression = &text[source.span.clone()];
    let names = words::mentions(expression);
    if !source.repeatable {
        return Ok(if names { PreparedText::Uncovered(ANOTHER) } else { PreparedText::Hidden });
    }
    // The server would compute the connection's id, where the text needs the session's.
    let asks = cx.server.pooled().is_shared() && words::names_connection(expression);
    if source.literal && !expression.contains(&b'\\') && !names && !asks {
        let commits = plain_literal(expression).filter(|text| may_commit(text));
        return Ok(commits.map_or(PreparedText::Hidden, |text| PreparedText::Known(text.into())));
    }
    let reply = cx.ask(&question(expression)).await?;
    if reply.is_interrupted() {
        return Ok(PreparedText::Ended(reply.bytes));
    }
    let values = reply.values();
    let Some([hex, Some(charset), Some(client), Some(_), mentioned]) = values.as_deref() else {
        return Ok(PreparedText::Refused);
    };
    let Some(hex) = hex else {
        let none = mentioned.as_deref() == Some(b"0");
        return Ok(if none { PreparedText::Hidden } else { PreparedText::Uncovered(LONG) });
    };
    let Ok(text) = hex::decode(hex) else { return Ok(PreparedText::Refused) };
    let wide = WIDE.iter().any(|name| name.as_bytes() == charset.as_slice());
    let unicode = |name: &[u8]| name.starts_with(b"utf8");
    // Where the bytes would be converted, they are not the statement's.
    let same = text.is_ascii() || ((wide || unicode(charset)) && unicode(client));
    let names = words::mentions(&text);
    if scan(&text).setting {
        cx.view.note_setting(&text, true);
    }
    Ok(if !same && names {
        PreparedText::Uncovered(CONVERTED)
    } else if source.set && names {
        PreparedText::Uncovered(SET)
    } else {
        PreparedText::Known(text)
    })
}

/// Answers a statement that was interrupted before the server saw it.
pub(crate) fn say_ended(cx: &mut CallContext<'_>, reply: &[u8]) -> Result<(), CloseReason> {
    cx.count(Command::QUERY);
    cx.forget_skipped();
    cx.send_client(reply)
}

/// Asks for a text, its character set, the client's, its length, and whether it names a function.
/// Of one that is too long, only that.
fn question(expression: &[u8]) -> Vec<u8> {
    const NAMES: [&str; 5] =
        ["get_lock", "release_lock", "release_all_locks", "is_free_lock", "is_used_lock"];
    let wide = WIDE.map(|name| format!("'{name}'")).join(",");
    let named = NAMES.map(|name| format!("LOCATE('{name}',CONVERT(? USING utf8mb4))")).join("+");
    let question = format!(
        "SELECT IF(LENGTH(?)>{MAX_TEXT},NULL,\
         IF(CHARSET(?) IN ({wide}),HEX(CONVERT(? USING utf8mb4)),HEX(?))),\
         CHARSET(?),@@character_set_client,LENGTH(?),IF(LENGTH(?)>{MAX_TEXT},{named},0) LIMIT 1"
    );
    question.as_bytes().split(|b| *b == b'?').collect::<Vec<_>>().join(expression)
}
