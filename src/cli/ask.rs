//! `lockstead locks` and its companions: what a running proxy is asked on its socket for administrators.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Value};
use serde_json::{Map, Number};

use super::doctor::plain;
use super::{failed, runtime, table, usage};
use crate::admin::EXACT;
use crate::config::{ConfigError, Plan, Raw};

/// What stands behind the options in --help.
pub(super) const HELP: &str = "\
It asks the proxy that runs on this machine, and needs to be root or the user that the proxy runs
as. docs/administration.md explains the columns.

Exit status:
  0  done
  1  the proxy refused, or failed
  2  wrong usage or configuration, or no proxy answers";

/// Where systemd puts the socket of the service.
const SERVICE: &str = "/run/lockstead/admin.sock";

/// How a proxy is found, and how it is answered.
#[derive(Debug, Args)]
pub(super) struct Place {
    /// The proxy's configuration file
    #[arg(long, short, value_name = "FILE", env = "LOCKSTEAD_CONFIG")]
    config: Option<PathBuf>,
    /// Its socket for administrators: unix:PATH [default: as the proxy itself finds it, or that of the service]
    #[arg(long, value_name = "SOCKET", env = "LOCKSTEAD_ADMIN")]
    admin: Option<String>,
    #[arg(long, env = "LOCKSTEAD_LISTEN", hide = true)]
    listen: Option<String>,
    #[arg(long, env = "LOCKSTEAD_STATE_DIR", hide = true)]
    state_dir: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A question or an order.
#[derive(Debug, Subcommand)]
pub(super) enum Ask {
    /// Show the locks that are held, by whatever proxy
    #[command(after_help = HELP)]
    Locks {
        /// Those whose names match, as in SQL: % for any text, _ for a character
        #[arg(long, value_name = "PATTERN")]
        like: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Show the sessions of the proxy that wait for a lock
    #[command(after_help = HELP)]
    Waiters(Place),
    /// Show the sessions of the proxy
    #[command(after_help = HELP)]
    Sessions(Place),
    /// Show all proxies that share the lock tables
    #[command(after_help = HELP)]
    Proxies(Place),
    /// Show the last deadlocks that the proxy has ended
    #[command(after_help = HELP)]
    Deadlocks(Place),
    /// Show statements with lock calls by shape: calls, answers, times
    #[command(after_help = HELP)]
    Digests(Place),
    /// Show whether the proxy may grant locks, and for how long its own are certain
    #[command(after_help = HELP)]
    Lease(Place),
    /// Take a lock from its holder, whose session is closed, at whatever proxy
    #[command(after_help = HELP)]
    Release {
        /// As `lockstead locks` shows it
        name: String,
        /// Only if it is held under this token
        #[arg(long, value_name = "N")]
        token: Option<u64>,
        #[command(flatten)]
        place: Place,
    },
    /// End a session of the proxy at the server; its locks are freed
    #[command(after_help = HELP)]
    Kill {
        /// As CONNECTION_ID() and `lockstead sessions` tell it
        connection_id: u64,
        #[command(flatten)]
        place: Place,
    },
    /// Have /readyz say no, so that load balancers send no more clients
    #[command(after_help = HELP)]
    Drain(Place),
    /// End what `lockstead drain` began
    #[command(after_help = HELP)]
    Resume(Place),
    /// Have configuration and certificates read again
    #[command(after_help = HELP)]
    Reload(Place),
    /// Have a new process of the program take the proxy's place
    #[command(after_help = HELP)]
    Upgrade {
        /// Reload, and only go on if a setting that has changed, or a newer program, needs it
        #[arg(long)]
        if_needed: bool,
        #[command(flatten)]
        place: Place,
    },
}

impl Ask {
    /// The command in words of the administration, and where to say it.
    fn into_command(self) -> (String, Place) {
        match self {
            Self::Locks { like: None, place } => ("SHOW LOCKS".to_owned(), place),
            Self::Locks { like: Some(pattern), place } => {
                (format!("SHOW LOCKS LIKE {}", quoted(&pattern)), place)
            }
            Self::Waiters(place) => ("SHOW WAITERS".to_owned(), place),
            Self::Sessions(place) => ("SHOW SESSIONS".to_owned(), place),
            Self::Proxies(place) => ("SHOW PROXIES".to_owned(), place),
            Self::Deadlocks(place) => ("SHOW DEADLOCKS".to_owned(), place),
            Self::Digests(place) => ("SHOW DIGESTS".to_owned(), place),
            Self::Lease(place) => ("SHOW LEASE".to_owned(), place),
            Self::Release { name, token, place } => {
                let token = token.map(|token| format!(" TOKEN {token}")).unwrap_or_default();
                (format!("RELEASE LOCK {}{token}", quoted(&name)), place)
            }
            Self::Kill { connection_id, place } => (format!("KILL {connection_id}"), place),
            Self::Drain(place) => ("DRAIN".to_owned(), place),
            Self::Resume(place) => ("RESUME".to_owned(), place),
            Self::Reload(place) => ("RELOAD".to_owned(), place),
            Self::Upgrade { if_needed: false, place } => ("UPGRADE".to_owned(), place),
            Self::Upgrade { if_needed: true, place } => ("UPGRADE IF NEEDED".to_owned(), place),
        }
    }
}

/// As SQL's text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

pub(super) fn run(ask: Ask) -> ExitCode {
    let (command, place) = ask.into_command();
    let json = place.json;
    let socket = match socket(place) {
        Ok(Some(socket)) => socket,
        Ok(None) => {
            eprintln!("lockstead: `admin` is off, so there is nobody to ask");
            return ExitCode::from(2);
        }
        Err(e) => return usage(&e),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    match runtime.block_on(ask_at(&socket, &command)) {
        Ok(answer) => {
            print!("{}", if json { answer.json() } else { answer.text() });
            ExitCode::SUCCESS
        }
        Err(e) => told(&socket, e),
    }
}

/// Says why there is no answer.
pub(super) fn told(socket: &Path, error: mysql_async::Error) -> ExitCode {
    match error {
        mysql_async::Error::Server(refused) => {
            eprintln!("lockstead: {}", plain(&refused.message));
            // Refused at the door.
            if refused.code == 1045 { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
        e => {
            eprintln!(
                "lockstead: no proxy answers at unix:{}: {e}. Does it run on this machine, and as this user? \
                 --config or --admin say where it is",
                socket.display()
            );
            ExitCode::from(2)
        }
    }
}

pub(super) fn socket(place: Place) -> Result<Option<PathBuf>, ConfigError> {
    let Place { config, admin, listen, state_dir, .. } = place;
    let told = config.is_some() || admin.is_some();
    let listen = listen.and_then(|text| text.parse().ok());
    let over = Raw { listen, admin, state_dir, ..Raw::default() };
    let found = Plan::admin(config.as_deref(), over)?;
    let there = found.as_ref().is_some_and(|path| path.exists());
    let service = !told && !there && Path::new(SERVICE).exists();
    Ok(if service { Some(PathBuf::from(SERVICE)) } else { found })
}

/// Rows under named columns.
pub(super) struct Answer {
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<Value>>,
}

/// A connection to the proxy that listens there.
pub(super) async fn connect(socket: &Path) -> Result<Conn, mysql_async::Error> {
    let options = OptsBuilder::default()
        .socket(Some(socket.display().to_string()))
        .user(Some("admin"))
        .prefer_socket(true);
    Conn::new(options).await
}

async fn ask_at(socket: &Path, command: &str) -> Result<Answer, mysql_async::Error> {
    let mut conn = connect(socket).await?;
    let answer = ask(&mut conn, command).await;
    // Only for politeness.
    let _ = conn.disconnect().await;
    answer
}

/// Asks once.
pub(super) async fn ask(conn: &mut Conn, command: &str) -> Result<Answer, mysql_async::Error> {
    let mut result = conn.query_iter(command).await?;
    let number =
        |kind| matches!(kind, ColumnType::MYSQL_TYPE_LONGLONG | ColumnType::MYSQL_TYPE_DOUBLE);
    let columns = result.columns_ref().iter();
    let columns = columns.map(|c| (c.name_str().into_owned(), number(c.column_type()))).collect();
    let rows: Vec<mysql_async::Row> = result.collect().await?;
    let rows = rows.into_iter().map(mysql_async::Row::unwrap).collect();
    Ok(Answer { columns, rows })
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

impl Answer {
    /// A column without any value is left out: who has one cluster is not shown its name.
    pub(super) fn text(&self) -> String {
        if self.columns.is_empty() {
            return "done\n".to_owned();
        }
        let has = |n: &usize| {
            self.columns[*n].0 != "cluster" || self.rows.iter().any(|row| row[*n] != Value::NULL)
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
        format!("{value:#}\n")
    }
}
