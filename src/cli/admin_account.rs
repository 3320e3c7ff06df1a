//! `lockstead admin-account`

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::print::print_line;
use crate::admin::accounts::{AdminRole, line};

#[derive(Debug, Args)]
pub(super) struct AdminAccount {
    /// The account's name
    name: String,
    /// Role of the account: "viewer" may query, "operator" may also act
    #[arg(long, default_value = "viewer")]
    role: String,
    /// File with the account's password as its only line [default: the first line of standard input]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
Print a line for the file in `admin_accounts`. It contains a verifier, not the password:
  openssl rand -base64 24 >pw
  lockstead admin-account ops --role operator --password-file pw >>/etc/lockstead/accounts

Exit status: 0 printed, 2 wrong usage";

pub(super) fn run(account: AdminAccount) -> Result<(), ExitCode> {
    let AdminAccount { name, role, password_file } = account;
    let printed = match AdminRole::parse(&role) {
        None => Err(format!("--role {role:?} is neither viewer nor operator")),
        Some(role) => password(password_file).and_then(|password| line(&name, role, &password)),
    };
    print_line(printed.map_err(|problem| {
        eprintln!("lockstead: {problem}");
        ExitCode::from(2)
    })?);
    Ok(())
}

fn password(file: Option<PathBuf>) -> Result<String, String> {
    let text = if let Some(path) = file {
        let read = std::fs::read_to_string(&path);
        read.map_err(|e| format!("--password-file {}: {e}", path.display()))?
    } else if std::io::stdin().is_terminal() {
        return Err("a typed password would be visible: use --password-file or a pipe".to_owned());
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map_err(|e| e.to_string())?;
        line
    };
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
