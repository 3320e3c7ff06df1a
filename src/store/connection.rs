//! A connection to the lock store: how it is opened, and what its errors mean.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, Opts, OptsBuilder, SslOpts};

use super::identity::{Foreign, Thread, ident_expression, run_expression};
use super::patience::{ANSWER, AnswerLimit, NoAnswer};
use super::rows::column;
use super::statement::{NEEDED, ParameterizedSql};
use crate::config::StoreUrl;
use crate::config::tls::StoreTls;
use crate::mutants::{self, Mutant};
use crate::types::Flavour;

/// Why a statement on the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The connection could not be made: nothing was sent.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The connection broke after the statement was sent: it may have been executed.
    #[error("connection lost: {0}")]
    Lost(String),
    /// No answer within the limit: it may still be executed.
    #[error("no answer within {0:?}")]
    Silent(Duration),
    /// The account cannot see whether sessions of others are gone.
    #[error(
        "the store account cannot see other accounts' sessions: GRANT PROCESS ON *.* (on MySQL also \
         SELECT ON performance_schema.*)"
    )]
    Blind,
    /// The account logs in by a method that the driver does not have, or there is no such account: for
    /// an unknown one MySQL names any method.
    #[error(
        "cannot log in by {0}, as the server requires: either there is no such account, or it must be \
         altered to IDENTIFIED WITH caching_sha2_password (on MariaDB mysql_native_password or ed25519)"
    )]
    Method(String),
    /// A batch of lock changes might not fit into a packet.
    #[error(
        "max_allowed_packet of the server is {0}, and changes of locks take up to {NEEDED} bytes: \
         SET GLOBAL max_allowed_packet = 16777216, and in the server's configuration"
    )]
    Packet(u64),
    /// The server that answers is not the one whose locks are kept.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Whether sessions are at the server of the lock tables is not known.
    #[error("{0}")]
    Unchecked(String),
    /// A server that may be promoted has not executed what must be there first.
    #[error("{0}")]
    Unwitnessed(String),
    /// The server refused the statement.
    #[error("{message} (error {code})")]
    Refused {
        /// MySQL error number.
        code: u16,
        /// Text of the error.
        message: String,
    },
}

impl StoreError {
    /// Not executed, worth repeating. The cause is a deadlock, a lock wait that timed out, or a commit that another
    /// member of the cluster was ahead of. Or the server lost a prepared statement in a change of its tables.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Refused { code: 1213 | 1205 | 1615 | 3572 | 3101 | LOST_RACE, .. })
    }

    /// Whether no server has answered.
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::Lost(_) | Self::Silent(_))
    }

    /// The label `kind` in metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::Lost(_) | Self::Silent(_) => "lost",
            Self::Refused { .. }
            | Self::Blind
            | Self::Foreign(_)
            | Self::Method(_)
            | Self::Packet(_) => "refused",
            Self::Unwitnessed(_) => "unwitnessed",
            Self::Unchecked(_) => "unchecked",
        }
    }

    /// Whether another connection may lead to a server that takes the statement: this one's is
    /// read-only (1290, 1792, 1836) or outside its cluster (1047), or is not the right one.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Foreign(_) | Self::Refused { code: 1290 | 1792 | 1836 | 1047, .. })
    }

    /// This error, met by a later statement, when a change may have been made already.
    pub(super) fn after_a_change(self) -> Self {
        Self::Lost(self.to_string())
    }

    /// Whether the statement may have been executed nevertheless.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Silent(_))
    }
}

/// "Got error %d during COMMIT": of Galera 149, when another node's commit was first.
const LOST_RACE: u16 = 1180;

/// Whether the outcome of a statement with this error may be decided on another member.
fn is_half_done(code: u16, message: &str) -> bool {
    match code {
        3100 => true,
        LOST_RACE => !message.contains("error 149"),
        _ => false,
    }
}

impl From<NoAnswer> for StoreError {
    fn from(none: NoAnswer) -> Self {
        match none {
            NoAnswer::Silent(limit) => Self::Silent(limit),
            NoAnswer::Left => Self::Lost("another server takes writes now".to_owned()),
        }
    }
}

impl From<mysql_async::Error> for StoreError {
    fn from(e: mysql_async::Error) -> Self {
        match e {
            // The group, or the cluster, was lost during the commit.
            mysql_async::Error::Server(e) if is_half_done(e.code, &e.message) => {
                Self::Lost(e.message)
            }
            mysql_async::Error::Server(e) => Self::Refused { code: e.code, message: e.message },
            mysql_async::Error::Driver(DriverError::UnknownAuthPlugin { name }) => {
                Self::Method(name)
            }
            // The driver's own text repeats the kind of error.
            mysql_async::Error::Io(mysql_async::IoError::Io(e)) => Self::Lost(e.to_string()),
            e => Self::Lost(e.to_string()),
        }
    }
}

/// An open connection, set up for lock statements.
#[derive(Debug)]
pub struct StoreConnection {
    conn: Conn,
    flavour: Flavour,
    started: i64,
    ident: String,
    version: String,
    /// The schema of the lock tables.
    schema: Arc<str>,
    /// Whether the account sees the sessions of others, once known.
    pub(super) sees_all: Option<bool>,
    limit: AnswerLimit,
}

/// The server's max_prepared_stmt_count is reached: applications may have used it up.
const TOO_MANY_PREPARED: u16 = 1461;

/// Finds out that a peer is gone though nothing is sent.
const KEEPALIVE: Duration = Duration::from_secs(30);

impl StoreConnection {
    /// Connects and sets the session up. `limit` bounds the whole.
    pub async fn open(url: &StoreUrl, limit: Duration) -> Result<Self, StoreError> {
        let opened = tokio::time::timeout(limit, Self::set_up(url)).await;
        opened
            .unwrap_or_else(|_| Err(StoreError::Connect(format!("no answer within {limit:?}"))))
            // Nothing was asked for yet, so nothing is lost.
            .map_err(|e| match e {
                StoreError::Lost(why) => StoreError::Connect(why),
                e => e,
            })
    }

    async fn set_up(url: &StoreUrl) -> Result<Self, StoreError> {
        let opts: Opts = OptsBuilder::default()
            .ip_or_hostname(url.host.clone())
            .tcp_port(url.port)
            .user(Some(url.user.clone()))
            .pass(Some(url.password.clone()))
            .prefer_socket(Some(false))
            .tcp_keepalive(Some(KEEPALIVE))
            .wait_timeout(Some(31_536_000))
            .ssl_opts(ssl_opts(&url.tls))
            .into();
        let mut conn = Conn::new(opts).await?;
        let known: Option<(String, u64)> =
            conn.query_first("SELECT VERSION(), @@max_allowed_packet").await?;
        let (version, packet) = known.unwrap_or_default();
        if packet < NEEDED {
            return Err(StoreError::Packet(packet));
        }
        let flavour = Flavour::from_version(&version);
        // An explicit sql_mode: MariaDB's SIMULTANEOUS_ASSIGNMENT would break the batch, which
        // relies on assignments from left to right.
        let setup = "SET SESSION transaction_isolation='READ-COMMITTED', autocommit=1, \
                     innodb_lock_wait_timeout=1, lock_wait_timeout=2, \
                     sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', \
                     group_concat_max_len=1048576, sql_select_limit=DEFAULT";
        let setup = match flavour {
            Flavour::MySql => setup.to_owned(),
            Flavour::MariaDb => setup.replace("transaction_isolation", "tx_isolation"),
        };
        conn.query_drop(setup).await?;
        if flavour == Flavour::MariaDb {
            // The text of each batch in the binary log beside its rows: three times the size. Most
            // accounts may not change that (BINLOG ADMIN).
            match conn.query_drop("SET SESSION binlog_annotate_row_events=OFF").await {
                Ok(()) | Err(mysql_async::Error::Server(_)) => {}
                Err(e) => return Err(e.into()),
            }
        }
        let mut opened = Self {
            conn,
            flavour,
            started: 0,
            ident: String::new(),
            version,
            schema: url.schema.as_str().into(),
            sees_all: None,
            limit: AnswerLimit::new(),
        };
        opened.started = opened.server_start().await?;
        opened.ident = opened.identity().await?;
        Ok(opened)
    }

    /// The server's identity.
    pub async fn identity(&mut self) -> Result<String, StoreError> {
        let sql = format!("SELECT {}", ident_expression(self.flavour()));
        Ok(self.query(sql, 1).await?[0].first().map(|r| column(r, 0)).unwrap_or_default())
    }

    /// The run of the server, as [`run_expression`] tells it.
    pub async fn server_start(&mut self) -> Result<i64, StoreError> {
        let rows = self.query(format!("SELECT {}", run_expression(self.flavour())), 1).await?;
        // Never a default: two unknown starts would look like one run.
        let start = rows[0].first().and_then(|r| r.get_opt::<i64, usize>(0)?.ok());
        start.ok_or_else(|| StoreError::Refused {
            code: 1105,
            message: "the server does not report its uptime".to_owned(),
        })
    }

    /// The run of the server, read as the connection was opened: thread ids of another run, or of another server, mean
    /// nothing in this one.
    pub fn started(&self) -> i64 {
        self.started
    }

    /// The identity of the server, read as the connection was opened.
    pub fn ident(&self) -> &str {
        &self.ident
    }

    /// The schema of the lock tables.
    pub(super) fn schema(&self) -> Arc<str> {
        Arc::clone(&self.schema)
    }

    /// `VERSION()`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// This connection, as it may be ended from another.
    pub fn thread(&self) -> Thread {
        Thread::new(&self.ident, self.started, u64::from(self.id()))
    }

    /// MySQL or MariaDB.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The server's thread id of this connection.
    pub fn id(&self) -> u32 {
        self.conn.id()
    }

    /// Has the server answer.
    pub async fn ask_nothing(&mut self) -> Result<(), StoreError> {
        self.query("SELECT 1".to_owned(), 1).await.map(drop)
    }

    /// Runs one statement and returns its affected rows.
    pub(super) async fn execute(&mut self, sql: String) -> Result<u64, StoreError> {
        let conn = &mut self.conn;
        let run = async {
            conn.query_drop(sql).await?;
            Ok(conn.affected_rows())
        };
        self.limit.within(ANSWER, run).await?
    }

    /// Runs a statement, prepared once and kept, and returns its affected rows and what it set
    /// LAST_INSERT_ID() to.
    pub(super) async fn change(
        &mut self,
        statement: &ParameterizedSql,
    ) -> Result<(u64, Option<u64>), StoreError> {
        let conn = &mut self.conn;
        let run = async {
            match conn.prep(statement.sql.as_str()).await {
                Ok(prepared) => conn.exec_drop(prepared, statement.values.clone()).await?,
                Err(mysql_async::Error::Server(e)) if e.code == TOO_MANY_PREPARED => {
                    conn.query_drop(statement.to_text()).await?;
                }
                Err(e) => return Err(e.into()),
            }
            Ok((conn.affected_rows(), conn.last_insert_id()))
        };
        self.limit.within(ANSWER, run).await?
    }

    /// Runs a text of `statements` statements and returns the rows of each.
    ///
    /// Every result is read to its end, so an error in the middle is never mistaken for the end.
    pub(super) async fn query(
        &mut self,
        sql: String,
        statements: usize,
    ) -> Result<Vec<Vec<mysql_async::Row>>, StoreError> {
        self.query_within(ANSWER, sql, statements).await
    }

    /// Does [`Self::query`] with another limit.
    pub(super) async fn query_within(
        &mut self,
        limit: Duration,
        sql: String,
        statements: usize,
    ) -> Result<Vec<Vec<mysql_async::Row>>, StoreError> {
        let conn = &mut self.conn;
        let run = async {
            let mut result = conn.query_iter(sql).await?;
            let mut all = Vec::with_capacity(statements);
            for _ in 0..statements {
                if mutants::on(Mutant::StopAtEmpty) && result.is_empty() {
                    all.resize_with(statements, Vec::new);
                    return Ok(all);
                }
                all.push(result.collect::<mysql_async::Row>().await?);
            }
            result.drop_result().await?;
            Ok(all)
        };
        self.limit.within(limit, run).await?
    }

    /// The connection's server is the writer until `left` ends. Then nothing is waited for any more.
    pub fn give_up_when(&mut self, left: impl Future<Output = ()> + Send + 'static) {
        self.limit = AnswerLimit::until(left);
    }

    /// Says goodbye, within a short limit.
    pub async fn close(self) {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.conn.disconnect()).await;
    }
}

/// The driver recognizes the error about a wrong name, which it must let pass, by these words in its text. No other
/// error has these words, except in the name itself: and that is checked last, after the CA's signature.
const WRONG_NAME: &str = "NotValidForName";

fn ssl_opts(tls: &StoreTls) -> Option<SslOpts> {
    let by = |ca: &Path| {
        SslOpts::default()
            .with_disable_built_in_roots(true)
            .with_root_certs(vec![ca.to_owned().into()])
    };
    match tls {
        StoreTls::Off => None,
        StoreTls::Required => Some(SslOpts::default().with_danger_accept_invalid_certs(true)),
        StoreTls::VerifyCa(ca) => {
            let any_name = by(ca).with_danger_skip_domain_validation(true);
            Some(any_name.with_danger_tls_hostname_override(Some(WRONG_NAME)))
        }
        StoreTls::VerifyIdentity(ca) => Some(by(ca)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_another_member_was_ahead_of_is_repeated_and_one_without_a_cluster_is_read_back()
     {
        for (code, message, retryable, unknown) in [
            (1213, "Deadlock found", true, false),
            (
                3101,
                "Plugin instructed the server to rollback the current transaction.",
                true,
                false,
            ),
            (1180, "Got error 149 \"Lock deadlock; Retry transaction\" during COMMIT", true, false),
            (
                1180,
                "Got error 107 \"Transport endpoint is not connected\" during COMMIT",
                false,
                true,
            ),
            (
                3100,
                "Error on observer while running replication hook 'before_commit'.",
                false,
                true,
            ),
            (1290, "The server is running with --super-read-only", false, false),
        ] {
            let (message, state) = (message.to_owned(), "HY000".to_owned());
            let e = mysql_async::Error::Server(mysql_async::ServerError { code, message, state });
            let e = StoreError::from(e);
            assert_eq!((e.is_retryable(), e.is_unknown()), (retryable, unknown), "{e}");
        }
    }
}
