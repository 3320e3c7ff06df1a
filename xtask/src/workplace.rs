//! What all programs share: the checkout, a folder for temporary files, the built program, and the end of all that
//! was started, also after a Ctrl-C.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use lockstead_support::private_server::dev_folder;
use lockstead_support::process::{end_group, signal};
use lockstead_support::{Flavour, PrivateServer};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long processes that were told to end may take.
const FAREWELL: Duration = Duration::from_secs(15);

/// Held by the thread that ends everything.
static ENDING: Mutex<()> = Mutex::new(());

/// The place where a program works.
#[derive(Debug)]
pub(crate) struct Workplace {
    name: &'static str,
    root: PathBuf,
    remains: Remains,
}

/// What is to be ended and removed.
#[derive(Debug, Clone)]
struct Remains {
    folder: PathBuf,
}

impl Workplace {
    /// Goes to the checkout's root, makes the temporary folder, and cleans up when a signal arrives.
    pub(crate) fn new(name: &'static str, parent: &Path) -> Result<Self> {
        let dev = dev_folder();
        let root = dev.parent().context("dev/ is in the checkout")?.canonicalize()?;
        std::env::set_current_dir(&root)?;
        // A short name: sockets of servers are in it.
        let folder = parent.join(format!("lockstead.{:08x}", rand::random::<u32>()));
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let remains = Remains { folder };
        remains.clone().clear_after_signals()?;
        Ok(Self { name, root, remains })
    }

    /// Says how far the program is.
    pub(crate) fn say(&self, what: &str) {
        println!("{}: {what}", self.name);
    }

    /// The checkout's root, which is also the current folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path in the temporary folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.remains.folder.join(name)
    }

    /// A command whose temporary files are in the temporary folder.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("TMPDIR", &self.remains.folder);
        command
    }

    /// A program that must be there. As root, it is installed from the machine's own packages.
    pub(crate) fn need(&self, program: &str, package: &str) -> Result<()> {
        if is_there(program) {
            return Ok(());
        }
        let id = Command::new("id").arg("-u").output()?.stdout;
        ensure!(id.trim_ascii() == b"0", "{program} is missing: install the package {package}");
        self.say(&format!("installing {package}"));
        let log = File::create(self.file("apt.log"))?;
        for words in
            [&["update", "-q"][..], &["install", "-y", "-q", "--no-install-recommends", package]]
        {
            let mut apt = Command::new("apt-get");
            apt.args(words).env("DEBIAN_FRONTEND", "noninteractive");
            let done = apt.stdout(log.try_clone()?).stderr(log.try_clone()?).status()?;
            if !done.success() {
                bail!("{package} cannot be installed: {}", last_lines(&self.file("apt.log"), 3));
            }
        }
        ensure!(is_there(program), "{program} is missing, though {package} was installed");
        Ok(())
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
        self.remains.clear();
    }
}

impl Remains {
    fn clear_after_signals(self) -> Result<()> {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        std::thread::spawn(move || {
            if let Some(number) = signals.forever().next() {
                // The main thread, whose processes are ended under it, waits for this lock before it ends.
                let _ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
                self.clear();
                std::process::exit(128 + number);
            }
        });
        Ok(())
    }

    fn clear(&self) {
        end_children();
        for path in walk(&self.folder) {
            let name = path.file_name().unwrap_or_default();
            // Groups that are no children of this process.
            if path.extension().is_some_and(|e| e == "group")
                && let Ok(id) = fs::read_to_string(&path).unwrap_or_default().trim().parse()
            {
                end_group(id, || ());
            } else if name == "error.log"
                && let Some(server) = path.parent()
            {
                // A clean shutdown would only take longer.
                let _ = Command::new("dev/server.sh").arg("kill").arg(server).status();
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The program under test: LOCKSTEAD_BIN, or built here.
pub(crate) fn lockstead() -> Result<PathBuf> {
    if let Some(program) = named() {
        return program;
    }
    build(&["build", "--release", "--bin", "lockstead"], "release")
}

/// The program with debug assertions, which alone does what tests ask of it.
pub(crate) fn lockstead_with_assertions() -> Result<PathBuf> {
    if let Some(program) = named() {
        return program;
    }
    build(&["build", "--bin", "lockstead"], "debug")
}

/// The program that LOCKSTEAD_BIN names.
fn named() -> Option<Result<PathBuf>> {
    let program = std::env::var_os("LOCKSTEAD_BIN").filter(|name| !name.is_empty())?;
    let program = PathBuf::from(program);
    Some(program.canonicalize().with_context(|| program.display().to_string()))
}

fn build(arguments: &[&str], profile: &str) -> Result<PathBuf> {
    let built = Command::new("cargo").args(arguments).status();
    ensure!(built.context("cargo cannot be run")?.success(), "the program cannot be built");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(PathBuf::from(target).join(profile).join("lockstead").canonicalize()?)
}

/// Fetches servers and other programs.
pub(crate) fn install(names: &[&str]) -> Result<()> {
    let mut install = Command::new("dev/install.sh");
    // These would make it fetch the clients alone.
    install.env_remove("LOCKSTEAD_TEST_MYSQL").env_remove("LOCKSTEAD_TEST_MARIADB");
    let done = install.args(names).status().context("dev/install.sh")?;
    ensure!(done.success(), "dev/install.sh {} failed", names.join(" "));
    Ok(())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Where `dev/install.sh` puts what it fetches.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os("LOCKSTEAD_CACHE") {
        return Ok(cache.into());
    }
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    Ok(PathBuf::from(home).join(".cache/lockstead"))
}

/// Lets time pass, where that is what is measured.
pub(crate) fn pause(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        std::thread::park_timeout(left);
    }
}

/// All files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(walk(&entry.path())),
            Ok(_) => files.push(entry.path()),
            Err(_) => {}
        }
    }
    files
}

/// Ends the processes that this one has started, the last first.
fn end_children() {
    let end = Instant::now() + FAREWELL;
    while let Some((pid, group)) = children().into_iter().max() {
        if pid == group {
            end_group(pid, || ());
        }
        signal(pid, if Instant::now() < end { "TERM" } else { "KILL" });
        std::thread::park_timeout(Duration::from_millis(20));
        if Instant::now() > end + FAREWELL {
            return;
        }
    }
}

/// Process ids and groups of children that have not ended.
fn children() -> Vec<(u32, u32)> {
    let own = std::process::id().to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in brackets may have blanks; then come state, parent and group.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        if let [state, parent, group, ..] = fields[..]
            && parent == own
            && state != "Z"
        {
            children.push((pid, group.parse().unwrap_or_default()));
        }
    }
    children
}

/// The last lines of a file, as far as it can be read.
pub(crate) fn last_lines(path: &Path, count: usize) -> String {
    last_lines_of(&String::from_utf8_lossy(&fs::read(path).unwrap_or_default()), count)
}

/// The last lines of a text.
pub(crate) fn last_lines_of(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Makes the account that Lockstead needs at least: for its tables (and to create them, for --create-schema), to
/// see whether a dead proxy's sessions are gone, and to end them.
pub(crate) fn make_lockstead_account(server: &PrivateServer, schemas: &[&str]) -> Result<()> {
    let to = "lockstead@'127.0.0.%'";
    let rights = match server.flavour() {
        Flavour::MySql => format!(
            "GRANT SELECT ON performance_schema.* TO {to}; GRANT PROCESS, CONNECTION_ADMIN ON *.* TO {to};"
        ),
        Flavour::MariaDb => format!("GRANT PROCESS, CONNECTION ADMIN ON *.* TO {to};"),
    };
    server.sql(&format!("CREATE USER {to} IDENTIFIED BY 'secret'; {rights}"))?;
    for schema in schemas {
        server.sql(&format!(
            "CREATE DATABASE {schema};
             GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW ON {schema}.* TO {to}"
        ))?;
    }
    Ok(())
}

/// What a server must be started with if sessions share connections to it.
pub(crate) fn sharing_options(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MySql => &[],
        Flavour::MariaDb => &["--performance-schema=ON"],
    }
}

/// Gives that account what it needs besides if sessions share connections.
pub(crate) fn let_connections_be_shared(server: &PrivateServer) -> Result<()> {
    let to = "lockstead@'127.0.0.%'";
    let rights = match server.flavour() {
        Flavour::MySql => &["SHOW_ROUTINE ON *.*"][..],
        Flavour::MariaDb => &[
            "SELECT ON performance_schema.session_connect_attrs",
            "SELECT ON mysql.global_priv",
            "SELECT ON mysql.proc",
            "SELECT ON performance_schema.threads",
        ],
    };
    let of_both = [
        "TRIGGER ON *.*",
        "SELECT ON performance_schema.user_variables_by_thread",
        "SELECT ON performance_schema.prepared_statements_instances",
    ];
    for right in [rights, &of_both].concat() {
        server.sql(&format!("GRANT {right} TO {to}"))?;
    }
    Ok(())
}

/// The store of that account in a schema.
pub(crate) fn store_url(hosts: &str, schema: &str) -> String {
    format!("mysql://lockstead:secret@{hosts}/{schema}")
}
