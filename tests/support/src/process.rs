//! Process groups and signals.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// How long a group may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(10);

/// Sends a signal by name to a process; false if the process is gone.
pub fn signal(pid: u32, name: &str) -> bool {
    let signal = match name {
        "CONT" => Signal::CONT,
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "STOP" => Signal::STOP,
        "TERM" => Signal::TERM,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        _ => panic!("no test sends SIG{name}"),
    };
    to_pid(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// A command in a process group of its own, which a Ctrl-C in the terminal does not reach. It ends when dropped,
/// with all that it left behind.
#[derive(Debug)]
pub struct Group {
    child: Child,
    pid: Pid,
}

impl Group {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.process_group(0).spawn().with_context(|| format!("cannot run {program}"))?;
        let pid = to_pid(child.id()).context("no process id")?;
        Ok(Self { child, pid })
    }

    /// The id of its first process, and of the group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// First process of the group.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the first process, then ends the others; `None` if `progress` stays the same for longer than `limit`
    /// meanwhile: a slow process is told from one that hangs.
    pub fn wait_for(
        mut self,
        limit: Duration,
        mut progress: impl FnMut() -> u64,
    ) -> Result<Option<ExitStatus>> {
        let (mut seen, mut end) = (progress(), Instant::now() + limit);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            let now = progress();
            if now != seen {
                (seen, end) = (now, Instant::now() + limit);
            } else if Instant::now() > end {
                return Ok(None);
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Waits for the first process, then ends the others.
    pub fn wait(mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        end_group(self.pid.as_raw_nonzero().get().unsigned_abs(), || {
            // A process is there until it is waited for.
            let _ = self.child.try_wait();
        });
    }
}

/// Ends a process group and waits until it is gone, but not for ever. `reap` waits for those of its processes that are children.
pub fn end_group(id: u32, mut reap: impl FnMut()) {
    let Some(group) = to_pid(id) else { return };
    if kill_process_group(group, Signal::TERM) == Err(Errno::SRCH) {
        return;
    }
    let end = Instant::now() + FAREWELL;
    loop {
        reap();
        if test_kill_process_group(group).is_err() {
            return;
        }
        let late = Instant::now().saturating_duration_since(end);
        if !late.is_zero() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Dead processes that nobody waits for are there, too.
        if late > FAREWELL {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually;

    #[test]
    fn a_process_may_take_long_while_it_moves() {
        let moves = || Group::start(Command::new("sleep").arg("0.3")).expect("started");
        let mut step = 0;
        let steps = || {
            step += 1;
            step
        };
        let ended = moves().wait_for(Duration::from_millis(100), steps).expect("waited for");
        assert!(ended.is_some_and(|status| status.success()));
        let ended = moves().wait_for(Duration::from_millis(1), || 0).expect("waited for");
        assert!(ended.is_none());
    }

    #[test]
    fn a_group_ends_with_all_its_processes() {
        let mut shell = Command::new("sh");
        let group = Group::start(shell.args(["-c", "sleep 600 & exit 7"])).expect("a group");
        let pid = group.pid;
        assert!(test_kill_process_group(pid).is_ok());
        assert_eq!(group.wait().expect("its end").code(), Some(7));
        // The process that adopted it has to wait for it.
        eventually("the group is gone", || test_kill_process_group(pid).is_err().then_some(()));
    }

    #[test]
    fn a_group_has_no_more_time_than_its_limit() {
        let mut shell = Command::new("sh");
        let group = Group::start(shell.args(["-c", "sleep 600"])).expect("a group");
        let ended = group.wait_for(Duration::from_millis(50), || 0).expect("waited for");
        assert!(ended.is_none());
    }
}
