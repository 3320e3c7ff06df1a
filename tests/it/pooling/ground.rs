//! The ground of these tests: a suitable server, accounts, and a proxy that knows their passwords.

use std::sync::Arc;

use crate::own_server::{OwnServer, SharedServers, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{Database, eventually};
use crate::wire::Account;

/// A way in which a client leaves, and its name.
pub(super) type Way = (&'static str, fn(Session));

/// All of them.
pub(super) const WAYS: [Way; 3] = [
    ("COM_QUIT", |s| s.client.say_quit()),
    ("FIN", |s| s.client.hang_up()),
    ("RST", |s| s.client.reset_tcp()),
];

const PASSWORD: &str = "the first of its passwords";

/// The options that a server needs beyond those of all servers.
pub(crate) fn options(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MySql => &[],
        Flavour::MariaDb => &["--performance-schema=ON", "--plugin-load-add=metadata_lock_info"],
    }
}

/// A server before which sessions may share connections: one for all tests here that run at the same time. Of
/// those of other tests a stored program may keep sessions on their connections, by its name.
pub(super) struct Suited(Arc<OwnServer>);

impl Suited {
    /// Of the family of this server.
    pub(super) fn to(server: &Server) -> Self {
        static RUNNING: SharedServers = SharedServers::none();
        let flavour = flavour_of(server);
        Self(RUNNING.get(flavour, options(flavour)))
    }

    /// This one, which a test has alone.
    pub(super) fn alone(own: &Arc<OwnServer>) -> Self {
        Self(Arc::clone(own))
    }

    pub(super) fn server(&self) -> &Server {
        &self.0.server
    }
}

/// An account with a schema of its own; both go with it.
pub(super) struct Tenant {
    pub(super) name: String,
    pub(super) database: Database,
    pub(super) account: Account,
    server: Server,
}

impl Tenant {
    /// A new one, whose password neither server nor proxy has in memory.
    pub(super) fn create(server: &Server, password: &str) -> Self {
        let name = fresh_schema().replace("lockstead_t", "p");
        let database = Database::create(server);
        let account = Account {
            user: name.clone(),
            password: password.to_owned(),
            database: Some(database.name.clone()),
            ..account()
        };
        let tenant = Self { name, database, account, server: server.clone() };
        tenant.identify("CREATE", password);
        let grant = format!("GRANT ALL ON {}.* TO {}", tenant.database.name, tenant.name);
        server.root().run(&grant);
        tenant
    }

    /// Gives it another password.
    pub(super) fn change_password(&mut self, password: &str) {
        self.identify("ALTER", password);
        password.clone_into(&mut self.account.password);
    }

    fn identify(&self, what: &str, password: &str) {
        let how = match flavour_of(&self.server) {
            Flavour::MySql => format!("IDENTIFIED WITH caching_sha2_password BY '{password}'"),
            Flavour::MariaDb => {
                format!("IDENTIFIED VIA mysql_native_password USING PASSWORD('{password}')")
            }
        };
        self.server.root().run(&format!("{what} USER {} {how}", self.name));
    }

    /// Ids of its connections at the server.
    pub(super) fn connections(&self) -> Vec<String> {
        let mut root = self.server.root();
        let processes = root.processes();
        root.column(&format!("SELECT id FROM {processes} WHERE user='{}' ORDER BY id", self.name))
    }

    /// The account's only connection at the server, once there is no other.
    pub(super) fn only_connection(&self) -> String {
        eventually("the account has one connection", || {
            let mut ids = self.connections();
            (ids.len() == 1).then(|| ids.remove(0))
        })
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP USER {}", self.name));
        }
    }
}

/// A proxy with a pool, and an account whose password it knows.
pub(super) struct Ground {
    pub(super) proxy: Proxy,
    pub(super) tenant: Tenant,
    size: f64,
    suited: Suited,
}

impl Ground {
    /// With so many connections, and further settings.
    pub(super) fn new(server: &Server, size: u32, extra: &[&str]) -> Self {
        Self::before(Suited::to(server), size, extra)
    }

    /// A ground before a server that suits.
    pub(super) fn before(suited: Suited, size: u32, extra: &[&str]) -> Self {
        Self::of(suited, size, extra, |_, _| ())
    }

    /// A ground with something that is there before the proxy.
    pub(super) fn of(
        suited: Suited,
        size: u32,
        extra: &[&str],
        prepare: impl FnOnce(&Tenant, &Server),
    ) -> Self {
        let tenant = Tenant::create(suited.server(), PASSWORD);
        prepare(&tenant, suited.server());
        let proxy = pooling(suited.server(), size, extra);
        teach(&proxy, &tenant.account);
        Self { proxy, tenant, size: f64::from(size), suited }
    }

    pub(super) fn server(&self) -> &Server {
        self.suited.server()
    }

    /// A session of the account's.
    pub(super) fn session(&self) -> Session {
        Session::of(self.proxy.port, &self.tenant.account)
    }

    /// A table in the account's schema.
    pub(super) fn create_table(&self, definition: &str) {
        let name = &self.tenant.database.name;
        self.server().root().run(&format!("CREATE TABLE {name}.{definition}"));
    }

    /// Waits until the connections beyond the pool's size are given back.
    pub(super) fn until_none_is_surplus(&self) {
        eventually("there are no more connections than there may be", || {
            (self.proxy.metric("lockstead_pool_connections") <= self.size).then_some(())
        });
    }

    /// Waits until no session has a connection.
    pub(super) fn until_all_have_left(&self) {
        until_all_have_left(&self.proxy);
    }

    pub(super) fn has_no_seated_session(&self) -> bool {
        has_no_seated_session(&self.proxy)
    }

    /// Kills all of the account's connections. The ids.
    pub(super) fn kill_connections(&self) -> Vec<String> {
        let ids = self.tenant.connections();
        let mut root = self.server().root();
        for id in &ids {
            // One may have ended by itself.
            root.try_run(&format!("KILL {id}"));
        }
        eventually("they are gone", || {
            let left = self.tenant.connections();
            ids.iter().all(|id| !left.contains(id)).then_some(())
        });
        ids
    }

    /// Waits until these and no other reasons keep sessions on their connections.
    pub(super) fn until_pinned_by(&self, reasons: &[&str]) {
        eventually("sessions keep their connections for these reasons", || {
            let pins = self.pins();
            let is_one = |reason: &&str| pins.iter().any(|p| p.contains(&format!("\"{reason}\"")));
            (pins.len() == reasons.len() && reasons.iter().all(is_one)).then_some(())
        });
    }

    /// Why sessions keep their connections: reasons with the number of sessions.
    pub(super) fn pins(&self) -> Vec<String> {
        pins(&self.proxy)
    }
}

/// A proxy whose sessions share so many connections.
pub(super) fn pooling(server: &Server, size: u32, extra: &[&str]) -> Proxy {
    let size = size.to_string();
    let arguments = ["--pooling", "transaction", "--pool-size", &size];
    Proxy::start(&server.url, &[&arguments, extra].concat())
}

fn has_no_seated_session(proxy: &Proxy) -> bool {
    let metric = |name| proxy.metric(name);
    (metric("lockstead_pool_connections") - metric("lockstead_pool_free_connections")).abs() < 0.5
}

/// Waits until no session of a proxy has a connection.
pub(super) fn until_all_have_left(proxy: &Proxy) {
    eventually("all sessions have given their connections back", || {
        has_no_seated_session(proxy).then_some(())
    });
}

/// Why sessions of a proxy keep their connections: reasons with the number of sessions.
pub(super) fn pins(proxy: &Proxy) -> Vec<String> {
    let page = proxy.page("/metrics");
    let lines = page.lines().filter_map(|line| line.strip_prefix("lockstead_pinned_sessions"));
    lines.filter(|line| line.starts_with('{') && !line.ends_with(" 0")).map(str::to_owned).collect()
}

/// Logs in until the proxy can open connections for the account. MariaDB's verifiers are read
/// beside the logins.
pub(super) fn teach(proxy: &Proxy, account: &Account) {
    eventually("the proxy knows the account", || {
        let mut session = Session::of(proxy.port, account);
        session.run("DO 0");
        let knows = pins(proxy).is_empty();
        session.client.quit();
        knows.then_some(())
    });
}

/// Waits until so many sessions wait for locks.
pub(super) fn until_waiting(proxy: &Proxy, sessions: u32) {
    eventually("sessions wait for locks", || {
        (proxy.metric("lockstead_locks_waiting") >= f64::from(sessions)).then_some(())
    });
}

/// Waits until sessions have had to wait for a connection this often.
pub(super) fn until_queued(proxy: &Proxy, times: f64) {
    eventually("sessions wait for a connection", || {
        (proxy.metric("lockstead_pool_waits_total") >= times).then_some(())
    });
}
