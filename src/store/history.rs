//! The table `lock_history`: holds that are over, if that is wanted. No lock depends on it.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use super::connection::{StoreConnection, StoreError};
use super::quoting::literal;
use super::rows::column;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// The lock's name, as text for display.
    pub name: String,
    /// Fencing token, if the lock had a row.
    pub token: Option<u64>,
    /// The holder's connection id.
    pub conn: u64,
    /// user@host, as text for display.
    pub owner: String,
    /// When it ended.
    pub ended: SystemTime,
    /// How long it lasted.
    pub held: Duration,
    /// How it ended.
    pub end: &'static str,
}

/// The statement that creates the table. The names of its columns are those of `SHOW HISTORY`.
pub(super) fn history_table(schema: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS `{schema}`.lock_history (\n  \
         id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n  \
         name VARCHAR(510) NOT NULL COMMENT 'as the client wrote it',\n  \
         token BIGINT UNSIGNED NULL,\n  \
         proxy VARCHAR(255) NOT NULL COMMENT 'where it listens',\n  \
         connection_id BIGINT UNSIGNED NOT NULL,\n  \
         owner VARCHAR(400) NOT NULL COMMENT 'user@host',\n  \
         taken_utc DATETIME(3) NOT NULL COMMENT 'by the clock of the proxy',\n  \
         ended_utc DATETIME(3) NOT NULL,\n  \
         ended_by VARCHAR(32) NOT NULL\n) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    )
}

/// A time as a literal.
fn utc(at: SystemTime) -> String {
    let text = humantime::format_rfc3339_millis(at).to_string();
    format!("'{}'", text.replace('T', " ").trim_end_matches('Z'))
}

/// Characters of text as a literal, no more than the column has room for.
fn text(text: &str, most: usize) -> String {
    let text: String = text.chars().take(most).collect();
    format!("CONVERT({} USING utf8mb4)", literal(text.as_bytes()))
}

impl StoreConnection {
    /// Adds rows of the proxy that listens there.
    pub async fn add_history(
        &mut self,
        proxy: &str,
        rows: &[HistoryRow],
    ) -> Result<(), StoreError> {
        let schema = self.schema();
        let mut sql = format!(
            "INSERT INTO `{schema}`.lock_history \
             (name,token,proxy,connection_id,owner,taken_utc,ended_utc,ended_by) VALUES "
        );
        for (n, row) in rows.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let token = row.token.map_or_else(|| "NULL".to_owned(), |token| token.to_string());
            let begun = row.ended.checked_sub(row.held).unwrap_or(row.ended);
            let _ = write!(
                sql,
                "{comma}({},{token},{},{},{},{},{},{})",
                text(&row.name, 510),
                text(proxy, 255),
                row.conn,
                text(&row.owner, 400),
                utc(begun),
                utc(row.ended),
                text(row.end, 32),
            );
        }
        self.execute(sql).await.map(drop)
    }

    /// Deletes up to `most` of the oldest rows beyond the newest `kept`. How many there were.
    pub async fn trim_history(&mut self, kept: u64, most: u64) -> Result<u64, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT id FROM `{schema}`.lock_history ORDER BY id DESC LIMIT 1 OFFSET {kept}"
        );
        let Some(last) = self.query(sql, 1).await?[0].first().map(|row| column::<u64>(row, 0))
        else {
            return Ok(0);
        };
        self.execute(format!(
            "DELETE FROM `{schema}`.lock_history WHERE id<={last} ORDER BY id LIMIT {most}"
        ))
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_texts_are_literals_that_both_servers_take() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
        assert_eq!(utc(at), "'1970-01-01 00:00:01.500'");
        assert_eq!(text("ab'c", 3), "CONVERT(x'616227' USING utf8mb4)");
    }
}
