//! `lockstead check`

mod files;
mod findings;
mod users;

use std::process::ExitCode;

use self::findings::Findings;
use super::moving;
use super::print::print_line;
use super::process::{failed, runtime, usage};
use super::settings_args::SettingsArgs;
use crate::app::{StartError, inspect, others_are_whole, refuse_own, too_old};
use crate::backend::greeted::{Greeted, connect};
use crate::backend::own::{Credentials, Guard, leave, log_in};
use crate::config::tls::{BackendMode, Offer, StoreTls};
use crate::config::{Config, FencedCommit, ListenerRole, Mode};
use crate::engine::shared::reign::FailoverMode;
use crate::frontend::shared::leg_options::Hops;
use crate::net::certificate_dates;
use crate::net::peer::Peer;
use crate::protocol::capabilities::Capabilities;
use crate::servers::find::Following;
use crate::servers::writer::Writer;

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
Exit status, by the worst finding:
  0  nothing failed; there may be warnings
  1  something FAILED
  2  wrong usage or configuration";

const LOGIN: &str = "backend login";
const POOLING: &str = "pooling";
const WRITER: &str = "writer";
const REPLICAS: &str = "replicas";
const FAILOVER: &str = "failover";
const LENT: &str = "connection ids";
const FENCED: &str = "fenced commit";
const SAME: &str = "same server";

pub(super) fn run(settings: SettingsArgs) -> Result<(), ExitCode> {
    let one = settings.cluster.clone();
    let warning = settings.warning();
    let plan = settings.plan().and_then(|plan| plan.only_cluster(one.as_deref()));
    let plan = plan.map_err(usage)?;
    print_line("configuration   ok");
    if let Some(warning) = warning {
        print_line(format_args!("warning: {warning}"));
    }
    let runtime = runtime().map_err(failed)?;
    runtime.block_on(async {
        let mut findings = Findings { good: true };
        files::pages(plan.process(), &mut findings);
        moving::apart(&plan.clusters).iter().for_each(Findings::warn);
        for cluster in plan.clusters {
            if let Some(name) = &cluster.name {
                Findings::fine("cluster", name);
            }
            for config in &cluster.listeners {
                certificates(config, &mut findings);
                pooling(config, !cluster.users.is_empty());
            }
            let creates = cluster.config().create_schema;
            let listed = Config { create_schema: false, ..cluster.config().clone() };
            let leading: Vec<String> = cluster.listeners.iter().filter_map(to_replicas).collect();
            if let Err(why) = refuse_own(&cluster.listeners).await {
                findings.failed("backend", why);
                continue;
            }
            let Some(config) = servers(listed.clone(), &leading, &mut findings).await else {
                continue;
            };
            check(config.clone(), &listed, creates, &mut findings).await;
            let shares = cluster.listeners.iter().any(|config| config.pooling.is_shared());
            users::check(&config, shares, &cluster.users, &mut findings).await;
            for remark in moving::remarks(&config, cluster.name.as_deref()).await {
                Findings::warn(format_args!("{}. {}", remark.text, remark.advice));
            }
        }
        if findings.good { Ok(()) } else { Err(ExitCode::FAILURE) }
    })
}

/// Whether the files for TLS are good. Files that the proxy would make are not made here.
fn certificates(config: &Config, findings: &mut Findings) {
    let makes_one = config.tls.pair.is_none();
    let state_dir = config.state_dir.clone().filter(|_| !makes_one);
    match Hops::load(&Config { state_dir, ..config.clone() }) {
        Ok(_) if config.tls.offer == Offer::Off => Findings::fine("TLS", "off"),
        Ok(_) if makes_one => Findings::fine("TLS", "ok, with its own certificate"),
        Ok(_) => Findings::fine("TLS", "ok"),
        Err(e) => findings.failed("TLS", e),
    }
    files::certificates(config, findings);
}

/// Where clients connect to a listener that leads to replicas.
fn to_replicas(config: &Config) -> Option<String> {
    let listen: Vec<_> = config.listen.iter().map(ToString::to_string).collect();
    (config.role == ListenerRole::Replica).then(|| listen.join(", "))
}

/// The configuration with the writer alone. `None`: none of several servers takes writes. `leading`: the listeners that lead
/// to replicas.
async fn servers(config: Config, leading: &[String], findings: &mut Findings) -> Option<Config> {
    let following = Following::start(&config);
    let found = following.with_known_writer(&config).await;
    following.all_heard().await;
    for server in following.writer().shown() {
        let Some(state) = server.state else { continue };
        let backend = &server.address.backend;
        if state.answers() {
            Findings::fine("server", format_args!("{backend} {state}"));
        } else {
            findings.failed("server", format_args!("{backend} {state}"));
        }
    }
    if following.writer().rivals() > 0 {
        findings.failed(
            WRITER,
            "several servers take writes, and no cluster joins them: make all but one read-only",
        );
    }
    let shown = following.writer().shown();
    let replicas: Vec<_> = shown.iter().filter(|server| server.replica).collect();
    let replicas: Vec<_> = replicas.iter().map(|s| s.address.backend.to_string()).collect();
    for listen in leading {
        if replicas.is_empty() {
            findings.failed(REPLICAS, format_args!("none for the clients of {listen}"));
        } else {
            let replicas = replicas.join(", ");
            Findings::fine(REPLICAS, format_args!("{replicas} for the clients of {listen}"));
        }
    }
    following.end().await;
    match found {
        Ok(at_writer) => {
            if config.servers.len() > 1 {
                Findings::fine(WRITER, at_writer.backend());
            }
            Some(at_writer)
        }
        Err(e) => {
            findings.failed(WRITER, e);
            None
        }
    }
}

/// `config` has the writer alone, `listed` all servers. `creates`: a start would make the lock tables, which a check does not.
async fn check(config: Config, listed: &Config, creates: bool, findings: &mut Findings) {
    let header = config.backend_proxy_protocol.then_some(Peer(None));
    let to = Writer::among(config.servers.clone()).found().await;
    let greeted = match connect(&to, config.connect_timeout, header).await {
        Ok(greeted) => {
            let version = &greeted.greeting.version;
            Findings::fine("backend", format_args!("ok: {version} at {}", to.backend()));
            if let Some(warning) = too_old(&greeted).filter(|_| config.mode == Mode::Observe) {
                Findings::warn(warning);
            }
            Some(greeted)
        }
        Err(e) => {
            findings.failed("backend", format_args!("{}: {e}", to.backend()));
            None
        }
    };
    Findings::fine("mode", format_args!("{}: {}", config.mode.name(), promise(config.mode)));
    match config.mode {
        Mode::Observe => observing(&config),
        Mode::Coexist | Mode::Durable => store(&config, listed, creates, findings).await,
    }
    // After the store: a server that has seen the account asks only for its proof.
    if let Some(greeted) = greeted {
        logins(&config, greeted, findings).await;
    }
    files::state_dir(&config, findings);
}

/// Whether clients get as far as the server's own answer to a login.
async fn logins(config: &Config, greeted: Greeted, findings: &mut Findings) {
    let offered = greeted.greeting.capabilities.has(Capabilities::SSL);
    let guards = (Guard::of_clients(config, offered), Guard::load(config));
    // Certificates that cannot be read have been reported.
    let (Ok(clients), Ok(own)) = guards else {
        return leave(greeted).await;
    };
    let account = match &config.store {
        Some(store) if config.mode != Mode::Observe && clients.mode == own.mode => {
            Credentials::of_store(store)
        }
        _ => Credentials::nobody(),
    };
    match log_in(greeted, &clients, &account).await {
        Err(e) => findings.failed(LOGIN, format_args!("{}: {e}", config.backend())),
        Ok(shown) => {
            Findings::fine(
                LOGIN,
                match clients.mode {
                    BackendMode::VerifyIdentity => "ok: TLS, with the certificate of this host",
                    BackendMode::VerifyCa => "ok: TLS, with a certificate signed by backend_tls_ca",
                    BackendMode::Required => "ok: TLS, without checking the certificate",
                    BackendMode::Match | BackendMode::Off => "ok: no TLS",
                },
            );
            if let Some(shown) = shown {
                files::warn_of(&certificate_dates::of(&shown), "the server's certificate");
            }
        }
    }
}

async fn store(config: &Config, listed: &Config, creates: bool, findings: &mut Findings) {
    if let Some(store) = &config.store
        && store.tls == StoreTls::Off
        && config.backend_tls.mode.demands()
    {
        Findings::warn(
            "backend_tls requires TLS, but store_tls is off: the proxy's own connections to the lock \
             tables have no TLS",
        );
    }
    match inspect(config).await {
        Ok(readiness) => {
            if let Some(store) = &config.store {
                let meta = &readiness.meta;
                Findings::fine("store", format_args!("ok: {} at {store:?}", readiness.version));
                let whose = if meta.here { "this server" } else { "another server" };
                Findings::fine(
                    "lock schema",
                    format_args!(
                        "ok: `{}` belongs to {whose} ({}), epoch {}",
                        store.schema, meta.ident, meta.epoch
                    ),
                );
            }
            let mode = readiness.failover(listed, &config.servers[0]);
            let lost = match mode {
                FailoverMode::Grace => {
                    "the last changes may be lost, so nothing is granted for a lease"
                }
                FailoverMode::Witness => {
                    "the former primary need not be fenced, and nothing is granted for a lease; no lock counts before all failover candidates have it"
                }
                FailoverMode::Lossless => {
                    "nothing is lost, locks are granted when all proxies have followed"
                }
            };
            Findings::fine(FAILOVER, format_args!("{}: {lost}", mode.name()));
            readiness.unlisted(listed).iter().for_each(Findings::warn);
            let state = |has| if has { "ok" } else { "MISSING" };
            let sees = readiness.rights.process && readiness.rights.performance_schema;
            Findings::fine("see sessions", state(sees));
            Findings::fine("kill sessions", state(readiness.rights.kill));
            readiness.warnings.iter().for_each(Findings::warn);
            fences(config);
            if let Some(why) = &readiness.unchecked {
                match config.mode {
                    Mode::Durable => findings.failed(SAME, why),
                    Mode::Coexist | Mode::Observe => Findings::warn(why),
                }
            }
            if let Err(why) = others_are_whole(listed, &config.servers[0]).await {
                findings.failed(SAME, why);
            }
            if let Some(why) = readiness.cannot_share().filter(|_| config.pooling.of_cluster) {
                findings.failed(POOLING, why);
            }
            if let Some(why) = readiness.unfit_lender(config) {
                findings.failed(LENT, why);
            }
            if let Some(why) = &readiness.closed {
                findings.failed(LOGIN, why);
            }
        }
        Err(StartError::NoSchema { .. }) if creates => {
            Findings::fine("lock schema", "none: it will be created at start (create_schema)");
        }
        Err(e) => findings.failed("store", e),
    }
}

/// Whose commits are fenced. An account that cannot ask commits as it does without a fence.
fn fences(config: &Config) {
    if config.mode != Mode::Durable {
        return;
    }
    let of = match config.fenced_commit {
        FencedCommit::Off => return Findings::fine(FENCED, "off"),
        FencedCommit::Explicit => "explicit",
        FencedCommit::All => "all",
    };
    Findings::fine(
        FENCED,
        format_args!(
            "{of}, for accounts with the right that `lockstead grants --application USER@HOST` prints"
        ),
    );
}

/// What a mode does with lock calls.
fn promise(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "lock calls still take the server's own locks, and are reported",
        Mode::Coexist => {
            "lock calls take the server's own locks, and each lock has a row; clients that connect directly are excluded"
        }
        Mode::Durable => {
            "lock calls are answered from the lock tables; clients that connect directly are not excluded"
        }
    }
}

/// How sessions share their connections at this listener, if they do. `gives`: passwords are given for some accounts.
fn pooling(config: &Config, gives: bool) {
    let pooling = config.pooling;
    if pooling.is_shared() {
        let size = pooling.size;
        Findings::fine(POOLING, format_args!("transaction: {size} connections to the server"));
        Findings::warn(
            "pooling = \"transaction\" is experimental in this version (docs/pooling.md)",
        );
        if !pooling.learn.learns() {
            let of = if gives { "an account that is not in [[users]]" } else { "an account" };
            Findings::warn(format_args!(
                "with learn_passwords = \"off\" no connection can be opened for {of}: each session keeps its own"
            ));
        }
    }
}

/// The findings for a proxy that only observes.
fn observing(config: &Config) {
    Findings::fine(
        "store",
        match config.store {
            Some(_) => "not checked: use `lockstead check --mode coexist`",
            None => "none: the other modes need one",
        },
    );
    if let Some(dir) = &config.state_dir {
        Findings::fine("report", format_args!("in {}", dir.display()));
    }
}
