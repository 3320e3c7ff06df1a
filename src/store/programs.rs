//! Stored programs and views of all schemas but the server's own, as far as the account is shown them.

use std::time::Duration;

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::sql::session::stateful::StoredProgram;

/// Programs at most of each kind.
const MOST: usize = 50_000;
/// MariaDB opens every table and trigger there is for such a list.
const LIST: Duration = Duration::from_mins(1);

/// A package keeps variables for its session, and a text in another language may keep anything: they count as hidden.
const ROUTINE: &str =
    "IF(routine_type IN ('PROCEDURE','FUNCTION') AND routine_body='SQL',routine_definition,'')";
/// Name, text, schema and table of each kind.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("routine_name", ROUTINE, "routine_schema", "routines"),
    ("event_object_table", "action_statement", "trigger_schema", "triggers"),
    ("table_name", "view_definition", "table_schema", "views"),
];

impl StoreConnection {
    /// All stored programs that the store account sees, at most [`MOST`] of each kind.
    pub async fn stored_programs(&mut self) -> Result<Vec<StoredProgram>, StoreError> {
        let mut programs = Vec::new();
        for (name, text, schema, table) in KINDS {
            let sql = format!(
                "SELECT {name},{text} FROM information_schema.{table} WHERE {schema} NOT IN \
                 ('mysql','sys','information_schema','performance_schema') LIMIT {MOST}"
            );
            let rows = self.query_within(LIST, sql, 1).await?;
            let read = |row: &mysql_async::Row| {
                let body: Option<Vec<u8>> = column(row, 1);
                StoredProgram { name: column(row, 0), body: body.unwrap_or_default() }
            };
            programs.extend(rows.iter().flatten().map(read));
        }
        Ok(programs)
    }
}
