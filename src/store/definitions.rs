//! Definitions of stored programs and views, as the server shows them to an account.

use std::time::Duration;

use mysql_async::Row;

use super::connection::{StoreConnection, StoreError};
use super::quoting::quoted_name;
use super::rows::column;

/// A stored program or view whose text may name a lock function, or is not shown.
#[derive(Debug, Clone)]
pub struct Object {
    /// `procedure`, `function`, `package`, `package body`, `trigger`, `event` or `view`.
    pub kind: String,
    /// Schema of the object.
    pub schema: String,
    /// Name of the object.
    pub name: String,
    /// Text of the object; `None` where the account may not see it.
    pub definition: Option<Definition>,
}

/// A text, and how it reads.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    /// As SHOW CREATE has it; of a view, its SELECT.
    pub text: Vec<u8>,
    /// The mode it was created in.
    pub sql_mode: String,
}

/// A table of information_schema, and the place of the text that the server runs.
struct DefinitionTable {
    /// Schema, name, kind, text.
    columns: [&'static str; 4],
    table: &'static str,
    /// The column of SHOW CREATE with the text. The table has routines, triggers and events with
    /// strings unescaped: not what the server reads. A view's is in there as the server printed it.
    shown: Option<usize>,
}

const SOURCES: [DefinitionTable; 4] = [
    DefinitionTable {
        columns: ["routine_schema", "routine_name", "routine_type", "routine_definition"],
        table: "routines",
        shown: Some(2),
    },
    DefinitionTable {
        columns: ["trigger_schema", "trigger_name", "'TRIGGER'", "action_statement"],
        table: "triggers",
        shown: Some(2),
    },
    DefinitionTable {
        columns: ["event_schema", "event_name", "'EVENT'", "event_definition"],
        table: "events",
        shown: Some(3),
    },
    DefinitionTable {
        columns: ["table_schema", "table_name", "'VIEW'", "view_definition"],
        table: "views",
        shown: None,
    },
];

/// MariaDB opens every table and trigger there is for such a list.
const LIST: Duration = Duration::from_mins(5);

impl StoreConnection {
    /// Everything whose text contains `_LOCK`, and everything whose text this account is not shown.
    pub async fn definitions(&mut self) -> Result<Vec<Object>, StoreError> {
        let mut all = Vec::new();
        for source in &SOURCES {
            let [schema, name, kind, text] = source.columns;
            let sql = format!(
                "SELECT {schema},{name},{kind},{text} FROM information_schema.{} \
                 WHERE {text} IS NULL OR {text}='' OR LOWER({text}) LIKE '%\\_lock%' \
                 ORDER BY {schema},{name}",
                source.table
            );
            for row in &self.query_within(LIST, sql, 1).await?[0] {
                all.extend(self.object(source, row).await?);
            }
        }
        Ok(all)
    }

    /// `None` if it was dropped meanwhile.
    async fn object(
        &mut self,
        source: &DefinitionTable,
        row: &Row,
    ) -> Result<Option<Object>, StoreError> {
        let kind = column::<String>(row, 2);
        let (schema, name) = (text(row, 0), text(row, 1));
        let listed: Vec<u8> = column(row, 3);
        let definition = match source.shown {
            _ if listed.is_empty() => None,
            None => Some(Definition { text: listed, sql_mode: String::new() }),
            Some(at) => {
                let (in_schema, named) = (quoted_name(&schema), quoted_name(&name));
                let sql = format!("SHOW CREATE {kind} {in_schema}.{named}");
                match self.query(sql, 1).await {
                    Ok(rows) => rows[0].first().and_then(|row| {
                        let text: Vec<u8> = column(row, at);
                        let sql_mode = column(row, 1);
                        (!text.is_empty()).then_some(Definition { text, sql_mode })
                    }),
                    // There is no such routine, trigger or event, or its table or schema is gone.
                    Err(StoreError::Refused { code: 1305 | 1360 | 1539 | 1146 | 1049, .. }) => {
                        return Ok(None);
                    }
                    Err(e) if matches!(e, StoreError::Refused { .. }) && !e.is_retryable() => None,
                    Err(e) => return Err(e),
                }
            }
        };
        Ok(Some(Object { kind: kind.to_lowercase(), schema, name, definition }))
    }

    /// The statement that the server runs for each connection of an ordinary account.
    pub async fn init_connect(&mut self) -> Result<Object, StoreError> {
        let sql = "SELECT @@global.init_connect,@@global.sql_mode".to_owned();
        let rows = self.query(sql, 1).await?;
        let row = rows[0].first();
        let definition = row.map(|r| Definition { text: column(r, 0), sql_mode: column(r, 1) });
        Ok(Object {
            kind: "variable".to_owned(),
            schema: "global".to_owned(),
            name: "init_connect".to_owned(),
            definition,
        })
    }
}

fn text(row: &Row, index: usize) -> String {
    String::from_utf8_lossy(&column::<Vec<u8>>(row, index)).into_owned()
}
