//! Sessions that share connections to the server, beside sessions with connections of their own.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lockstead_support::Flavour;

use super::Run;
use crate::workplace::{let_connections_be_shared, pause};

/// Proxies whose sessions share connections, and how many.
const SHARED: [(&str, &str); 2] = [("shared", "16"), ("wide", "64")];

/// MySQL Router, whose clients share connections.
const ROUTER: &str = "sharing router";

/// Clients a second that connect, ask and quit.
const VISITS: usize = 500;

/// Clients, and what they are compared at.
const SIZES: [(usize, &[&str]); 3] = [
    (16, &["session", "shared", ROUTER]),
    (256, &["session", "shared", ROUTER]),
    (1000, &["direct", "wide"]),
];

impl Run<'_> {
    pub(super) fn measure_pooling(&mut self) -> Result<()> {
        let_connections_be_shared(self.stage.server())?;
        // The table may be there.
        let _ = self.sysbench(self.stage.server().port(), None, &["prepare"]);
        self.stage.start_lockstead("session", &["--mode", "durable"])?;
        for shared in SHARED {
            self.start_shared(shared)?;
        }
        let is_mysql = self.stage.server().flavour() == Flavour::MySql;
        if is_mysql {
            self.stage.start_sharing_router(ROUTER, 16)?;
        }
        for (n, variants) in SIZES {
            let there = |variant: &&&str| is_mysql || **variant != ROUTER;
            let variants: Vec<&'static str> = variants.iter().filter(there).copied().collect();
            let threads = format!("--threads={n}");
            // Once unmeasured: caches fill, connections are opened.
            for &variant in &variants {
                let port = self.stage.port_of(variant);
                self.sysbench(port, None, &[&threads, "--time=1", "run"])?;
            }
            for round in 1..=self.plan.rounds {
                self.say(&format!("point selects of {n} clients, round {round}"));
                for &variant in &variants {
                    self.point("pooling", n, variant, self.stage.port_of(variant), None)?;
                }
            }
        }
        self.visits()?;
        for (name, ..) in SHARED {
            let waits = self.stage.metric(name, "lockstead_pool_waits_total")?;
            ensure!(waits > 0.0, "{name} does not know the account: its sessions share nothing");
        }
        self.stage.stop_all();
        self.memory_of_shared()
    }

    /// Starts a proxy whose sessions share connections, and that knows the benchmarks' account.
    fn start_shared(&mut self, (name, size): (&'static str, &str)) -> Result<()> {
        let arguments = ["--pooling", "transaction", "--pool-size", size];
        self.stage.start_lockstead(name, &arguments)?;
        self.stage.teach(name)?;
        Ok(())
    }

    /// Clients that connect, ask and quit: how many logins the server sees.
    fn visits(&mut self) -> Result<()> {
        for round in 1..=self.plan.rounds {
            self.say(&format!("{VISITS} visits a second, round {round}"));
            for variant in ["direct", "session", "shared"] {
                let before = self.logins()?;
                let (port, rate) = (self.stage.port_of(variant).to_string(), VISITS.to_string());
                let seconds = self.plan.seconds.to_string();
                let options = ["visits", "--port", &port, "--rate", &rate, "--seconds", &seconds];
                let load = self.one_load(&options)?;
                // The last look was a login, too.
                let logins = self.logins()? - before - 1.0;
                let of = (VISITS, variant);
                for name in ["per_second", "p50_us", "p99_us"] {
                    self.add("visits", of, name, load.need(name)?);
                }
                let per_second = logins * load.need("per_second")? / load.need("visits")?;
                self.add("visits", of, "logins_per_second", per_second);
            }
        }
        Ok(())
    }

    /// Connections that the server has seen.
    fn logins(&self) -> Result<f64> {
        let said = self.stage.server().sql("SHOW GLOBAL STATUS LIKE 'Connections'")?;
        let count = said.split_whitespace().last().context("no count of connections")?;
        Ok(count.parse()?)
    }

    /// Of sessions that have no connection.
    fn memory_of_shared(&mut self) -> Result<()> {
        for (kind, variant) in [("--clients", "shared"), ("--encrypted", "over TLS")] {
            self.memory_of(kind, variant)?;
        }
        Ok(())
    }

    fn memory_of(&mut self, kind: &str, variant: &'static str) -> Result<()> {
        let sessions = self.plan.sessions;
        self.say(&format!("{sessions} idle sessions that share connections, {variant}"));
        let (name, ..) = SHARED[0];
        self.start_shared(SHARED[0])?;
        pause(Duration::from_secs(1));
        let before = self.stage.memory(name)?;
        let open = self.open_sessions(name, &[(kind, sessions)])?;
        self.until("sessions have no connection", |run| {
            Ok(run.stage.metric(name, "lockstead_pool_connections")? <= 16.0)
        })
        .context("idle sessions keep connections")?;
        pause(Duration::from_secs(2));
        let after = self.stage.memory(name)?;
        open.close()?;
        self.stage.stop_all();
        let count = f64::from(u32::try_from(sessions)?);
        self.add(
            "idle of shared",
            (sessions, variant),
            "kib_per_session",
            (after - before) / count,
        );
        Ok(())
    }
}
