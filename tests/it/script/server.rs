//! The real server: where it is, and what the harness does there as root.

use std::time::{Duration, Instant};

use super::expand::Names;
use crate::wire::decode::text_row;
use crate::wire::{Account, Client, End, Kind, Response};

/// Password of the accounts that runs create.
pub(crate) const PASSWORD: &str = "secret";

/// How long leftovers of a run may take to go away by themselves.
const FAREWELL: Duration = Duration::from_secs(3);

/// MySQL's other table of connections fails (error 3854) while any session runs a statement with
/// a character beyond the basic plane.
const MYSQL_PROCESSES: &str = "performance_schema.processlist";
const MARIADB_PROCESSES: &str = "information_schema.PROCESSLIST";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    MySql,
    MariaDb,
}

impl Flavour {
    /// The environment variable that holds the server's URL.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Flavour::MySql => "LOCKSTEAD_TEST_MYSQL",
            Flavour::MariaDb => "LOCKSTEAD_TEST_MARIADB",
        }
    }
}

/// A server and its root account.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) root: Account,
}

impl Server {
    /// The server of the environment; without one the tests cannot run, and say so.
    pub(crate) fn from_env(flavour: Flavour) -> Server {
        let variable = flavour.variable();
        let url = std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: run the tests by `make test`"));
        Server::parse(&url)
            .unwrap_or_else(|| panic!("{variable}={url} is not mysql://user:password@host:port/"))
    }

    /// The server of a URL `mysql://user:password@host:port/`.
    pub(crate) fn parse(url: &str) -> Option<Server> {
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
    pub(crate) fn root(&self) -> Root {
        let client = Client::connect(&self.host, self.port, &self.root);
        let client = client.unwrap_or_else(|e| panic!("no connection to {}: {e}", self.url));
        assert!(client.login.succeeded(), "root cannot log in at {}", self.url);
        let greeting = client.login.greeting.clone().unwrap_or_default();
        let mariadb = String::from_utf8_lossy(&greeting.version).contains("MariaDB");
        let processes = if mariadb { MARIADB_PROCESSES } else { MYSQL_PROCESSES };
        Root { client, processes }
    }

    /// Logs in once, so that caching_sha2_password knows the account and later logins are alike.
    pub(crate) fn warm_up(&self, user: &str, password: &str) {
        let client = Client::connect(&self.host, self.port, &Account::new(user, password));
        let client = client.unwrap_or_else(|e| panic!("no connection to {}: {e}", self.url));
        assert!(client.login.succeeded(), "{user} cannot log in at {}", self.url);
    }
}

/// Root's own connection.
pub(crate) struct Root {
    client: Client,
    /// The table of connections.
    processes: &'static str,
}

impl Root {
    /// Runs a statement that must succeed.
    pub(crate) fn run(&mut self, sql: &str) -> Response {
        let response = self.client.query(sql.as_bytes());
        assert!(
            response.error().is_none() && response.end == End::Complete,
            "{sql}\n{}",
            crate::wire::render::response(&response)
        );
        response
    }

    /// The first column of all rows.
    pub(crate) fn column(&mut self, sql: &str) -> Vec<String> {
        let response = self.run(sql);
        response
            .packets
            .iter()
            .filter(|p| p.kind == Kind::TextRow)
            .filter_map(|p| text_row(&p.payload)?.first().copied().flatten().map(<[u8]>::to_vec))
            .map(|value| String::from_utf8_lossy(&value).into_owned())
            .collect()
    }

    /// An empty database of a run's own.
    pub(crate) fn set_up(&mut self, names: &Names) {
        self.run(&format!("CREATE DATABASE {} CHARACTER SET utf8mb4", names.database()));
    }

    pub(crate) fn tear_down(&mut self, names: &Names) {
        self.run(&format!("DROP DATABASE IF EXISTS {}", names.database()));
    }

    /// Raises a global variable to `least` if it is lower.
    pub(crate) fn raise(&mut self, variable: &str, least: u64) {
        let now = self.column(&format!("SELECT 0 + @@GLOBAL.{variable}"));
        let now: u64 = now.first().and_then(|n| n.parse().ok()).unwrap_or_default();
        if now < least {
            self.run(&format!("SET GLOBAL {variable} = {least}"));
        }
    }

    /// Whether the session is seen waiting inside a statement. One that begins may be in other
    /// states that name a lock ("System lock"), or wait for the tables of accounts, which tests
    /// change all the time.
    pub(crate) fn waits(&mut self, connection_id: u32) -> bool {
        let states = self.column(&format!(
            "SELECT STATE FROM {} WHERE ID = {connection_id} \
             AND COMMAND NOT IN ('Sleep', 'Daemon')",
            self.processes
        ));
        let waits = |s: &String| {
            let waits = s == "User lock" || s == "User sleep" || s.starts_with("Waiting");
            waits && s != "Waiting for acl cache lock"
        };
        states.iter().any(waits)
    }

    /// Waits until no statement of the run's accounts is running and none of `ids` is connected;
    /// what does not go by itself is killed.
    pub(crate) fn see_off(&mut self, names: &Names, ids: &[u32]) {
        let ids: Vec<String> = ids.iter().map(u32::to_string).chain(["0".to_owned()]).collect();
        let left = format!(
            "SELECT ID FROM {} WHERE ID IN ({}) \
             OR (USER IN ('{}', '{}') AND COMMAND <> 'Sleep')",
            self.processes,
            ids.join(","),
            names.user(),
            names.second_user()
        );
        let began = Instant::now();
        loop {
            let ids = self.column(&left);
            if ids.is_empty() {
                return;
            }
            assert!(began.elapsed() < 3 * FAREWELL, "sessions {ids:?} cannot be ended");
            if began.elapsed() > FAREWELL {
                for id in ids {
                    // It may have gone in this moment, so its error does not matter.
                    self.client.query(format!("KILL {id}").as_bytes());
                }
            }
            self.run("DO SLEEP(0.005)");
        }
    }
}

/// Two accounts with all rights on the database of a run, for it and the run it is compared with.
pub(crate) struct Accounts<'a> {
    server: &'a Server,
    pub(crate) names: Names,
}

impl<'a> Accounts<'a> {
    pub(crate) fn create(server: &'a Server) -> Self {
        let accounts = Self { server, names: Names::fresh() };
        let mut root = server.root();
        for user in accounts.users() {
            root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"));
            root.run(&format!("GRANT ALL ON {}.* TO {user}@'%'", accounts.names.database()));
            server.warm_up(&user, PASSWORD);
        }
        accounts
    }

    fn users(&self) -> [String; 2] {
        [self.names.user(), self.names.second_user()]
    }
}

impl Drop for Accounts<'_> {
    fn drop(&mut self) {
        // The server of a test that fails may be gone.
        if !std::thread::panicking() {
            let [one, other] = self.users();
            self.server.root().run(&format!("DROP USER {one}@'%', {other}@'%'"));
        }
    }
}
