//! One connection, by whatever client, and what is printed of it.

use std::fmt::{self, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use sha2::{Digest, Sha256};
use time::PrimitiveDateTime;

pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub fn schema() -> String {
    setting("DB_SCHEMA")
}

pub fn tls() -> bool {
    setting("DB_TLS") == "on"
}

pub fn mariadb() -> bool {
    setting("DB_FLAVOUR") == "mariadb"
}

/// How the connection of a case differs from the usual.
#[derive(Default)]
pub struct Options {
    pub user: Option<&'static str>,
    pub password: Option<&'static str>,
    pub schema: Option<&'static str>,
    pub compress: bool,
}

impl Options {
    pub fn account(&self) -> [String; 3] {
        let or = |own: Option<&str>, usual| own.map_or_else(|| setting(usual), str::to_owned);
        [or(self.user, "DB_USER"), or(self.password, "DB_PASSWORD"), or(self.schema, "DB_SCHEMA")]
    }
}

#[derive(Clone)]
pub enum Arg {
    Null,
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Moment(PrimitiveDateTime),
}

impl From<i64> for Arg {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}

impl From<&str> for Arg {
    fn from(v: &str) -> Self {
        Self::Text(v.into())
    }
}

#[derive(Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i128),
    Text(String),
    Bytes(Vec<u8>),
    Other(String),
}

impl Value {
    /// Text if it may be one.
    pub fn bytes(v: &[u8]) -> Self {
        match std::str::from_utf8(v) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Bytes(v.into()),
        }
    }

    /// A number, which the text protocol gives as text.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Int(v) => Some(*v),
            Self::Text(v) => v.parse().ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Int(v) => write!(f, "{v}"),
            Self::Text(v) if v.len() > 80 => write!(f, "text:{}:{}", v.len(), hash(v.as_bytes())),
            Self::Text(v) => write!(f, "{v:?}"),
            Self::Bytes(v) if v.len() > 80 => write!(f, "bytes:{}:{}", v.len(), hash(v)),
            Self::Bytes(v) => write!(f, "x'{}'", hex(v)),
            Self::Other(v) => f.write_str(v),
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, b| {
        _ = write!(all, "{b:02x}");
        all
    })
}

pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// What arrives in answer to a statement.
pub enum Piece {
    /// Names with types, where the client tells them even if there is no row.
    Columns(String),
    Row(Vec<(String, Value)>),
    /// The end of a result, with what the client reports about it.
    Done(String),
}

/// An error, as it is printed.
pub type Fault = String;

/// Takes the pieces; `false` when it has seen enough.
pub type Each<'a> = &'a mut (dyn FnMut(Piece) -> bool + Send);

pub type Boxed = Box<dyn Session>;

pub trait Session: Send {
    /// As text, if the client has a way to do that with results.
    fn text(&mut self, sql: &str, each: Each) -> Result<(), Fault>;
    fn prepared(&mut self, sql: &str, args: &[Arg], each: Each) -> Result<(), Fault>;
    /// Gives a statement up after this time: the connection is as the client leaves it.
    fn cancel(&mut self, sql: &str, after: Duration) -> Option<Fault>;
    /// Ends it, or gives it back to its pool.
    fn close(self: Box<Self>);
}

pub trait Pool: Send + Sync {
    fn take(&self) -> Result<Boxed, Fault>;
    fn close(self: Box<Self>);
}

/// Bytes that do not compress into nothing, and are the same everywhere.
pub fn pattern(size: u64) -> Vec<u8> {
    (0..size).map(|i| ((i * 2_654_435_761) >> 13) as u8).collect()
}

/// For others to get on; what is printed does not depend on how far they do.
#[expect(clippy::disallowed_methods, reason = "there is nothing to wait for by name")]
pub fn nap(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// The case that runs.
static CURRENT: Mutex<&str> = Mutex::new("?");

pub fn begin(case: &'static str) {
    *CURRENT.lock().unwrap() = case;
}

pub fn say(text: impl fmt::Display) {
    let case = *CURRENT.lock().unwrap();
    println!("{case}: {}", text.to_string().replace('\n', "\\n").replace(&schema(), "SCHEMA"));
}

pub fn tell(what: &str, result: Result<impl fmt::Display, Fault>) {
    match result {
        Ok(value) => say(format_args!("{what} = {value}")),
        Err(fault) => say(format_args!("{what} = {fault}")),
    }
}

impl dyn Session {
    /// Prepared if there is anything to bind.
    pub fn run(&mut self, sql: &str, args: &[Arg], each: Each) -> Result<(), Fault> {
        match args {
            [] => self.text(sql, each),
            _ => self.prepared(sql, args, each),
        }
    }

    /// The first column of the first row.
    pub fn value(&mut self, sql: &str, args: &[Arg]) -> Result<Value, Fault> {
        let mut found = None;
        self.run(sql, args, &mut |piece| {
            if let (None, Piece::Row(row)) = (&found, piece) {
                found = row.into_iter().next().map(|(_, value)| value);
            }
            true
        })?;
        found.ok_or_else(|| "no row".into())
    }

    pub fn told(&mut self, what: &str, sql: &str, args: &[Arg]) {
        tell(what, self.value(sql, args));
    }

    pub fn number(&mut self, sql: &str, args: &[Arg]) -> i128 {
        let value = self.value(sql, args).unwrap_or_else(|fault| panic!("{sql}: {fault}"));
        value.number().unwrap_or_else(|| panic!("{sql}: {value} is no number"))
    }

    /// Everything that arrives, in one line.
    pub fn listed(&mut self, what: &str, sql: &str, args: &[Arg]) {
        list(what, |each| self.run(sql, args, each));
    }

    /// As a prepared statement, with nothing to bind.
    pub fn listed_prepared(&mut self, what: &str, sql: &str) {
        list(what, |each| self.prepared(sql, &[], each));
    }

    /// For what a case needs to go on.
    pub fn must(&mut self, sql: &str) {
        self.text(sql, &mut |_| true).unwrap_or_else(|fault| panic!("{sql}: {fault}"));
    }
}

fn list(what: &str, work: impl FnOnce(Each) -> Result<(), Fault>) {
    let mut all = String::new();
    let result = work(&mut |piece| {
        _ = match piece {
            Piece::Columns(columns) => write!(all, " ({columns})"),
            Piece::Row(row) => write!(all, " {}", line(&row)),
            Piece::Done(done) => write!(all, " {{{done}}}"),
        };
        true
    });
    if let Err(fault) = result {
        _ = write!(all, " {fault}");
    }
    say(format_args!("{what} ={all}"));
}

pub fn line(row: &[(String, Value)]) -> String {
    let cells: Vec<_> = row.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("[{}]", cells.join(" "))
}
