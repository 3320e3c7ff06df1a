//! Client libraries, directly at a server and through the proxy: what they print must be equal.
//! `tests/drivers/README.md` explains the clients.

mod clients;
mod compare;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;
use lockstead_support::{Flavour, Launch, PrivateServer, Proxy, Ready, Release};

use crate::workplace::{
    self, Workplace, last_lines_of, let_connections_be_shared, make_lockstead_account,
    sharing_options, store_url,
};
use clients::Client;
use compare::{Cell, Stand};
use table::Table;

/// The password of the applications' accounts.
const PASSWORD: &str = "app-Pa55";
/// The schema of the lock tables.
const SCHEMA: &str = "lockstead";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Servers, with blanks between them [default: "mysql mariadb mariadb118"]
    #[arg(long, value_name = "NAMES", value_parser = words::<Release>)]
    flavours: Option<Words<Release>>,
    /// Without and with TLS [default: "off on"]
    #[arg(long, value_name = "off|on", value_parser = words::<Tls>)]
    tls: Option<Words<Tls>>,
    /// Mode of the proxies
    #[arg(long, value_name = "MODE", default_value = "durable", value_parser = ["coexist", "durable", "observe"])]
    mode: String,
    /// Whether sessions share the proxies' connections to the server, which needs mode durable
    #[arg(long, value_name = "HOW", default_value = "session", value_parser = ["session", "transaction"])]
    pooling: String,
    /// With --pooling transaction: connections that they share
    #[arg(long, value_name = "NUMBER", default_value_t = 64)]
    pool_size: u32,
    /// With --pooling transaction: each session gives its connection away whenever it may, by a program with debug
    /// assertions
    #[arg(long)]
    shuffle: bool,
    /// One client a language, one server, TLS on
    #[arg(long)]
    quick: bool,
    /// With --quick: three of the languages, others for the next number
    #[arg(long, value_name = "NUMBER", requires = "quick")]
    turn: Option<usize>,
    /// Languages and clients, such as "python:pymysql node" [default: all below tests/drivers]
    #[arg(long, env = "DRIVERS", hide_env_values = true, default_value = "")]
    drivers: String,
    /// A folder that keeps what the clients printed
    #[arg(long, env = "DRIVERS_OUT", hide_env_values = true)]
    out: Option<PathBuf>,
    /// Seconds that a client may print nothing
    #[arg(long, env = "DRIVERS_SECONDS", hide_env_values = true, default_value_t = 300)]
    seconds: u64,
}

/// Several values in one argument.
#[derive(Debug, Clone)]
struct Words<T>(Vec<T>);

fn words<T: std::str::FromStr<Err = String>>(text: &str) -> Result<Words<T>, String> {
    let words: Vec<T> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    if words.is_empty() { Err("no value".to_owned()) } else { Ok(Words(words)) }
}

/// Whether clients use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tls {
    Off,
    On,
}

impl Tls {
    fn name(self) -> &'static str {
        match self {
            Tls::Off => "off",
            Tls::On => "on",
        }
    }
}

impl std::str::FromStr for Tls {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "off" => Ok(Tls::Off),
            "on" => Ok(Tls::On),
            other => Err(format!("'{other}' is neither off nor on")),
        }
    }
}

pub(crate) fn run(place: &Workplace, options: &Options) -> Result<()> {
    let flavours = match &options.flavours {
        Some(Words(chosen)) => chosen.clone(),
        None if options.quick => vec![Release::MySql],
        None => Release::ALL.to_vec(),
    };
    let ways = match &options.tls {
        Some(Words(chosen)) => chosen.clone(),
        None if options.quick => vec![Tls::On],
        None => vec![Tls::Off, Tls::On],
    };
    let shares = options.pooling == "transaction";
    ensure!(shares || !options.shuffle, "--shuffle needs --pooling transaction");
    let program = if options.shuffle {
        workplace::lockstead_with_assertions()?
    } else {
        workplace::lockstead()?
    };
    let clients = clients::choose(place, &options.drivers, options.quick, options.turn)?;
    workplace::install(&flavours.iter().map(|release| release.name()).collect::<Vec<_>>())?;
    let out = options
        .out
        .clone()
        .filter(|out| !out.as_os_str().is_empty())
        .unwrap_or_else(|| place.file("out"));
    std::fs::create_dir_all(&out)?;
    let limit = Duration::from_secs(options.seconds);
    let out = out.canonicalize()?;
    let stand =
        Stand { place, out, limit, lists_sessions: !shares, shares, moves: options.shuffle };

    let mut table = Table::default();
    for release in &flavours {
        let server = start_server(place, *release, shares)?;
        let proxies: Vec<(Tls, Proxy)> = ways
            .iter()
            .map(|tls| Ok((*tls, start_proxy(&program, place, &server, options, *tls)?)))
            .collect::<Result<_>>()?;
        let version = server.sql("SELECT VERSION()")?.trim().to_owned();
        for (tls, proxy) in &proxies {
            for client in &clients {
                for user in users(*release, client) {
                    let cell =
                        Cell { server: &server, proxy, tls: *tls, client, user, version: &version };
                    let result = stand.compare(&cell)?;
                    println!("{}", result.line());
                    table.add(result);
                }
            }
        }
        if table.has_failures() {
            for (_, proxy) in &proxies {
                eprintln!("{}", last_lines_of(&proxy.log(), 8));
            }
        }
    }
    print!("\n{table}");
    let failures = table.failures();
    if !failures.is_empty() {
        // After the table: of a long run, the end is read.
        eprint!("{}", failures.concat());
        bail!("{} of the comparisons above are not ok", failures.len());
    }
    Ok(())
}

/// The accounts with which a client is run.
fn users(release: Release, client: &Client) -> &'static [&'static str] {
    if release == Release::MariaDb118 && client.is("c", "libmariadb118") {
        &["app", "app_parsec", "app_ed25519"]
    } else {
        &["app"]
    }
}

fn start_server(place: &Workplace, release: Release, shares: bool) -> Result<PrivateServer> {
    let mut options = vec!["--max-allowed-packet=64M", "--log-bin-trust-function-creators=1"];
    // On a busy machine some clients need long between two packets of a login.
    options.push("--connect-timeout=60");
    if release == Release::MariaDb118 {
        options.extend([
            "--plugin-maturity=unknown",
            "--plugin-load-add=auth_ed25519",
            "--plugin-load-add=auth_parsec",
        ]);
    }
    if shares {
        options.extend(sharing_options(release.flavour()));
    }
    let server = PrivateServer::start_in(place.file(release.name()), release, &options)?;
    make_lockstead_account(&server, &[SCHEMA])?;
    if shares {
        let_connections_be_shared(&server)?;
    }
    for user in ["app", "app_ed25519", "app_parsec"] {
        let identified = match (release, user.strip_prefix("app_")) {
            (Release::MySql, None) => format!("WITH caching_sha2_password BY '{PASSWORD}'"),
            (_, None) => format!("VIA mysql_native_password USING PASSWORD('{PASSWORD}')"),
            (Release::MariaDb118, Some(plugin)) => {
                format!("VIA {plugin} USING PASSWORD('{PASSWORD}')")
            }
            (_, Some(_)) => continue,
        };
        server.sql(&format!(
            "CREATE USER {user}@'127.0.0.%' IDENTIFIED {identified}; GRANT ALL ON drivers.* TO {user}@'127.0.0.%'"
        ))?;
        if server.flavour() == Flavour::MySql {
            server.sql(&format!(
                "GRANT SELECT ON performance_schema.session_connect_attrs TO {user}@'127.0.0.%'"
            ))?;
        }
    }
    Ok(server)
}

fn start_proxy(
    program: &std::path::Path,
    place: &Workplace,
    server: &PrivateServer,
    options: &Options,
    tls: Tls,
) -> Result<Proxy> {
    let backend = format!("127.0.0.1:{}", server.port());
    let state = place.file(&format!("state-{}-{}", server.release(), tls.name()));
    let file = |name: &str| server.folder().join("tls").join(name).display().to_string();
    let mut launch = Launch::new(program)
        .arguments(&[
            "--backend",
            &backend,
            "--store",
            &store_url(&backend, SCHEMA),
            "--create-schema",
        ])
        // A long lease: nothing here is about a proxy that dies.
        .arguments(&["--lease", "30s", "--state-dir", &state.display().to_string()])
        .arguments(&["--login-timeout", "60s"])
        .with_pages()
        .until(Ready::Granting)
        .arguments(&["--mode", &options.mode, "--pooling", &options.pooling])
        .arguments(&["--pool-size", &options.pool_size.to_string()])
        .in_own_group();
    if options.shuffle {
        launch = launch.arguments(&["--test-shuffle"]);
    }
    if tls == Tls::On {
        launch = launch.arguments(&[
            "--tls-cert",
            &file("server-cert.pem"),
            "--tls-key",
            &file("server-key.pem"),
        ]);
    }
    launch.start()
}
