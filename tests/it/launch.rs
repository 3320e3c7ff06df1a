//! The built program with arguments of a test's own choice.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use crate::proxy::free_port;
use crate::stage::eventually;

/// A proxy that was started with a backend and a store of its own; killed when dropped.
pub(crate) struct Launched {
    pub(crate) port: u16,
    pub(crate) child: Child,
    log: Arc<Mutex<String>>,
}

/// The program, without anything that the environment may say to it.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstead"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LOCKSTEAD_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    program(arguments).output().expect("the program runs")
}

impl Launched {
    /// Starts `serve`, on a free port and without pages, and waits until it has its lease.
    pub(crate) fn start(backend: &str, store: &str, extra: &[&str]) -> Self {
        Self::start_as(|| program(&[]), backend, store, extra)
    }

    /// The same with so many open files.
    pub(crate) fn limited(backend: &str, store: &str, extra: &[&str], files: u32) -> Self {
        let shell = || {
            let plain = program(&[]);
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
            shell.arg(plain.get_program());
            for (name, _) in plain.get_envs() {
                shell.env_remove(name);
            }
            shell
        };
        Self::start_as(shell, backend, store, extra)
    }

    /// The same by another program.
    pub(crate) fn start_as(
        make: impl Fn() -> Command,
        backend: &str,
        store: &str,
        extra: &[&str],
    ) -> Self {
        let place = ["--backend", backend, "--store", store];
        // Another process may take a free port before the proxy does: try again then.
        for _ in 0..5 {
            let arguments = [&place, extra].concat();
            if let Some(launched) = Self::try_start(make(), free_port(), &arguments) {
                return launched;
            }
        }
        panic!("no free port found for the proxy");
    }

    /// `None` when the port was taken meanwhile.
    fn try_start(mut command: Command, port: u16, arguments: &[&str]) -> Option<Self> {
        let listen = format!("127.0.0.1:{port}");
        let fixed = ["serve", "--workers", "1", "--http", "off", "--state-dir", "off", "--listen"];
        let fixed = [&fixed[..], &[&listen]].concat();
        let mut child = command
            .args([&fixed[..], arguments].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the proxy starts");
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let copy = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut log = copy.lock().expect("log");
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut launched = Self { port, child, log };
        let ended = eventually("the proxy is registered or ends", || {
            let ended = launched.child.try_wait().expect("child").is_some();
            (ended || launched.log().contains("registered")).then_some(ended)
        });
        if ended {
            reader.join().expect("the log is read to its end");
            let log = launched.log();
            assert!(log.contains("cannot listen"), "the proxy did not start:\n{log}");
            return None;
        }
        Some(launched)
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the proxy on {} ---\n{}", self.port, self.log());
        }
    }
}
