//! Tables of what was measured.

use super::samples::{Group, Of};
use super::topologies;

/// The table of one section with one flavour.
pub(crate) fn table(group: &Group) -> String {
    let title = if group.section == "rest" { "a proxy at rest" } else { group.section };
    let sizes = group.sizes().into_iter();
    let of =
        sizes.flat_map(|size| group.variants().into_iter().map(move |variant| (size, variant)));
    let rows = of.filter(|of| group.has(*of)).map(|of| {
        let (size, variant) = of;
        format!("  {size:<8} {variant:<10} {}", row(group, of))
    });
    let head = format!("\n{title}, {}\n{}", group.flavour.name(), head(group.section));
    [head]
        .into_iter()
        .chain(rows)
        .map(|line| line.trim_end_matches(' ').to_owned() + "\n")
        .collect()
}

fn head(section: &str) -> String {
    let (first, columns): (&str, &[(&str, usize)]) = match section {
        "points" | "tls" => {
            ("threads", &[("queries/s", 12), ("proxy us/query", 16), ("of HAProxy", 10)])
        }
        "words" => ("threads", &[("queries/s", 12), ("of plain", 10)]),
        "pooling" => ("clients", &[("queries/s", 12), ("proxy us/query", 16), ("p99 us", 10)]),
        "visits" => {
            ("a second", &[("visits/s", 12), ("p50 us", 10), ("p99 us", 10), ("logins/s", 10)])
        }
        "idle" | "idle of shared" => ("sessions", &[("KiB each", 12)]),
        "rest" => ("locks", &[("statements/s", 12), ("renewal us", 12)]),
        "locks" => (
            "clients",
            &[
                ("pairs/s", 12),
                ("p50 us", 10),
                ("p99 us", 10),
                ("of plain", 10),
                ("of HAProxy", 10),
                ("load us", 10),
            ],
        ),
        "witness" => {
            ("clients", &[("pairs/s", 12), ("p50 us", 10), ("p99 us", 10), ("of grace", 12)])
        }
        "windows" => ("us", &[("p50", 10), ("p99", 10), ("of alone", 10)]),
        "commits" | "writes" => {
            ("clients", &[("per second", 12), ("p50 us", 10), ("p99 us", 10), ("of unfenced", 12)])
        }
        "hot" => ("clients", &[("pairs/s", 12), ("p50 us", 10), ("p99 us", 10)]),
        topologies::DEATHS => {
            ("s", &[("to a write", 12), ("then: holder", 14), ("rival", 10), ("new lock", 10)])
        }
        section if topologies::is_one(section) => {
            ("clients", &[("per second", 12), ("p50 us", 10), ("p99 us", 10), ("ratio", 12)])
        }
        "handover" => (
            "us",
            &[
                ("reply p50", 10),
                ("reply p99", 10),
                ("send p50", 10),
                ("send p99", 10),
                ("woken", 10),
                ("commit p50", 10),
            ],
        ),
        _ => (
            "clients",
            &[("statements", 12), ("writes", 12), ("binlog bytes", 12), ("pairs/s", 12)],
        ),
    };
    let start = format!("  {first:<8} {:<10}", "");
    columns.iter().fold(start, |line, (name, width)| format!("{line} {name:>width$}"))
}

/// The proxy's, where there is one.
fn processor(group: &Group, of: Of) -> String {
    match of {
        (_, "direct") => String::new(),
        _ => format!("{:.2}", group.median(of, "processor_us")),
    }
}

fn visits(group: &Group, of: Of) -> String {
    let [rate, p50, p99] = ["per_second", "p50_us", "p99_us"].map(|m| group.median(of, m));
    format!("{rate:12.0} {p50:10.0} {p99:10.0} {:10.1}", group.median(of, "logins_per_second"))
}

/// Where a section shows what something costs: the variant without it.
fn without(section: &str, variant: &str) -> Option<&'static str> {
    match section {
        "commits" => Some("unfenced"),
        "writes" => Some("writes-unfenced"),
        "witness" => Some("grace"),
        section if topologies::is_one(section) => Some(topologies::compared_with(variant)),
        _ => None,
    }
}

fn row(group: &Group, of: Of) -> String {
    let (size, variant) = of;
    let median = |metric| group.median(of, metric);
    match group.section {
        "points" | "tls" => {
            let processor = processor(group, of);
            let share = group.ratio("per_second", of, (size, "haproxy"));
            format!("{:12.0} {processor:>16} {share:10.3}", median("per_second"))
        }
        "pooling" => {
            let processor = processor(group, of);
            format!("{:12.0} {processor:>16} {:10.0}", median("per_second"), median("p99_us"))
        }
        "words" => {
            let share = group.ratio("per_second", of, (size, "plain"));
            format!("{:12.0} {share:10.3}", median("per_second"))
        }
        "visits" => visits(group, of),
        "idle" | "idle of shared" => format!("{:12.2}", median("kib_per_session")),
        "rest" => format!("{:12.2} {:12.0}", median("statements_per_second"), median("renewal_us")),
        "locks" => format!(
            "{:12.0} {:10.0} {:10.0} {:10.3} {:10.3} {:10.1}",
            median("pairs_per_second"),
            median("p50_us"),
            median("p99_us"),
            group.ratio("pairs_per_second", of, (size, "plain")),
            group.ratio("pairs_per_second", of, (size, "haproxy")),
            median("driver_us_per_pair")
        ),
        section if without(section, variant).is_some() => {
            let without = without(section, variant).unwrap_or(variant);
            let ratio = group.ratio("pairs_per_second", of, (size, without));
            let rate = median("pairs_per_second");
            format!("{rate:12.0} {:10.0} {:10.0} {ratio:12.3}", median("p50_us"), median("p99_us"))
        }
        topologies::DEATHS => {
            let [write, holder] = ["to_write", "holder"].map(median);
            let [rival, new] = ["rival", "new_lock"].map(median);
            format!("{write:12.1} {holder:14.1} {rival:10.1} {new:10.1}")
        }
        "windows" => {
            let alone = match variant {
                "watched" => format!("{:.3}", median("of_alone")),
                _ => String::new(),
            };
            format!("{:10.0} {:10.0} {alone:>10}", median("p50_us"), median("p99_us"))
        }
        "hot" => {
            let [rate, p50, p99] = ["pairs_per_second", "p50_us", "p99_us"].map(median);
            format!("{rate:12.0} {p50:10.0} {p99:10.0}")
        }
        "handover" if variant.starts_with("plain") => {
            format!("{:>65.0}", median("statement_p50_us"))
        }
        "handover" => {
            let p99 = |metric| group.values(of, metric).at(0.99).unwrap_or_default();
            let woken = match variant {
                "lockstead" => format!("{:.2}", median("woken")),
                _ => String::new(),
            };
            format!(
                "{:10.0} {:10.0} {:10.0} {:10.0} {woken:>10}",
                median("after_reply_us"),
                p99("after_reply_us"),
                median("after_send_us"),
                p99("after_send_us")
            )
        }
        _ => format!(
            "{:12.3} {:12.3} {:12.0} {:12.0}",
            median("statements"),
            median("writes"),
            median("binlog_bytes"),
            median("pairs_per_second")
        ),
    }
}
