//! `lockstead completions` and `lockstead man`: made from the definition of the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::print::print;
use super::process::failed;

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// A directory for the pages of all commands [default: the page of lockstead, on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(Completions { shell }: Completions, mut command: Command) {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "lockstead", &mut text);
    print(String::from_utf8_lossy(&text));
}

pub(super) fn man(Man { out }: Man, command: Command) -> Result<(), ExitCode> {
    let written = if let Some(folder) = out {
        clap_mangen::generate_to(command, folder)
    } else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).map(|()| {
            print(String::from_utf8_lossy(&text));
        })
    };
    written.map_err(failed)
}
