//! Answers to the queries that clients send by themselves when they connect to a server.

use super::accounts::Administrator;
use super::limits::{IDLE, MAX_COMMAND, VERSION};
use super::table::Cell;
use crate::protocol::reply::ErrorReply;

/// The value of a variable or function. `warnings` is how many the answer before had.
pub(super) fn value(asked: &str, who: &Administrator, warnings: usize) -> Result<Cell, ErrorReply> {
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
            let message = format!("{asked:?} is unknown; SHOW COMMANDS lists the commands");
            return Err(ErrorReply { code: 1193, state: "HY000", message });
        }
    })
}
