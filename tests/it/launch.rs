//! The built program with arguments of a test's own choice.

use std::ops::Deref;
use std::process::{Command, Output};

use lockstead_support::Launch;
use lockstead_support::launch::{command, durable_by_default};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockstead");

/// A start that another of the same moment is not in the way of: any free port, and no pages.
pub(crate) const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--http", "off"];

/// A proxy that was started with a backend and a store of its own; killed when dropped.
pub(crate) struct Launched {
    pub(crate) port: u16,
    running: lockstead_support::Proxy,
}

/// The program, without anything that the environment may say to it; in mode durable unless its arguments or its
/// file say another.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = command(PROGRAM);
    command.args(arguments);
    durable_by_default(&mut command);
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

    /// A proxy with pages.
    pub(crate) fn start_with_pages(backend: &str, store: &str, extra: &[&str]) -> Self {
        Self::run(Launch::by(|| program(&[])).with_pages(), backend, store, extra)
    }

    /// A proxy with so many open files at most.
    pub(crate) fn limited(backend: &str, store: &str, extra: &[&str], files: u32) -> Self {
        let shell = || {
            let mut shell = command("sh");
            shell.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\""), PROGRAM]);
            shell
        };
        Self::start_as(shell, backend, store, extra)
    }

    /// A proxy that another program starts.
    pub(crate) fn start_as(
        make: impl Fn() -> Command,
        backend: &str,
        store: &str,
        extra: &[&str],
    ) -> Self {
        Self::run(Launch::by(make), backend, store, extra)
    }

    fn run(launch: Launch<'_>, backend: &str, store: &str, extra: &[&str]) -> Self {
        let launch = launch
            .arguments(&["--workers", "1", "--state-dir", "off"])
            .arguments(&["--backend", backend, "--store", store])
            .arguments(extra);
        let running = launch.start().expect("a proxy");
        Self { port: running.port(), running }
    }
}

impl Launched {
    /// Waits until it has ended; its exit status.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.running.wait()
    }
}

impl Deref for Launched {
    type Target = lockstead_support::Proxy;

    fn deref(&self) -> &Self::Target {
        &self.running
    }
}
