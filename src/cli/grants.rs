//! `lockstead grants`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::print::print as put;
use super::process::runtime;
use super::schema::{Family, NO_NAME, is_name};
use super::settings_args::SettingsArgs;
use crate::backend::greeted::{GreetError, connect};
use crate::backend::own::leave;
use crate::config::{Config, Pooling};
use crate::servers::writer::Writer;
use crate::store::accounts::{
    Account, NewStoreAccount, PLACEHOLDER, fencing, password, store_account, viewer_account,
};
use crate::types::Flavour;

#[derive(Debug, Args)]
pub(super) struct Grants {
    /// For this server family, without connecting and without other settings
    #[arg(long, value_enum)]
    flavour: Option<Family>,
    /// Name of the schema [default: that of `store`, or lockstead]
    #[arg(long)]
    schema: Option<String>,
    /// The account of the lock tables [default: the user of `store`, or lockstead, at %]
    #[arg(long, value_name = "USER@HOST")]
    account: Option<String>,
    /// Print an account that may only read the view of held locks [default: lockstead_viewer@%]
    #[arg(long, value_name = "USER@HOST", num_args = 0..=1, default_missing_value = "lockstead_viewer@%")]
    viewer: Option<String>,
    /// Print what an account of an application needs so that its commits are fenced
    #[arg(long, value_name = "USER@HOST", conflicts_with_all = ["account", "viewer", "password_file"])]
    application: Option<String>,
    /// The new account's password, the file's only line
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
It only prints. An administrator runs the output:
  lockstead grants --flavour mysql --account lockstead@10.0.0.% --password-file pw | mysql

Without a password it prints a placeholder, which the server refuses. Without --flavour it reads
the flavour from the greeting of `backend`, which needs no account.

Exit status: 0 printed, 1 the server does not answer, 2 wrong usage or configuration";

/// Facts from the settings or the command line.
struct KnownServer {
    flavour: Flavour,
    schema: String,
    user: String,
    create_schema: bool,
    shares: bool,
}

enum GrantsError {
    Usage(String),
    Server(String),
}

pub(super) fn run(grants: Grants) -> Result<(), ExitCode> {
    let (problem, code) = match print(grants) {
        Ok(sql) => {
            put(sql);
            return Ok(());
        }
        Err(GrantsError::Usage(problem)) => (problem, ExitCode::from(2)),
        Err(GrantsError::Server(problem)) => (problem, ExitCode::FAILURE),
    };
    eprintln!("lockstead: {problem}");
    Err(code)
}

fn print(grants: Grants) -> Result<String, GrantsError> {
    let Grants { flavour, schema, account, viewer, application, password_file, settings } = grants;
    let usage = |option: &'static str| move |e: String| GrantsError::Usage(format!("{option} {e}"));
    let secret = password_file.as_deref().map(read_password).transpose()?;
    let password = password(secret.as_deref()).map_err(usage("the password"))?;
    let known = match flavour {
        Some(family) => KnownServer {
            flavour: family.into(),
            schema: "lockstead".to_owned(),
            user: "lockstead".to_owned(),
            create_schema: settings.raw.create_schema.unwrap_or_default(),
            shares: settings.raw.pooling.as_deref() == Some(Pooling::TRANSACTION),
        },
        None => ask(&settings.load().map_err(|e| GrantsError::Usage(e.to_string()))?)?,
    };
    let schema = schema.unwrap_or(known.schema);
    if !is_name(&schema) {
        return Err(GrantsError::Usage(NO_NAME.to_owned()));
    }
    let who = format!("-- For {}. An administrator runs this.\n", known.flavour.name());
    if let Some(text) = application {
        let account = Account::parse(&text).map_err(usage("--application"))?;
        return Ok(format!("{who}{}", fencing(&schema, &account)));
    }
    let store = match account {
        Some(text) => Account::parse(&text),
        None => Account::new(&known.user, "%"),
    };
    let store = store.map_err(usage("--account"))?;
    let sql = if let Some(text) = viewer {
        let viewer = Account::parse(&text).map_err(usage("--viewer"))?;
        viewer_account(&schema, &viewer, &store, &password)
    } else {
        let new = NewStoreAccount {
            schema: &schema,
            account: &store,
            password: &password,
            creates: known.create_schema,
            shares: known.shares,
        };
        store_account(known.flavour, new)
    };
    let note = match secret {
        Some(_) => String::new(),
        None => format!("-- Replace {PLACEHOLDER} by a password in quotes.\n"),
    };
    Ok(format!("{who}{note}{sql}"))
}

fn read_password(path: &Path) -> Result<String, GrantsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| GrantsError::Usage(format!("--password-file {}: {e}", path.display())))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn ask(config: &Config) -> Result<KnownServer, GrantsError> {
    let store = config.store().map_err(|e| GrantsError::Usage(e.to_string()))?;
    let runtime = runtime().map_err(|e| GrantsError::Server(e.to_string()))?;
    let asked = runtime.block_on(async {
        let writer = Writer::among(vec![config.servers[0].clone()]);
        let greeted = connect(&writer.found().await, config.connect_timeout, None).await?;
        let version = greeted.greeting.version.clone();
        leave(greeted).await;
        Ok(version)
    });
    let version = asked.map_err(|e: GreetError| {
        GrantsError::Server(format!(
            "the server {}: {e}. --flavour prints without asking it",
            config.backend()
        ))
    })?;
    Ok(KnownServer {
        flavour: Flavour::from_version(&version),
        schema: store.schema.clone(),
        user: store.user.clone(),
        create_schema: config.create_schema,
        shares: config.pooling.of_cluster,
    })
}
