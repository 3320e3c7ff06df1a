//! A client's session that writes down what it was told, and judges what only it can know.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstead_support::session::account;

use crate::history::{Grant, History, Hold, Increment, Look, Loss, Said, Wait, now};
use crate::wire::decode::text_row;
use crate::wire::{Account, Client, End, Kind, Shape};

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The session lives on.
    Error(u16),
    /// Nobody knows the result of the statement.
    Gone,
}

/// Of a session whose locks were not certain any more.
const LOST: u16 = 4031;

/// No answer may take longer, beside a lock's timeout.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long a lock's row may be missing where locks move to another server.
const MOVING: Duration = Duration::from_secs(10);

/// Where the history of a client goes, who it is, and where it finds its lock rows.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) history: Arc<History>,
    pub(crate) schema: Arc<str>,
    pub(crate) account: Account,
    /// Locks move to other servers. A row may come there after its session, and a session that has lost its server may
    /// know no more of its locks than IS_USED_LOCK says: that answer counts.
    pub(crate) moves: bool,
}

impl Place {
    /// For clients of root's before one server.
    pub(crate) fn new(history: &Arc<History>, schema: &str) -> Self {
        let (history, schema) = (Arc::clone(history), schema.into());
        Self { history, schema, account: account(), moves: false }
    }
}

pub(crate) struct Session {
    client: Option<Client>,
    pub(crate) number: u64,
    pub(crate) conn: u64,
    pub(crate) proxy: usize,
    place: Place,
    /// The model: acquisitions of each name.
    counts: HashMap<String, u64>,
    holds: Vec<Hold>,
    /// Whether its locks are rows, too: not of one directly at the server.
    has_rows: bool,
    /// Asks for locks by this procedure.
    routine: Option<String>,
    /// How it ended, told in what it held.
    end: &'static str,
}

impl Session {
    /// `None`: the login failed.
    pub(crate) fn open(place: &Place, proxy: usize, port: u16) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let client = Client::connect("127.0.0.1", port, &place.account).ok()?;
        if !client.login.succeeded() {
            return None;
        }
        let conn = u64::from(client.connection_id());
        Some(Self {
            client: Some(client),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            conn,
            proxy,
            place: place.clone(),
            counts: HashMap::new(),
            holds: Vec::new(),
            has_rows: true,
            routine: None,
            end: "ended by its client",
        })
    }

    /// The session is directly at the server, where no lock has a row.
    pub(crate) fn without_rows(mut self) -> Self {
        self.has_rows = false;
        self
    }

    /// Asks for locks by a procedure.
    pub(crate) fn by_routine(mut self, name: String) -> Self {
        self.routine = Some(name);
        self
    }

    /// Sends a statement and goes on.
    pub(crate) fn send(&mut self, sql: &str) {
        if let Some(client) = &mut self.client {
            client.send_query(sql.as_bytes(), &[]);
        }
    }

    /// The reply to what was sent: the first value of the first row, if there is one.
    fn reply(&mut self, patience: Duration) -> Result<Option<String>, Broken> {
        let client = self.client.as_mut().ok_or(Broken::Gone)?;
        client.patience = patience;
        let response = client.read_response(Shape::Query);
        if let Some(code) = response.error() {
            self.end = "an error";
            if code == LOST && !self.holds.is_empty() {
                let keys = self.holds.iter().map(|h| h.key.clone()).collect();
                let loss = Loss { session: self.number, proxy: self.proxy, at: now(), keys };
                self.place.history.events().losses.push(loss);
            }
            return Err(Broken::Error(code));
        }
        if response.end != End::Complete {
            if response.end == End::TimedOut {
                self.place
                    .history
                    .odd("", format!("no answer within {patience:?} at proxy {}", self.proxy));
            }
            self.end = "its connection was lost";
            self.client = None;
            return Err(Broken::Gone);
        }
        let row = response.packets.iter().find(|p| p.kind == Kind::TextRow);
        let value =
            row.and_then(|r| text_row(&r.payload)?.first().copied().flatten().map(<[u8]>::to_vec));
        Ok(value.map(|v| String::from_utf8_lossy(&v).into_owned()))
    }

    /// Reads a counter under its lock, to write one more.
    pub(crate) fn read_counter(&mut self, table: &str, n: usize) -> Result<Increment, Broken> {
        let asked = now();
        let read = self.ask(&format!("SELECT v FROM {table} WHERE k={n}"))?;
        let read = read.and_then(|v| v.parse().ok()).expect("a counter");
        let (key, session, proxy) = (format!("counter {n}"), self.number, self.proxy);
        let at = now();
        Ok(Increment { key, session, proxy, asked, at, read, sure: false, sent: at, written: at })
    }

    /// Runs a statement. That it succeeded proves that the locks were held when it was sent.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<Option<String>, Broken> {
        let sent = now();
        self.send(sql);
        let value = self.reply(PATIENCE)?;
        self.extend(sent);
        Ok(value)
    }

    /// Runs a statement that the proxy may answer alone, which proves nothing of other locks.
    fn ask_proxy(&mut self, sql: &str) -> Result<Option<String>, Broken> {
        self.send(sql);
        self.reply(PATIENCE)
    }

    fn extend(&mut self, sent: Duration) {
        for hold in &mut self.holds {
            hold.until = hold.until.max(sent);
        }
    }

    fn odd(&self, key: &str, what: &str) {
        let text = format!("session {} at proxy {}: {what}", self.number, self.proxy);
        self.place.history.odd(key, text);
    }

    pub(crate) fn holds(&self, key: &str) -> bool {
        self.counts.contains_key(key)
    }

    /// Asks for a lock, and goes on.
    pub(crate) fn ask_for(&mut self, key: &str, limit: u64) -> Duration {
        match &self.routine {
            None => self.send(&format!("SELECT GET_LOCK('{key}', {limit})")),
            Some(name) => self.send(&format!("CALL {name}('{key}', {limit})")),
        }
        now()
    }

    /// Hears whether the lock asked for is held now.
    pub(crate) fn hear(&mut self, key: &str, limit: u64, from: Duration) -> Result<bool, Broken> {
        let limit = Duration::from_secs(limit);
        let reply = self.reply(limit + PATIENCE);
        let to = now();
        let wait = Wait { key: key.to_owned(), proxy: self.proxy, from, to, limit };
        self.place.history.events().waits.push(wait);
        let value = match reply {
            Err(Broken::Error(code)) if self.place.moves && !self.holds(key) => {
                return self.check_not_held(key, code).map(|()| false);
            }
            // The store failed, a deadlock was found, or the row is another's: not taken, and the session goes on.
            Err(Broken::Error(1105 | 1205 | 1213 | 3058)) if !self.holds(key) => return Ok(false),
            reply => reply?,
        };
        if value.as_deref() == Some("1") {
            self.extend(from);
        }
        match (value.as_deref(), self.counts.get_mut(key)) {
            (Some("1"), Some(count)) => *count += 1,
            (Some("1"), None) => {
                self.counts.insert(key.to_owned(), 1);
                let grant = Grant { proxy: self.proxy, at: to };
                self.place.history.events().grants.push(grant);
                self.holds.push(Hold {
                    key: key.to_owned(),
                    session: self.number,
                    conn: self.conn,
                    proxy: self.proxy,
                    granted: to,
                    until: to,
                    token: None,
                    end: "",
                });
                return Ok(true);
            }
            (Some("0") | None, None) => return Ok(false),
            (other, held) => {
                let what = format!("GET_LOCK said {other:?}, held {held:?} times");
                self.odd(key, &what);
            }
        }
        Ok(true)
    }

    /// A GET_LOCK that was answered with an error has taken nothing.
    fn check_not_held(&mut self, key: &str, code: u16) -> Result<(), Broken> {
        let said = self.ask_proxy(&format!("SELECT IS_USED_LOCK('{key}')"))?;
        if said == Some(self.conn.to_string()) {
            self.odd(key, &format!("GET_LOCK said error {code}, and the lock is held"));
        }
        Ok(())
    }

    /// Takes a lock; whether it is held now.
    pub(crate) fn get(&mut self, key: &str, limit: u64) -> Result<bool, Broken> {
        let from = now();
        self.ask_for(key, limit);
        self.hear(key, limit, from)
    }

    /// Takes a lock, and reads its token, if it has one.
    pub(crate) fn take(&mut self, key: &str, limit: u64) -> Result<bool, Broken> {
        Ok(self.get(key, limit)? && (!self.has_rows || self.read_token(key)?.is_some()))
    }

    /// The token of a lock that is held. While the session lives its row names it.
    pub(crate) fn read_token(&mut self, key: &str) -> Result<Option<u64>, Broken> {
        let sql = format!(
            "SELECT token FROM {}.held_locks WHERE name='{key}' AND connection_id=CONNECTION_ID()",
            self.place.schema
        );
        let patience = if self.place.moves { MOVING } else { Duration::ZERO };
        let end = now() + patience;
        let mut token = self.ask(&sql)?.and_then(|t| t.parse().ok());
        while token.is_none() && now() < end {
            std::thread::park_timeout(Duration::from_millis(50));
            token = self.ask(&sql)?.and_then(|t| t.parse().ok());
        }
        if token.is_none() {
            self.odd(key, "is told that it holds the lock, but the row does not say so");
        }
        if let Some(hold) = self.holds.iter_mut().find(|h| h.key == key) {
            hold.token = token;
        }
        Ok(token)
    }

    /// Gives back one acquisition.
    pub(crate) fn release(&mut self, key: &str) -> Result<(), Broken> {
        let sent = now();
        let value = match self.ask_proxy(&format!("SELECT RELEASE_LOCK('{key}')")) {
            Ok(value) => value,
            Err(broken) => {
                // From here on nobody is certain of it.
                self.forget(key, "released in doubt");
                return Err(broken);
            }
        };
        if value.as_deref() == Some("1") {
            self.extend(sent);
        }
        match (value.as_deref(), self.counts.get(key).copied()) {
            (Some("1"), Some(1)) => self.forget(key, "released"),
            (Some("1"), Some(count)) => {
                self.counts.insert(key.to_owned(), count - 1);
            }
            (Some("0") | None, None) => {}
            (other, held) => {
                self.odd(key, &format!("RELEASE_LOCK said {other:?}, held {held:?} times"));
                self.forget(key, "released in doubt");
            }
        }
        Ok(())
    }

    /// Gives back everything.
    pub(crate) fn release_all(&mut self) -> Result<(), Broken> {
        let value = self.ask("SELECT RELEASE_ALL_LOCKS()")?;
        let count: u64 = self.counts.values().sum();
        if value != Some(count.to_string()) {
            self.odd("", &format!("RELEASE_ALL_LOCKS said {value:?}, not {count}"));
        }
        self.finish("released with all");
        Ok(())
    }

    /// IS_FREE_LOCK must not contradict the locks that this session, and any other, holds.
    pub(crate) fn is_free(&mut self, key: &str) -> Result<(), Broken> {
        let from = now();
        let value = self.ask_proxy(&format!("SELECT IS_FREE_LOCK('{key}')"))?;
        let said = match (value.as_deref(), self.holds(key)) {
            (Some("1"), false) => Said::Free,
            (Some("0"), _) => Said::Used,
            (other, holds) => {
                self.odd(key, &format!("IS_FREE_LOCK said {other:?}, held here: {holds}"));
                return Ok(());
            }
        };
        self.looked(key, from, said);
        Ok(())
    }

    /// IS_USED_LOCK must not contradict the locks that this session, and any other, holds.
    pub(crate) fn is_used(&mut self, key: &str) -> Result<(), Broken> {
        let from = now();
        let value = self.ask_proxy(&format!("SELECT IS_USED_LOCK('{key}')"))?;
        let said = match value.and_then(|v| v.parse().ok()) {
            None => Said::Free,
            Some(conn) => Said::UsedBy(conn),
        };
        if self.holds(key) {
            if said != Said::UsedBy(self.conn) {
                self.odd(key, &format!("IS_USED_LOCK said {said:?} of a lock held here"));
            } else if self.place.moves {
                self.extend(from);
            }
            return Ok(());
        }
        self.looked(key, from, said);
        Ok(())
    }

    fn looked(&self, key: &str, from: Duration, said: Said) {
        let (key, to) = (key.to_owned(), now());
        let look = Look { key, session: self.number, from, to, said };
        self.place.history.events().looks.push(look);
    }

    fn forget(&mut self, key: &str, end: &'static str) {
        self.counts.remove(key);
        let at = self.holds.iter().position(|h| h.key == key);
        if let Some(hold) = at.map(|at| self.holds.swap_remove(at)) {
            self.place.history.events().holds.push(Hold { end, ..hold });
        }
    }

    fn finish(&mut self, end: &'static str) {
        self.counts.clear();
        let holds = self.holds.drain(..).map(|hold| Hold { end, ..hold });
        self.place.history.events().holds.extend(holds);
    }

    /// Leaves with COM_QUIT.
    pub(crate) fn quit(mut self) {
        self.end = "quit";
        if let Some(mut client) = self.client.take() {
            client.quit();
        }
    }

    /// Leaves with a FIN.
    pub(crate) fn hang_up(mut self) {
        self.end = "hung up";
        if let Some(client) = self.client.take() {
            client.hang_up();
        }
    }

    /// Leaves with a RST.
    pub(crate) fn reset(mut self) {
        self.end = "reset";
        if let Some(client) = self.client.take() {
            client.reset_tcp();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.finish(self.end);
        self.place.history.events().sessions += 1;
    }
}
