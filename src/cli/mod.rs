//! The command line: one file a subcommand.

mod admin_account;
mod admin_socket;
mod adopt;
mod ask;
mod check;
mod doctor;
mod generated;
mod grants;
mod logs;
mod moving;
mod print;
mod process;
mod report;
mod schema;
mod serve;
mod settings_args;
mod table;
mod terminal_text;
mod top;

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::cli::print::print_line;
use crate::cli::serve::ServeArgs;
use crate::cli::settings_args::SettingsArgs;
use crate::config::refuse_flags;

/// A MySQL proxy that turns GET_LOCK() into durable rows.
///
/// Applications connect to Lockstead instead of their MySQL or MariaDB server. GET_LOCK and its
/// four companions become rows in a table on the primary; everything else passes through
/// byte for byte.
#[derive(Debug, Parser)]
#[command(name = "lockstead", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Run the proxy
    #[command(
        after_help = "Example:\n  lockstead serve --listen 127.0.0.1:6033 --backend 127.0.0.1:3306 \\\n    --store mysql://lockstead:secret@127.0.0.1:3306/lockstead --lease 30s --create-schema"
    )]
    Serve(ServeArgs),
    /// Check the configuration, the servers and the store account's privileges, then exit
    #[command(after_help = check::HELP)]
    Check(SettingsArgs),
    /// Look for lock calls that no proxy sees, and for settings that make locks unsafe
    #[command(after_help = doctor::HELP)]
    Doctor(doctor::Doctor),
    /// Show the locks seen in mode observe, their users, and what the switch would change
    #[command(after_help = report::HELP)]
    Report(Box<report::Arguments>),
    /// Move the locks to the server in `store`, after a failover or a restore
    #[command(after_help = adopt::HELP)]
    Adopt(adopt::Adopt),
    /// Print the SQL that creates Lockstead's accounts with the least privileges
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
    /// Show lease, locks and waits of the proxy, live
    #[command(after_help = top::HELP)]
    Top(top::Top),
    /// Print the completion script of a shell
    Completions(generated::Completions),
    /// Print the manual page, or write the pages of all commands
    Man(generated::Man),
    /// Print the version
    Version,
}

/// Parses the arguments and runs the subcommand. Exit codes: 0 done, 1 failed, 2 wrong usage or
/// configuration.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // --help and --version are such, too.
        Err(e) => {
            if e.kind() == ErrorKind::UnknownArgument
                && let Err(gone) = refuse_flags(std::env::args())
            {
                return process::usage(gone);
            }
            let printed = e.print().and_then(|()| stdout().flush());
            let code = printed.map_or_else(|lost| print::give_up(&lost), |()| e.exit_code());
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
    };
    let ran = match cli.command {
        Subcommands::Serve(settings) => serve::run(settings),
        Subcommands::Check(settings) => check::run(settings),
        Subcommands::Doctor(arguments) => doctor::run(arguments),
        Subcommands::Report(arguments) => report::run(*arguments),
        Subcommands::Adopt(arguments) => adopt::run(arguments),
        Subcommands::Grants(arguments) => grants::run(*arguments),
        Subcommands::AdminAccount(account) => admin_account::run(account),
        Subcommands::Ask(ask) => ask::run(ask),
        Subcommands::Schema(command) => schema::run(command),
        Subcommands::Top(top) => top::run(top),
        Subcommands::Completions(shell) => {
            generated::completions(shell, Cli::command());
            Ok(())
        }
        Subcommands::Man(out) => generated::man(out, Cli::command()),
        Subcommands::Version => {
            print_line(format_args!("lockstead {}", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
    };
    ran.err().unwrap_or(ExitCode::SUCCESS)
}
