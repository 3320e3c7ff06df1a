//! What clients ask when they connect, of the server that they take this for.

use super::table::Cell;
use super::{IDLE, MAX_COMMAND, VERSION};
use crate::protocol::reply::ErrorReply;

/// The value of a variable or function, under the name that it was asked by.
pub(super) fn value(asked: &str) -> Result<(String, Cell), ErrorReply> {
    let lower = asked.to_ascii_lowercase();
    let name = lower.trim_start_matches("@@");
    let name = name.strip_prefix("session.").or(name.strip_prefix("global.")).unwrap_or(name);
    let cell = match name {
        "version_comment" => {
            Cell::Text("Lockstead administration; SHOW COMMANDS lists commands".to_owned())
        }
        "version" | "version()" => Cell::Text(VERSION.to_owned()),
        "max_allowed_packet" => Cell::Number(MAX_COMMAND as u64),
        "wait_timeout" | "interactive_timeout" => Cell::Number(IDLE.as_secs()),
        "database()" | "schema()" | "socket" => Cell::Null,
        "user()" | "current_user()" => Cell::Text("admin@localhost".to_owned()),
        "sql_mode" => Cell::Text(String::new()),
        "1" => Cell::Number(1),
        name if name.starts_with("character_set_") => Cell::Text("utf8mb4".to_owned()),
        _ => {
            let message = format!("{asked:?} is not known here; SHOW COMMANDS lists what is");
            return Err(ErrorReply { code: 1193, state: "HY000", message });
        }
    };
    Ok((asked.to_owned(), cell))
}
