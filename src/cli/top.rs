//! `lockstead top`: a proxy's locks and waits, live.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};

use mysql_async::Conn;

use super::admin_socket::AdminSocketArgs;
use super::ask::{self, AskError};
use super::process::{failed, runtime, usage};
use super::table;
use super::terminal_text::plain;

/// Between looks at what has come.
const TICK: Duration = Duration::from_millis(500);
/// A picture that is older by this than it should be is not the present.
const LATE: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct Top {
    /// Seconds between looks
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    every: u64,
    #[command(flatten)]
    place: AdminSocketArgs,
}

/// Shown after the options in --help.
pub(super) const HELP: &str = "\
q ends it. It queries the proxy on this machine. Run it as root or as the user that the proxy runs as.

Exit status: 0 ended, 1 the proxy refused, or failed, 2 wrong usage, or no proxy answers
in time. If the picture is not current, the first line says how old it is.";

pub(super) fn run(Top { every, place }: Top) -> Result<(), ExitCode> {
    let socket = place.socket().map_err(usage)?;
    if !stdout().is_terminal() {
        return Err(usage("top needs a terminal; `lockstead locks --json` is for scripts"));
    }
    // The first answer comes in front of the screen: what goes wrong is said on the old one.
    let looker = Looker::start(socket.clone(), Duration::from_secs(every));
    let first = looker.recv().map_err(failed)?.map_err(|e| ask::told(&socket, e))?;
    watch(first, &looker, Duration::from_secs(every)).map_err(failed)
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

/// Asks on a thread of its own, so that keys work while a question is open.
struct Looker {
    socket: PathBuf,
    conn: Option<Conn>,
}

impl Looker {
    /// Reads at intervals until the receiver is gone.
    fn start(socket: PathBuf, every: Duration) -> Receiver<Result<String, AskError>> {
        let (seen, looks) = sync_channel(1);
        std::thread::spawn(move || {
            let Ok(runtime) = runtime() else { return };
            let mut looker = Self { socket, conn: None };
            runtime.block_on(async {
                while seen.send(looker.screen().await).is_ok() {
                    tokio::time::sleep(every).await;
                }
            });
        });
        looks
    }

    async fn screen(&mut self) -> Result<String, AskError> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => ask::connect(&self.socket).await?,
        };
        let text = tables(&mut conn).await?;
        // A connection that has failed is replaced at the next look: the proxy may have been restarted.
        self.conn = Some(conn);
        Ok(text)
    }
}

async fn tables(conn: &mut Conn) -> Result<String, AskError> {
    let mut text = String::new();
    for (title, command) in [
        ("", "SHOW LEASE"),
        ("WAITERS, the longest wait first", "SHOW WAITERS"),
        ("LOCKS", "SHOW LOCKS"),
        ("PROXIES", "SHOW PROXIES"),
    ] {
        let table = match ask::ask(conn, command).await {
            Ok(answer) => {
                let notes = answer.notes.iter().map(|note| format!("({})\n", plain(note)));
                answer.text() + &notes.collect::<String>()
            }
            Err(e) => match e.refusal() {
                Some(refusal) => format!("not known: {refusal}\n"),
                None => return Err(e),
            },
        };
        // A string takes everything.
        let _ = match title {
            "" => writeln!(text, "{table}"),
            title => writeln!(text, "{title}\n{table}"),
        };
    }
    Ok(text)
}

/// Draws until the user quits.
fn watch(
    first: String,
    looks: &Receiver<Result<String, AskError>>,
    every: Duration,
) -> io::Result<()> {
    let _screen = Screen::open()?;
    let (mut text, mut seen, mut problem) = (first, Instant::now(), None);
    loop {
        draw(&text, &age(seen.elapsed(), every, problem.as_deref()))?;
        if is_enough(TICK)? {
            return Ok(());
        }
        match looks.try_recv() {
            Ok(Ok(new)) => (text, seen, problem) = (new, Instant::now(), None),
            Ok(Err(e)) => problem = Some(plain(&e.to_string())),
            Err(_) => {}
        }
    }
}

/// The note on a picture that is out of date.
fn age(since: Duration, every: Duration, problem: Option<&str>) -> String {
    if problem.is_none() && since <= every + LATE {
        return String::new();
    }
    let why = problem.unwrap_or("the proxy has not answered yet");
    format!("   OLD: this was {}s ago; {why}", since.as_secs())
}

/// As much as there is room for.
fn draw(text: &str, age: &str) -> io::Result<()> {
    // A terminal that does not know its size has none.
    let (columns, rows) = size().ok().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or((80, 24));
    let mut out = stdout().lock();
    let head = format!("lockstead top   q ends it{age}\n\n{text}");
    for (row, line) in (0..rows).zip(head.lines().chain(std::iter::repeat(""))) {
        queue!(out, MoveTo(0, row), Clear(ClearType::CurrentLine))?;
        write!(out, "{}", table::cut(line, columns.into()))?;
    }
    out.flush()
}

/// Whether the user quits within the time.
fn is_enough(within: Duration) -> io::Result<bool> {
    let end = Instant::now() + within;
    loop {
        let left = end.saturating_duration_since(Instant::now());
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
