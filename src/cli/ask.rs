//! `lockstead locks` and its companions: what a running proxy is asked on its socket for administrators.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Value};
use serde_json::{Map, Number};
use tokio::time::timeout;

use super::admin_socket::AdminSocketArgs;
use super::print::print;
use super::process::{failed, runtime, usage};
use super::table;
use super::terminal_text::{plain, safe};
use crate::admin::EXACT;
use crate::store::quoting::quoted_text;

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
It queries the proxy on this machine. Run it as root or as the user that the proxy runs as.
docs/administration.md explains the columns.

Exit status:
  0  done
  1  the proxy refused, or failed
  2  wrong usage or configuration, or no proxy answers in time";

/// Limit for a connection, its greeting included.
const CONNECT: Duration = Duration::from_secs(5);
/// Limit for an answer.
const READ: Duration = Duration::from_secs(30);
/// Limit for an order: a session may take its time to end.
const ACT: Duration = Duration::from_mins(2);
/// Limit for a new process, which waits for up to two leases.
const UPGRADE: Duration = Duration::from_hours(3);

/// A question or an order.
#[derive(Debug, Subcommand)]
pub(super) enum Ask {
    /// Show the held locks of all proxies
    #[command(after_help = HELP)]
    Locks {
        /// Only names that match this SQL pattern: % is any text, _ a character
        #[arg(long, value_name = "PATTERN")]
        like: Option<String>,
        #[command(flatten)]
        place: AdminSocketArgs,
    },
    /// Show the last locks that sessions of the proxy have had, and how each ended
    #[command(after_help = HELP)]
    History {
        /// Only names that match this SQL pattern: % is any text, _ a character
        #[arg(long, value_name = "PATTERN")]
        like: Option<String>,
        #[command(flatten)]
        place: AdminSocketArgs,
    },
    /// Show the sessions of the proxy that wait for a lock
    #[command(after_help = HELP)]
    Waiters(AdminSocketArgs),
    /// Show the sessions of the proxy
    #[command(after_help = HELP)]
    Sessions(AdminSocketArgs),
    /// Show the connections to the server that sessions of the proxy share, by account
    #[command(after_help = HELP)]
    Pool(AdminSocketArgs),
    /// Show all proxies that share the lock tables
    #[command(after_help = HELP)]
    Proxies(AdminSocketArgs),
    /// Show the last deadlocks that the proxy has ended
    #[command(after_help = HELP)]
    Deadlocks(AdminSocketArgs),
    /// Show whether the proxy may grant locks, and how long its own remain certain
    #[command(after_help = HELP)]
    Lease(AdminSocketArgs),
    /// Take a lock from its holder at any proxy; the holder's session is closed
    #[command(after_help = HELP)]
    Release {
        /// As `lockstead locks` shows it
        name: String,
        /// Only if the lock is held under this token
        #[arg(long, value_name = "N")]
        token: Option<u64>,
        /// Only in this cluster, if the proxy has several
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
        #[command(flatten)]
        place: AdminSocketArgs,
    },
    /// End a session of the proxy at the server; its locks are freed. What it ran may have taken effect, or not
    #[command(after_help = HELP)]
    Kill {
        /// As CONNECTION_ID() and `lockstead sessions` show it
        connection_id: u64,
        /// Only in this cluster, if the proxy has several
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
        #[command(flatten)]
        place: AdminSocketArgs,
    },
    /// Before a planned switch of the primary: let new statements wait, and say when no transaction is open
    #[command(after_help = HELP)]
    DrainPrimary {
        /// For how long statements wait at most [default: switchover_hold]
        #[arg(long, value_name = "DURATION", conflicts_with_all = ["cancel", "show"])]
        hold: Option<String>,
        /// Let statements go on
        #[arg(long, conflicts_with = "show")]
        cancel: bool,
        /// Only show whether statements wait, and what is still open
        #[arg(long, conflicts_with = "cluster")]
        show: bool,
        /// Only in this cluster, if the proxy has several
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
        #[command(flatten)]
        place: AdminSocketArgs,
    },
    /// Make /readyz say no, so that load balancers send no more clients
    #[command(after_help = HELP)]
    Drain(AdminSocketArgs),
    /// Undo `lockstead drain`
    #[command(after_help = HELP)]
    Resume(AdminSocketArgs),
    /// Read configuration and certificates again
    #[command(after_help = HELP)]
    Reload(AdminSocketArgs),
    /// Replace the proxy by a new process of the program
    #[command(after_help = HELP)]
    Upgrade {
        /// Reload, and upgrade only if a changed setting or a newer program needs it
        #[arg(long)]
        if_needed: bool,
        #[command(flatten)]
        place: AdminSocketArgs,
    },
}

impl Ask {
    /// The command in words of the administration, and where to say it.
    fn into_command(self) -> (String, AdminSocketArgs) {
        match self {
            Self::Locks { like, place } => (format!("SHOW LOCKS{}", matching(like)), place),
            Self::History { like, place } => (format!("SHOW HISTORY{}", matching(like)), place),
            Self::Waiters(place) => ("SHOW WAITERS".to_owned(), place),
            Self::Sessions(place) => ("SHOW SESSIONS".to_owned(), place),
            Self::Pool(place) => ("SHOW POOL".to_owned(), place),
            Self::Proxies(place) => ("SHOW PROXIES".to_owned(), place),
            Self::Deadlocks(place) => ("SHOW DEADLOCKS".to_owned(), place),
            Self::Lease(place) => ("SHOW LEASE".to_owned(), place),
            Self::Release { name, token, cluster, place } => {
                let token = token.map(|token| format!(" TOKEN {token}")).unwrap_or_default();
                (format!("RELEASE LOCK {}{token}{}", quoted_text(&name), within(cluster)), place)
            }
            Self::Kill { connection_id, cluster, place } => {
                (format!("KILL {connection_id}{}", within(cluster)), place)
            }
            Self::DrainPrimary { show: true, place, .. } => ("SHOW SWITCHOVER".to_owned(), place),
            Self::DrainPrimary { cancel: true, cluster, place, .. } => {
                (format!("SWITCHOVER CANCEL{}", within(cluster)), place)
            }
            Self::DrainPrimary { hold, cluster, place, .. } => {
                let hold = hold.map(|hold| format!(" {}", quoted_text(&hold))).unwrap_or_default();
                (format!("SWITCHOVER PREPARE{hold}{}", within(cluster)), place)
            }
            Self::Drain(place) => ("DRAIN".to_owned(), place),
            Self::Resume(place) => ("RESUME".to_owned(), place),
            Self::Reload(place) => ("RELOAD".to_owned(), place),
            Self::Upgrade { if_needed: false, place } => ("UPGRADE".to_owned(), place),
            Self::Upgrade { if_needed: true, place } => ("UPGRADE IF NEEDED".to_owned(), place),
        }
    }
}

fn matching(like: Option<String>) -> String {
    like.map(|pattern| format!(" LIKE {}", quoted_text(&pattern))).unwrap_or_default()
}

fn within(cluster: Option<String>) -> String {
    cluster.map(|name| format!(" CLUSTER {}", quoted_text(&name))).unwrap_or_default()
}

/// For how long an answer is waited for.
fn patience(command: &str) -> Duration {
    match command.split(' ').next() {
        Some("SHOW") => READ,
        Some("UPGRADE") => UPGRADE,
        _ => ACT,
    }
}

pub(super) fn run(ask: Ask) -> Result<(), ExitCode> {
    let (command, place) = ask.into_command();
    let json = place.json;
    let socket = place.socket().map_err(usage)?;
    let runtime = runtime().map_err(failed)?;
    let answer = runtime.block_on(ask_at(&socket, &command)).map_err(|e| told(&socket, e))?;
    print(if json { answer.json() } else { answer.text() });
    for note in &answer.notes {
        eprintln!("({})", plain(note));
    }
    Ok(())
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// The proxy has sent an error, or the connection failed.
    #[error(transparent)]
    Failed(#[from] mysql_async::Error),
    /// Nothing in this time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
}

impl AskError {
    /// The proxy's own error, if it sent one.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            Self::Failed(mysql_async::Error::Server(refused)) => Some(plain(&refused.message)),
            _ => None,
        }
    }
}

/// Says why there is no answer.
pub(super) fn told(socket: &Path, error: AskError) -> ExitCode {
    let socket = socket.display();
    match error {
        AskError::Failed(mysql_async::Error::Server(refused)) => {
            eprintln!("lockstead: {}", plain(&refused.message));
            // Refused at the door.
            if refused.code == 1045 { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
        AskError::Failed(e) => {
            eprintln!(
                "lockstead: no proxy answers at unix:{socket}: {e}. Does it run on this machine, and \
                 as this user? Use --config or --admin to find it",
            );
            ExitCode::from(2)
        }
        e @ AskError::Silent(_) => {
            eprintln!(
                "lockstead: the proxy at unix:{socket} does not answer: {e}. Is it stopped, or \
                 overloaded? It may still carry out the order",
            );
            ExitCode::from(2)
        }
    }
}

/// Rows under named columns.
pub(super) struct AdminAnswer {
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<Value>>,
    /// Warnings of the answer.
    pub(super) notes: Vec<String>,
}

/// A connection to the proxy that listens there.
pub(super) async fn connect(socket: &Path) -> Result<Conn, AskError> {
    let options = OptsBuilder::default()
        .socket(Some(socket.display().to_string()))
        .user(Some("admin"))
        // The proxy reports a command that is too long.
        .max_allowed_packet(Some(1 << 24))
        .prefer_socket(true);
    let connected = timeout(CONNECT, Conn::new(options)).await;
    Ok(connected.map_err(|_| AskError::Silent(CONNECT))??)
}

/// Asks the proxy that listens there.
pub(super) async fn ask_at(socket: &Path, command: &str) -> Result<AdminAnswer, AskError> {
    let mut conn = connect(socket).await?;
    let answer = ask(&mut conn, command).await?;
    // Only for politeness.
    let _ = timeout(CONNECT, conn.disconnect()).await;
    Ok(answer)
}

/// Asks once.
pub(super) async fn ask(conn: &mut Conn, command: &str) -> Result<AdminAnswer, AskError> {
    let limit = patience(command);
    let asked = timeout(limit, async {
        let mut answer = rows(conn, command).await?;
        if conn.get_warnings() > 0 {
            let notes = rows(conn, "SHOW WARNINGS").await?;
            answer.notes = notes.rows.iter().filter_map(|row| shown(row.get(2)?)).collect();
        }
        Ok(answer)
    });
    asked.await.unwrap_or(Err(AskError::Silent(limit)))
}

async fn rows(conn: &mut Conn, command: &str) -> Result<AdminAnswer, mysql_async::Error> {
    let mut result = conn.query_iter(command).await?;
    let number =
        |kind| matches!(kind, ColumnType::MYSQL_TYPE_LONGLONG | ColumnType::MYSQL_TYPE_DOUBLE);
    let columns = result.columns_ref().iter();
    let columns = columns.map(|c| (c.name_str().into_owned(), number(c.column_type()))).collect();
    let rows: Vec<mysql_async::Row> = result.collect().await?;
    let rows = rows.into_iter().map(mysql_async::Row::unwrap).collect();
    Ok(AdminAnswer { columns, rows, notes: Vec::new() })
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

impl AdminAnswer {
    /// Two columns are left out if they have no value: the cluster's name if there is only one, and
    /// the age of rows that were read just now.
    pub(super) fn text(&self) -> String {
        if self.columns.is_empty() {
            return "done\n".to_owned();
        }
        let has = |n: &usize| {
            !matches!(&*self.columns[*n].0, "cluster" | "seen_seconds_ago")
                || self.rows.iter().any(|row| row[*n] != Value::NULL)
        };
        let kept: Vec<usize> = (0..self.columns.len()).filter(has).collect();
        let head = kept.iter().map(|n| self.columns[*n].0.clone()).collect();
        let row = |row: &Vec<Value>| {
            let cell =
                |n: &usize| shown(&row[*n]).map_or_else(|| "-".to_owned(), |text| plain(&text));
            kept.iter().map(cell).collect()
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(head).chain(self.rows.iter().map(row)).collect();
        let mut out = String::new();
        // A string takes everything.
        let _ = table::write(&mut out, &rows, |n| self.columns[kept[n]].1);
        out
    }

    /// The values as text; NULL is empty.
    pub(super) fn texts(&self) -> Vec<Vec<String>> {
        let cells = |row: &Vec<Value>| row.iter().map(|v| shown(v).unwrap_or_default()).collect();
        self.rows.iter().map(cells).collect()
    }

    /// A list of objects, or the word that it is done.
    fn json(&self) -> String {
        let row = |row: &Vec<Value>| {
            let cell = |((name, number), value): (&(String, bool), &Value)| {
                let value = shown(value).map_or(serde_json::Value::Null, |text| {
                    let exact = |n: &Number| n.as_u64().is_none_or(|n| n <= EXACT);
                    let number = number.then(|| text.parse().ok()).flatten().filter(exact);
                    number.map_or(serde_json::Value::String(text), serde_json::Value::Number)
                });
                (name.clone(), value)
            };
            serde_json::Value::Object(self.columns.iter().zip(row).map(cell).collect::<Map<_, _>>())
        };
        let value = if self.columns.is_empty() {
            serde_json::json!({ "done": true })
        } else {
            serde_json::Value::Array(self.rows.iter().map(row).collect())
        };
        safe(&format!("{value:#}\n"))
    }
}
