//! `lockstead doctor`

mod calls;
mod checks;
mod report;

use std::process::ExitCode;

use clap::Args;

use super::moving::{Remark, remarks};
use super::print::{print, print_line};
use super::process::{runtime, usage};
use super::settings_args::SettingsArgs;
use super::terminal_text::{plain, safe};
use crate::app::inspect;
use crate::cli::doctor::calls::{CallLine, DefinitionVerdict, classify_definition};
use crate::cli::doctor::report::{DoctorReport, Finding, FoundObject, Severity};
use crate::config::{Config, Mode, StoreUrl};
use crate::servers::find::at_writer;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::definitions::Object;
use crate::store::facts::Facts;
use crate::types::{Flavour, version_number};

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// An account that may see all definitions: mysql://user[:password]@host[:port]/ [default: that of `store`]
    #[arg(long, value_name = "URL", env = "LOCKSTEAD_ACCOUNT", hide_env_values = true)]
    account: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Where the password of `--account` is, if not in it.
const PASSWORD: &str = "LOCKSTEAD_ACCOUNT_PASSWORD";

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
It changes nothing. If --account has no password, it uses LOCKSTEAD_ACCOUNT_PASSWORD.
docs/doctor.md lists the privileges that the account needs, and explains each finding.

Exit status:
  0  no problem found
  1  something to do
  2  the check could not run, wrong usage or configuration";

/// The schemas that come with the server.
const SYSTEM: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

const CALLS: &str =
    "takes the server's own locks here. They do not exclude sessions that lock through Lockstead";
const CALLS_COEXIST: &str = "takes the server's own locks here. They exclude all sessions in mode coexist, but not those that lock through Lockstead in mode durable";
const BEFORE_DURABLE: &str = "before mode durable: ";
const CALLS_ADVICE: &str = "move the call into the client, as a statement of its own before the one that runs this. It may stay if every user of this lock takes it here and none needs a durable one";
const MAY_CALL: &str = "prepares statements, and has a string with the name of a lock function in these lines: it may call it";
const MAY_CALL_ADVICE: &str =
    "look at the prepared text; if it calls a lock function, do as for calls";

pub(super) fn run(Doctor { account, json, settings }: Doctor) -> Result<(), ExitCode> {
    let chosen = settings.cluster.clone();
    let plan = settings.plan().and_then(|plan| {
        let name = match plan.clusters.as_slice() {
            [only] => only.name.clone(),
            _ => chosen.clone(),
        };
        Ok((plan.choose(chosen.as_deref())?, name))
    });
    let (config, cluster) = plan.map_err(usage)?;
    let config = Config { create_schema: false, ..config };
    let runtime = runtime().map_err(usage)?;
    let config = runtime.block_on(at_writer(&config)).map_err(|e| blind(&e.to_string()))?;
    let account = parse(account.as_deref(), config.store.as_ref());
    let account = account.map_err(|problem| blind(&format!("--account {problem}")))?;
    let report = runtime.block_on(report_on(&config, cluster.as_deref(), &account));
    let report = report
        .map_err(|e| blind(&format!("cannot look at {}: {}", address(&account), told(&e))))?;
    if json {
        print_line(safe(&serde_json::to_string_pretty(&report).map_err(usage)?));
    } else {
        print(&report);
    }
    if report.problems == 0 { Ok(()) } else { Err(ExitCode::FAILURE) }
}

fn parse(account: Option<&str>, store: Option<&StoreUrl>) -> Result<StoreUrl, String> {
    let Some(text) = account else {
        return store.cloned().ok_or_else(|| "is missing, and so is `store`".to_owned());
    };
    let mut url = StoreUrl::parse(text)?;
    if url.hosts.len() != 1 {
        return Err("must name one host".to_owned());
    }
    url.tls = store.map(|store| store.tls.clone()).unwrap_or_default();
    if url.password.is_empty() {
        url.password = std::env::var(PASSWORD).unwrap_or_default();
    }
    Ok(url)
}

fn blind(problem: &str) -> ExitCode {
    eprintln!("lockstead: {problem}");
    ExitCode::from(2)
}

fn address(url: &StoreUrl) -> String {
    format!("{}@{}:{}", url.user, url.host, url.port)
}

fn told(e: &StoreError) -> String {
    match e {
        StoreError::Refused { code: 1045, .. } => format!(
            "{e}. Check user and password in `--account`, {PASSWORD}, or without them in `store`"
        ),
        StoreError::Connect(_) => format!("{e}. Is the server up, and are host and port right?"),
        e => e.to_string(),
    }
}

async fn report_on(
    config: &Config,
    cluster: Option<&str>,
    account: &StoreUrl,
) -> Result<DoctorReport, StoreError> {
    let mut conn = StoreConnection::open(account, config.connect_timeout).await?;
    let flavour = conn.flavour();
    let mut facts = conn.facts().await?;
    let version = facts.get("version").cloned().unwrap_or_default();
    let mut objects = conn.definitions().await?;
    let system: Vec<Object> = objects
        .extract_if(.., |o| SYSTEM.iter().any(|s| o.schema.eq_ignore_ascii_case(s)))
        .collect();
    let mut findings = checks::hidden(&objects, &conn.grants().await?, flavour);
    objects.push(conn.init_connect().await?);
    findings.extend(definitions(&objects, flavour, &version, config.mode));
    let system = definitions(&system, flavour, &version, config.mode);
    if !system.is_empty() {
        facts.insert("system".to_owned(), system.len().to_string());
    }
    let events = events(&findings);
    if !events.is_empty() {
        facts.insert("events".to_owned(), events.join(", "));
    }
    facts.insert("server".to_owned(), conn.ident().to_owned());
    // A proxy that observes may have none yet.
    if let Some(url) = &config.store {
        findings.extend(store(config, url, &mut facts).await);
    }
    findings.extend(checks::settings(&facts));
    findings.extend(remarks(config, cluster).await.into_iter().map(of_move));
    let server = format!("{}:{}", account.host, account.port);
    conn.close().await;
    let name = match flavour {
        Flavour::MySql => "MySQL",
        Flavour::MariaDb => "MariaDB",
    };
    Ok(DoctorReport::new([server, format!("{name} {version}"), account.user.clone()], findings))
}

/// A finding for each object that calls.
fn definitions(objects: &[Object], flavour: Flavour, version: &str, mode: Mode) -> Vec<Finding> {
    let version = version_number(version);
    let (severity, calls, when) = match mode {
        Mode::Coexist => (Severity::Note, CALLS_COEXIST, BEFORE_DURABLE),
        Mode::Observe | Mode::Durable => (Severity::Problem, CALLS, ""),
    };
    let finding = |code, object: &Object, lines: Vec<CallLine>, text: &str, advice: &str| Finding {
        severity,
        code,
        text: text.to_owned(),
        advice: format!("{when}{advice}"),
        object: Some(FoundObject {
            kind: object.kind.clone(),
            schema: plain(&object.schema),
            name: plain(&object.name),
            lines,
        }),
    };
    objects
        .iter()
        .filter_map(|object| {
            match classify_definition(object.definition.as_ref()?, flavour, version) {
                DefinitionVerdict::Nothing => None,
                DefinitionVerdict::Calls(lines) => {
                    Some(finding("calls", object, lines, calls, CALLS_ADVICE))
                }
                DefinitionVerdict::MayCall(lines) => {
                    Some(finding("may-call", object, lines, MAY_CALL, MAY_CALL_ADVICE))
                }
            }
        })
        .collect()
}

/// What is found for the move to another mode.
fn of_move(Remark { problem, code, text, advice }: Remark) -> Finding {
    let severity = if problem { Severity::Problem } else { Severity::Note };
    Finding { severity, code, text: plain(&text), advice: plain(&advice), object: None }
}

fn events(findings: &[Finding]) -> Vec<String> {
    let places = findings.iter().filter_map(|f| f.object.as_ref());
    places.filter(|p| p.kind == "event").map(|p| format!("{}.{}", p.schema, p.name)).collect()
}

/// What the store's own account sees of its server and its rights: like `lockstead check`, which
/// needs no more than these rights.
async fn store(config: &Config, url: &StoreUrl, facts: &mut Facts) -> Vec<Finding> {
    if let Ok(mut conn) = StoreConnection::open(url, config.connect_timeout).await {
        facts.insert("store_server".to_owned(), conn.ident().to_owned());
        if let Ok(odd) = conn.odd_engines().await {
            facts.insert("odd_engines".to_owned(), odd.join(", "));
        }
        conn.close().await;
    }
    match inspect(config).await {
        Err(e) => {
            facts.insert("store_error".to_owned(), e.to_string());
            vec![]
        }
        Ok(readiness) => {
            let warn = |text: String| Finding {
                severity: Severity::Problem,
                code: "store-account",
                text,
                advice: format!("`lockstead grants` prints the privileges that {} needs", url.user),
                object: None,
            };
            readiness.warnings.into_iter().map(warn).collect()
        }
    }
}
