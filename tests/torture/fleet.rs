//! Proxies of the stage: each with a network and a state directory of its own, to be killed,
//! stopped and started again on its port.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstead_support::launch::lasting_port;
use lockstead_support::patience::{PATIENCE, within};
use lockstead_support::{Launch, Link, Log, Proxy, Ready, Way};

use crate::history::now;
use crate::launch::program;
use crate::stage::eventually;

/// What a proxy is started with.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) schema: String,
    pub(crate) lease: Duration,
    pub(crate) collect_after: Duration,
    /// A rule to be left out, by its name.
    pub(crate) mutant: Option<&'static str>,
    /// Whether it proves by a file that it lives.
    pub(crate) state: bool,
    pub(crate) mode: Mode,
    /// Connections to the server that its sessions share, if they do.
    pub(crate) pool_size: Option<u32>,
    /// The store's account, as user:password.
    pub(crate) login: &'static str,
    /// Whether all its servers are failover candidates.
    pub(crate) witnesses: bool,
    /// Further arguments.
    pub(crate) more: &'static [&'static str],
}

impl Options {
    /// In mode durable, with an account that may do everything.
    pub(crate) fn of_root(schema: String) -> Self {
        Self {
            schema,
            lease: Duration::from_secs(30),
            collect_after: Duration::from_hours(1),
            mutant: None,
            state: true,
            mode: Mode::Durable,
            pool_size: None,
            login: "root:rootpw",
            witnesses: false,
            more: &[],
        }
    }
}

/// How a proxy locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By rows alone.
    Durable,
    /// At the server, and by rows.
    Coexist,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Coexist => "coexist",
        }
    }
}

/// The ways of one proxy to the servers, in the order of its list.
pub(crate) struct Ways(Vec<Link>);

impl Ways {
    fn to(servers: &[u16]) -> Self {
        Self(servers.iter().map(|port| Link::to(*port)).collect())
    }

    /// Where they begin, as a list of addresses.
    fn addresses(&self) -> String {
        let all: Vec<String> = self.0.iter().map(|l| format!("127.0.0.1:{}", l.port())).collect();
        all.join(",")
    }

    fn hold(&self, way: Way) {
        self.0.iter().for_each(|link| link.hold(way));
    }

    fn delay(&self, way: Way, delay: Duration) {
        self.0.iter().for_each(|link| link.delay(way, delay));
    }

    /// Where the way to one server begins, as a string of the configuration file.
    fn quoted(&self, server: usize) -> String {
        format!("'127.0.0.1:{}'", self.0[server].port())
    }

    /// Nothing arrives on any of them.
    pub(crate) fn stall(&self) {
        self.0.iter().for_each(Link::stall);
    }

    /// All are as they should be.
    pub(crate) fn heal(&self) {
        self.0.iter().for_each(Link::heal);
    }
}

/// A proxy that is kept up.
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) port: u16,
    /// Ways of the proxy's clients to the servers.
    link: Ways,
    /// Ways of the proxy to the lock tables.
    pub(crate) store: Ways,
    options: Options,
    /// Settings that a reload changes.
    settings: PathBuf,
    state_dir: Mutex<PathBuf>,
    proxy: Mutex<Option<Proxy>>,
    log: Log,
    /// Ends that nobody asked for.
    pub(crate) surprises: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    /// Starts one in front of these servers and waits until it is registered.
    pub(crate) fn start(number: usize, servers: &[u16], options: &Options) -> Self {
        let node = Self {
            number,
            port: lasting_port(),
            link: Ways::to(servers),
            store: Ways::to(servers),
            options: options.clone(),
            settings: fresh_directory().with_extension("toml"),
            state_dir: Mutex::new(fresh_directory()),
            proxy: Mutex::default(),
            log: Log::with_prefix(|pid| format!("{:9.3} {pid} ", now().as_secs_f64())),
            surprises: Mutex::default(),
        };
        if options.witnesses {
            node.list_candidates(&(0..servers.len()).collect::<Vec<_>>());
        }
        node.launch();
        eventually("a proxy is registered", || {
            node.keep_up();
            node.log().contains("registered").then_some(())
        });
        node
    }

    pub(crate) fn mode(&self) -> Mode {
        self.options.mode
    }

    /// Connections to the server that may be left when no client is: those that its sessions share.
    pub(crate) fn lasting_connections(&self) -> usize {
        self.options.pool_size.map_or(0, |size| size as usize)
    }

    fn launch(&self) {
        let lease = format!("{}ms", self.options.lease.as_millis());
        let collect = format!("{}ms", self.options.collect_after.as_millis());
        let state = lock(&self.state_dir).to_string_lossy().into_owned();
        let state = if self.options.state { state } else { "off".to_owned() };
        let (backend, stores) = (self.link.addresses(), self.store.addresses());
        let store = format!("mysql://{}@{stores}/{}", self.options.login, self.options.schema);
        let program = || {
            let mut program = program(&[]);
            program.envs(self.options.mutant.map(|mutant| ("LOCKSTEAD_MUTANT", mutant)));
            program
        };
        let settings = self.settings.to_string_lossy();
        let settings = self.options.witnesses.then_some(["--config", &settings]);
        let arguments = [
            ["--backend", &backend, "--store", &store],
            ["--state-dir", &state, "--workers", "1"],
            ["--lease", &lease, "--collect-after", &collect],
            ["--mode", self.options.mode.name(), "--log-level", "info"],
        ];
        let pool_size = self.options.pool_size.map(|size| size.to_string());
        let pooling =
            pool_size.as_deref().map(|size| ["--pooling", "transaction", "--pool-size", size]);
        let mut why = String::new();
        let proxy = within(PATIENCE, || {
            let started = Launch::by(program)
                .arguments(&["--create-schema"])
                .arguments(settings.as_ref().map_or(&[], |settings| settings))
                .arguments(arguments.as_flattened())
                .arguments(pooling.as_ref().map_or(&[], |pooling| pooling))
                .arguments(self.options.more)
                .on_port(self.port)
                .log_to(&self.log)
                .until(Ready::AtOnce)
                .start();
            started.map_err(|error| why = format!("{error:#}")).ok()
        });
        let proxy = proxy.unwrap_or_else(|| panic!("no proxy is started: {why}"));
        *lock(&self.proxy) = Some(proxy);
    }

    /// Starts it again if it has ended. One that could not start, since its server was away, has
    /// a right to end; another has not.
    pub(crate) fn keep_up(&self) -> bool {
        let mut proxy = lock(&self.proxy);
        let Some(running) = proxy.as_mut() else { return false };
        let Some(status) = running.ended() else { return true };
        let pid = running.pid();
        *proxy = None;
        drop(proxy);
        if self.log().lines().any(|l| l.contains(&format!(" {pid} ")) && l.contains("registered")) {
            lock(&self.surprises).push(format!("proxy {} ended: {status}", self.number));
        }
        self.launch();
        false
    }

    pub(crate) fn signal(&self, name: &str) {
        if let Some(proxy) = lock(&self.proxy).as_ref() {
            // The proxy may have ended in this moment.
            lockstead_support::process::signal(proxy.pid(), name);
        }
    }

    /// The servers that may be promoted, from its next reload on, which follows.
    pub(crate) fn list_candidates(&self, servers: &[usize]) {
        let list: Vec<String> = servers.iter().map(|n| self.link.quoted(*n)).collect();
        let text = format!("failover_candidates = [{}]\n", list.join(", "));
        std::fs::write(&self.settings, text).expect("settings");
        self.signal("HUP");
    }

    /// Nothing of it reaches these servers from now on; all else reaches the others.
    pub(crate) fn part_from(&self, servers: &[usize]) {
        for ways in [&self.link, &self.store] {
            for (n, way) in ways.0.iter().enumerate() {
                if servers.contains(&n) { way.stall() } else { way.heal() }
            }
        }
    }

    /// Breaks the proxy's connections to this server.
    pub(crate) fn break_off(&self, server: usize) {
        self.link.0[server].cut();
        self.store.0[server].cut();
    }

    /// Nothing of it reaches any server from now on.
    pub(crate) fn stall(&self) {
        self.link.stall();
        self.store.stall();
    }

    /// Nothing of it passes this way from now on.
    pub(crate) fn hold(&self, way: Way) {
        self.link.hold(way);
        self.store.hold(way);
    }

    /// Bytes that go this way take so much longer from now on.
    pub(crate) fn delay(&self, way: Way, delay: Duration) {
        self.link.delay(way, delay);
        self.store.delay(way, delay);
    }

    /// Both ways are as they should be.
    pub(crate) fn heal(&self) {
        self.link.heal();
        self.store.heal();
    }

    /// Kills it; `start` starts the next.
    pub(crate) fn kill(&self) {
        drop(lock(&self.proxy).take());
    }

    /// Starts it after a kill, as the successor of the one before or as a stranger.
    pub(crate) fn revive(&self, successor: bool) {
        // Killed twice, it was revived already.
        self.kill();
        if !successor {
            *lock(&self.state_dir) = fresh_directory();
        }
        self.launch();
    }

    /// Ends it in order; the exit code.
    pub(crate) fn end(&self) -> Option<i32> {
        self.signal("TERM");
        let mut proxy = lock(&self.proxy).take()?;
        eventually("the proxy ends", || proxy.ended()).code()
    }

    pub(crate) fn log(&self) -> String {
        self.log.text()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&*lock(&self.state_dir));
        let _ = std::fs::remove_file(&self.settings);
    }
}

fn fresh_directory() -> PathBuf {
    std::env::temp_dir().join(format!("lockstead-state-{:016x}", rand::random::<u64>()))
}
