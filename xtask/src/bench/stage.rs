//! The server, and the proxies in front of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lockstead_support::http;
use lockstead_support::launch::lasting_port;
use lockstead_support::patience::within;
use lockstead_support::process::Group;
use lockstead_support::{Flavour, Launch, PrivateServer, Proxy, free_port};

use super::plan::{Plan, Section};
use crate::workplace::{Workplace, last_lines, make_lockstead_account, sharing_options, store_url};

/// How long a proxy may take until it lets a client in.
const PATIENCE: Duration = Duration::from_mins(1);

/// The tables of the build that is measured.
const SCHEMA: &str = "lockstead";
/// The schema of the proxy in mode `coexist`. Another proxy on its tables costs one in mode `durable` a sixth of its
/// processor time with 1,024 clients, which an earlier build alone on its tables would not have.
const COEXIST_SCHEMA: &str = "lockstead_coexist";
/// Those of the earlier build.
const EARLIER_SCHEMA: &str = "lockstead_before";

/// Programs that are run.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Where `dev/install.sh` puts what it fetches.
    pub(crate) cache: PathBuf,
    pub(crate) lockstead: PathBuf,
    pub(crate) lockpairs: PathBuf,
    /// An earlier build of lockstead.
    pub(crate) before: Option<PathBuf>,
}

/// A proxy, or another program that clients connect to.
struct Peer {
    port: u16,
    process: Process,
}

enum Process {
    Lockstead(Proxy),
    Other(Group),
}

/// A server with the accounts and tables of the benchmarks, and proxies by their names.
pub(crate) struct Stage<'a> {
    place: &'a Workplace,
    programs: &'a Programs,
    sessions: usize,
    server: PrivateServer,
    /// Proxies that are started while there are others have all in their list.
    others: Vec<PrivateServer>,
    proxies: BTreeMap<&'static str, Peer>,
}

impl<'a> Stage<'a> {
    pub(crate) fn set(
        place: &'a Workplace,
        programs: &'a Programs,
        plan: &Plan,
        flavour: Flavour,
    ) -> Result<Self> {
        let folder = place.file(&format!("server-{}", flavour.name()));
        let shares = plan.wants(Section::Pooling);
        let options = if shares { sharing_options(flavour) } else { &[] };
        Self::before(place, programs, plan, PrivateServer::start_in(folder, flavour, options)?)
    }

    /// A stage before a server that runs.
    pub(crate) fn before(
        place: &'a Workplace,
        programs: &'a Programs,
        plan: &Plan,
        server: PrivateServer,
    ) -> Result<Self> {
        make_lockstead_account(&server, &[SCHEMA, COEXIST_SCHEMA, EARLIER_SCHEMA])?;
        server.sql(
            "CREATE DATABASE bench;
             CREATE USER bench@'127.0.0.%' IDENTIFIED BY 'bench'; GRANT ALL ON bench.* TO bench@'127.0.0.%';
             CREATE TABLE bench.plain_locks (name VARCHAR(64) NOT NULL PRIMARY KEY,
               owner BIGINT UNSIGNED NOT NULL, since DATETIME(3) NOT NULL) ENGINE=InnoDB;",
        )?;
        // The first login of an account without TLS has to ask for the server's key; from then on the server knows
        // the hash, and lets clients in that cannot ask.
        for (user, password) in [("bench", "bench"), ("lockstead", "secret")] {
            server.sql_with(
                &[&format!("--user={user}"), &format!("--password={password}")],
                "DO 1",
            )?;
        }
        let sessions = plan.sessions;
        Ok(Self { place, programs, sessions, server, others: Vec::new(), proxies: BTreeMap::new() })
    }

    pub(crate) fn place(&self) -> &'a Workplace {
        self.place
    }

    pub(crate) fn programs(&self) -> &'a Programs {
        self.programs
    }

    pub(crate) fn server(&self) -> &PrivateServer {
        &self.server
    }

    /// The servers beside it from now on.
    pub(crate) fn set_others(&mut self, others: Vec<PrivateServer>) {
        self.others = others;
    }

    /// Where clients of a variant connect: to a proxy of this name, or else to the server.
    pub(crate) fn port_of(&self, variant: &str) -> u16 {
        self.proxies.get(variant).map_or(self.server.port(), |peer| peer.port)
    }

    fn peer(&self, name: &str) -> Result<&Peer> {
        self.proxies.get(name).with_context(|| format!("{name} is not running"))
    }

    /// Where a Lockstead has its pages.
    pub(crate) fn http_of(&self, name: &str) -> Result<u16> {
        match &self.peer(name)?.process {
            Process::Lockstead(proxy) => Ok(proxy.http()),
            Process::Other(_) => bail!("{name} has no pages"),
        }
    }

    /// A metric of a Lockstead.
    pub(crate) fn metric(&self, name: &str, metric: &str) -> Result<f64> {
        http::metric(self.http_of(name)?, metric).with_context(|| format!("{name} has no {metric}"))
    }

    /// Processor time of a proxy and all its threads so far, in seconds.
    pub(crate) fn processor(&self, name: &str) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid(name)?))?;
        // The name in brackets may have blanks. State is the first field after it, user and system time the 12th
        // and the 13th.
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
        let ticks: Vec<u32> = fields.map(str::parse).collect::<Result<_, _>>()?;
        let second = u32::try_from(rustix::param::clock_ticks_per_second())?;
        Ok(f64::from(ticks.iter().sum::<u32>()) / f64::from(second))
    }

    /// Resident memory of a proxy, in KiB.
    pub(crate) fn memory(&self, name: &str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid(name)?))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS")?;
        Ok(number.parse()?)
    }

    fn pid(&self, name: &str) -> Result<u32> {
        Ok(match &self.peer(name)?.process {
            Process::Lockstead(proxy) => proxy.pid(),
            Process::Other(group) => group.id(),
        })
    }

    /// Starts HAProxy; with a certificate, it ends clients' TLS.
    pub(crate) fn start_haproxy(&mut self, certificate: Option<&Path>) -> Result<()> {
        let port = lasting_port();
        let tls =
            certificate.map(|file| format!(" ssl crt {}", file.display())).unwrap_or_default();
        let server = self.server.port();
        let listen = format!("  bind 127.0.0.1:{port}{tls}\n  server db 127.0.0.1:{server}\n");
        self.run_haproxy("haproxy", port, &listen)?;
        // Clients that want TLS at once cannot be tried here.
        if certificate.is_none() { self.until_let_in("haproxy") } else { Ok(()) }
    }

    /// Starts another HAProxy, by which clients without TLS reach the one that ends it.
    pub(crate) fn start_tunnel(&mut self) -> Result<()> {
        let (port, to) = (lasting_port(), self.port_of("haproxy"));
        let listen =
            format!("  bind 127.0.0.1:{port}\n  server tls 127.0.0.1:{to} ssl verify none\n");
        self.run_haproxy("tunnel", port, &listen)?;
        self.until_let_in("tunnel")
    }

    fn run_haproxy(&mut self, name: &'static str, port: u16, listen: &str) -> Result<()> {
        let file = self.place.file(&format!("{name}.cfg"));
        let settings = format!(
            "global\n  nbthread {}\n  maxconn {}\ndefaults\n  mode tcp\n  timeout connect 5s\n\
             \x20 timeout client 1h\n  timeout server 1h\nlisten {name}\n{listen}",
            Plan::THREADS,
            self.sessions + 1000
        );
        fs::write(&file, settings)?;
        let mut command = Command::new(self.programs.cache.join("bin/haproxy"));
        command.arg("-db").arg("-f").arg(&file);
        self.run(name, port, &mut command)
    }

    /// Starts MySQL Router so that it forwards bytes and does not look into the protocol, its fastest way.
    pub(crate) fn start_router(&mut self) -> Result<()> {
        self.start_router_as(
            "router",
            "client_ssl_mode=PASSTHROUGH\nserver_ssl_mode=AS_CLIENT\nconnection_sharing=0\n",
        )
    }

    /// Starts MySQL Router so that clients share connections: each gives its own away after every statement outside a
    /// transaction. Router has no limit on them; it keeps as many as `idle` open that nobody uses.
    pub(crate) fn start_sharing_router(&mut self, name: &'static str, idle: usize) -> Result<()> {
        let sharing = format!(
            "client_ssl_mode=DISABLED\nserver_ssl_mode=DISABLED\nconnection_sharing=1\n\
             connection_sharing_delay=0\n[connection_pool]\nmax_idle_server_connections={idle}\n"
        );
        self.start_router_as(name, &sharing)
    }

    fn start_router_as(&mut self, name: &'static str, settings: &str) -> Result<()> {
        let (port, folder) = (lasting_port(), self.place.file(name));
        fs::create_dir_all(&folder)?;
        let shown = folder.display();
        let settings = format!(
            "[DEFAULT]\nlogging_folder={shown}\nruntime_folder={shown}\ndata_folder={shown}\n\
             max_total_connections=4096\n[logger]\nlevel=WARNING\n[io]\nthreads={}\n[routing:server]\n\
             bind_address=127.0.0.1\nbind_port={port}\ndestinations=127.0.0.1:{}\n\
             routing_strategy=first-available\nprotocol=classic\nmax_connections=4096\n\
             max_connect_errors=4294967295\n{settings}",
            Plan::THREADS,
            self.server.port()
        );
        fs::write(folder.join("router.conf"), settings)?;
        let mut command = Command::new(self.programs.cache.join("bin/mysqlrouter"));
        command.arg("-c").arg(folder.join("router.conf"));
        self.run(name, port, &mut command)?;
        self.until_let_in(name)
    }

    fn run(&mut self, name: &'static str, port: u16, command: &mut Command) -> Result<()> {
        let log = File::create(self.log(name))?;
        let group =
            Group::start(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log))?;
        self.proxies.insert(name, Peer { port, process: Process::Other(group) });
        Ok(())
    }

    fn log(&self, name: &str) -> PathBuf {
        self.place.file(&format!("{name}.log"))
    }

    /// Starts a Lockstead under a name, with further options. All are on the same tables, but for the one in mode
    /// `coexist` and "before", the earlier build, which may know other tables.
    pub(crate) fn start_lockstead(&mut self, name: &'static str, options: &[&str]) -> Result<()> {
        let servers = std::iter::once(&self.server).chain(&self.others);
        let at = |server: &PrivateServer| format!("127.0.0.1:{}", server.port());
        let backend: Vec<String> = servers.map(at).collect();
        let backend = backend.join(",");
        let threads = Plan::THREADS.to_string();
        let earlier = self.programs.before.as_ref().filter(|_| name == "before");
        let schema = match name {
            "before" => EARLIER_SCHEMA,
            "coexist" => COEXIST_SCHEMA,
            _ => SCHEMA,
        };
        let store = store_url(&backend, schema);
        let proxy = Launch::new(earlier.unwrap_or(&self.programs.lockstead))
            .arguments(&["--backend", &backend, "--store", &store])
            .arguments(if options.contains(&"--state-dir") { &[] } else { &["--state-dir", "off"] })
            .arguments(&["--lease", "30s", "--create-schema"])
            .arguments(&["--workers", &threads])
            .arguments(options)
            .with_pages_on(free_port())
            .in_own_group()
            .start()?;
        self.proxies.insert(name, Peer { port: proxy.port(), process: Process::Lockstead(proxy) });
        self.until_let_in(name)?;
        // A proxy lets clients in before it grants locks: at a start it may wait for other proxies. The name of the
        // lock is the proxy's own: the other one's session may not be gone yet.
        let granted = self.ask(name, &format!("SELECT GET_LOCK('{name}-ready', 60)"))?;
        ensure!(granted.trim() == "1", "{name} grants no lock: {}", granted.trim());
        Ok(())
    }

    /// Gives the benchmarks' account the right that it needs.
    pub(crate) fn let_commits_be_fenced(&self) -> Result<()> {
        let right = "GRANT SELECT (k,tok,holder)";
        self.server.sql(&format!("{right} ON {SCHEMA}.locks TO bench@'127.0.0.%'"))?;
        Ok(())
    }

    /// Runs a statement of the benchmarks' account through a proxy.
    fn ask(&self, name: &str, sql: &str) -> Result<String> {
        let port = format!("--port={}", self.port_of(name));
        self.server.sql_with(&["--user=bench", "--password=bench", &port], sql)
    }

    /// Shows a proxy whose sessions share connections the password of the benchmarks' account, over TLS.
    pub(crate) fn teach(&self, name: &str) -> Result<()> {
        let port = format!("--port={}", self.port_of(name));
        let tls = match self.server.flavour() {
            Flavour::MySql => "--ssl-mode=REQUIRED",
            Flavour::MariaDb => "--ssl",
        };
        self.server.sql_with(&["--user=bench", "--password=bench", &port, tls], "DO 1")?;
        Ok(())
    }

    fn until_let_in(&mut self, name: &str) -> Result<()> {
        let let_in = within(PATIENCE, || {
            let ended = match &mut self.proxies.get_mut(name)?.process {
                Process::Lockstead(proxy) => !proxy.is_running(),
                Process::Other(group) => {
                    group.child().try_wait().is_ok_and(|status| status.is_some())
                }
            };
            if ended { Some(false) } else { self.ask(name, "DO 1").is_ok().then_some(true) }
        });
        let log = || last_lines(&self.log(name), 5);
        match let_in {
            Some(true) => Ok(()),
            Some(false) => bail!("{name} ended while starting: {}", log()),
            None => bail!("{name} lets nobody in: {}", log()),
        }
    }

    /// Starts the earlier build, if there is one.
    pub(crate) fn start_before(&mut self) -> Result<()> {
        if self.programs.before.is_none() { Ok(()) } else { self.start_lockstead("before", &[]) }
    }

    /// Ends a proxy.
    pub(crate) fn stop(&mut self, name: &str) {
        self.proxies.remove(name);
    }

    /// Ends all of them.
    pub(crate) fn stop_all(&mut self) {
        self.proxies.clear();
    }
}

/// What a server has counted so far. To ask for it is a statement, too.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    /// Pings and the like included.
    pub(crate) statements: f64,
    pub(crate) writes: f64,
    /// Bytes of binary log.
    pub(crate) bytes: f64,
}

impl Counters {
    pub(crate) fn read(server: &PrivateServer) -> Result<Self> {
        const WRITES: [&str; 8] = [
            "Com_insert",
            "Com_insert_select",
            "Com_update",
            "Com_update_multi",
            "Com_delete",
            "Com_delete_multi",
            "Com_replace",
            "Com_replace_select",
        ];
        let text = server.sql("SHOW GLOBAL STATUS; SHOW BINARY LOGS")?;
        let mut counters = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
            let counter = match name {
                "Questions" | "Com_admin_commands" => &mut counters.statements,
                name if WRITES.contains(&name) => &mut counters.writes,
                name if name.starts_with("binlog.") => &mut counters.bytes,
                _ => continue,
            };
            *counter += value.parse::<f64>()?;
        }
        Ok(counters)
    }

    /// Statements of one [`Counters::read`]. No other client may be connected.
    pub(crate) fn own_statements(server: &PrivateServer) -> Result<f64> {
        let before = Self::read(server)?;
        Ok(Self::read(server)?.statements - before.statements)
    }
}
