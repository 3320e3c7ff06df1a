//! Pairs of lock and unlock: rates, hand-overs, and what they cost the server.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Run;
use super::samples::Of;
use super::stage::Counters;
use super::targets::of_plain;

/// The ways to lock: the server's locks directly and through HAProxy, the plain scheme, and Lockstead in its modes.
const LOCKERS: [&str; 6] = ["native", "haproxy", "plain", "lockstead", "coexist", "observed"];

/// The ways to write with autocommit under a lock: at the server, and through Lockstead.
const WRITERS: [&str; 3] = ["own lock, writes", "writes-unfenced", "writes-fenced"];

/// What a run of the load printed.
pub(super) struct Load(serde_json::Value);

/// Figures of a load that are kept, if it prints them.
const KEPT: [&str; 7] = [
    "pairs_per_second",
    "mean_us",
    "p50_us",
    "p99_us",
    "max_us",
    "statement_p50_us",
    "driver_us_per_pair",
];

impl Load {
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    pub(super) fn need(&self, name: &str) -> Result<f64> {
        self.get(name).with_context(|| format!("the load prints no {name}: {}", self.0))
    }
}

impl Run<'_> {
    /// Runs the load. The variants `plain` and `plain-rare` insert and delete a row, those of `commits` commit one, those of
    /// `writes` write one twice with autocommit, the others lock and unlock.
    pub(super) fn load(&self, (clients, variant): Of, options: &[&str]) -> Result<Load> {
        let mode = match variant {
            "plain" | "plain-rare" => "plain",
            "own lock" | "fenced" | "unfenced" => "commits",
            _ if WRITERS.contains(&variant) => "writes",
            _ => "native",
        };
        let (port, clients) = (self.stage.port_of(variant).to_string(), clients.to_string());
        let seconds = self.plan.seconds.to_string();
        let fixed = [mode, "--port", &port, "--clients", &clients, "--seconds", &seconds];
        self.one_load(&[&fixed[..], options].concat())
    }

    /// Runs the program of the load; its figures.
    pub(super) fn one_load(&self, arguments: &[&str]) -> Result<Load> {
        let said = self.lockpairs(arguments)?;
        let last = said.lines().last().unwrap_or_default();
        Ok(Load(serde_json::from_str(last).with_context(|| format!("the load says: {said}"))?))
    }

    /// Runs the program of the load; what it prints.
    fn lockpairs(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.stage.programs().lockpairs).args(arguments).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "the load {} failed: {}",
            arguments.join(" "),
            errors.trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs the load and keeps its figures; the number of pairs.
    pub(super) fn pairs(&mut self, section: &'static str, of: Of, options: &[&str]) -> Result<f64> {
        let load = self.load(of, options)?;
        for name in KEPT {
            if let Some(value) = load.get(name) {
                self.add(section, of, name, value);
            }
        }
        load.need("pairs")
    }

    pub(super) fn measure_locks(&mut self) -> Result<()> {
        self.stage.start_haproxy(None)?;
        let reports = self.stage.place().file("observed").display().to_string();
        self.stage.start_lockstead("lockstead", &["--mode", "durable"])?;
        self.stage.start_before()?;
        self.stage.start_lockstead("coexist", &["--mode", "coexist"])?;
        self.stage.start_lockstead("observed", &["--mode", "observe", "--state-dir", &reports])?;
        self.one_client()?;
        self.many_clients()?;
        self.stage.stop_all();
        Ok(())
    }

    fn one_client(&mut self) -> Result<()> {
        for round in 1..=self.plan.most_rounds {
            self.say(&format!("locks, 1 client, round {round}"));
            for variant in self.plan.variants(&LOCKERS) {
                self.pairs("locks", (1, variant), &[])?;
            }
            let group = self.samples.group("locks", self.flavour);
            let (time, _) = of_plain(self.flavour);
            if round >= self.plan.rounds
                && !group.is_undecided("p50_us", (1, "lockstead"), (1, "plain"), time)
            {
                break;
            }
        }
        Ok(())
    }

    /// Both numbers of clients take turns too: they are compared.
    fn many_clients(&mut self) -> Result<()> {
        let crowd = self.plan.crowd;
        for round in 1..=self.plan.most_rounds {
            self.say(&format!("locks, 64 and {crowd} clients, round {round}"));
            for n in [16, 64, crowd] {
                for variant in self.plan.variants(&LOCKERS) {
                    self.pairs("locks", (n, variant), &[])?;
                }
            }
            let group = self.samples.group("locks", self.flavour);
            let undecided =
                |one, other, target| group.is_undecided("pairs_per_second", one, other, target);
            let (_, rate) = of_plain(self.flavour);
            let open = undecided((64, "lockstead"), (64, "plain"), rate)
                || undecided((64, "lockstead"), (64, "haproxy"), 0.5)
                || undecided((crowd, "lockstead"), (64, "lockstead"), 0.8);
            if round >= self.plan.rounds && !open {
                break;
            }
        }
        Ok(())
    }

    /// Transactions of sessions that hold a lock: the server's own, and Lockstead's, with a question before each COMMIT
    /// and without; and their writes with autocommit.
    pub(super) fn measure_commits(&mut self) -> Result<()> {
        self.start_fenced_and_unfenced()?;
        for (name, fences) in [("writes-unfenced", "off"), ("writes-fenced", "all")] {
            let options = ["--mode", "durable", "--fenced-commit", fences];
            self.stage.start_lockstead(name, &options)?;
        }
        for round in 1..=self.plan.rounds {
            self.say(&format!("commits, round {round}"));
            for n in [1, 64] {
                for variant in ["own lock", "unfenced", "fenced"] {
                    self.pairs("commits", (n, variant), &[])?;
                }
                for variant in WRITERS {
                    self.pairs("writes", (n, variant), &[])?;
                }
            }
        }
        for name in ["fenced", "writes-fenced"] {
            self.commits_were_fenced(name)?;
        }
        self.stage.stop_all();
        Ok(())
    }

    pub(super) fn start_fenced_and_unfenced(&mut self) -> Result<()> {
        self.stage.server().sql(
            "CREATE TABLE bench.commits (name VARCHAR(64) NOT NULL PRIMARY KEY, n INT NOT NULL)",
        )?;
        self.stage.start_lockstead("fenced", &["--mode", "durable"])?;
        let off = ["--mode", "durable", "--fenced-commit", "off"];
        self.stage.start_lockstead("unfenced", &off)?;
        self.stage.let_commits_be_fenced()
    }

    pub(super) fn commits_were_fenced(&self, name: &str) -> Result<()> {
        let [fenced, not] = ["fenced", "denied"].map(|result| {
            let metric = format!("lockstead_fenced_commits_total{{result=\"{result}\"}}");
            self.stage.metric(name, &metric)
        });
        ensure!(fenced? > 0.0 && not? < 1.0, "commits were not fenced");
        Ok(())
    }

    /// One name that all want. The plain scheme has no way to wait; what it does for one client alone is beside it.
    pub(super) fn measure_hot(&mut self) -> Result<()> {
        self.stage.start_lockstead("lockstead", &["--mode", "durable"])?;
        for round in 1..=self.plan.rounds {
            self.say(&format!("one hot name, round {round}"));
            self.pairs("hot", (16, "native"), &["--hot"])?;
            self.pairs("hot", (1, "plain"), &[])?;
            self.pairs("hot", (16, "lockstead"), &["--hot"])?;
        }
        self.stage.stop_all();
        Ok(())
    }

    /// A hand-over between two proxies and on the server alone; and the time of one commit, under load and as rare as here.
    pub(super) fn measure_handover(&mut self) -> Result<()> {
        self.stage.start_lockstead("lockstead", &["--mode", "durable"])?;
        self.stage.start_lockstead("second", &["--mode", "durable"])?;
        // Both must have seen the other's lease, or nobody is woken.
        for name in ["lockstead", "second"] {
            self.until(&format!("{name} sees the other"), |run| {
                Ok(run.stage.metric(name, "lockstead_live_peers")? >= 1.0)
            })?;
        }
        for round in 1..=self.plan.rounds {
            self.say(&format!("hand-overs, round {round}"));
            let server = self.stage.server().port();
            self.hand_over("native", [server, server], 20)?;
            let before = self.rings()?;
            let ports = ["lockstead", "second"].map(|name| self.stage.port_of(name));
            self.hand_over("lockstead", ports, 100)?;
            let woken = (self.rings()? - before) / f64::from(self.plan.handovers);
            self.add("handover", (2, "lockstead"), "woken", woken);
            self.pairs("handover", (1, "plain"), &[])?;
            self.pairs("handover", (1, "plain-rare"), &["--pause", "40"])?;
        }
        self.stage.stop_all();
        Ok(())
    }

    fn hand_over(&mut self, variant: &'static str, ports: [u16; 2], least_wait: u32) -> Result<()> {
        let [port, other] = ports.map(|port| port.to_string());
        let (waits, count) = (least_wait.to_string(), self.plan.handovers.to_string());
        let arguments = [
            "handover",
            "--port",
            &port,
            "--other-port",
            &other,
            "--waits",
            &waits,
            "--count",
            &count,
        ];
        for line in self.lockpairs(&arguments)?.lines() {
            let (reply, send) =
                line.split_once('\t').with_context(|| format!("the load says: {line}"))?;
            self.add("handover", (2, variant), "after_reply_us", reply.parse()?);
            self.add("handover", (2, variant), "after_send_us", send.parse()?);
        }
        Ok(())
    }

    fn rings(&self) -> Result<f64> {
        let name = "lockstead_rings_total{result=\"rung\"}";
        Ok(self.stage.metric("lockstead", name)? + self.stage.metric("second", name)?)
    }

    /// What the server does for a pair.
    pub(super) fn measure_cost(&mut self) -> Result<()> {
        let own = Counters::own_statements(self.stage.server())?;
        self.stage.start_lockstead("lockstead", &["--mode", "durable"])?;
        self.stage.start_lockstead("coexist", &["--mode", "coexist"])?;
        // Once uncounted: rows come to be, statements are prepared.
        self.load((64, "lockstead"), &[])?;
        self.load((64, "coexist"), &[])?;
        for round in 1..=self.plan.rounds.min(3) {
            self.say(&format!("cost of a pair, round {round}"));
            for n in [1, 64] {
                for variant in ["native", "plain", "lockstead", "coexist"] {
                    let before = Counters::read(self.stage.server())?;
                    let pairs = self.pairs("cost", (n, variant), &[])?;
                    let after = Counters::read(self.stage.server())?;
                    let statements = after.statements - before.statements - own;
                    self.add("cost", (n, variant), "statements", statements / pairs);
                    self.add(
                        "cost",
                        (n, variant),
                        "writes",
                        (after.writes - before.writes) / pairs,
                    );
                    self.add(
                        "cost",
                        (n, variant),
                        "binlog_bytes",
                        (after.bytes - before.bytes) / pairs,
                    );
                }
            }
        }
        self.stage.stop_all();
        Ok(())
    }
}
