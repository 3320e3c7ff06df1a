//! A newer program takes this process's place. The new process is started beside this one, and accepts on the same
//! listening sockets when it is ready. This process then stops accepting, and keeps its sessions until they end.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::cluster::RunningCluster;
use super::handover::{self, NamedSocket, PATIENCE, TAKES_OVER, UpgradeChannel};
use super::sockets::Sockets;
use crate::admin::{Replaced, UpgradeRequest};
use crate::engine::handle::SessionEvent;
use crate::frontend::accept::listener::Workers;
use crate::frontend::session::close::LAST_MOMENT;
use crate::frontend::shared::registry::Registry;
use crate::types::ConnectionId;

/// How long the new process may take to be ready, beside what it waits for others' leases.
const START: Duration = Duration::from_mins(1);

/// How often, and how many times, it is checked whether a process that fails is gone.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: u32 = 200;

/// The program as this process was started, which may be another file by now.
pub(super) struct Origin {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Origin {
    /// To be asked before the file can have been replaced.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let mut arguments = std::env::args_os();
        // A link may lead elsewhere by then.
        let called = arguments.next().map(PathBuf::from);
        let called = called.filter(|name| runs(name).is_ok_and(|runs| runs));
        let program = match called {
            Some(name) => std::path::absolute(name)?,
            None => std::env::current_exe()?,
        };
        Ok(Self { program, arguments: arguments.collect() })
    }

    /// The file in its place, if it is no longer the one that runs.
    pub(super) fn replaced(&self) -> Replaced {
        let program = self.program.display();
        match runs(&self.program) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(format!("{program} is another file than the one that ran"))),
            Err(e) => Err(format!("cannot read {program}: {e}")),
        }
    }

    /// Starts it again, and hands the sockets over.
    fn start(&self, sockets: &[NamedSocket]) -> Result<(Process, OwnedFd, io::Result<()>), String> {
        let (line, theirs) = handover::pair().map_err(|e| e.to_string())?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env(TAKES_OVER, "1")
            .stdin(theirs)
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", self.program.display()))?;
        let sent = handover::send(&line, sockets);
        Ok((Process(Some(child)), line, sent))
    }
}

/// Whether this process runs that file.
fn runs(file: &Path) -> io::Result<bool> {
    let (there, own) = (fs::metadata(file)?, fs::metadata("/proc/self/exe")?);
    Ok((there.dev(), there.ino()) == (own.dev(), own.ino()))
}

/// A process that is ended with this, unless it has been let go.
struct Process(Option<Child>);

impl Process {
    fn id(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// Lets the process live on by itself.
    fn let_go(&mut self) {
        self.0 = None;
    }

    /// Ends a process that fails. Returns how it has ended, if by itself.
    async fn failed(mut self) -> String {
        // The process may have closed its end of the line and not be gone yet.
        for _ in 0..LOOKS {
            if let Some(Ok(Some(status))) = self.0.as_mut().map(Child::try_wait) {
                return format!(
                    "the new process ended ({status}) before it served; the log says why"
                );
            }
            sleep(LOOK).await;
        }
        "the new process was ended before it served".to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // A process that is gone already cannot be ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A new process that serves.
pub(super) struct Successor {
    process: Process,
    answer: Option<UpgradeAnswer>,
}

/// Takes the result: the new process's id, or why there is none.
type UpgradeAnswer = oneshot::Sender<Result<u32, String>>;

/// Waits for a request and until a new process serves. If that fails, nothing changes.
pub(super) async fn successor(
    origin: &Arc<Origin>,
    sockets: &Sockets,
    registry: &Registry,
    lease: Duration,
    asked: &mut UpgradeRequests,
) -> Successor {
    loop {
        let answer = asked.next().await;
        let copies = sockets.copies().map_err(|e| e.to_string());
        let limits = StartLimits { ready: START + lease * 2, serves: PATIENCE };
        let started = match copies {
            Ok(copies) => start(origin, copies, registry, limits).await,
            Err(e) => Err(e),
        };
        match started {
            Ok(process) => return Successor { process, answer },
            Err(e) => {
                tracing::error!(error = %e, "no upgrade: this process continues to serve");
                // The caller may not have waited.
                let _ = answer.map(|answer| answer.send(Err(e)));
            }
        }
    }
}

/// How long a new process may take.
#[derive(Debug, Clone, Copy)]
struct StartLimits {
    /// Time until the process is ready.
    ready: Duration,
    /// Time from there until it serves.
    serves: Duration,
}

/// Starts a process beside this one, and waits until it is ready and serves.
async fn start(
    origin: &Arc<Origin>,
    sockets: Vec<NamedSocket>,
    registry: &Registry,
    limits: StartLimits,
) -> Result<Process, String> {
    if std::process::id() == 1 {
        return Err(
            "this is the first process of a container, which ends with it: start another container"
                .to_owned(),
        );
    }
    let origin = Arc::clone(origin);
    // The new process may take its time to read.
    let started = tokio::task::spawn_blocking(move || origin.start(&sockets)).await;
    let (process, line, sent) = started.map_err(|e| e.to_string())??;
    tracing::info!(process = process.id(), "starting a new process, which will take over");
    if let Err(e) = sent {
        return Err(format!("it did not accept the sockets ({e}): {}", process.failed().await));
    }
    let mut line = UpgradeChannel::new(line).map_err(|e| e.to_string())?;
    match timeout(limits.ready, line.is_ready()).await {
        Ok(true) => {}
        Ok(false) => return Err(process.failed().await),
        Err(_) => {
            return Err(format!(
                "the new process was not ready after {:?}, so it was ended",
                limits.ready
            ));
        }
    }
    match timeout(limits.serves, line.gives(registry.is_aside())).await {
        Ok(true) => Ok(process),
        Ok(false) => Err(process.failed().await),
        Err(_) => Err("the new process was ready but did not serve, so it was ended".to_owned()),
    }
}

impl Successor {
    /// Makes the process the service from now on.
    pub(super) fn let_go(mut self) {
        let id = self.process.id();
        self.process.let_go();
        // systemd follows this process from now on. Elsewhere nobody listens.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::MainPid(id)]);
        tracing::info!(
            process = id,
            "the new process has taken over; existing sessions stay here until they end"
        );
        let _ = self.answer.map(|answer| answer.send(Ok(id)));
    }
}

/// The sources of requests for an upgrade: administrators, and a signal.
pub(super) struct UpgradeRequests {
    pub(super) administrators: mpsc::Receiver<UpgradeRequest>,
    pub(super) signal: Signal,
}

impl UpgradeRequests {
    /// The next one, with where an answer goes.
    pub(super) async fn next(&mut self) -> Option<UpgradeAnswer> {
        tokio::select! {
            Some(asked) = self.administrators.recv() => Some(asked.0),
            told = self.signal.recv() => match told {
                Some(()) => None,
                None => pending().await,
            },
        }
    }
}

/// Waits for the sessions to end by themselves; at the limit they are told to, those without locks
/// first. True if none is left.
pub(super) async fn linger(
    limit: Duration,
    registry: &Registry,
    workers: &Workers,
    clusters: &[RunningCluster],
) -> bool {
    // The last accepted clients may not be registered yet.
    let ended = async {
        while !registry.emptied(limit).await || !workers.are_idle() {
            sleep(LOOK).await;
        }
    };
    if timeout(limit, ended).await.is_ok() {
        return true;
    }
    let mut holders: HashSet<(Option<Arc<str>>, ConnectionId)> = HashSet::new();
    for cluster in clusters {
        let seen = cluster.for_admin();
        if let Some(engine) = seen.engine {
            let held = engine.snapshot().await.held;
            holders.extend(held.into_iter().map(|held| (seen.name.clone(), held.conn)));
        }
    }
    tracing::info!(?limit, holders = holders.len(), "the remaining sessions are closed");
    registry.tell_others(SessionEvent::Drain, |shown| {
        holders.contains(&(shown.cluster.clone(), shown.connection))
    });
    registry.emptied(LAST_MOMENT).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_there(argument: &str) -> bool {
        let processes = fs::read_dir("/proc").expect("processes");
        let mut lines = processes.flatten().flat_map(|of| fs::read(of.path().join("cmdline")));
        lines.any(|line| String::from_utf8_lossy(&line).contains(argument))
    }

    #[tokio::test]
    async fn a_new_process_that_is_never_ready_is_ended() {
        let argument = format!("600.{}", rand::random::<u32>());
        let origin = Origin { program: "sleep".into(), arguments: vec![argument.clone().into()] };
        let limits = StartLimits { ready: LOOK, serves: LOOK };
        let started = start(&Arc::new(origin), Vec::new(), &Registry::default(), limits).await;
        assert!(started.is_err_and(|e| e.contains("was not ready after 5ms, so it was ended")));
        assert!(!is_there(&argument));
    }

    #[tokio::test]
    async fn a_new_process_that_is_ready_and_never_serves_is_ended() {
        let argument = format!("600.{}", rand::random::<u32>());
        let script = format!("printf ready >&0; exec sleep {argument}");
        let arguments = vec!["-c".into(), script.into()];
        let origin = Origin { program: "sh".into(), arguments };
        let limits = StartLimits { ready: START, serves: LOOK };
        let started = start(&Arc::new(origin), Vec::new(), &Registry::default(), limits).await;
        assert!(
            started
                .is_err_and(|e| e == "the new process was ready but did not serve, so it was ended")
        );
        assert!(!is_there(&argument));
    }
}
