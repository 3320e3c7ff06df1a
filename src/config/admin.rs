//! Settings of the administration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::error::WrongValue;
use super::raw::Raw;

/// Where administrators connect.
#[derive(Debug, Clone)]
pub struct Admin {
    /// On this machine; `None` for nowhere.
    pub socket: Option<PathBuf>,
    /// Over a network: where, and the file with the accounts.
    pub port: Option<(SocketAddr, PathBuf)>,
}

/// The socket's name in its folder.
const SOCKET: &str = "admin.sock";

/// Reads both; `tls` says whether clients are offered TLS.
pub(super) fn read(raw: &Raw, state_dir: Option<&Path>, tls: bool) -> Result<Admin, WrongValue> {
    let socket = socket(raw.admin.as_deref(), state_dir).map_err(|e| ("admin", e))?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let port = match (given(&raw.admin_listen), given(&raw.admin_accounts)) {
        (None, None) => None,
        (None, Some(_)) => {
            return Err(("admin_listen", "is missing, but admin_accounts is set".to_owned()));
        }
        (Some(_), None) => {
            let problem = "is missing: admin_listen needs accounts; \
                           `lockstead admin-account` prints a line of this file";
            return Err(("admin_accounts", problem.to_owned()));
        }
        (Some(listen), Some(accounts)) => {
            let address: SocketAddr = listen.parse().map_err(|_| {
                (
                    "admin_listen",
                    format!("{listen:?} is no address and port; give for example 127.0.0.1:6032"),
                )
            })?;
            if !tls && !address.ip().to_canonical().is_loopback() {
                let problem = format!(
                    "{address} can be reached from other machines, and tls is off: passwords cross \
                     networks with TLS only"
                );
                return Err(("admin_listen", problem));
            }
            Some((address, PathBuf::from(accounts)))
        }
    };
    Ok(Admin { socket, port })
}

/// `auto` is in the folder that systemd gives a service for such, or in `state_dir`.
pub(super) fn socket(
    given: Option<&str>,
    state_dir: Option<&Path>,
) -> Result<Option<PathBuf>, String> {
    match given.unwrap_or("auto") {
        "off" => Ok(None),
        "auto" => {
            let runtime = std::env::var_os("RUNTIME_DIRECTORY").filter(|v| !v.is_empty());
            let folder = runtime.map(PathBuf::from);
            Ok(folder.as_deref().or(state_dir).map(|folder| folder.join(SOCKET)))
        }
        text => match text.strip_prefix("unix:") {
            Some(path) if path.starts_with('/') => Ok(Some(PathBuf::from(path))),
            _ => Err(format!(
                "{text:?} is neither auto, off nor a socket; give for example unix:/run/lockstead/admin.sock"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_needs_accounts_and_a_network_tls() {
        let port = |listen: &str, accounts: &str, tls: bool| {
            let given = |text: &str| Some(text.to_owned());
            let raw = Raw {
                admin_listen: given(listen),
                admin_accounts: given(accounts),
                ..Raw::default()
            };
            read(&raw, None, tls).map(|admin| admin.port.is_some()).map_err(|(key, _)| key)
        };
        for (listen, accounts, tls, expected) in [
            ("", "", false, Ok(false)),
            ("127.0.0.1:1", "/a", false, Ok(true)),
            ("[::1]:1", "/a", false, Ok(true)),
            ("0.0.0.0:1", "/a", true, Ok(true)),
            ("0.0.0.0:1", "/a", false, Err("admin_listen")),
            ("127.0.0.1:1", "", true, Err("admin_accounts")),
            ("", "/a", true, Err("admin_listen")),
            ("localhost", "/a", true, Err("admin_listen")),
        ] {
            assert_eq!(port(listen, accounts, tls), expected, "{listen} {accounts} {tls}");
        }
    }
}
