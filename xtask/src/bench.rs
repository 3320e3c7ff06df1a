//! Measures Lockstead beside HAProxy, MySQL Router and the server itself.
//!
//! All variants of a measurement take turns (A B C A B C …), so what else goes on in the machine hits them alike. The
//! figures are medians of the rounds; in points and locks there are up to 7 if the quartiles do not decide about a
//! target. Results: tables with the targets, and everything in bench-results/DATE.json. TLS is off but in its own
//! section; the servers sync at every commit. docs/performance-reference.md explains the figures.
//!
//! LOCKSTEAD_BENCH_DIR is where the servers' data goes (/var/tmp), LOCKSTEAD_BENCH_PROFILE the cargo profile (release).

mod idle;
mod pairs;
mod plan;
mod points;
mod pooling;
mod record;
mod report;
mod samples;
mod stage;
mod targets;
mod topologies;
mod windows;
mod witness;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lockstead_support::Flavour;
use lockstead_support::patience::within;

pub(crate) use plan::Options;
use plan::{Plan, Section};
use samples::{Of, Sample, Samples};
use stage::{Programs, Stage};

use crate::workplace::{self, Workplace};

/// How long the proxies may take to be in the state that is measured.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the servers' data goes: not to /tmp, which may be memory, so that a commit would cost nothing.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("LOCKSTEAD_BENCH_DIR").map_or_else(|| "/var/tmp".into(), PathBuf::from)
}

pub(crate) fn run(place: &Workplace, options: &Options) -> Result<()> {
    let plan = Plan::new(options);
    plan.raise_files()?;
    let profile = std::env::var("LOCKSTEAD_BENCH_PROFILE").unwrap_or_else(|_| "release".to_owned());
    let programs = programs(place, &plan, &profile)?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load: f64 = load.split(' ').next().unwrap_or_default().parse()?;
    if load > 0.5 {
        eprintln!("bench: the machine is not idle (load {load}): the figures will be less certain");
    }
    let mut samples = Samples::default();
    let mut versions = Vec::new();
    for flavour in &plan.flavours {
        let version = measure(place, &programs, &plan, *flavour, &mut samples)?;
        versions.push((*flavour, version));
    }
    println!(
        "threads of each proxy: {} (HAProxy nbthread, Router io threads, lockstead --workers)",
        Plan::THREADS
    );
    println!(
        "processors of the machine, shared by load, proxy and server: {}",
        record::processors()?
    );
    let groups = samples.groups();
    for group in &groups {
        print!("{}", report::table(group));
    }
    let verdicts: Vec<_> = groups.iter().flat_map(targets::verdicts).collect();
    println!("\n{:<66} {:>8}   {:>8}", "targets", "measured", "wanted");
    for verdict in &verdicts {
        println!("{verdict}");
    }
    let record = record::Record { plan: &plan, profile: &profile, load, versions: &versions };
    let file = record.write(&programs, &samples, &verdicts)?;
    println!("\nall figures: {}", file.display());
    Ok(())
}

/// All measurements with servers of one family; the servers' version.
fn measure(
    place: &Workplace,
    programs: &Programs,
    plan: &Plan,
    flavour: Flavour,
    samples: &mut Samples,
) -> Result<String> {
    let mut version = String::new();
    let before_one = plan.sections.iter().filter(|section| **section != Section::Topologies);
    let before_one: Vec<_> = before_one.collect();
    if !before_one.is_empty() {
        eprintln!("bench: {}: starting the server", flavour.name());
        let stage = Stage::set(place, programs, plan, flavour)?;
        let mut run = Run { plan, flavour, stage, samples };
        for section in before_one {
            run.measure(*section)?;
        }
        version = run.version()?;
        run.stage.server().stop()?;
    }
    if plan.wants(Section::Topologies) {
        for kind in topologies::kinds(flavour) {
            version = topologies::measure(place, programs, plan, kind, samples)?;
        }
    }
    Ok(version)
}

/// Fetches and builds what is run.
fn programs(place: &Workplace, plan: &Plan, profile: &str) -> Result<Programs> {
    let mut needed: Vec<&str> = plan.flavours.iter().map(|flavour| flavour.name()).collect();
    needed.push("haproxy");
    let points = [Section::Points, Section::Tls, Section::Pooling];
    if points.into_iter().any(|section| plan.wants(section)) {
        needed.push("sysbench");
        if plan.flavours.contains(&Flavour::MySql) {
            needed.push("router");
        }
    }
    workplace::install(&needed)?;
    eprintln!("bench: building");
    let mut cargo = place.command("cargo");
    cargo.args(["build", "--profile", profile, "--bin", "lockstead", "--bench", "lockpairs"]);
    let output = cargo.arg("--message-format=json").stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the programs cannot be built");
    let messages = String::from_utf8(output.stdout)?;
    let built = |name: &str| {
        let of_it = |line: &str| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            (message["target"]["name"] == name).then_some(())?;
            message["executable"].as_str().map(PathBuf::from)
        };
        messages.lines().rev().find_map(of_it).with_context(|| format!("cargo has built no {name}"))
    };
    let (lockstead, lockpairs) = (built("lockstead")?, built("lockpairs")?);
    let before = plan.before.clone();
    Ok(Programs { cache: workplace::cache()?, lockstead, lockpairs, before })
}

/// The measurements with one server.
struct Run<'a> {
    plan: &'a Plan,
    flavour: Flavour,
    stage: Stage<'a>,
    samples: &'a mut Samples,
}

impl Run<'_> {
    fn measure(&mut self, section: Section) -> Result<()> {
        match section {
            Section::Points => self.measure_points(),
            Section::Tls => self.measure_tls(),
            Section::Idle => self.measure_idle(),
            Section::Locks => self.measure_locks(),
            Section::Hot => self.measure_hot(),
            Section::Handover => self.measure_handover(),
            Section::Commits => self.measure_commits(),
            Section::Witness => self.measure_witness(),
            Section::Cost => self.measure_cost(),
            Section::Windows => self.measure_windows(),
            Section::Pooling => self.measure_pooling(),
            // The first has stages of its own; the other has become each of them.
            Section::Topologies | Section::All => Ok(()),
        }
    }

    /// The server's.
    fn version(&self) -> Result<String> {
        Ok(self.stage.server().sql("SELECT @@version")?.trim().to_owned())
    }

    /// Says how far the measurements are.
    fn say(&self, what: &str) {
        eprintln!("bench: {}: {what}", self.flavour.name());
    }

    /// Keeps a figure.
    fn add(
        &mut self,
        section: &'static str,
        (clients, variant): Of,
        metric: &'static str,
        value: f64,
    ) {
        self.samples.add(Sample {
            section,
            flavour: self.flavour,
            clients,
            variant,
            metric,
            value,
        });
    }

    /// Looks until something is so.
    fn until(&self, what: &str, is_so: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let seen = within(PATIENCE, || match is_so(self) {
            Ok(false) => None,
            other => Some(other),
        });
        seen.with_context(|| format!("not within {PATIENCE:?}: {what}"))?.map(drop)
    }
}

/// The first line that a command prints.
fn first_line(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}
