//! A proxy of a test's own: the built program, on free ports, with a lock schema of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::script::Server;
use crate::wire::Client;

/// A running proxy; killed when dropped.
pub(crate) struct Proxy {
    /// Where clients connect.
    pub(crate) port: u16,
    /// Where /metrics is.
    pub(crate) http: u16,
    /// Name of its lock schema.
    pub(crate) schema: String,
    /// Where its schema is, if it is its own.
    schema_of: Option<String>,
    child: Child,
    log: Arc<Mutex<String>>,
}

/// A port nobody listens on now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").port()
}

/// A schema name nobody else has.
pub(crate) fn fresh_schema() -> String {
    format!("lockstead_t{:012x}", rand::random::<u64>() >> 16)
}

impl Proxy {
    /// Starts a proxy in front of `url`, with further arguments and a new schema, which goes when
    /// the proxy does.
    pub(crate) fn start(url: &str, extra: &[&str]) -> Self {
        let mut proxy = Self::start_on(url, &fresh_schema(), extra);
        proxy.schema_of = Some(url.to_owned());
        proxy
    }

    /// Starts a proxy that shares a schema with others.
    pub(crate) fn start_on(url: &str, schema: &str, extra: &[&str]) -> Self {
        let backend = url.trim_end_matches('/').rsplit('@').next().expect("user@host").to_owned();
        let store = format!("{}/{schema}", url.trim_end_matches('/'));
        // Who observes needs no store.
        let keeps_locks = ["--create-schema", "--store", &store];
        // Another process may take a free port before the proxy does: try again then.
        for _ in 0..5 {
            let (port, http) = (free_port(), free_port());
            let mut child = Command::new(env!("CARGO_BIN_EXE_lockstead"))
                .args(["serve", "--workers", "1", "--backend", &backend])
                .args(["--listen", &format!("127.0.0.1:{port}")])
                .args(["--http", &format!("127.0.0.1:{http}")])
                .args(if extra.contains(&"observe") { &[] } else { &keeps_locks[..] })
                .args(if extra.contains(&"--state-dir") {
                    &[][..]
                } else {
                    &["--state-dir", "off"]
                })
                .args(extra)
                .stderr(Stdio::piped())
                .spawn()
                .expect("the proxy starts");
            let log = Arc::new(Mutex::new(String::new()));
            let stderr = BufReader::new(child.stderr.take().expect("piped"));
            let copy = Arc::clone(&log);
            std::thread::spawn(move || {
                for line in stderr.lines().map_while(Result::ok) {
                    let mut log = copy.lock().expect("log");
                    log.push_str(&line);
                    log.push('\n');
                }
            });
            let mut proxy =
                Self { port, http, schema: schema.to_owned(), schema_of: None, child, log };
            match proxy.until_ready() {
                Ok(()) => return proxy,
                Err(log) if log.contains("cannot listen") => {}
                Err(log) => panic!("the proxy did not start:\n{log}"),
            }
        }
        panic!("no free port found for the proxy");
    }

    fn until_ready(&mut self) -> Result<(), String> {
        let patience = Instant::now() + Duration::from_secs(30);
        while Instant::now() < patience {
            if self.log().contains("registered") || self.log().contains("observing: lock calls") {
                return Ok(());
            }
            if self.child.try_wait().expect("child").is_some() {
                std::thread::park_timeout(Duration::from_millis(50));
                return Err(self.log());
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        Err(self.log())
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name: KILL, TERM, STOP, CONT.
    pub(crate) fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.expect("kill runs").success(), "kill -{name}");
    }

    /// Waits for its end; the exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("waits").code()
    }

    /// The text of /metrics, or of another page.
    pub(crate) fn page(&self, path: &str) -> String {
        page(self.http, path).expect("a page")
    }

    /// The value of a metric, by its full name with labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let page = self.page("/metrics");
        page.lines()
            .find_map(|l| l.strip_prefix(name)?.trim().parse().ok())
            .unwrap_or_else(|| panic!("no metric {name} in\n{page}"))
    }
}

/// What a port says to a GET, if it does.
pub(crate) fn page(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    Some(page)
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the proxy on {} ---\n{}", self.port, self.log());
        } else if let Some(server) = self.schema_of.as_deref().and_then(Server::parse)
            // A server of the test's own may be gone.
            && let Ok(mut root) = Client::connect(&server.host, server.port, &server.root)
            && root.login.succeeded()
        {
            root.query(b"SET lock_wait_timeout=5");
            root.query(format!("DROP DATABASE IF EXISTS {}", self.schema).as_bytes());
        }
    }
}
