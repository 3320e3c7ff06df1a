//! From arguments to a lock's name and timeout.
//!
//! The proxy decides here only if the bytes alone make it certain; the session's own server
//! computes everything else, in its own character sets and modes (interception, 6).

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::lock::name::{self, Name};
use crate::lock::timeout::{BoundNumber, Timeout};
use crate::protocol::params::Value;
use crate::protocol::response::Ending;
use crate::sql::expression::argument::Argument;
use crate::types::Flavour;

/// An argument, from text or bound.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    Null,
    /// Printable ASCII.
    Plain(Vec<u8>),
    /// A bound text of printable ASCII.
    Text(Vec<u8>),
    /// The user variable that was bound under a name.
    Variable(Vec<u8>),
    /// Digits, sign, point.
    Number(String),
    /// An integer or float that was bound.
    Double(f64),
    /// Only the server can say: an SQL expression in the client's character set, and whether
    /// its static type is a number or temporal.
    Expression {
        sql: Vec<u8>,
        numeric: bool,
    },
    /// Bound characters beyond printable ASCII, in the client's character set.
    Characters(Vec<u8>),
    /// A bound type that has no literal here.
    Unknown,
}

impl Given {
    /// From an argument of the statement's text.
    pub(crate) fn from_text(argument: &Argument, text: &[u8]) -> Self {
        match argument {
            Argument::Null => Self::Null,
            Argument::Plain(span) => Self::Plain(text[span.clone()].to_vec()),
            Argument::Number(span) => {
                Self::Number(String::from_utf8_lossy(&text[span.clone()]).into_owned())
            }
            Argument::Literal(span) => {
                let sql = text[span.clone()].to_vec();
                let lower = sql.to_ascii_lowercase();
                let string = lower.starts_with(b"0x") || lower.starts_with(b"0b");
                let numeric = !string
                    && (matches!(sql.first(), Some(b'-' | b'+' | b'.' | b'0'..=b'9'))
                        || lower == b"true"
                        || lower == b"false"
                        || lower.starts_with(b"date")
                        || lower.starts_with(b"time"));
                Self::Expression { sql, numeric }
            }
            Argument::Parameter => Self::Unknown,
        }
    }

    /// From a bound value.
    pub(crate) fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(n) => Self::Number(n.to_string()),
            Value::Uint(n) => Self::Number(n.to_string()),
            Value::Double(x) => Self::Double(*x),
            Value::Decimal(text) => Self::Number(String::from_utf8_lossy(text).into_owned()),
            Value::Bytes { bytes, .. } if name::is_plain(bytes) => Self::Text(bytes.clone()),
            Value::Bytes { bytes, blob: true } => {
                Self::Expression { sql: hex_literal(bytes), numeric: false }
            }
            Value::Bytes { bytes, blob: false } => Self::Characters(bytes.clone()),
            Value::Moment(literal) => {
                Self::Expression { sql: literal.clone().into_bytes(), numeric: true }
            }
            Value::Other => Self::Unknown,
        }
    }
}

/// What the arguments of a call come to.
#[derive(Debug)]
pub(crate) enum Judged<T> {
    /// A value, with the expressions the server must evaluate again for its warnings.
    Is(T, Vec<Vec<u8>>),
    /// The server refuses the call or answers without taking a lock: it gets the statement.
    Native,
    /// MySQL evaluates it with an error, and goes on with this; these expressions have the error.
    Fails(T, Vec<Vec<u8>>),
    /// The server was ended while it computed the value: its error is the answer.
    Ended(Vec<u8>),
    /// The proxy cannot judge.
    Unsupported,
}

/// What the server makes of an expression.
enum Computed {
    Row(Vec<Option<Vec<u8>>>),
    Error,
    /// The question was ended from outside, not because of the expression: the server's error.
    Ended(Vec<u8>),
}

/// Judges a name.
pub(crate) async fn judge_name(
    cx: &mut CallContext<'_>,
    given: Given,
) -> Result<Judged<Name>, CloseReason> {
    let flavour = cx.flavour();
    let decide = |name: Option<Name>| match name {
        Some(name) => Judged::Is(name, Vec::new()),
        None => Judged::Native,
    };
    let expression = match given {
        Given::Null => return Ok(Judged::Native),
        Given::Plain(bytes) | Given::Text(bytes) => {
            return Ok(decide(name::plain(&bytes, flavour)));
        }
        // MariaDB refuses numbers at resolve time.
        Given::Number(_) | Given::Double(_) | Given::Expression { numeric: true, .. }
            if flavour == Flavour::MariaDb =>
        {
            return Ok(Judged::Native);
        }
        Given::Number(text) => text.into_bytes(),
        Given::Double(x) if x.is_finite() => format!("{x:e}").into_bytes(),
        Given::Expression { sql, .. } | Given::Variable(sql) => sql,
        Given::Characters(bytes) => match character_literal(cx, &bytes).await? {
            Some(sql) => sql,
            None => return Ok(Judged::Unsupported),
        },
        Given::Double(_) | Given::Unknown => return Ok(Judged::Unsupported),
    };
    let e = expression.as_slice();
    let row = match compute_value(cx, &name_question(e, flavour)).await? {
        // MySQL loses the character set of some expressions on the way to CONVERT, but not that
        // of a column.
        Computed::Row(row) if flavour == Flavour::MySql && row.first() == Some(&None) => {
            let column = name_question(b"n", flavour);
            let sql = [column.as_slice(), b" FROM (SELECT ", e, b" AS n) d"].concat();
            compute_value(cx, &sql).await?
        }
        computed => computed,
    };
    let row = match row {
        Computed::Row(row) => row,
        Computed::Error => return Ok(Judged::Native),
        Computed::Ended(reply) => return Ok(Judged::Ended(reply)),
    };
    let [Some(folded), Some(chars), Some(shown), Some(kept)] = row.as_slice() else {
        return Ok(Judged::Native);
    };
    let folded = hex::decode(folded).unwrap_or_default();
    let shown = hex::decode(shown).unwrap_or_default();
    // A question mark that the caller did not write stands for what could not be converted.
    let has = |pair: &[u8]| expression.windows(2).any(|w| w.eq_ignore_ascii_case(pair));
    let hex_mark = has(b"3f") && (has(b"x'") || has(b"0x"));
    if flavour == Flavour::MySql
        && folded.contains(&b'?')
        && !expression.contains(&b'?')
        && !hex_mark
    {
        return Ok(Judged::Native);
    }
    let chars = std::str::from_utf8(chars).ok().and_then(|c| c.parse().ok()).unwrap_or(u64::MAX);
    if kept != b"1" {
        return Ok(Judged::Native);
    }
    Ok(match name::computed(&folded, chars, &shown, flavour) {
        Some(name) => Judged::Is(name, vec![[b"LENGTH(", e, b")<0"].concat()]),
        None => Judged::Native,
    })
}

/// Evaluates an expression before the statement does.
async fn compute_value(cx: &mut CallContext<'_>, sql: &[u8]) -> Result<Computed, CloseReason> {
    let reply = cx.ask(&[sql, b" LIMIT 1"].concat()).await?;
    Ok(match reply.ending {
        _ if reply.is_interrupted() => Computed::Ended(reply.bytes),
        Ending::Err { .. } => Computed::Error,
        Ending::Ok { .. } | Ending::Plain => reply.values().map_or(Computed::Error, Computed::Row),
    })
}

/// Judges a timeout.
pub(crate) async fn judge_timeout(
    cx: &mut CallContext<'_>,
    given: Given,
) -> Result<Judged<Timeout>, CloseReason> {
    let flavour = cx.flavour();
    let decide = |timeout: Timeout| match timeout {
        Timeout::Refused => Judged::Native,
        timeout => Judged::Is(timeout, Vec::new()),
    };
    let expression = match given {
        Given::Null => return Ok(decide(Timeout::from_null(flavour))),
        Given::Number(text) => match Timeout::from_decimal(&text, flavour) {
            Some(timeout) => return Ok(decide(timeout)),
            None => text.into_bytes(),
        },
        Given::Double(x) => return Ok(decide(Timeout::from_double(x, flavour))),
        Given::Text(text) | Given::Characters(text)
            if flavour == Flavour::MySql && BoundNumber::parse(&text).is_some() =>
        {
            return Ok(bound_number(&text));
        }
        Given::Plain(text) | Given::Text(text) => {
            let digits = (1..10).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
            let n = std::str::from_utf8(&text).ok().and_then(|t| t.parse::<i128>().ok());
            if let Some(n) = n.filter(|_| digits) {
                return Ok(decide(Timeout::from_int(n, flavour)));
            }
            [b"CONVERT(", hex_literal(&text).as_slice(), b" USING utf8mb4)"].concat()
        }
        Given::Expression { sql, .. } => sql,
        Given::Variable(sql) => {
            if flavour == Flavour::MySql
                && let Some(text) = characters_in(cx, &sql).await?
                && BoundNumber::parse(&text).is_some()
            {
                return Ok(bound_number(&text));
            }
            sql
        }
        Given::Characters(bytes) => match character_literal(cx, &bytes).await? {
            Some(sql) => sql,
            None => return Ok(Judged::Unsupported),
        },
        Given::Unknown => return Ok(Judged::Unsupported),
    };
    let cast: &[u8] = match flavour {
        Flavour::MySql => b" AS SIGNED)",
        Flavour::MariaDb => b" AS DOUBLE)",
    };
    let value = [b"CAST(", expression.as_slice(), cast].concat();
    let question = [b"SELECT ", value.as_slice()].concat();
    let row = match compute_value(cx, &question).await? {
        Computed::Row(row) => row,
        // A call that the server does not refuse before it runs it takes the lock, if that is free,
        // before the error ends the statement.
        Computed::Error if flavour == Flavour::MySql => {
            return Ok(if cx.prepare_and_close(&question).await?.is_error() {
                Judged::Native
            } else {
                Judged::Fails(Timeout::Once, vec![value])
            });
        }
        Computed::Error => return Ok(Judged::Native),
        Computed::Ended(reply) => return Ok(Judged::Ended(reply)),
    };
    let Some(Some(text)) = row.first() else {
        return Ok(decide(Timeout::from_null(flavour)));
    };
    let text = String::from_utf8_lossy(text);
    let timeout = match flavour {
        Flavour::MySql => text.parse().ok().map(|n| Timeout::from_int(n, flavour)),
        Flavour::MariaDb => text.parse().ok().map(|x| Timeout::from_double(x, flavour)),
    };
    Ok(match timeout {
        None => Judged::Unsupported,
        Some(Timeout::Refused) => Judged::Native,
        Some(timeout) => Judged::Is(timeout, vec![value]),
    })
}

/// The text in a user variable, unless that is a number or bytes.
async fn characters_in(
    cx: &mut CallContext<'_>,
    variable: &[u8],
) -> Result<Option<Vec<u8>>, CloseReason> {
    let sql = [b"SELECT IF(CHARSET(", variable, b")='binary',NULL,", variable, b")"].concat();
    let row = cx.question_row(&sql).await?.unwrap_or_default();
    Ok(row.into_iter().next().flatten())
}

/// A literal for a value that was bound, if there is one.
pub(crate) async fn literal_of(
    cx: &mut CallContext<'_>,
    given: Given,
) -> Result<Option<Vec<u8>>, CloseReason> {
    Ok(match given {
        Given::Null => Some(b"NULL".to_vec()),
        Given::Number(text) => Some(format!("({text})").into_bytes()),
        Given::Double(x) if x.is_finite() => Some(format!("({x:e})").into_bytes()),
        Given::Expression { sql, .. } | Given::Variable(sql) => Some(sql),
        Given::Plain(bytes) | Given::Text(bytes) | Given::Characters(bytes) => {
            character_literal(cx, &bytes).await?
        }
        Given::Double(_) | Given::Unknown => None,
    })
}

/// A literal for characters that were bound: in the client's character set, converted as the
/// server converts parameters.
async fn character_literal(
    cx: &mut CallContext<'_>,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>, CloseReason> {
    let row = cx.question_row(b"SELECT @@character_set_client,@@character_set_connection").await?;
    let Some([Some(client), Some(connection)]) = row.as_deref() else {
        return Ok(None);
    };
    let named = |n: &[u8]| n.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if !named(client) || !named(connection) {
        return Ok(None);
    }
    let literal = [b"_", client.as_slice(), b" ", hex_literal(bytes).as_slice()].concat();
    Ok(Some(if client == connection {
        literal
    } else {
        [b"CONVERT(", literal.as_slice(), b" USING ", connection, b")"].concat()
    }))
}

/// What MySQL makes of a text that is bound to a timeout: of a number, the number.
fn bound_number(text: &[u8]) -> Judged<Timeout> {
    match BoundNumber::parse(text) {
        Some(number) => Judged::Is(number.timeout(), number.warning().into_iter().collect()),
        None => Judged::Unsupported,
    }
}

/// What is asked of a name: its key, its length, how it is shown, and whether all of it was kept.
fn name_question(e: &[u8], flavour: Flavour) -> Vec<u8> {
    match flavour {
        Flavour::MySql => [
            b"SELECT HEX(LOWER(CONVERT(",
            e,
            b" USING utf8mb3) COLLATE utf8mb3_general_ci)),CHAR_LENGTH(CONVERT(",
            e,
            b" USING utf8mb3)),HEX(CONVERT(",
            e,
            b" USING utf8mb4)),CONVERT(CONVERT(",
            e,
            b" USING utf8mb3) USING utf8mb4)=CONVERT(",
            e,
            b" USING utf8mb4) COLLATE utf8mb4_bin AND IF(CHARSET(",
            e,
            // Without a strict mode the conversion ends where bytes are no characters.
            b")='binary',LENGTH(",
            e,
            b")=LENGTH(CONVERT(",
            e,
            b" USING utf8mb4)),CHAR_LENGTH(",
            e,
            b")=CHAR_LENGTH(CONVERT(",
            e,
            b" USING utf8mb3)))",
        ]
        .concat(),
        Flavour::MariaDb => [b"SELECT HEX(", e, b"),0,HEX(", e, b"),1"].concat(),
    }
}

fn hex_literal(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return b"''".to_vec();
    }
    format!("x'{}'", hex::encode(bytes)).into_bytes()
}
