//! What a step does, as parsed and before its placeholders are filled in.

/// One line of a script that talks to a session.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The line of the file, from 1.
    pub(crate) line: usize,
    /// The line itself, for messages.
    pub(crate) text: String,
    pub(crate) session: String,
    pub(crate) pace: Pace,
    /// Milliseconds that the response ought to take; 0 is at once.
    pub(crate) expected_ms: Option<u64>,
    /// Below so many a response came at once.
    pub(crate) at_once_ms: u64,
    pub(crate) action: Action,
    /// What the server itself must answer, as a summary.
    pub(crate) expect: Option<String>,
    /// What the proxy must answer instead: a documented difference.
    pub(crate) instead: Option<String>,
}

/// When the response of a step is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Before the next step.
    Now,
    /// By a later `?`; the next step begins when this one waits in the server.
    WhenBlocked,
    /// By a later `?`; the next step begins at once.
    Later,
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Connect,
    Collect,
    Query { attributes: Vec<(String, String)>, sql: String },
    Prepare { handle: String, sql: String },
    Execute { handle: String, words: Vec<String> },
    Fetch { handle: String, rows: u32 },
    CloseStatement { handle: String },
    ResetStatement { handle: String },
    LongData { handle: String, param: u16, text: String },
    InitDb(String),
    Ping,
    Statistics,
    FieldList { table: String, wildcard: String },
    SetOption(u16),
    Raw(String),
    Reset,
    ChangeUser(Options),
    Infile(String),
    Gone,
    Quit,
    Close,
    Rst,
}

impl Action {
    /// The SQL text that the step itself carries.
    pub(crate) fn sql(&self) -> Option<&str> {
        match self {
            Action::Query { sql, .. } | Action::Prepare { sql, .. } => Some(sql),
            _ => None,
        }
    }
}

/// How a session logs in, as far as it differs from the run's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// `none` is no database.
    pub(crate) database: Option<String>,
    pub(crate) collation: Option<u16>,
    /// Capability bits to add and to leave out.
    pub(crate) add: u64,
    pub(crate) remove: u64,
    /// An empty list of connection attributes.
    pub(crate) no_attributes: bool,
}

impl Options {
    /// These options with `more` laid over them; what `more` does not say stays.
    pub(crate) fn with(&self, more: &Options) -> Options {
        Options {
            user: more.user.clone().or_else(|| self.user.clone()),
            password: more.password.clone().or_else(|| self.password.clone()),
            database: more.database.clone().or_else(|| self.database.clone()),
            collation: more.collation.or(self.collation),
            add: (self.add | more.add) & !more.remove,
            remove: (self.remove | more.remove) & !more.add,
            no_attributes: self.no_attributes || more.no_attributes,
        }
    }
}
