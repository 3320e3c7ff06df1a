//! What idle sessions and idle proxies cost.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use lockstead_support::patience::within;
use lockstead_support::process::Group;

use super::Run;
use super::plan::Plan;
use super::stage::Counters;
use crate::workplace::pause;

/// How long sessions and their locks may take to be there.
const PATIENCE: Duration = Duration::from_mins(10);

/// Open sessions that do nothing. They are closed when dropped.
pub(super) struct Sessions(Group);

impl Sessions {
    /// Closes them. All must have been there until now, with their locks.
    pub(super) fn close(mut self) -> Result<()> {
        drop(self.0.child().stdin.take());
        let status = self.0.child().wait()?;
        ensure!(status.success(), "a session or a lock was lost while it was idle");
        Ok(())
    }
}

impl Run<'_> {
    pub(super) fn measure_idle(&mut self) -> Result<()> {
        self.memory()?;
        self.at_rest()
    }

    /// Opens sessions through a proxy, and returns when they have their locks.
    pub(super) fn open_sessions(&self, proxy: &str, options: &[(&str, usize)]) -> Result<Sessions> {
        let path = self.stage.place().file("idle.log");
        let log = File::create(&path)?;
        let mut load = Command::new(&self.stage.programs().lockpairs);
        load.args(["idle", "--port", &self.stage.port_of(proxy).to_string()]);
        for (option, value) in options {
            load.args([*option, &value.to_string()]);
        }
        load.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        let mut sessions = Sessions(Group::start(&mut load)?);
        let opened = within(PATIENCE, || {
            let said = fs::read_to_string(&path).unwrap_or_default();
            if said.contains("sessions\"") {
                return Some(true);
            }
            sessions.0.child().try_wait().is_ok_and(|status| status.is_some()).then_some(false)
        });
        if opened != Some(true) {
            bail!("the idle sessions could not be opened: {}", fs::read_to_string(&path)?.trim());
        }
        Ok(sessions)
    }

    /// One process each, freshly started: memory depends on what a process did before.
    fn memory(&mut self) -> Result<()> {
        let sessions = self.plan.sessions;
        for variant in self.plan.variants(&["haproxy", "lockstead"]) {
            self.say(&format!("{sessions} idle sessions through {variant}"));
            match variant {
                "haproxy" => self.stage.start_haproxy(None)?,
                _ => self.stage.start_lockstead(variant, &[])?,
            }
            // The start may still be using memory.
            pause(Duration::from_secs(1));
            let before = self.stage.memory(variant)?;
            let open = self.open_sessions(variant, &[("--clients", sessions)])?;
            pause(Duration::from_secs(2));
            let after = self.stage.memory(variant)?;
            open.close()?;
            self.stage.stop(variant);
            let count = f64::from(u32::try_from(sessions)?);
            self.add("idle", (sessions, variant), "kib_per_session", (after - before) / count);
        }
        Ok(())
    }

    /// What a proxy sends by itself, and the time of a renewal, without locks and with many.
    fn at_rest(&mut self) -> Result<()> {
        let own = Counters::own_statements(self.stage.server())?;
        let holders = self.plan.holders;
        self.stage.start_lockstead("lockstead", &[])?;
        for round in 1..=self.plan.rounds.min(2) {
            self.say(&format!("a proxy at rest, round {round}"));
            self.rest(0, own)?;
            let options = [("--clients", holders), ("--locks", Plan::LOCKS_EACH)];
            let open = self.open_sessions("lockstead", &options)?;
            self.rest(holders * Plan::LOCKS_EACH, own)?;
            open.close()?;
        }
        self.stage.stop_all();
        Ok(())
    }

    /// Watches for a while. `own`: statements of one look.
    fn rest(&mut self, locks: usize, own: f64) -> Result<()> {
        // Earlier work has effects a moment later: connections are opened again, rows are compared.
        pause(Duration::from_secs(3));
        let before = self.look()?;
        pause(Duration::from_secs(self.plan.idle_seconds));
        let after = self.look()?;
        let renewals = after.renewals - before.renewals;
        ensure!(renewals > 0.0, "no lease was renewed in {} s", self.plan.idle_seconds);
        let rate =
            (after.statements - before.statements - own) / (after.at - before.at).as_secs_f64();
        let renewal = (after.renewing - before.renewing) * 1e6 / renewals;
        self.add("rest", (locks, "lockstead"), "statements_per_second", rate);
        self.add("rest", (locks, "lockstead"), "renewal_us", renewal);
        Ok(())
    }

    fn look(&self) -> Result<Look> {
        let metric = |name| self.stage.metric("lockstead", name).context("no renewals are counted");
        Ok(Look {
            at: Instant::now(),
            statements: Counters::read(self.stage.server())?.statements,
            renewals: metric("lockstead_lease_renewal_seconds_count")?,
            renewing: metric("lockstead_lease_renewal_seconds_sum")?,
        })
    }
}

/// What was counted until a moment.
struct Look {
    at: Instant,
    statements: f64,
    renewals: f64,
    /// Seconds that they took.
    renewing: f64,
}
