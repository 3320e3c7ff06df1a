//! What a lock, a fenced COMMIT and the death of the writer cost on each topology.

use std::fs;

use anyhow::{Result, ensure};
use lockstead_support::{Flavour, Topology};

use super::Run;
use super::plan::Plan;
use super::samples::{Sample, Samples};
use super::stage::{Programs, Stage};
use crate::workplace::Workplace;

/// The section of what clients waited for.
pub(super) const DEATHS: &str = "SIGKILL of the writer";

const OF_MYSQL: [&str; 4] = ["async-mysql", "semisync-mysql", "gr-single", "gr-multi"];
const OF_MARIADB: [&str; 2] = ["async-mariadb", "galera"];

/// Longer than each takes to have another writer. Where the writer's last words may be lost, new locks wait for as long.
const LEASE: &str = "30s";

/// The figures of `dev/test-failover.sh`, in its order: seconds from the SIGKILL, and from the first write that was
/// accepted then.
const FIGURES: [&str; 4] = ["to_write", "rival", "holder", "new_lock"];

/// The topologies with servers of this family.
pub(super) fn kinds(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MySql => &OF_MYSQL,
        Flavour::MariaDb => &OF_MARIADB,
    }
}

/// Whether a section has the name of a topology.
pub(super) fn is_one(section: &str) -> bool {
    OF_MYSQL.iter().chain(&OF_MARIADB).any(|kind| *kind == section)
}

/// The variant that a table compares this one with.
pub(super) fn compared_with(variant: &str) -> &'static str {
    match variant {
        "fenced" | "unfenced" => "unfenced",
        _ => "plain",
    }
}

/// All of one topology; the servers' version.
pub(super) fn measure(
    place: &Workplace,
    programs: &Programs,
    plan: &Plan,
    kind: &'static str,
    samples: &mut Samples,
) -> Result<String> {
    eprintln!("bench: {kind}: starting");
    let topology = Topology::up_synced(kind, place.file(kind))?;
    let mut nodes = topology.nodes()?;
    let writer = nodes.remove(topology.writer()?);
    let mut stage = Stage::before(place, programs, plan, writer)?;
    stage.set_others(nodes);
    let flavour = topology.flavour();
    let mut run = Run { plan, flavour, stage, samples };
    run.load_topology(kind)?;
    let version = run.version()?;
    // The next ones have the machine for themselves.
    drop(run);
    drop(topology);
    for death in 1..=plan.deaths {
        eprintln!("bench: {kind}: the writer dies, {death}");
        let figures = let_writer_die(place, programs, kind)?;
        for (metric, value) in FIGURES.into_iter().zip(figures) {
            samples.add(Sample {
                section: DEATHS,
                flavour,
                clients: 1,
                variant: kind,
                metric,
                value,
            });
        }
    }
    Ok(version)
}

/// By the test of failovers, which starts a topology and proxies of its own.
fn let_writer_die(place: &Workplace, programs: &Programs, kind: &str) -> Result<Vec<f64>> {
    let figures = place.file("figures");
    let mut test = place.command("dev/test-failover.sh");
    test.args(["--loopback", "--lease", LEASE, "--figures"]).arg(&figures);
    test.arg(format!("{kind}:crash")).env("LOCKSTEAD_BIN", &programs.lockstead);
    let output = test.env("LOCKSTEAD_SERVER_SYNC", "on").output()?;
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    ensure!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&said));
    let written = fs::read_to_string(&figures)?;
    fs::remove_file(&figures)?;
    let values: Vec<f64> = written.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(values.len() == FIGURES.len(), "the test says: {written}");
    Ok(values)
}

impl Run<'_> {
    fn load_topology(&mut self, kind: &'static str) -> Result<()> {
        self.stage.start_lockstead("lockstead", &["--mode", "durable"])?;
        self.start_fenced_and_unfenced()?;
        for round in 1..=self.plan.rounds {
            eprintln!("bench: {kind}: round {round}");
            for n in [1, 64] {
                for variant in ["native", "plain", "lockstead", "unfenced", "fenced"] {
                    self.pairs(kind, (n, variant), &[])?;
                }
            }
        }
        self.commits_were_fenced("fenced")?;
        self.stage.stop_all();
        Ok(())
    }
}
