//! Proxies of the stage: each with a network and a state directory of its own, to be killed,
//! stopped and started again on its port.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstead_support::Link;

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
}

/// A proxy that is kept up.
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) port: u16,
    pub(crate) link: Link,
    options: Options,
    state_dir: Mutex<PathBuf>,
    child: Mutex<Option<Child>>,
    log: Arc<Mutex<String>>,
    /// Ends that nobody asked for.
    pub(crate) surprises: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    /// Starts one in front of a server's port and waits until it is registered.
    pub(crate) fn start(number: usize, server: u16, options: &Options) -> Self {
        let node = Self {
            number,
            port: free_port(),
            link: Link::to(server),
            options: options.clone(),
            state_dir: Mutex::new(fresh_directory()),
            child: Mutex::new(None),
            log: Arc::default(),
            surprises: Mutex::default(),
        };
        node.launch();
        eventually("a proxy is registered", || {
            node.keep_up();
            node.log().contains("registered").then_some(())
        });
        node
    }

    fn launch(&self) {
        let lease = format!("{}ms", self.options.lease.as_millis());
        let collect = format!("{}ms", self.options.collect_after.as_millis());
        let state = lock(&self.state_dir).to_string_lossy().into_owned();
        let state = if self.options.state { state } else { "off".to_owned() };
        let store = format!("mysql://root:rootpw@127.0.0.1:{}/", self.link.port());
        let mut command: Command =
            program(&["serve", "--create-schema", "--workers", "1", "--http", "off"]);
        command
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .args(["--backend", &format!("127.0.0.1:{}", self.link.port())])
            .args(["--store", &format!("{store}{}", self.options.schema)])
            .args(["--lease", &lease, "--collect-after", &collect, "--state-dir", &state])
            .stderr(Stdio::piped());
        if let Some(mutant) = self.options.mutant {
            command.env("LOCKSTEAD_MUTANT", mutant);
        }
        let mut child = command.spawn().expect("the proxy starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (log, pid) = (Arc::clone(&self.log), child.id());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut log = lock(&log);
                let _ = writeln!(log, "{:9.3} {pid} {line}", now().as_secs_f64());
            }
        });
        *lock(&self.child) = Some(child);
    }

    /// Starts it again if it has ended. One that could not start, since its server was away, has
    /// a right to end; another has not.
    pub(crate) fn keep_up(&self) -> bool {
        let mut child = lock(&self.child);
        let Some(running) = child.as_mut() else { return false };
        let Some(status) = running.try_wait().expect("child") else { return true };
        let pid = running.id();
        *child = None;
        drop(child);
        if lock(&self.log)
            .lines()
            .any(|l| l.contains(&format!(" {pid} ")) && l.contains("registered"))
        {
            lock(&self.surprises).push(format!("proxy {} ended: {status}", self.number));
        }
        self.launch();
        false
    }

    pub(crate) fn signal(&self, name: &str) {
        if let Some(child) = lock(&self.child).as_ref() {
            let pid = child.id().to_string();
            let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status();
            assert!(sent.is_ok(), "kill -{name}");
        }
    }

    /// Kills it; `start` starts the next.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = lock(&self.child).take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it behind a kill, as the successor of the one before or as a stranger.
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
        let mut child = lock(&self.child).take()?;
        let code = eventually("the proxy ends", || child.try_wait().expect("child"));
        code.code()
    }

    pub(crate) fn log(&self) -> String {
        lock(&self.log).clone()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&*lock(&self.state_dir));
    }
}

/// A port below those that the kernel hands out, so that it is free still behind a kill.
fn free_port() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = std::iter::repeat_with(|| rand::random_range(10_000..20_000));
    ports.find(free).expect("a free port")
}

fn fresh_directory() -> PathBuf {
    std::env::temp_dir().join(format!("lockstead-state-{:016x}", rand::random::<u64>()))
}
