//! `lockstead completions` and `lockstead man`: made from the definition of the command line.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, failed};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Whose
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// A folder, which gets a page for each command [default: the page of lockstead, on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(Completions { shell }: Completions) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lockstead", &mut text);
    print(&text)
}

pub(super) fn man(Man { out }: Man) -> ExitCode {
    let command = Cli::command();
    let written = if let Some(folder) = out {
        clap_mangen::generate_to(command, folder)
    } else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).map(|()| {
            print(&text);
        })
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => failed(&e),
    }
}

/// A reader that has seen enough is no failure.
fn print(text: &[u8]) -> ExitCode {
    let _ = stdout().write_all(text);
    ExitCode::SUCCESS
}
