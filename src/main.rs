//! The `lockstead` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    lockstead::cli::run()
}
