//! Point selects by sysbench, without and with TLS.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use lockstead_support::Flavour;

use super::Run;
use super::plan::Plan;

/// Threads of the statements with words.
const WORDS_AT: usize = 16;
/// What stands before a point select: words that look like CALL and EXECUTE cost what a plain one costs.
const WORDS: [(&str, &str); 4] = [
    ("plain", "SELECT c"),
    ("comment", "/* app:callcenter */ SELECT c"),
    ("line", "-- executed by cron\nSELECT c"),
    ("name", "SELECT c AS callers"),
];
/// The point select of sysbench, with a beginning of its own.
const WORDS_SCRIPT: &str = r#"
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query(os.getenv("LOCKSTEAD_WORDS") .. " FROM sbtest1 WHERE id=" .. sysbench.rand.default(1, 10000))
end
"#;

impl Run<'_> {
    pub(super) fn measure_points(&mut self) -> Result<()> {
        let mut variants = self.plan.variants(&["direct", "haproxy", "lockstead"]);
        self.sysbench(self.stage.server().port(), None, &["prepare"])
            .context("the table cannot be made")?;
        self.stage.start_haproxy(None)?;
        self.stage.start_lockstead("lockstead", &[])?;
        self.stage.start_before()?;
        if self.flavour == Flavour::MySql {
            variants.push("router");
            self.stage.start_router()?;
        }
        // Once unmeasured: caches fill, pages are touched.
        for variant in &variants {
            self.sysbench(self.stage.port_of(variant), None, &["--threads=16", "--time=1", "run"])?;
        }
        for n in Plan::THREAD_COUNTS {
            for round in 1..=self.plan.most_rounds {
                self.say(&format!("points, {n} threads, round {round}"));
                for variant in &variants {
                    self.point("points", n, variant, self.stage.port_of(variant), None)?;
                }
                if round < self.plan.rounds {
                    continue;
                }
                let group = self.samples.group("points", self.flavour);
                let undecided = |metric, target| {
                    group.is_undecided(metric, (n, "lockstead"), (n, "haproxy"), target)
                };
                // 256 threads have no target.
                if n == 256 || !undecided("per_second", 0.95) && !undecided("processor_us", 1.15) {
                    break;
                }
            }
        }
        self.stage.start_lockstead("coexist", &["--mode", "coexist"])?;
        self.measure_words()?;
        self.stage.stop_all();
        Ok(())
    }

    fn measure_words(&mut self) -> Result<()> {
        let script = self.stage.place().file("words.lua");
        fs::write(&script, WORDS_SCRIPT)?;
        let (threads, time) =
            (format!("--threads={WORDS_AT}"), format!("--time={}", self.plan.seconds));
        let port = format!("--mysql-port={}", self.stage.port_of("coexist"));
        for round in 1..=self.plan.rounds {
            self.say(&format!("points with words, {WORDS_AT} threads, round {round}"));
            for (variant, beginning) in WORDS {
                let mut sysbench = self.sysbench_command(&script.display().to_string());
                sysbench.env("LOCKSTEAD_WORDS", beginning);
                sysbench.args([&port, &threads, &time, "--mysql-ssl=off", "run"]);
                let output = said(sysbench)?;
                let (_, rate) =
                    rates(&output).with_context(|| format!("sysbench says no rate:\n{output}"))?;
                self.add("words", (WORDS_AT, variant), "per_second", rate);
            }
        }
        Ok(())
    }

    pub(super) fn measure_tls(&mut self) -> Result<()> {
        let tls = self.stage.server().folder().join("tls");
        // sysbench looks for certificates where it runs, under names of its own.
        let certificates = self.stage.place().file("sysbench-tls");
        fs::create_dir_all(&certificates)?;
        for (from, to) in
            [("client-cert", "client-cert"), ("client-key", "client-key"), ("ca", "cacert")]
        {
            fs::copy(tls.join(format!("{from}.pem")), certificates.join(format!("{to}.pem")))?;
        }
        let both = self.stage.place().file("haproxy.pem");
        let (certificate, key) = (tls.join("server-cert.pem"), tls.join("server-key.pem"));
        fs::write(&both, [fs::read(&certificate)?, fs::read(&key)?].concat())?;
        // The table may be there.
        let _ = self.sysbench(self.stage.server().port(), None, &["prepare"]);
        self.stage.start_haproxy(Some(&both))?;
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        let options = ["--backend-tls", "off", "--tls-cert", &certificate, "--tls-key", &key];
        self.stage.start_lockstead("lockstead", &options)?;
        self.stage.start_tunnel()?;
        // Once unmeasured, as above. In front of HAProxy, another one speaks TLS in the client's place.
        let run = ["--threads=16", "--time=1", "run"];
        self.sysbench(self.stage.port_of("lockstead"), Some(&certificates), &run)?;
        self.sysbench(self.stage.port_of("tunnel"), None, &run)?;
        for n in [1, 16, 64] {
            for round in 1..=self.plan.rounds {
                self.say(&format!("TLS, {n} threads, round {round}"));
                for variant in ["direct", "haproxy", "lockstead"] {
                    let (port, certificates) = match variant {
                        "haproxy" => (self.stage.port_of("tunnel"), None),
                        _ => (self.stage.port_of(variant), Some(certificates.as_path())),
                    };
                    self.point("tls", n, variant, port, certificates)?;
                }
            }
        }
        self.stage.stop_all();
        Ok(())
    }

    /// One run of sysbench; `variant` is the process whose time is taken.
    pub(super) fn point(
        &mut self,
        section: &'static str,
        threads: usize,
        variant: &'static str,
        port: u16,
        certificates: Option<&Path>,
    ) -> Result<()> {
        let processor =
            |run: &Self| if variant == "direct" { Ok(0.0) } else { run.stage.processor(variant) };
        let before = processor(self)?;
        let (threads_option, time) =
            (format!("--threads={threads}"), format!("--time={}", self.plan.seconds));
        let output = self.sysbench(
            port,
            certificates,
            &[&threads_option, &time, "--report-interval=0", "--percentile=99", "run"],
        )?;
        let used = processor(self)? - before;
        let (queries, rate) =
            rates(&output).with_context(|| format!("sysbench says no rate:\n{output}"))?;
        self.add(section, (threads, variant), "per_second", rate);
        if let Some(p99) = p99(&output) {
            self.add(section, (threads, variant), "p99_us", p99 * 1e3);
        }
        if variant != "direct" {
            self.add(section, (threads, variant), "processor_us", used * 1e6 / queries);
        }
        Ok(())
    }

    /// Runs sysbench at a port, with TLS if there are certificates; what it prints.
    pub(super) fn sysbench(
        &self,
        port: u16,
        certificates: Option<&Path>,
        options: &[&str],
    ) -> Result<String> {
        let ssl = if certificates.is_some() { "on" } else { "off" };
        let mut sysbench = self.sysbench_command("oltp_point_select");
        sysbench.args([&format!("--mysql-port={port}"), &format!("--mysql-ssl={ssl}")]);
        sysbench.args(["--tables=1", "--table-size=10000", "--db-ps-mode=disable"]).args(options);
        if let Some(folder) = certificates {
            sysbench.current_dir(folder);
        }
        said(sysbench)
    }

    fn sysbench_command(&self, script: &str) -> Command {
        let mut sysbench = Command::new(self.stage.programs().cache.join("bin/sysbench"));
        sysbench.args([script, "--db-driver=mysql", "--mysql-host=127.0.0.1"]);
        sysbench.args(["--mysql-user=bench", "--mysql-password=bench", "--mysql-db=bench"]);
        sysbench
    }
}

/// What sysbench prints.
fn said(mut sysbench: Command) -> Result<String> {
    let output = sysbench.output().context("sysbench cannot be run")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let all = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
        let fatal: Vec<&str> = all.lines().filter(|line| line.contains("FATAL")).take(3).collect();
        bail!("sysbench failed: {}", fatal.join("\n"));
    }
    Ok(said)
}

/// Queries, and queries a second, of `queries:   123456 (24690.12 per sec.)`.
fn rates(output: &str) -> Option<(f64, f64)> {
    let line = output.lines().find_map(|line| line.trim_start().strip_prefix("queries:"))?;
    let (queries, rate) = line.split_once('(')?;
    Some((queries.trim().parse().ok()?, rate.split_whitespace().next()?.parse().ok()?))
}

/// Milliseconds, of `99th percentile:   1.23`.
fn p99(output: &str) -> Option<f64> {
    let line =
        output.lines().find_map(|line| line.trim_start().strip_prefix("99th percentile:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::rates;

    #[test]
    fn rates_are_read_from_what_sysbench_prints() {
        let said = "SQL statistics:\n    queries performed:\n        read:  9\n    queries:     123456 (24690.12 per sec.)\n";
        assert_eq!(rates(said), Some((123_456.0, 24690.12)));
        assert_eq!(rates("nothing"), None);
    }
}
