//! Where a server is, and root's own connection to it.

use crate::Flavour;
use crate::wire::decode::text_row;
use crate::wire::{Account, Client, End, Kind, Response};

/// MySQL's other table of connections fails (error 3854) while any session runs a statement with
/// a character beyond the basic plane.
const MYSQL_PROCESSES: &str = "performance_schema.processlist";
const MARIADB_PROCESSES: &str = "information_schema.PROCESSLIST";

/// A server and its root account.
#[derive(Debug, Clone)]
pub struct Server {
    /// `mysql://user:password@host:port/`, root's.
    pub url: String,
    /// Where it is.
    pub host: String,
    /// Where it listens.
    pub port: u16,
    /// The administrative account.
    pub root: Account,
}

impl Server {
    /// The server of the environment; without one the tests cannot run, and say so.
    pub fn from_env(flavour: Flavour) -> Server {
        let variable = flavour.variable();
        let url = std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: run the tests by `make test`"));
        Server::parse(&url)
            .unwrap_or_else(|| panic!("{variable}={url} is not mysql://user:password@host:port/"))
    }

    /// The server of a URL `mysql://user:password@host:port/`.
    pub fn parse(url: &str) -> Option<Server> {
        let rest = url.strip_prefix("mysql://")?;
        let (login, place) = rest.split_once('@')?;
        let (user, password) = login.split_once(':')?;
        let place = place.split_once('/').map_or(place, |(place, _)| place);
        let (host, port) = place.rsplit_once(':')?;
        Some(Server {
            url: url.to_owned(),
            host: host.to_owned(),
            port: port.parse().ok()?,
            root: Account::new(user, password),
        })
    }

    /// A connection of root's, straight to the server.
    pub fn root(&self) -> Root {
        let client = Client::connect(&self.host, self.port, &self.root);
        let client = client.unwrap_or_else(|e| panic!("no connection to {}: {e}", self.url));
        assert!(client.login.succeeded(), "root cannot log in at {}", self.url);
        let greeting = client.login.greeting.clone().unwrap_or_default();
        let mariadb = String::from_utf8_lossy(&greeting.version).contains("MariaDB");
        let processes = if mariadb { MARIADB_PROCESSES } else { MYSQL_PROCESSES };
        Root { client, processes }
    }

    /// Logs in once, so that caching_sha2_password knows the account and later logins are alike.
    pub fn warm_up(&self, user: &str, password: &str) {
        let client = Client::connect(&self.host, self.port, &Account::new(user, password));
        let client = client.unwrap_or_else(|e| panic!("no connection to {}: {e}", self.url));
        assert!(client.login.succeeded(), "{user} cannot log in at {}", self.url);
    }
}

/// Root's own connection.
pub struct Root {
    client: Client,
    /// The table of connections.
    processes: &'static str,
}

impl Root {
    /// Runs a statement that must succeed.
    pub fn run(&mut self, sql: &str) -> Response {
        let response = self.client.query(sql.as_bytes());
        assert!(
            response.error().is_none() && response.end == End::Complete,
            "{sql}\n{}",
            crate::wire::render::response(&response)
        );
        response
    }

    /// The first column of all rows.
    pub fn column(&mut self, sql: &str) -> Vec<String> {
        let response = self.run(sql);
        response
            .packets
            .iter()
            .filter(|p| p.kind == Kind::TextRow)
            .filter_map(|p| text_row(&p.payload)?.first().copied().flatten().map(<[u8]>::to_vec))
            .map(|value| String::from_utf8_lossy(&value).into_owned())
            .collect()
    }

    /// Raises a global variable to `least` if it is lower.
    pub fn raise(&mut self, variable: &str, least: u64) {
        let now = self.column(&format!("SELECT 0 + @@GLOBAL.{variable}"));
        let now: u64 = now.first().and_then(|n| n.parse().ok()).unwrap_or_default();
        if now < least {
            self.run(&format!("SET GLOBAL {variable} = {least}"));
        }
    }

    /// Whether the session is seen waiting inside a statement.
    pub fn waits(&mut self, connection_id: u32) -> bool {
        let states = self.column(&format!(
            "SELECT STATE FROM {} WHERE ID = {connection_id} \
             AND COMMAND NOT IN ('Sleep', 'Daemon')",
            self.processes
        ));
        let waits = |s: &String| {
            s == "User lock" || s == "User sleep" || s.starts_with("Waiting") || s.contains("lock")
        };
        states.iter().any(waits)
    }

    /// Runs a statement that may fail.
    pub fn try_run(&mut self, sql: &str) -> Response {
        self.client.query(sql.as_bytes())
    }

    /// The table of the server's connections.
    pub fn processes(&self) -> &'static str {
        self.processes
    }
}
