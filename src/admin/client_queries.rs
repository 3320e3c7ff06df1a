//! What clients ask when they connect, of the server that they take this for.

use super::login::Who;
use super::table::Cell;
use super::{IDLE, MAX_COMMAND, VERSION};
use crate::protocol::reply::ErrorReply;

/// The value of a variable or function. `warnings` are those of the answer before.
pub(super) fn value(asked: &str, who: &Who, warnings: usize) -> Result<Cell, ErrorReply> {
    let lower = asked.to_ascii_lowercase();
    let name = lower.trim_start_matches("@@");
    let name = name.strip_prefix("session.").or(name.strip_prefix("global.")).unwrap_or(name);
    let text = |text: &str| Cell::Text(text.to_owned());
    Ok(match name {
        "version_comment" => text("Lockstead administration; SHOW COMMANDS lists commands"),
        "version" | "version()" => text(VERSION),
        "max_allowed_packet" => Cell::Number(MAX_COMMAND as u64),
        "wait_timeout" | "interactive_timeout" | "net_write_timeout" => {
            Cell::Number(IDLE.as_secs())
        }
        "database()" | "schema()" | "socket" => Cell::Null,
        "user()" | "current_user()" | "current_user" | "session_user()" => text(&who.account),
        "sql_mode" | "init_connect" => text(""),
        "1" | "autocommit" | "auto_increment_increment" | "auto_increment_offset" => {
            Cell::Number(1)
        }
        "lower_case_table_names"
        | "performance_schema"
        | "query_cache_size"
        | "error_count"
        | "transaction_read_only"
        | "tx_read_only" => Cell::Number(0),
        "warning_count" => Cell::Number(warnings as u64),
        "license" => text("Apache-2.0"),
        "query_cache_type" => text("OFF"),
        "time_zone" | "system_time_zone" => text("UTC"),
        "transaction_isolation" | "tx_isolation" => text("REPEATABLE-READ"),
        name if name.starts_with("character_set_") => text("utf8mb4"),
        name if name.starts_with("collation_") => text("utf8mb4_general_ci"),
        _ => {
            let message = format!("{asked:?} is not known here; SHOW COMMANDS lists what is");
            return Err(ErrorReply { code: 1193, state: "HY000", message });
        }
    })
}

/// What stands between SELECT and a LIMIT: each expression and the name of its column.
pub(super) fn asked(text: &str) -> Vec<(String, String)> {
    let text = text.trim().trim_end_matches(';');
    let text = text.get(6..).unwrap_or_default();
    let lower = text.to_ascii_lowercase();
    let end = lower.find(" limit ").unwrap_or(text.len());
    text[..end].split(',').map(named).collect()
}

/// `expression [[AS] name]`
fn named(text: &str) -> (String, String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let given = match words.as_slice() {
        [asked, name] => Some((asked, name)),
        [asked, word, name] if word.eq_ignore_ascii_case("AS") => Some((asked, name)),
        _ => None,
    };
    let Some((asked, name)) = given else {
        let asked = words.join(" ");
        return (asked.clone(), asked);
    };
    ((*asked).to_owned(), name.trim_matches(['`', '\'', '"']).to_owned())
}

/// The text with a space for each comment, as MySQL's lexer takes them.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/comments.html>
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let dashes = rest.strip_prefix("--").map(|behind| behind.chars().next());
        if first == '#' || dashes.is_some_and(|next| next.is_none_or(char::is_whitespace)) {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            out.push(' ');
        } else if let Some(behind) = rest.strip_prefix("/*") {
            let Some((_, behind)) = behind.split_once("*/") else {
                // It is no command, and is told as one.
                out.push_str(rest);
                return out;
            };
            rest = behind;
            out.push(' ');
        } else {
            let end = if matches!(first, '\'' | '"' | '`') {
                quoted(rest, first)
            } else {
                first.len_utf8()
            };
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    out
}

/// Where the quoted text ends that `text` begins with.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote != '`' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_told_from_its_names_and_from_comments() {
        let pairs = |text: &str| asked(&without_comments(text));
        let pair = |asked: &str, name: &str| (asked.to_owned(), name.to_owned());
        assert_eq!(
            pairs("select @@version_comment limit 1"),
            [pair("@@version_comment", "@@version_comment")]
        );
        assert_eq!(
            pairs("SELECT  @@session.x AS a, @@y as `b`,USER() c -- d, e"),
            [pair("@@session.x", "a"), pair("@@y", "b"), pair("USER()", "c")]
        );
        assert_eq!(without_comments("a/* ' */b # c\n'/* -- ''#' --d"), "a b  \n'/* -- ''#' --d");
    }
}
