//! Starts proxies: the built program with free ports, its log, and what to wait for.
//!
//! ```no_run
//! use lockstead_support::{Launch, Ready};
//!
//! let proxy = Launch::new("target/debug/lockstead")
//!     .arguments(&["--backend", "127.0.0.1:3306", "--store", "mysql://root:x@127.0.0.1/lockstead"])
//!     .with_pages()
//!     .until(Ready::Granting)
//!     .start()?;
//! assert!(proxy.metric("lockstead_lease_good") >= 1.0);
//! # anyhow::Ok(())
//! ```

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use socket2::{Domain, Socket, Type};

use crate::patience::{PATIENCE, within};
use crate::{http, process};

/// A port that nobody listens on now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").port()
}

/// A port that nobody listens on now, below those that the kernel hands out to outgoing connections: it is still
/// free after its owner was killed.
pub fn lasting_port() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = std::iter::repeat_with(|| rand::random_range(10_000..20_000));
    ports.find(free).expect("a free port")
}

/// An address at which connections are refused, for as long as the socket is kept: it is not given away meanwhile.
pub fn refusing_address() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a free port");
    let at = socket.local_addr().ok().and_then(|at| at.as_socket()).expect("bound");
    (socket, at)
}

/// What [`Launch::start`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// Nothing.
    AtOnce,
    /// The log says that it is registered, or that it observes.
    Registered,
    /// The proxy's pages say that it grants locks.
    Granting,
}

/// The log of one proxy, or of several that follow each other on one port.
#[derive(Clone, Default)]
pub struct Log {
    text: Arc<Mutex<String>>,
    /// What a line of the process with this id begins with.
    prefix: Option<fn(u32) -> String>,
    /// Where the processes write it themselves.
    file: Option<PathBuf>,
}

impl Log {
    /// An empty log whose lines begin with `prefix`, which is given the id of their process.
    pub fn with_prefix(prefix: fn(u32) -> String) -> Self {
        Self { prefix: Some(prefix), ..Self::default() }
    }

    /// An empty log that the processes write into this file themselves: what they log before they answer is there
    /// when they have answered.
    pub fn in_file(path: &Path) -> Result<Self> {
        File::create(path).context("the log cannot be written")?;
        Ok(Self { file: Some(path.to_owned()), ..Self::default() })
    }

    /// What was logged so far.
    pub fn text(&self) -> String {
        match &self.file {
            Some(file) => std::fs::read_to_string(file)
                .unwrap_or_else(|e| format!("the log cannot be read: {e}")),
            None => self.lock().clone(),
        }
    }

    /// Where a process is to write it.
    fn output(&self) -> Result<Stdio> {
        let Some(file) = &self.file else { return Ok(Stdio::piped()) };
        let file = File::options().append(true).open(file).context("the log cannot be written")?;
        Ok(file.into())
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what the process writes to a pipe, on a thread that ends with it.
    fn follow(&self, child: &mut Child) -> Option<JoinHandle<()>> {
        let stderr = BufReader::new(child.stderr.take()?);
        let (log, pid) = (self.clone(), child.id());
        Some(std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let prefix = log.prefix.map(|prefix| prefix(pid)).unwrap_or_default();
                let mut text = log.lock();
                text.push_str(&prefix);
                text.push_str(&line);
                text.push('\n');
            }
        }))
    }
}

/// Where the pages of a proxy are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pages {
    Off,
    OnFreePort,
    OnPort(u16),
}

/// A proxy to be started.
pub struct Launch<'a> {
    program: Box<dyn Fn() -> Command + 'a>,
    arguments: Vec<String>,
    port: Option<u16>,
    pages: Pages,
    configured: bool,
    ready: Ready,
    log: Log,
    group: bool,
    patience: Duration,
}

impl<'a> Launch<'a> {
    /// `serve` by the program at this path, which takes nothing from the environment's `LOCKSTEAD_` variables. The
    /// proxy has a free port, no pages and mode durable, unless its arguments or its file say another. The launch is
    /// ready when the proxy is registered.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().to_owned();
        Self::by(move || command(&program))
    }

    /// A launch by a command to which `serve` and its options are added. Each try makes a new one.
    pub fn by(program: impl Fn() -> Command + 'a) -> Self {
        Self {
            program: Box::new(program),
            arguments: Vec::new(),
            port: None,
            pages: Pages::Off,
            configured: false,
            ready: Ready::Registered,
            log: Log::default(),
            group: false,
            patience: PATIENCE,
        }
    }

    /// Further arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// On this port.
    #[must_use]
    pub fn on_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// With pages on a free port.
    #[must_use]
    pub fn with_pages(mut self) -> Self {
        self.pages = Pages::OnFreePort;
        self
    }

    /// With pages on this port.
    #[must_use]
    pub fn with_pages_on(mut self, port: u16) -> Self {
        self.pages = Pages::OnPort(port);
        self
    }

    /// The proxy's addresses are in its configuration, which the arguments name; clients connect to this port, if to
    /// any.
    #[must_use]
    pub fn configured(mut self, port: u16) -> Self {
        self.port = Some(port);
        self.configured = true;
        self
    }

    /// What to wait for.
    #[must_use]
    pub fn until(mut self, ready: Ready) -> Self {
        self.ready = ready;
        self
    }

    /// Adds to a log that is there.
    #[must_use]
    pub fn log_to(mut self, log: &Log) -> Self {
        self.log = log.clone();
        self
    }

    /// In a process group of its own, which a Ctrl-C in the terminal does not reach.
    #[must_use]
    pub fn in_own_group(mut self) -> Self {
        self.group = true;
        self
    }

    /// How long it may take to be ready.
    #[must_use]
    pub fn within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts it. Another process may take a free port before the proxy does: then it tries again with another.
    pub fn start(self) -> Result<Proxy> {
        for _ in 0..5 {
            let port = self.port.unwrap_or_else(free_port);
            let http = match self.pages {
                Pages::Off => None,
                Pages::OnFreePort => Some(free_port()),
                Pages::OnPort(port) => Some(port),
            };
            if let Some(proxy) = self.try_start(port, http)? {
                return Ok(proxy);
            }
            if self.port.is_some() {
                bail!("another process listens on port {port}");
            }
        }
        bail!("every port that was tried was taken meanwhile")
    }

    /// `None` when a port was taken meanwhile.
    fn try_start(&self, port: u16, http: Option<u16>) -> Result<Option<Proxy>> {
        let mut command = (self.program)();
        command.arg("serve");
        if !self.configured {
            let pages = http.map_or_else(|| "off".to_owned(), |http| format!("127.0.0.1:{http}"));
            command.args(["--listen", &format!("127.0.0.1:{port}"), "--http", &pages]);
        }
        command.args(&self.arguments).stderr(self.log.output()?);
        durable_by_default(&mut command);
        if self.group {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        let before = self.log.text().len();
        let mut child = command.spawn().context("the proxy cannot be run")?;
        let reader = self.log.follow(&mut child);
        let mut proxy = Proxy { port, http, child, log: self.log.clone(), group: self.group };
        let ended = within(self.patience, || {
            if !proxy.is_running() {
                return Some(true);
            }
            self.is_ready(&proxy, before).then_some(false)
        });
        match ended {
            Some(false) => Ok(Some(proxy)),
            Some(true) => {
                // The rest of the log is still in the pipe.
                let _ = reader.map(JoinHandle::join);
                let log = proxy.log();
                let log = log.get(before..).unwrap_or_default();
                if log.contains("cannot listen") {
                    return Ok(None);
                }
                bail!("the proxy ended while starting:\n{log}")
            }
            None => bail!("the proxy is not ready after {:?}:\n{}", self.patience, proxy.log()),
        }
    }

    fn is_ready(&self, proxy: &Proxy, before: usize) -> bool {
        match self.ready {
            Ready::AtOnce => true,
            Ready::Registered => {
                let log = proxy.log();
                let log = log.get(before..).unwrap_or_default();
                log.contains("registered") || log.contains("observing: lock calls")
            }
            Ready::Granting => proxy.http.is_some_and(http::is_ready),
        }
    }
}

/// The program without the `LOCKSTEAD_` variables of the environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LOCKSTEAD_") {
            command.env_remove(name);
        }
    }
    command
}

/// Puts a program with all its arguments into mode durable, by a variable, which `--mode` overrides. A file that
/// names a mode, or has a table for each cluster, decides alone.
pub fn durable_by_default(command: &mut Command) {
    let file = command.get_args().skip_while(|argument| *argument != "--config").nth(1);
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let decides = |line: &str| line == "[[cluster]]" || line.starts_with("mode =");
    if text.lines().any(|line| decides(line.trim_start())) {
        command.env_remove(MODE);
    } else {
        command.env(MODE, "durable");
    }
}

const MODE: &str = "LOCKSTEAD_MODE";

/// A running proxy; killed when dropped.
pub struct Proxy {
    port: u16,
    http: Option<u16>,
    child: Child,
    log: Log,
    group: bool,
}

impl Proxy {
    /// Where clients connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its pages are, which it must have.
    pub fn http(&self) -> u16 {
        self.http.expect("the proxy was started without pages")
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Process id of the proxy.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether its process has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.ended().is_none()
    }

    /// How its process ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Sends a signal by name (KILL, TERM, STOP) to its process, which must not have been waited for.
    pub fn signal(&self, name: &str) {
        assert!(process::signal(self.pid(), name), "SIG{name} cannot be sent");
    }

    /// Waits for its end; the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("a child can be waited for").code()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Status line, headers and body of one of its pages.
    pub fn page(&self, path: &str) -> String {
        http::page(self.http(), path).expect("a page")
    }

    /// The value of a metric, by its full name with labels.
    pub fn metric(&self, name: &str) -> f64 {
        http::metric(self.http(), name)
            .unwrap_or_else(|| panic!("no metric {name} in\n{}", self.page("/metrics")))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if self.group {
            process::end_group(self.child.id(), || drop(self.child.try_wait()));
        }
        self.kill();
        // The log of several is its owner's to show.
        if std::thread::panicking() && self.log.prefix.is_none() {
            eprintln!("--- log of the proxy on {} ---\n{}", self.port, self.log());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A program that takes the arguments of a proxy and does what the script says.
    fn script(text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text, "proxy"]);
        command
    }

    const SERVES: &str = "echo got \"$@\" >&2; echo registered >&2; exec sleep 600";

    #[test]
    fn a_proxy_is_started_with_its_ports_and_arguments() {
        let launch = Launch::by(|| script(SERVES)).arguments(&["--lease", "9s"]).with_pages();
        let proxy = launch.start().expect("a proxy");
        let (port, http) = (proxy.port(), proxy.http());
        let expected =
            format!("got serve --listen 127.0.0.1:{port} --http 127.0.0.1:{http} --lease 9s\n");
        assert!(proxy.log().starts_with(&expected), "{}", proxy.log());
    }

    #[test]
    fn a_proxy_is_durable_unless_its_file_says_what_it_is() {
        let path = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        let mode = |settings: &str| {
            std::fs::write(&path, settings).expect("written");
            let mut command = Command::new("lockstead");
            command.arg("--config").arg(&path);
            durable_by_default(&mut command);
            let mode = command.get_envs().find(|(name, _)| *name == MODE);
            mode.and_then(|(_, value)| value).map(OsStr::to_owned)
        };
        assert_eq!(mode("backend = 'h:1'\n"), Some("durable".into()));
        assert_eq!(mode("backend = 'h:1'\nmode = 'observe'\n"), None);
        assert_eq!(mode("http = 'off'\n[[cluster]]\nmode = 'coexist'\n"), None);
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn a_configured_proxy_is_given_no_addresses() {
        let launch = Launch::by(|| script(SERVES)).arguments(&["--config", "file"]).configured(7);
        let proxy = launch.start().expect("a proxy");
        assert_eq!(proxy.port(), 7);
        assert!(proxy.log().starts_with("got serve --config file\n"), "{}", proxy.log());
    }

    #[test]
    fn a_log_in_a_file_is_written_by_the_processes_themselves() {
        let path = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        let log = Log::in_file(&path).expect("a log");
        let start = || Launch::by(|| script(SERVES)).log_to(&log).start();
        assert!(start().is_ok() && start().is_ok());
        let text = std::fs::read_to_string(&path).expect("a log");
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(text.matches("registered").count(), 2, "{text}");
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_no_failure() {
        let tries = Cell::new(0);
        let program = || {
            tries.set(tries.get() + 1);
            script(if tries.get() == 1 { "echo cannot listen >&2; exit 1" } else { SERVES })
        };
        Launch::by(program).start().expect("a proxy");
        assert_eq!(tries.get(), 2);
        let taken = || script("echo cannot listen >&2; exit 1");
        assert!(Launch::by(taken).on_port(1).start().is_err());
    }

    #[test]
    fn a_proxy_that_ends_or_is_never_ready_is_an_error() {
        let ends = Launch::by(|| script("echo no such store >&2; exit 1")).start();
        assert!(ends.err().expect("an error").to_string().contains("no such store"));
        let waits = Launch::by(|| script("exec sleep 600"));
        let waits = waits.within(Duration::from_millis(300)).start();
        assert!(waits.err().expect("an error").to_string().contains("is not ready"));
    }

    #[test]
    fn lines_of_processes_that_share_a_log_say_whose_they_are() {
        let log = Log::with_prefix(|pid| format!("{pid}: "));
        let start = || Launch::by(|| script(SERVES)).log_to(&log).start().expect("a proxy").pid();
        let pids = [start(), start()];
        for pid in pids {
            assert!(log.text().contains(&format!("{pid}: registered\n")), "{}", log.text());
        }
    }
}
