//! Whether clients can log in at the server, as far as the proxy knows: from their connections, from
//! logins of its own. While they cannot, that is tried again and again, so that its end is noticed where
//! load balancers send no clients meanwhile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus::IntGauge;
use tokio::time::sleep;

use super::greeted::{GreetError, Greeted, connect};
use super::own::{Credentials, Guard, Obstacle, log_in};
use crate::config::Config;
use crate::lock::codes;
use crate::net::peer::Peer;
use crate::protocol::frame::HEADER;
use crate::servers::writer::Writer;

/// How often a server that cannot be reached is tried.
const AGAIN: Duration = Duration::from_secs(1);
/// `ER_HOST_IS_BLOCKED`, `ER_HOST_NOT_PRIVILEGED`: the server takes no connection of this host's.
const SHUT_OUT: [u16; 2] = [1129, 1130];

/// Why clients cannot log in.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outage {
    /// No greeting.
    Unreachable(String),
    /// A greeting, but no login.
    Closed(String),
}

/// Which of a cluster's servers is the writer, and whether it can be reached.
#[derive(Clone)]
pub struct Reach {
    writer: Writer,
    problem: Arc<Mutex<Option<Outage>>>,
    /// `None`: of sessions at other servers than the writer, which know nothing of it.
    up: Option<IntGauge>,
}

impl Reach {
    /// The reach at the start: `problem` says why the server could not be reached then.
    pub fn new(writer: Writer, problem: Option<String>, up: IntGauge) -> Self {
        let reach = Self { writer, problem: Arc::default(), up: Some(up) };
        reach.set(problem.map(Outage::Unreachable));
        reach
    }

    /// For sessions at other servers than the writer: their failures there say nothing about it.
    pub fn of_replicas(writer: Writer) -> Self {
        Self { writer, problem: Arc::default(), up: None }
    }

    /// Which server is the writer.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    fn set(&self, problem: Option<Outage>) {
        let Some(up) = &self.up else { return };
        up.set(i64::from(problem.is_none()));
        *self.problem.lock() = problem;
    }

    /// Takes in the result of a connection. A server that refuses one for the moment is there.
    pub fn heard(&self, result: &Result<Greeted, GreetError>) {
        match result {
            Err(GreetError::Refused(frame)) => match refusal(frame) {
                (code, message) if SHUT_OUT.contains(&code) => self.closed(&message),
                // Another Lockstead, which reaches no server.
                (codes::NO_SERVER, message) => self.set(Some(Outage::Unreachable(message))),
                _ => self.answers(),
            },
            // There was none to be reached.
            Err(GreetError::NoWriter { .. } | GreetError::NoReplica { .. }) => {}
            Err(e) => self.set(Some(Outage::Unreachable(e.to_string()))),
            Ok(_) => self.answers(),
        }
    }

    /// A greeting says nothing about logins.
    fn answers(&self) {
        let unreachable = matches!(*self.problem.lock(), Some(Outage::Unreachable(_)));
        if unreachable {
            self.set(None);
        }
    }

    /// Takes in the result of one of the proxy's own logins.
    pub fn tried<T>(&self, result: &Result<T, Obstacle>, guard: &Guard) {
        match result {
            Ok(_) => self.open(),
            Err(e) if e.is_lasting() && guard.of_everybody => self.closed(&e.to_string()),
            Err(_) => {}
        }
    }

    /// A client has logged in.
    pub fn open(&self) {
        if self.problem.lock().is_some() {
            self.set(None);
        }
    }

    /// No client can log in.
    pub fn closed(&self, why: &str) {
        self.set(Some(Outage::Closed(why.to_owned())));
    }

    /// Why clients cannot log in.
    pub fn problem(&self) -> Option<String> {
        if let Some(problem) = self.writer.problem() {
            return Some(problem);
        }
        let backend = &self.writer;
        self.problem.lock().as_ref().map(|problem| match problem {
            Outage::Unreachable(why) => format!("no connection to {backend}: {why}"),
            Outage::Closed(why) => format!("clients cannot log in at {backend}: {why}"),
        })
    }

    /// Connects and logs in.
    pub async fn log_in(&self, config: &Config, guard: &Guard, account: &Credentials) {
        // Some servers accept no connection without it.
        let header = config.backend_proxy_protocol.then_some(Peer(None));
        let Some(to) = self.writer.now() else { return };
        match connect(&to, config.connect_timeout, header).await {
            // Not hung up: that would count as a failed handshake there.
            Ok(greeted) => self.tried(&log_in(greeted, guard, account).await, guard),
            failed => self.heard(&failed),
        }
    }

    /// How long a problem is left to itself. Logins are seen at the server, and may be logged there.
    fn pause(&self) -> Duration {
        match *self.problem.lock() {
            Some(Outage::Closed(_)) => AGAIN * 5,
            _ => AGAIN,
        }
    }

    /// Tries it while clients cannot log in; runs as long as the process.
    pub async fn watch(
        self,
        settings: impl Fn() -> (Arc<Config>, Arc<Guard>),
        account: Credentials,
    ) {
        loop {
            sleep(self.pause()).await;
            if self.problem.lock().is_none() {
                continue;
            }
            let (config, guard) = settings();
            self.log_in(&config, &guard, &account).await;
            if self.problem.lock().is_none() {
                tracing::info!(backend = %self.writer, "clients can log in again");
            }
        }
    }
}

/// An error instead of a greeting.
fn refusal(frame: &[u8]) -> (u16, String) {
    match frame.get(HEADER..) {
        Some([0xff, low, high, text @ ..]) => {
            (u16::from_le_bytes([*low, *high]), String::from_utf8_lossy(text).into_owned())
        }
        _ => (0, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::config::{HostPort, ServerAddress};
    use crate::protocol::reply::ErrorReply;

    fn refused(code: u16, message: &str) -> Result<Greeted, GreetError> {
        let mut frame = Vec::new();
        let error = ErrorReply { code, state: "HY000", message: message.to_owned() };
        error.encode(&mut frame, 0, true);
        Err(GreetError::Refused(frame))
    }

    #[test]
    fn only_a_login_opens_what_is_closed() {
        let up = IntGauge::new("up", "of a test").expect("a gauge");
        let backend = HostPort { host: "db".to_owned(), port: 3306 };
        let writer = Writer::among(vec![ServerAddress { store: backend.clone(), backend }]);
        let reach = Reach::new(writer, Some("gone".to_owned()), up.clone());
        let problem = || reach.problem().unwrap_or_default();
        assert_eq!((problem().as_str(), up.get()), ("no connection to db:3306: gone", 0));
        reach.heard(&refused(1040, "Too many connections"));
        assert_eq!((problem().as_str(), up.get()), ("", 1));
        reach.heard(&refused(1129, "Host 'a' is blocked"));
        assert_eq!(problem(), "clients cannot log in at db:3306: Host 'a' is blocked");
        reach.heard(&refused(1040, "Too many connections"));
        assert_eq!(up.get(), 0, "{}", problem());
        reach.open();
        assert_eq!(up.get(), 1);
        reach.heard(&refused(1429, "no server"));
        assert_eq!(problem(), "no connection to db:3306: no server", "said by another proxy");
        let broken = io::Error::from(io::ErrorKind::UnexpectedEof);
        reach.heard(&Err(GreetError::Io(broken)));
        assert_eq!(up.get(), 0);
    }
}
