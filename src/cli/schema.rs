//! `lockstead schema print|install`

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};

use super::print::print_line;
use super::process::{failed, runtime, usage};
use super::settings_args::SettingsArgs;
use crate::app::inspect;
use crate::config::Config;
use crate::servers::find::at_writer;
use crate::store::schema::{Installed, statements};
use crate::types::Flavour;

#[derive(Debug, Subcommand)]
pub(super) enum Schema {
    /// Print the SQL that creates the lock tables, for a DBA to run
    Print {
        /// Name of the schema
        #[arg(long, default_value = "lockstead")]
        schema: String,
        /// Server family
        #[arg(long, value_enum, default_value = "mysql")]
        flavour: Family,
    },
    /// Create or upgrade the lock tables with the store account (needs CREATE, CREATE VIEW and ALTER)
    Install(Box<SettingsArgs>),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Family {
    Mysql,
    Mariadb,
}

impl From<Family> for Flavour {
    fn from(family: Family) -> Self {
        match family {
            Family::Mysql => Self::MySql,
            Family::Mariadb => Self::MariaDb,
        }
    }
}

pub(super) const NO_NAME: &str = "--schema takes letters, digits and _ only";

pub(super) fn is_name(schema: &str) -> bool {
    !schema.is_empty() && schema.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

pub(super) fn run(command: Schema) -> Result<(), ExitCode> {
    match command {
        Schema::Print { schema, flavour } => {
            if !is_name(&schema) {
                return Err(usage(NO_NAME));
            }
            for statement in statements(&schema, flavour.into()) {
                print_line(format_args!("{statement};\n"));
            }
            Ok(())
        }
        Schema::Install(settings) => install(*settings),
    }
}

fn install(settings: SettingsArgs) -> Result<(), ExitCode> {
    let config = Config { create_schema: true, ..settings.load().map_err(usage)? };
    let runtime = runtime().map_err(failed)?;
    let schema = config.store().map_err(usage)?.schema.clone();
    let config = runtime.block_on(at_writer(&config)).map_err(failed)?;
    let did = match runtime.block_on(inspect(&config)).map_err(failed)?.installed {
        Installed::Nothing => "already there",
        Installed::Upgraded => "upgraded",
        Installed::Created => "created",
    };
    print_line(format_args!("lock schema `{schema}`: {did}"));
    Ok(())
}
