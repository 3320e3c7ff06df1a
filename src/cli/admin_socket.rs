//! Where a running proxy is asked.

use std::path::{Path, PathBuf};

use clap::Args;
use toml::{Table, Value};

use crate::config::{Plan, Raw};

/// Where systemd puts the socket of the service.
const SERVICE: &str = "/run/lockstead/admin.sock";

/// How a proxy is found, and how it is answered.
#[derive(Debug, Args)]
pub(super) struct AdminSocketArgs {
    /// The proxy's configuration file
    #[arg(long, short, value_name = "FILE", env = "LOCKSTEAD_CONFIG")]
    config: Option<PathBuf>,
    /// The proxy's socket for administrators: unix:PATH [default: found like the proxy does, or the service's]
    #[arg(long, value_name = "SOCKET", env = "LOCKSTEAD_ADMIN")]
    admin: Option<String>,
    #[arg(long, env = "LOCKSTEAD_LISTEN", hide = true)]
    listen: Option<String>,
    #[arg(long, env = "LOCKSTEAD_STATE_DIR", hide = true)]
    state_dir: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl AdminSocketArgs {
    /// The socket, or why there is none.
    pub(super) fn socket(self) -> Result<PathBuf, String> {
        let told = self.config.is_some() || self.admin.is_some();
        let file = self.config.as_deref().map(read).transpose()?.unwrap_or_default();
        let over = Raw {
            listen: self.listen.or(file.listen).and_then(|text| text.parse().ok()),
            admin: self.admin.or(file.admin),
            state_dir: self.state_dir.or(file.state_dir),
            ..Raw::default()
        };
        let off = over.admin.as_deref() == Some("off");
        let found = Plan::admin(None, over).map_err(|e| e.to_string())?;
        let there = found.as_ref().is_some_and(|path| path.exists());
        if !told && !there && Path::new(SERVICE).exists() {
            return Ok(PathBuf::from(SERVICE));
        }
        found.ok_or_else(|| {
            if off {
                "`admin` is off, so no administrator can connect".to_owned()
            } else {
                "the socket is not known: `state_dir` is off, or HOME is not set; use --admin \
                 unix:PATH or --config FILE"
                    .to_owned()
            }
        })
    }
}

/// The keys of a configuration that lead to the socket.
#[derive(Debug, Default, PartialEq)]
struct Leads {
    /// One or more, with commas.
    listen: Option<String>,
    admin: Option<String>,
    state_dir: Option<String>,
}

/// Other faults in the file do not matter: an administrator must still reach the proxy that runs.
fn read(path: &Path) -> Result<Leads, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(leads(&text))
}

fn leads(text: &str) -> Leads {
    let table = toml::from_str(text).unwrap_or_else(|_| by_line(text));
    let cluster = first(&table, "cluster", |_| true);
    let name = cluster.and_then(|cluster| cluster.get("name"));
    let listener = first(&table, "listener", |listener| {
        listener.get("cluster").is_none_or(|cluster| Some(cluster) == name)
    });
    let find = |key: &str, inner: Option<&Table>| {
        inner.and_then(|inner| inner.get(key)).or_else(|| table.get(key)).cloned()
    };
    let word = |value: Option<Value>| value.and_then(|v| v.as_str().map(str::to_owned));
    Leads {
        listen: find("listen", listener)
            .and_then(|value| match value {
                Value::Array(list) => list.first().cloned(),
                one => Some(one),
            })
            .and_then(|value| word(Some(value))),
        admin: word(find("admin", None)),
        state_dir: word(find("state_dir", cluster)),
    }
}

/// The first of several tables that is meant.
fn first<'a>(table: &'a Table, key: &str, meant: impl Fn(&Table) -> bool) -> Option<&'a Table> {
    let list = table.get(key)?.as_array()?;
    list.iter().filter_map(Value::as_table).find(|table| meant(table))
}

/// Of a text that is no TOML, the lines that are, each below its `[[table]]`.
fn by_line(text: &str) -> Table {
    let mut whole = Table::new();
    let mut section: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.split("]]").next()) {
            section = Some(name.trim().to_owned());
            let list = whole.entry(name.trim()).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().into_iter().for_each(|list| list.push(Table::new().into()));
            continue;
        }
        let Ok(one) = toml::from_str::<Table>(line) else { continue };
        let into = match &section {
            None => Some(&mut whole),
            Some(name) => {
                whole.get_mut(name).and_then(|list| list.as_array_mut()?.last_mut()?.as_table_mut())
            }
        };
        if let Some(into) = into {
            into.extend(one);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_anything_wrong_in_it_leads_to_the_socket_all_the_same() {
        let expected = Leads {
            listen: Some("127.0.0.1:1".to_owned()),
            admin: Some("unix:/a".to_owned()),
            state_dir: Some("/s".to_owned()),
        };
        let plain = "listen = \"127.0.0.1:1\"\nadmin = \"unix:/a\"\nstate_dir = \"/s\"\n";
        let tables = "admin = \"unix:/a\"\n[[cluster]]\nname = \"a\"\nstate_dir = \"/s\"\n\
                      [[listener]]\ncluster = \"b\"\nlisten = \"127.0.0.1:2\"\n\
                      [[listener]]\ncluster = \"a\"\nlisten = \"127.0.0.1:1\"\n";
        for text in [plain, tables] {
            for broken in ["", "lease = soon\n", "nonsense = 1\n", "= \"\n"] {
                assert_eq!(leads(&format!("{broken}{text}")), expected, "{broken}{text}");
                assert_eq!(leads(&format!("{text}{broken}")), expected, "{text}{broken}");
            }
        }
        assert_eq!(leads("admin = 1\n[cluster]\n"), Leads::default());
    }
}
