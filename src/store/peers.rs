//! Other servers that hold copies of the lock tables, or may become primary.

use std::time::Duration;

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::types::Flavour;

impl StoreConnection {
    /// Whether this server is part of a replication set-up or a cluster, so that another server
    /// may have been primary before.
    pub async fn has_peers(&mut self) -> Result<bool, StoreError> {
        let sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE \
                        command LIKE 'Binlog Dump%' OR command LIKE 'Slave%' OR \
                        (user='system user' AND state LIKE '%source%')";
        let sql = match self.flavour() {
            Flavour::MySql => {
                let dumps = if self.lists_all_threads().await? {
                    "performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'"
                } else if self.sees_all().await? {
                    "information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
                } else {
                    return Ok(true);
                };
                format!(
                    "SELECT (SELECT COUNT(*) FROM performance_schema.replication_connection_configuration) \
                     + (SELECT COUNT(*) FROM {dumps})"
                )
            }
            Flavour::MariaDb => format!(
                "SELECT ({sessions}) + (SELECT COUNT(*) FROM information_schema.global_status \
                 WHERE variable_name='WSREP_CLUSTER_SIZE' AND CAST(variable_value AS SIGNED)>0)"
            ),
        };
        let rows = self.query(sql, 1).await?;
        Ok(rows[0].first().is_none_or(|r| column::<i64>(r, 0) > 0))
    }

    /// Whether the server takes changes over from another one, beside those of its cluster; an error when that cannot be
    /// seen.
    pub(super) async fn replicates(&mut self) -> Result<bool, StoreError> {
        let rights = self.rights().await?;
        if !rights.process || !rights.performance_schema {
            return Err(StoreError::Blind);
        }
        let sql = match self.flavour() {
            Flavour::MySql => {
                "SELECT (SELECT COUNT(*) FROM performance_schema.replication_connection_status \
                 WHERE service_state<>'OFF' AND channel_name NOT IN \
                 ('group_replication_applier','group_replication_recovery')) + (SELECT COUNT(*) FROM \
                 performance_schema.replication_applier_status WHERE service_state<>'OFF' AND channel_name NOT IN \
                 ('group_replication_applier','group_replication_recovery'))"
            }
            Flavour::MariaDb => {
                "SELECT (SELECT COUNT(*) FROM information_schema.processlist \
                 WHERE command LIKE 'Slave%') + (SELECT COUNT(*) FROM \
                 information_schema.global_status WHERE CAST(variable_value AS SIGNED)>0 \
                 AND variable_name='SLAVES_RUNNING')"
            }
        };
        let rows = self.query(sql.to_owned(), 1).await?;
        Ok(rows[0].first().is_none_or(|r| column::<i64>(r, 0) > 0))
    }

    /// Whether the server, which is in no cluster, applies changes of another one. One that has lost it only waits for it. Where that
    /// cannot be seen, it is taken for granted.
    pub async fn follows(&mut self, limit: Duration) -> Result<bool, StoreError> {
        let sql = match self.flavour() {
            Flavour::MySql => {
                "SELECT @@global.performance_schema=0 OR EXISTS (SELECT 1 FROM \
                 performance_schema.replication_applier_status a JOIN \
                 performance_schema.replication_connection_status c ON a.channel_name=c.channel_name \
                 WHERE a.service_state='ON' AND c.service_state<>'OFF' AND a.channel_name NOT IN \
                 ('group_replication_applier','group_replication_recovery'))"
            }
            // Threads that apply changes. To see those that fetch them takes a list of all sessions.
            Flavour::MariaDb => {
                "SELECT COUNT(*) FROM information_schema.global_status \
                 WHERE CAST(variable_value AS SIGNED)>0 AND variable_name='SLAVES_RUNNING'"
            }
        };
        match self.query_within(limit, sql.to_owned(), 1).await {
            Err(StoreError::Refused { code: 1142, .. }) => Ok(true),
            rows => Ok(rows?[0].first().is_none_or(|r| column::<i64>(r, 0) > 0)),
        }
    }
}
