//! `lockstead adopt`

use std::fmt::Arguments;
use std::io::{self, BufRead, IsTerminal, stdin};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, value_parser};
use tokio::time::sleep;

use super::logs;
use super::print::try_print;
use super::process::{failed, runtime, usage};
use super::settings_args::SettingsArgs;
use crate::clock;
use crate::config::{Config, StoreUrl};
use crate::lock::lease::Terms;
use crate::servers::find::at_writer;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::epoch::{EpochBasis, Opening, PASSES_READ_ONLY};

#[derive(Debug, Args)]
pub(super) struct Adopt {
    /// Do not ask for confirmation; required if standard input is not a terminal
    #[arg(long, short)]
    yes: bool,
    /// The latest epoch that proxies know, if their log or /readyz names one
    // Tokens leave 33 bits for it.
    #[arg(long, value_name = "EPOCH", value_parser = value_parser!(u64).range(..(1 << 33) - 1))]
    above: Option<u64>,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
It waits for the longest known lease, so that every proxy has given up its locks on the previous
server. Then it opens a new epoch on the server that `store` leads to; of several, on the one that takes writes. Running proxies
join it by themselves. Run it only if that server is the primary now and the old one accepts no
writes: Lockstead cannot check that. See docs/failover.md.

Exit status:
  0  a new epoch is open
  1  refused or failed: nothing was changed, unless the message says that this is not certain
  2  wrong usage or configuration, or not confirmed
  3  nothing to adopt: the lock tables belong to this server already";

/// Why there is no new epoch.
#[derive(Debug, thiserror::Error)]
enum AdoptError {
    #[error("nothing to adopt: {0}")]
    Needless(String),
    #[error("{0}")]
    Unconfirmed(&'static str),
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl AdoptError {
    fn code(&self) -> u8 {
        match self {
            Self::Needless(_) => 3,
            Self::Unconfirmed(_) => 2,
            Self::Unfit(_) | Self::Store(_) | Self::Io(_) => 1,
        }
    }
}

pub(super) fn run(Adopt { yes, above, settings }: Adopt) -> Result<(), ExitCode> {
    let config = settings.load().map_err(usage)?;
    drop(logs::start(&config).map_err(usage)?);
    let runtime = runtime().map_err(failed)?;
    let config = runtime.block_on(at_writer(&config)).map_err(failed)?;
    let store = config.store().map_err(usage)?;
    let adopted = runtime.block_on(adopt(&config, store, above.unwrap_or_default(), yes));
    adopted.map_err(|refusal| {
        eprintln!("lockstead: {refusal}");
        ExitCode::from(refusal.code())
    })
}

async fn adopt(config: &Config, store: &StoreUrl, above: u64, yes: bool) -> Result<(), AdoptError> {
    let schema = &store.schema;
    let mut conn = StoreConnection::open(store, config.connect_timeout).await?;
    let mut from = epoch_basis(&mut conn).await?;
    say(format_args!("lock schema     `{schema}` at {store:?}"))?;
    say(format_args!("belongs to      {}, epoch {}", from.meta.ident, from.meta.epoch))?;
    say(format_args!("this server     {}", from.meta.server))?;
    check(&mut conn, &from, above).await?;
    let addresses: Vec<&str> = from.alive().map(|p| p.addr.as_str()).collect();
    say(format_args!(
        "proxies there   {} last seen alive: {}",
        addresses.len(),
        addresses.join(" ")
    ))?;
    let longest = Duration::from_millis(from.longest_lease().into()).max(config.lease);
    say(format_args!("longest lease   {longest:?}"))?;
    if !yes {
        confirm()?;
        from = epoch_basis(&mut conn).await?;
        check(&mut conn, &from, above).await?;
    }
    wait(&mut conn, &from, Terms { ttl: longest }).await?;
    let epoch = from.next_epoch(above, conn.now().await?);
    let who = who();
    let opening = Opening { from: &from, epoch, who: &who };
    if !open(config, store, &mut conn, opening).await? {
        return Err(AdoptError::Unfit("something changed at the last moment: try again".into()));
    }
    // The epoch is open, even if the output is lost; the log has it, too.
    let _ = say(format_args!("adopted         epoch {epoch}, by {who}"));
    tracing::warn!(
        epoch,
        old_epoch = from.meta.epoch,
        ident = from.meta.server,
        old_ident = from.meta.ident,
        who,
        "a new epoch of the lock tables was opened by `lockstead adopt`"
    );
    conn.close().await;
    Ok(())
}

fn say(line: Arguments<'_>) -> io::Result<()> {
    try_print(format_args!("{line}\n"))
}

async fn epoch_basis(conn: &mut StoreConnection) -> Result<EpochBasis, AdoptError> {
    conn.standing().await.map_err(|e| match e {
        StoreError::Refused { code: 1049 | 1146, message } => AdoptError::Unfit(format!(
            "{message}. There is no lock schema to adopt here: run `lockstead schema install` for an empty one, if no proxy holds locks elsewhere"
        )),
        e => e.into(),
    })
}

async fn check(
    conn: &mut StoreConnection,
    from: &EpochBasis,
    above: u64,
) -> Result<(), AdoptError> {
    if from.meta.check(above).is_ok() {
        return Err(AdoptError::Needless(format!(
            "the lock tables belong to this server already, in epoch {}. If proxies know a later \
             epoch, give it with --above",
            from.meta.epoch
        )));
    }
    unfit(from)?;
    conn.check_tables().await?;
    if conn.passes_read_only().await? {
        return Err(AdoptError::Unfit(PASSES_READ_ONLY.to_owned()));
    }
    Ok(())
}

fn unfit(from: &EpochBasis) -> Result<(), AdoptError> {
    from.unfit().map_or(Ok(()), |why| Err(AdoptError::Unfit(why.to_owned())))
}

fn confirm() -> Result<(), AdoptError> {
    if !stdin().is_terminal() {
        return Err(AdoptError::Unconfirmed(
            "cannot ask for confirmation, because standard input is not a terminal: use --yes",
        ));
    }
    say(format_args!(
        "\nLocks that were held on the old server end. This is right only if this server is the\n\
         primary now and the old one accepts no writes."
    ))?;
    try_print("Type yes to go on: ")?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    if answer.trim() == "yes" {
        Ok(())
    } else {
        Err(AdoptError::Unconfirmed("nothing was changed"))
    }
}

/// Waits, as an observer does, until no proxy can hold a lease any more, and keeps checking meanwhile.
async fn wait(
    conn: &mut StoreConnection,
    from: &EpochBasis,
    terms: Terms,
) -> Result<(), AdoptError> {
    let began = clock::now();
    let end = terms.revocable(began);
    let step = (end.saturating_sub(began) / 10).max(Duration::from_secs(1));
    let mut said = end + step;
    loop {
        let left = end.saturating_sub(clock::now());
        if said.saturating_sub(left) >= step {
            said = left;
            say(format_args!("waiting         {}s", left.as_secs_f64().ceil()))?;
        }
        // Ends a lease from its beginning, on this machine's boot clock.
        sleep(left.min(terms.heartbeat())).await;
        let now = epoch_basis(conn).await?;
        unfit(&now)?;
        if now.alive().map(|p| (p.id, p.rvn)).ne(from.alive().map(|p| (p.id, p.rvn))) {
            return Err(AdoptError::Unfit(
                "a proxy renews its lease on this server: it is in use, or still replicates".into(),
            ));
        }
        if now != *from {
            return Err(AdoptError::Unfit(
                "the lock tables have changed meanwhile: try again".into(),
            ));
        }
        if clock::now() >= end {
            return Ok(());
        }
    }
}

async fn open(
    config: &Config,
    store: &StoreUrl,
    conn: &mut StoreConnection,
    opening: Opening<'_>,
) -> Result<bool, AdoptError> {
    match conn.open_epoch(opening).await {
        Err(e) if e.is_unknown() => {
            let doubt = |e: StoreError| {
                AdoptError::Unfit(format!(
                    "it is not certain whether the epoch was opened: {e}. Run it again"
                ))
            };
            let again = StoreConnection::open(store, config.connect_timeout).await;
            *conn = again.map_err(doubt)?;
            conn.has_opened(opening.epoch).await.map_err(doubt)
        }
        // The server rolls back all of it when the connection ends.
        result => Ok(result?),
    }
}

/// The user and the machine that this runs as and on.
fn who() -> String {
    let uid = rustix::process::getuid().as_raw();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid.to_string()).then(|| name.to_owned())
    });
    let user = named.or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "?".to_owned());
    let by = std::env::var("SUDO_USER").map(|name| format!("{name} as ")).unwrap_or_default();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{by}{user} (uid {uid}) on {}", host.trim())
}
