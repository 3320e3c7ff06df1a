//! What the figures must be.

use std::fmt;

use lockstead_support::Flavour;

use super::samples::Group;

/// How a figure is compared with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Must {
    Exceed,
    Reach,
    StayWithin,
}

impl Must {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Must::Exceed => ">",
            Must::Reach => ">=",
            Must::StayWithin => "<=",
        }
    }
}

/// A target and the figure that was measured.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) must: Must,
    pub(crate) target: f64,
}

impl Verdict {
    pub(crate) fn is_met(&self) -> bool {
        match self.must {
            Must::Exceed => self.value > self.target,
            Must::Reach => self.value >= self.target,
            Must::StayWithin => self.value <= self.target,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = if self.is_met() { "met" } else { "MISSED" };
        let (value, sign, target) = (self.value, self.must.sign(), self.target);
        write!(f, "{:<66} {value:8.2}   {sign:<2} {target:5.2}   {met}", self.what)
    }
}

/// How a pair compares with the plain scheme: the time that one client's may take, and the rate that 64 must reach.
pub(crate) fn of_plain(flavour: Flavour) -> (f64, f64) {
    match flavour {
        Flavour::MySql => (1.6, 3.0),
        Flavour::MariaDb => (2.2, 1.3),
    }
}

/// The targets of one section with one flavour.
pub(crate) fn verdicts(group: &Group) -> Vec<Verdict> {
    let mut of_section = match group.section {
        "points" => points(group),
        "words" => words(group),
        "tls" => tls(group),
        "idle" => idle(group),
        "rest" => rest(group),
        "locks" => locks(group),
        "hot" => hot(group),
        "handover" => handover(group),
        "windows" => windows(group),
        "pooling" => pooling(group),
        "idle of shared" => idle_of_shared(group),
        // The cost of a pair to the server has no target.
        _ => Vec::new(),
    };
    of_section.extend(against_before(group));
    let name = |verdict: Verdict| Verdict {
        what: format!("{}: {}", group.flavour.name(), verdict.what),
        ..verdict
    };
    of_section.into_iter().map(name).collect()
}

/// Beside an earlier build: no figure may be much worse.
fn against_before(group: &Group) -> Vec<Verdict> {
    let (metric, must, target) = match group.section {
        "points" => ("per_second", Must::Reach, 0.95),
        "locks" => ("pairs_per_second", Must::Reach, 0.95),
        "idle" => ("kib_per_session", Must::StayWithin, 1.05),
        _ => return Vec::new(),
    };
    let compared = group.sizes().into_iter().filter(|n| group.has((*n, "before")));
    let one = |n| {
        let ratio = group.ratio(metric, (n, "lockstead"), (n, "before"));
        verdict(
            format!("{}, {n} clients, {metric} Lockstead/before", group.section),
            ratio,
            must,
            target,
        )
    };
    compared.map(one).collect()
}

fn verdict(what: impl Into<String>, value: f64, must: Must, target: f64) -> Verdict {
    Verdict { what: what.into(), value, must, target }
}

fn points(group: &Group) -> Vec<Verdict> {
    let mut out = Vec::new();
    for n in group.sizes() {
        let name = format!("point selects, {n} threads,");
        let against = |metric, other| group.ratio(metric, (n, "lockstead"), (n, other));
        if n != 256 {
            let rate = against("per_second", "haproxy");
            out.push(verdict(format!("{name} rate Lockstead/HAProxy"), rate, Must::Reach, 0.95));
            let processor = against("processor_us", "haproxy");
            let what = format!("{name} processor Lockstead/HAProxy");
            out.push(verdict(what, processor, Must::StayWithin, 1.15));
        }
        if group.has((n, "router")) {
            let rate = against("per_second", "router");
            out.push(verdict(format!("{name} rate Lockstead/Router"), rate, Must::Exceed, 1.0));
        }
    }
    out
}

/// Statements with words that look like calls, beside plain ones.
fn words(group: &Group) -> Vec<Verdict> {
    let pairs = group.sizes().into_iter().flat_map(|n| {
        let others = group.variants().into_iter().filter(|variant| *variant != "plain");
        others.map(move |variant| (n, variant))
    });
    let one = |of: (usize, &'static str)| {
        let what = format!("point selects in mode coexist, {} threads, {}/plain", of.0, of.1);
        verdict(what, group.ratio("per_second", of, (of.0, "plain")), Must::Reach, 0.9)
    };
    pairs.map(one).collect()
}

fn pooling(group: &Group) -> Vec<Verdict> {
    let rate = |n, other| group.ratio("per_second", (n, "shared"), (n, other));
    let own = |n| format!("point selects, {n} clients, 16 shared/own connections");
    let mut out = vec![
        verdict(own(16), rate(16, "session"), Must::Reach, 0.95),
        verdict(own(256), rate(256, "session"), Must::Reach, 0.6),
    ];
    let router = "sharing router";
    if group.median((256, router), "per_second") > 0.0 {
        let what = "point selects, 256 clients, 16 shared/MySQL Router's";
        out.push(verdict(what, rate(256, router), Must::Reach, 2.0));
    }
    out
}

fn idle_of_shared(group: &Group) -> Vec<Verdict> {
    let one = |n| {
        [("shared", 16.0), ("over TLS", 40.0)].map(|(variant, most)| {
            let kib = group.median((n, variant), "kib_per_session");
            let what = format!("KiB for a session without connection, {variant}, of {n}");
            verdict(what, kib, Must::StayWithin, most)
        })
    };
    group.sizes().into_iter().flat_map(one).collect()
}

fn tls(group: &Group) -> Vec<Verdict> {
    let one = |n| {
        let processor = group.ratio("processor_us", (n, "lockstead"), (n, "haproxy"));
        let what = format!("TLS, {n} threads, processor Lockstead/HAProxy");
        verdict(what, processor, Must::StayWithin, 1.15)
    };
    group.sizes().into_iter().map(one).collect()
}

fn idle(group: &Group) -> Vec<Verdict> {
    let one = |n| {
        let kib = group.median((n, "lockstead"), "kib_per_session");
        verdict(format!("KiB for an idle session, of {n}"), kib, Must::StayWithin, 8.0)
    };
    group.sizes().into_iter().map(one).collect()
}

fn rest(group: &Group) -> Vec<Verdict> {
    let one = |n: &usize| {
        let rate = group.median((*n, "lockstead"), "statements_per_second");
        let what = format!("statements/s of a proxy at rest, {n} locks held");
        verdict(what, rate, Must::StayWithin, 3.0)
    };
    let sizes = group.sizes();
    let mut out: Vec<Verdict> = sizes.iter().map(one).collect();
    if let (Some(none), Some(all)) = (sizes.first(), sizes.last()) {
        let renewal = group.ratio("renewal_us", (*all, "lockstead"), (*none, "lockstead"));
        let what = format!("time of a renewal, {all} locks held/none");
        out.push(verdict(what, renewal, Must::StayWithin, 1.5));
    }
    out
}

fn locks(group: &Group) -> Vec<Verdict> {
    let (time, rate) = of_plain(group.flavour);
    let crowd = group.sizes().last().copied().unwrap_or_default();
    let rates = |one, other| group.ratio("pairs_per_second", one, other);
    let mut all = vec![
        verdict(
            "time of a pair, 1 client, coexist/plain",
            group.ratio("p50_us", (1, "coexist"), (1, "plain")),
            Must::StayWithin,
            0.9,
        ),
        verdict(
            "pairs/s, 64 clients, coexist/HAProxy with native locks",
            rates((64, "coexist"), (64, "haproxy")),
            Must::Reach,
            0.6,
        ),
        verdict(
            "time of a pair, 1 client, Lockstead/plain",
            group.ratio("p50_us", (1, "lockstead"), (1, "plain")),
            Must::StayWithin,
            time,
        ),
        verdict(
            "pairs/s, 64 clients, Lockstead/plain",
            rates((64, "lockstead"), (64, "plain")),
            Must::Reach,
            rate,
        ),
        verdict(
            "pairs/s, 64 clients, Lockstead/HAProxy with native locks",
            rates((64, "lockstead"), (64, "haproxy")),
            Must::Reach,
            0.5,
        ),
        verdict(
            format!("pairs/s of Lockstead, {crowd} clients/64"),
            rates((crowd, "lockstead"), (64, "lockstead")),
            Must::Reach,
            0.8,
        ),
    ];
    if group.flavour == Flavour::MySql {
        let what = "pairs/s, 64 clients, coexist/plain";
        all.push(verdict(what, rates((64, "coexist"), (64, "plain")), Must::Reach, 1.5));
    }
    for n in [1, 16, 64].into_iter().filter(|n| group.has((*n, "observed"))) {
        let what = format!("pairs/s, {n} clients, observe/HAProxy with native locks");
        all.push(verdict(what, rates((n, "observed"), (n, "haproxy")), Must::Reach, 0.95));
    }
    all
}

fn hot(group: &Group) -> Vec<Verdict> {
    let rate = group.ratio("pairs_per_second", (16, "lockstead"), (1, "plain"));
    let what = "grants/s of a hot name, 16 clients/plain, 1 client, no contention";
    vec![verdict(what, rate, Must::Reach, 1.0)]
}

fn handover(group: &Group) -> Vec<Verdict> {
    let commit = group.median((1, "plain"), "statement_p50_us");
    let less = |metric| (group.median((2, "lockstead"), metric) - commit) / 1e3;
    let what = |from| format!("ms of a hand-over from the release{from}, less one commit");
    vec![
        verdict(what("'s reply"), less("after_reply_us"), Must::StayWithin, 1.0),
        verdict(what(" sent"), less("after_send_us"), Must::StayWithin, 1.0),
    ]
}

fn windows(group: &Group) -> Vec<Verdict> {
    let p99 = |variant| group.median((16, variant), "p99_us") / 1e3;
    let watched = group.median((16, "watched"), "of_alone");
    vec![
        verdict("ms of the page, p99", p99("page"), Must::StayWithin, 200.0),
        verdict("ms of a status that is made again, p99", p99("made"), Must::StayWithin, 200.0),
        verdict("ms of a scrape, p99", p99("metrics"), Must::StayWithin, 50.0),
        verdict("time of a lock pair, watched/alone", watched, Must::StayWithin, 1.05),
    ]
}
