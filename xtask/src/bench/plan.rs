//! What is measured, how often and how large.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use lockstead_support::Flavour;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// sysbench's point selects (text protocol) at 1, 16, 64 and 256 threads: queries a second, and the proxy's
    /// processor time for a query
    Points,
    /// Point selects with TLS up to the proxy and none from there. HAProxy cannot end TLS inside MySQL's protocol: it
    /// gets a tunnel, made by another one, and only the processor time of the one that ends it is compared
    Tls,
    /// Memory of a proxy for an idle session, with 5,000 of them. Statements that an idle proxy sends, without locks
    /// and with 10,000 held, and the time of a lease renewal
    Idle,
    /// Pairs of lock and unlock, each client its own name, with 1, 64 and 1,024 clients. Compared are the server's own
    /// GET_LOCK, the same through HAProxy, a row inserted and deleted ("plain"), and GET_LOCK through Lockstead
    Locks,
    /// One name that 16 clients want
    Hot,
    /// A lock that a client of one proxy releases and a client of another one waits for
    Handover,
    /// Transactions of one row, of clients that hold a lock: with a question before each COMMIT whether the lock is
    /// still held, and without. Also pairs of writes with autocommit (`fenced_commit = "all"`)
    Commits,
    /// Pairs of lock and unlock with 1 and 64 clients before a server with a replica: while each grant waits until the
    /// replica has executed it (`failover_candidates`), and without
    Witness,
    /// Statements, writes and bytes of binary log for a pair, at the server
    Cost,
    /// Times of the status page, its status and /metrics with 2,000 sessions, 1,000 held locks and 500 waits; lock
    /// pairs of 16 clients while five browsers look, and alone
    Windows,
    /// Point selects of 16 and 256 clients whose sessions share 16 connections (`pooling = "transaction"`), beside
    /// sessions with connections of their own. Also 1,000 clients that share 64, beside 1,000 direct connections;
    /// logins at the server of 500 clients a second that connect and quit. Memory of a session without a connection,
    /// plain and over TLS
    Pooling,
    /// Not in `all`. On each topology of `dev/topology.sh`, pairs of lock and unlock with 1 and 64 clients at its
    /// writer ("native"), and of a row inserted and deleted there ("plain"). The same pairs through Lockstead, and
    /// transactions as in `commits`. Then what a client waits for after a SIGKILL of the writer
    /// (`dev/test-failover.sh`)
    Topologies,
    /// All but topologies
    All,
}

impl Section {
    pub(crate) const EACH: [Section; 12] = [
        Section::Points,
        Section::Tls,
        Section::Idle,
        Section::Locks,
        Section::Hot,
        Section::Handover,
        Section::Commits,
        Section::Witness,
        Section::Cost,
        Section::Windows,
        Section::Pooling,
        Section::Topologies,
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum Flavours {
    MySql,
    MariaDb,
    Both,
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Servers
    #[arg(long, value_enum, default_value = "both")]
    flavour: Flavours,
    /// Rounds of each measurement
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// A smoke test: its figures mean little
    #[arg(long)]
    quick: bool,
    /// An earlier build of lockstead, to be compared with: it takes part in points, idle and locks
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// Measurements
    #[arg(value_enum, default_value = "all")]
    sections: Vec<Section>,
}

/// Clients that fill the status page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Audience {
    pub(crate) clients: usize,
    pub(crate) waiters: usize,
    pub(crate) beside: usize,
}

/// The sizes of all measurements.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) sections: Vec<Section>,
    pub(crate) flavours: Vec<Flavour>,
    pub(crate) rounds: u32,
    /// Rounds in points and locks while the quartiles do not decide about a target.
    pub(crate) most_rounds: u32,
    pub(crate) seconds: u32,
    pub(crate) sessions: usize,
    pub(crate) crowd: usize,
    pub(crate) holders: usize,
    pub(crate) idle_seconds: u64,
    pub(crate) handovers: u32,
    pub(crate) audience: Audience,
    pub(crate) window_rounds: u32,
    pub(crate) looks: usize,
    /// How often the writer of a topology dies.
    pub(crate) deaths: u32,
    /// An earlier build to be compared with.
    pub(crate) before: Option<PathBuf>,
}

impl Plan {
    /// Equal for all proxies.
    pub(crate) const THREADS: u32 = 2;
    /// Of point selects.
    pub(crate) const THREAD_COUNTS: [usize; 4] = [1, 16, 64, 256];
    /// Of each holder.
    pub(crate) const LOCKS_EACH: usize = 100;

    pub(crate) fn new(options: &Options) -> Self {
        let flavours = match options.flavour {
            Flavours::MySql => vec![Flavour::MySql],
            Flavours::MariaDb => vec![Flavour::MariaDb],
            Flavours::Both => vec![Flavour::MySql, Flavour::MariaDb],
        };
        let all = options.sections.contains(&Section::All);
        let chosen = |s: &Section| all && *s != Section::Topologies || options.sections.contains(s);
        let sections = Section::EACH.into_iter().filter(chosen).collect();
        let audience = Audience { clients: 1000, waiters: 500, beside: 484 };
        let plan = Self {
            sections,
            flavours,
            rounds: options.rounds,
            most_rounds: options.rounds.max(7),
            seconds: options.seconds,
            sessions: 5000,
            crowd: 1024,
            holders: 100,
            idle_seconds: 20,
            handovers: 60,
            audience,
            window_rounds: 10,
            looks: 300,
            deaths: options.rounds.min(3),
            before: options.before.clone(),
        };
        if !options.quick {
            return plan;
        }
        Self {
            rounds: 1,
            most_rounds: 1,
            seconds: 1,
            sessions: 500,
            crowd: 256,
            holders: 20,
            idle_seconds: 5,
            handovers: 5,
            audience: Audience { clients: 100, waiters: 50, beside: 34 },
            window_rounds: 2,
            looks: 20,
            deaths: 1,
            ..plan
        }
    }

    /// These variants, and the earlier build if there is one.
    pub(crate) fn variants(&self, of: &[&'static str]) -> Vec<&'static str> {
        of.iter().copied().chain(self.before.as_ref().map(|_| "before")).collect()
    }

    pub(crate) fn wants(&self, section: Section) -> bool {
        self.sections.contains(&section)
    }

    /// Raises the limit of open files: a session needs two in a proxy, and one in the server.
    pub(crate) fn raise_files(&self) -> Result<()> {
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let needed = [
            (Section::Idle, self.sessions * 2 + 1000),
            (Section::Locks, self.crowd * 2 + 1000),
            (Section::Windows, 6000),
        ];
        for (section, needed) in needed {
            ensure!(
                !self.wants(section) || files >= needed as u64,
                "{section:?} needs {needed} open files in a process, the limit is {files}: \
                 raise it (ulimit -Hn), or leave {section:?} out"
            );
        }
        Ok(())
    }
}
