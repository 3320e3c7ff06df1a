//! What the server lists of a session that no state tracker reports.

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::types::{BackendId, Flavour};

/// What a session has, as the server's own tables list it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionLists {
    /// Names of its user variables, as they were first written.
    pub variables: Vec<Vec<u8>>,
    /// The session has a statement that was prepared in SQL.
    pub prepared: bool,
    /// The session has a lock of the server's own, of any kind.
    pub locked: bool,
}

/// Names of user variables that are read at most.
const MOST_NAMES: usize = 100;

/// Errors by which a list is not there: no right to read it; no such table; it is off.
const NO_LIST: [u16; 3] = [1142, 1109, 1146];

const THREADS: &str = "performance_schema.threads t";
/// The query's own lock on the table that it reads shows that the list is kept, for as many locks as there are.
const MYSQL_LOCKS: &str = "SELECT 'kept',NULL FROM performance_schema.metadata_locks \
    WHERE owner_thread_id=PS_CURRENT_THREAD_ID() AND object_name='metadata_locks' \
    AND @@global.performance_schema_max_metadata_locks=-1 \
    UNION ALL SELECT 'lock',NULL FROM performance_schema.threads t \
    JOIN performance_schema.metadata_locks m ON m.owner_thread_id=t.thread_id WHERE t.processlist_id";
const MARIADB_LOCKS: &str = "SELECT 'kept',NULL \
    UNION ALL SELECT 'lock',NULL FROM information_schema.metadata_lock_info WHERE thread_id";

/// The question for a session's lists: pairs of a kind and a name.
fn question(conn: BackendId, flavour: Flavour) -> String {
    let locks = match flavour {
        Flavour::MySql => MYSQL_LOCKS,
        Flavour::MariaDb => MARIADB_LOCKS,
    };
    format!(
        "SELECT 'seen',NULL FROM {THREADS} WHERE t.processlist_id={conn} AND t.instrumented='YES' \
         AND @@global.performance_schema_max_thread_instances=-1 \
         AND @@global.performance_schema_max_prepared_statements_instances=-1 \
         UNION ALL (SELECT 'variable',CAST(v.variable_name AS BINARY) FROM {THREADS} \
         JOIN performance_schema.user_variables_by_thread v ON v.thread_id=t.thread_id \
         WHERE t.processlist_id={conn} LIMIT {MOST_NAMES}) \
         UNION ALL SELECT 'prepared',NULL FROM {THREADS} \
         JOIN performance_schema.prepared_statements_instances p ON p.owner_thread_id=t.thread_id \
         WHERE t.processlist_id={conn} AND p.statement_name IS NOT NULL \
         UNION ALL {locks}={conn}",
        conn = conn.0
    )
}

impl StoreConnection {
    /// What a session has on this connection; `None`: the server does not list all of it, or not for this account.
    pub async fn session_lists(
        &mut self,
        conn: BackendId,
    ) -> Result<Option<SessionLists>, StoreError> {
        let rows = match self.query(question(conn, self.flavour()), 1).await {
            Err(StoreError::Refused { code, .. }) if NO_LIST.contains(&code) => return Ok(None),
            rows => rows?,
        };
        let (mut seen, mut kept) = (false, false);
        let mut lists = SessionLists::default();
        for row in rows.iter().flatten() {
            match column::<String>(row, 0).as_str() {
                "seen" => seen = true,
                "kept" => kept = true,
                "variable" => lists.variables.push(column(row, 1)),
                "prepared" => lists.prepared = true,
                _ => lists.locked = true,
            }
        }
        let all = lists.variables.len() < MOST_NAMES;
        Ok((seen && kept && all).then_some(lists))
    }
}
