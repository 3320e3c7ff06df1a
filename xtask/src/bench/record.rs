//! The file of all figures.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use lockstead_support::Flavour;
use serde_json::{Value, json};

use super::first_line;
use super::plan::Plan;
use super::samples::{Group, Samples};
use super::stage::Programs;
use super::targets::Verdict;

/// What the figures were measured with.
pub(super) struct Record<'a> {
    pub(super) plan: &'a Plan,
    pub(super) profile: &'a str,
    /// Of the machine before.
    pub(super) load: f64,
    /// The servers'.
    pub(super) versions: &'a [(Flavour, String)],
}

/// Processors that this process may use.
pub(super) fn processors() -> Result<usize> {
    Ok(std::thread::available_parallelism()?.get())
}

impl Record<'_> {
    /// Writes the file; its path.
    pub(super) fn write(
        &self,
        programs: &Programs,
        samples: &Samples,
        verdicts: &[Verdict],
    ) -> Result<PathBuf> {
        let commit = first_line("git", &["describe", "--always", "--dirty"])?;
        let haproxy = first_line(programs.cache.join("bin/haproxy"), &["-v"])?;
        let mut versions = json!({
            "haproxy": haproxy.split(' ').nth(2).unwrap_or_default(),
            "lockstead": first_line(&programs.lockstead, &["--version"])?,
        });
        for (flavour, version) in self.versions {
            versions[flavour.name()] = json!(version);
        }
        let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
        let model =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let targets = verdicts.iter().map(|verdict| {
            json!({
                "target": verdict.what,
                "value": verdict.value,
                "must_be": format!("{} {:.2}", verdict.must.sign(), verdict.target),
                "met": verdict.is_met(),
            })
        });
        let all = samples.all().iter();
        let all = all
            .map(|s| json!([s.section, s.flavour.name(), s.clients, s.variant, s.metric, s.value]));
        let record = json!({
            "date": first_line("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"])?,
            "commit": if commit.is_empty() { "unknown" } else { &commit },
            "machine": {
                "processors": processors()?,
                "model": model.map_or("", |(_, model)| model),
                "kernel": first_line("uname", &["-r"])?,
                "load_before": self.load,
            },
            "settings": {
                "rounds": self.plan.rounds,
                "most_rounds": self.plan.most_rounds,
                "seconds": self.plan.seconds,
                "proxy_threads": Plan::THREADS,
                "profile": self.profile,
            },
            "versions": versions,
            "targets": targets.collect::<Value>(),
            "medians": samples.groups().iter().flat_map(medians).collect::<Value>(),
            "samples": all.collect::<Value>(),
        });
        fs::create_dir_all("bench-results")?;
        let name = first_line("date", &["-u", "+%Y-%m-%dT%H%M%SZ.json"])?;
        let file = PathBuf::from("bench-results").join(name);
        fs::write(&file, format!("{record:#}\n"))?;
        Ok(file)
    }
}

fn medians(group: &Group) -> Vec<Value> {
    let one = |((clients, variant), metric): ((usize, &'static str), &'static str)| {
        let values = group.values((clients, variant), metric);
        json!({
            "section": group.section,
            "flavour": group.flavour.name(),
            "clients": clients,
            "variant": variant,
            "metric": metric,
            "samples": values.count(),
            "quartile1": values.at(0.25),
            "median": values.at(0.5),
            "quartile3": values.at(0.75),
            "p99": values.at(0.99),
        })
    };
    group.keys().into_iter().map(one).collect()
}
