//! The stage's own connection to the server, and the server itself.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::own_server::OwnServer;
use crate::script::Flavour;
use crate::stage::eventually;
use crate::wire::decode::text_row;
use crate::wire::{Client, End, Kind};

/// Two starts of a server within this time cannot be told apart by proxies.
const APART: Duration = Duration::from_secs(5);

pub(crate) struct Control {
    pub(crate) own: OwnServer,
    pub(crate) flavour: Flavour,
    client: Mutex<Option<Client>>,
    started: Mutex<Instant>,
}

impl Control {
    #[cfg(feature = "mutants")]
    pub(crate) fn start(flavour: Flavour) -> Self {
        Self::start_with(flavour, &[])
    }

    /// With further options of the server's.
    pub(crate) fn start_with(flavour: Flavour, options: &[&str]) -> Self {
        let own = OwnServer::start(flavour, options);
        Self { own, flavour, client: Mutex::default(), started: Mutex::new(Instant::now()) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.own.server.port
    }

    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first columns of all rows, unless the server is away or refuses.
    pub(crate) fn try_rows(&self, sql: &str) -> Option<Vec<String>> {
        let mut client = self.client();
        if client.is_none() {
            let server = &self.own.server;
            let fresh = Client::connect(&server.host, server.port, &server.root).ok()?;
            *client = Some(fresh).filter(|c| c.login.succeeded());
        }
        let response = client.as_mut()?.query(sql.as_bytes());
        if response.end != End::Complete {
            *client = None;
            return None;
        }
        if response.error().is_some() {
            return None;
        }
        let rows = response.packets.iter().filter(|p| p.kind == Kind::TextRow);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(
            rows.filter_map(|p| text_row(&p.payload)?.first().copied().flatten().map(text))
                .collect(),
        )
    }

    /// Rows of a server that is there, or soon will be.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        eventually(sql, || self.try_rows(sql))
    }

    /// The connection that this speaks through.
    pub(crate) fn own_id(&self) -> String {
        self.rows("SELECT CONNECTION_ID()").concat()
    }

    /// A session that holds the global read lock, unless the server is away or refuses.
    pub(crate) fn lock_all(&self) -> Option<Client> {
        let server = &self.own.server;
        let mut client = Client::connect(&server.host, server.port, &server.root).ok()?;
        let locked = client.login.succeeded()
            && client.query(b"FLUSH TABLES WITH READ LOCK").error().is_none();
        locked.then_some(client)
    }

    /// Kills the server and starts it again.
    pub(crate) fn crash(&self) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        while started.elapsed() < APART {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        *self.client() = None;
        self.own.kill();
        self.own.restart();
        *started = Instant::now();
    }

    /// What a session does, for a reader.
    pub(crate) fn described(&self, id: &str) -> String {
        let what = self.rows(&format!(
            "SELECT CONCAT_WS(' ',command,time,state,info) FROM information_schema.processlist WHERE id={id}"
        ));
        let tags = self.rows(&format!(
            "SELECT CONCAT_WS('=',attr_name,attr_value) FROM performance_schema.session_connect_attrs
             WHERE processlist_id={id}"
        ));
        format!("{id}: {}; {}", what.concat(), tags.join(" "))
    }

    /// Ids of the server's sessions, the stage's own left out.
    pub(crate) fn sessions(&self) -> Vec<String> {
        // MySQL's other table of connections hides those that still roll back.
        let sql = match self.flavour {
            Flavour::MySql => {
                "SELECT processlist_id FROM performance_schema.threads WHERE processlist_user='root'"
            }
            Flavour::MariaDb => "SELECT id FROM information_schema.processlist WHERE user='root'",
        };
        let own = self.own_id();
        let mut ids = self.rows(sql);
        ids.retain(|id| *id != own);
        ids
    }
}
