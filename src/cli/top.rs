//! `lockstead top`: a proxy's locks and waits, live.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};

use super::ask::{self, Place};
use super::{failed, runtime, usage};

#[derive(Debug, Args)]
pub(super) struct Top {
    /// Seconds between looks
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    every: u64,
    #[command(flatten)]
    place: Place,
}

/// What stands behind the options in --help.
pub(super) const HELP: &str = "\
q ends it. It asks the proxy that runs on this machine, and needs to be root or the user that the
proxy runs as.

Exit status: 0 ended, 1 the proxy refused, or failed, 2 wrong usage, or no proxy answers";

pub(super) fn run(Top { every, place }: Top) -> ExitCode {
    let socket = match ask::socket(place) {
        Ok(Some(socket)) => socket,
        Ok(None) => {
            eprintln!("lockstead: `admin` is off, so there is nobody to ask");
            return ExitCode::from(2);
        }
        Err(e) => return usage(&e),
    };
    if !stdout().is_terminal() {
        eprintln!("lockstead: top needs a terminal; `lockstead locks --json` is for scripts");
        return ExitCode::from(2);
    }
    match watch(&socket, Duration::from_secs(every)) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(e)) => ask::told(&socket, e),
        Err(e) => failed(&e),
    }
}

/// The terminal as it was, whatever happens.
struct Screen;

impl Screen {
    fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Draws until somebody has seen enough; why the proxy did not answer, if it did not.
fn watch(socket: &Path, every: Duration) -> io::Result<Option<mysql_async::Error>> {
    let runtime = runtime()?;
    // The first answer comes in front of the screen: what goes wrong is said on the old one.
    let mut conn = match runtime.block_on(ask::connect(socket)) {
        Ok(conn) => conn,
        Err(e) => return Ok(Some(e)),
    };
    let mut text = match runtime.block_on(look(&mut conn)) {
        Ok(text) => text,
        Err(e) => return Ok(Some(e)),
    };
    let _screen = Screen::open()?;
    loop {
        draw(&text)?;
        if is_enough(every)? {
            return Ok(None);
        }
        text = match runtime.block_on(look(&mut conn)) {
            Ok(text) => text,
            Err(e) => match runtime.block_on(ask::connect(socket)) {
                // It was restarted.
                Ok(new) => {
                    conn = new;
                    continue;
                }
                Err(_) => return Ok(Some(e)),
            },
        };
    }
}

async fn look(conn: &mut mysql_async::Conn) -> Result<String, mysql_async::Error> {
    let mut text = String::new();
    for (title, command) in [
        ("", "SHOW LEASE"),
        ("WAITERS, the longest wait first", "SHOW WAITERS"),
        ("LOCKS", "SHOW LOCKS"),
        ("PROXIES", "SHOW PROXIES"),
    ] {
        let table = ask::ask(conn, command).await?.text();
        // A string takes everything.
        let _ = match title {
            "" => writeln!(text, "{table}"),
            title => writeln!(text, "{title}\n{table}"),
        };
    }
    Ok(text)
}

/// As much as there is room for.
fn draw(text: &str) -> io::Result<()> {
    // A terminal that does not know its size has none.
    let (columns, rows) = size().ok().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or((80, 24));
    let mut out = stdout().lock();
    let head = format!("lockstead top   q ends it\n\n{text}");
    for (row, line) in (0..rows).zip(head.lines().chain(std::iter::repeat(""))) {
        let line: String = line.chars().take(columns.into()).collect();
        queue!(out, MoveTo(0, row), Clear(ClearType::CurrentLine))?;
        write!(out, "{line}")?;
    }
    out.flush()
}

/// Whether somebody says so within the time.
fn is_enough(every: Duration) -> io::Result<bool> {
    let end = std::time::Instant::now() + every;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        if !event::poll(left)? {
            return Ok(false);
        }
        if let Event::Key(key) = event::read()? {
            let interrupted =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if interrupted || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                return Ok(true);
            }
        }
    }
}
