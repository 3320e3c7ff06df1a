//! The command line: one file a subcommand.

mod admin_account;
mod adopt;
mod ask;
mod check;
mod doctor;
mod generated;
mod grants;
mod logs;
mod place;
mod plain;
mod print;
mod report;
mod schema;
mod serve;
mod table;
mod top;

use std::fmt::Display;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::cli::plain::lines;
use crate::cli::print::print_line;
use crate::config::{Config, ConfigError, Plan, Raw};
use crate::private;

/// A MySQL proxy that turns GET_LOCK() into durable rows.
///
/// Applications connect to Lockstead instead of their MySQL or MariaDB server. GET_LOCK and its
/// four companions become rows in a table on the primary; everything else passes through
/// byte for byte.
#[derive(Debug, Parser)]
#[command(name = "lockstead", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy
    #[command(
        after_help = "Example:\n  lockstead serve --listen 127.0.0.1:6033 --backend 127.0.0.1:3306 \\\n    --store mysql://lockstead:secret@127.0.0.1:3306/lockstead --lease 30s --create-schema"
    )]
    Serve(Settings),
    /// Check the configuration, the servers and the store account's rights, then exit
    #[command(after_help = check::HELP)]
    Check(Settings),
    /// Look for lock calls that no proxy sees, and for settings that make locks unsafe
    #[command(after_help = doctor::HELP)]
    Doctor(doctor::Doctor),
    /// Show which locks were seen in mode observe, who uses them, and what the switch would change
    #[command(after_help = report::HELP)]
    Report(Box<report::Arguments>),
    /// Make the server that answers the one whose locks are kept, after a failover or a restore
    #[command(after_help = adopt::HELP)]
    Adopt(adopt::Adopt),
    /// Print the SQL that makes Lockstead's accounts, with the rights they need and no more
    #[command(after_help = grants::HELP)]
    Grants(Box<grants::Grants>),
    /// Print a line for the file of administrators' accounts
    #[command(after_help = admin_account::HELP)]
    AdminAccount(admin_account::AdminAccount),
    #[command(flatten)]
    Ask(ask::Ask),
    /// Show or install the lock tables
    #[command(subcommand)]
    Schema(schema::Schema),
    /// Show locks and waits of the proxy, live
    #[command(after_help = top::HELP)]
    Top(top::Top),
    /// Print what completes commands in a shell
    Completions(generated::Completions),
    /// Print the manual page, or write those of all commands
    Man(generated::Man),
    /// Print the version
    Version,
}

/// Where settings come from: flags, then LOCKSTEAD_* variables, then the file.
#[derive(Debug, Clone, Args)]
pub(crate) struct Settings {
    /// Configuration file (TOML); every key is also a flag
    #[arg(long, short, value_name = "FILE", env = "LOCKSTEAD_CONFIG")]
    config: Option<PathBuf>,
    /// Which one, where the file has several
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    #[command(flatten)]
    raw: Raw,
}

impl Settings {
    /// All that a process serves.
    fn plan(self) -> Result<Plan, ConfigError> {
        Plan::load(self.config.as_deref(), self.raw)
    }

    /// A warning, if the file has a password and everybody may read it.
    fn warning(&self) -> Option<String> {
        let path = self.config.as_deref()?;
        let readable = private::readable(&std::fs::metadata(path).ok()?)?;
        let text = std::fs::read_to_string(path).ok()?;
        let has_password =
            text.lines().filter(|line| line.trim_start().starts_with("store")).any(|line| {
                let account = line.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
                account.is_some_and(|(account, _)| account.contains(':'))
            });
        has_password.then(|| format!("{} has the password of `store`: {readable}", path.display()))
    }

    /// One cluster.
    fn load(self) -> Result<Config, ConfigError> {
        let name = self.cluster.clone();
        self.plan()?.choose(name.as_deref())
    }
}

/// Parses the arguments and runs the subcommand. Exit codes: 0 done, 1 failed, 2 wrong usage or
/// configuration.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // --help and --version are such, too.
        Err(e) => {
            let printed = e.print().and_then(|()| stdout().flush());
            let code = printed.map_or_else(|lost| print::give_up(&lost), |()| e.exit_code());
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
    };
    match cli.command {
        Command::Serve(settings) => serve::run(settings),
        Command::Check(settings) => check::run(settings),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Report(arguments) => report::run(*arguments),
        Command::Adopt(arguments) => adopt::run(arguments),
        Command::Grants(arguments) => grants::run(*arguments),
        Command::AdminAccount(account) => admin_account::run(account),
        Command::Ask(ask) => ask::run(ask),
        Command::Schema(command) => schema::run(command),
        Command::Top(top) => top::run(top),
        Command::Completions(shell) => generated::completions(shell),
        Command::Man(out) => generated::man(out),
        Command::Version => {
            print_line(format_args!("lockstead {}", env!("CARGO_PKG_VERSION")));
            ExitCode::SUCCESS
        }
    }
}

fn usage(e: &impl Display) -> ExitCode {
    eprintln!("lockstead: {}", lines(&e.to_string()));
    ExitCode::from(2)
}

fn failed(e: &impl Display) -> ExitCode {
    eprintln!("lockstead: {}", lines(&e.to_string()));
    ExitCode::FAILURE
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
