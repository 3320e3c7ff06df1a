//! `lockstead upgrade --if-needed`: what `systemctl reload` does.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lockstead_support::{Launch, Log};

use crate::admin::Folder;
use crate::cli::text;
use crate::launch::{program, run};
use crate::proxy::{free_port, fresh_schema};
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::upgrade::{Process, REAL, place, replace};
use crate::wire::Client;

on_both! {
    settings_that_need_no_start_are_reloaded_and_the_process_stays
    a_setting_that_needs_a_start_gets_a_new_process
    a_newer_program_gets_a_new_process
    a_wrong_setting_is_refused_and_nothing_changes
    an_upgrade_that_fails_is_reported_and_the_old_process_serves
}

/// A proxy with a program, a configuration file and a log of its own, and an administrators' socket.
pub(crate) struct Own {
    /// Dropped before the folder, where its log is.
    running: lockstead_support::Proxy,
    pub(crate) folder: Folder,
    pub(crate) port: u16,
    settings: String,
    schemas: Vec<(Server, String)>,
}

impl Own {
    /// With these settings beside those that it must have.
    pub(crate) fn start(
        server: &Server,
        program: impl Fn(&Folder) -> Command,
        extra: &str,
    ) -> Self {
        let (port, schema) = (free_port(), fresh_schema());
        let settings = format!(
            "listen = '127.0.0.1:{port}'\nbackend = '{}:{}'\nstore = '{}{schema}'\nlease = '9s'\n",
            server.host, server.port, server.url,
        );
        Self::start_on(vec![(server.clone(), schema)], program, port, &settings, extra)
    }

    /// With these settings, which lead to these schemas.
    pub(crate) fn start_on(
        schemas: Vec<(Server, String)>,
        program: impl Fn(&Folder) -> Command,
        port: u16,
        settings: &str,
        extra: &str,
    ) -> Self {
        let folder = Folder::new();
        let fixed = format!(
            "http = 'off'\nworkers = 1\nadmin = 'unix:{}'\n",
            folder.file("admin.sock").display()
        );
        let clustered = settings.contains("[[cluster]]");
        let alone = if clustered { "" } else { "create_schema = true\nstate_dir = 'off'\n" };
        let settings = format!("{fixed}{alone}{settings}");
        let file = folder.file("settings.toml");
        std::fs::write(&file, format!("{extra}{settings}")).expect("written");
        let log = Log::in_file(&folder.file("log")).expect("a log");
        let launch = Launch::by(|| program(&folder)).configured(port).log_to(&log);
        let launch = launch.arguments(&["--config", &file.display().to_string()]);
        let mut running = launch.start().expect("a proxy");
        let registered = schemas.len();
        eventually("the proxy is registered for each of its clusters", || {
            assert!(running.is_running(), "{}", running.log());
            (running.log().matches("registered").count() >= registered).then_some(())
        });
        Self { running, folder, port, settings, schemas }
    }

    /// The built program.
    pub(crate) fn built(_: &Folder) -> Command {
        program(&[])
    }

    /// Other settings beside those that it must have.
    pub(crate) fn write(&self, extra: &str) {
        let all = format!("{extra}{}", self.settings);
        std::fs::write(self.folder.file("settings.toml"), all).expect("written");
    }

    /// The settings that it must have, changed.
    pub(crate) fn write_changed(&self, of: &str, to: &str) {
        assert!(self.settings.contains(of));
        let all = self.settings.replace(of, to);
        std::fs::write(self.folder.file("settings.toml"), all).expect("written");
    }

    pub(crate) fn log(&self) -> String {
        self.running.log()
    }

    pub(crate) fn ask(&self, words: &[&str]) -> Output {
        let socket = format!("--admin=unix:{}", self.folder.file("admin.sock").display());
        run(&[words, &[&socket]].concat())
    }

    /// The rows of an answer, as `what: result`, and the new process if there is one.
    fn upgrade_if_needed(&self) -> (Vec<String>, Option<Process>) {
        let output = self.ask(&["upgrade", "--if-needed", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output), self.log());
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        let cell = |row: &serde_json::Value, key: &str| row[key].as_str().expect("text").to_owned();
        let mut rows: Vec<_> = rows.iter().map(|r| (cell(r, "what"), cell(r, "result"))).collect();
        let process = rows.pop_if(|(what, _)| what == "process");
        let process = process.map(|(_, id)| Process(id.parse().expect("a process")));
        (rows.into_iter().map(|(what, result)| format!("{what}: {result}")).collect(), process)
    }

    /// Asserts that the upgrade is refused; returns what the command says.
    fn is_refused(&self) -> String {
        let output = self.ask(&["upgrade", "--if-needed"]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(!self.log().contains("the new process has taken over"));
        said
    }

    fn stays(&self) {
        let (told, process) = self.upgrade_if_needed();
        assert_eq!(told, [UNCHANGED, READ, NOT_NEEDED]);
        assert!(process.is_none());
    }

    /// Whether one more client is let in.
    fn has_room(&self) -> bool {
        let client = Client::connect("127.0.0.1", self.port, &account());
        client.is_ok_and(|client| client.login.succeeded())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.running.kill();
        if !std::thread::panicking() {
            for (server, schema) in &self.schemas {
                server.root().run(&format!("DROP DATABASE {schema}"));
            }
        }
    }
}

const UNCHANGED: &str = "configuration: unchanged";
const READ: &str = "certificates: read again";
const NOT_NEEDED: &str =
    "upgrade: not needed: no changed setting needs a start, and the program has not changed";

fn settings_that_need_no_start_are_reloaded_and_the_process_stays(server: &Server) {
    let own = Own::start(server, Own::built, "max_connections = 50\n");
    let mut open = Session::at(own.port);
    open.lock("kept");
    own.stays();
    own.write("max_connections = 1\n");
    let (told, process) = own.upgrade_if_needed();
    assert_eq!(told, ["max_connections: 1, was 50", READ, NOT_NEEDED]);
    assert!(process.is_none() && !own.has_room());
    assert!(!open.is_free("kept"));
    assert!(!own.log().contains("starting a new process"), "{}", own.log());
}

fn a_setting_that_needs_a_start_gets_a_new_process(server: &Server) {
    let own = Own::start(server, Own::built, "drain_timeout = '10m'\n");
    let mut open = Session::at(own.port);
    open.lock("kept");
    own.write_changed("lease = '9s'", "lease = '11s'\ndrain_timeout = '9m'");
    let (told, process) = own.upgrade_if_needed();
    assert_eq!(told, ["drain_timeout: 9m, was 10m", READ, "upgrade: done: a start applies lease"]);
    let process = process.expect("a new process");
    assert!(own.log().contains(&format!(
        "the new process has taken over; existing sessions stay here until they end process={}",
        process.0
    )));
    own.stays();
    let lease = text(&own.ask(&["lease", "--json"]));
    assert!(lease.contains("\"lease_seconds\": 11"), "{lease}");
    assert!(!Session::at(own.port).is_free("kept"));
    assert_eq!(open.value("SELECT IS_USED_LOCK('kept')"), Some(open.id().to_string()));
}

fn program_in(folder: &Folder) -> PathBuf {
    folder.file("program")
}

/// A copy of the program, which may be replaced.
fn copied(folder: &Folder) -> Command {
    place(&program_in(folder), REAL.as_ref());
    Command::new(program_in(folder))
}

fn a_newer_program_gets_a_new_process(server: &Server) {
    let own = Own::start(server, copied, "");
    own.stays();
    place(&program_in(&own.folder), REAL.as_ref());
    let (told, process) = own.upgrade_if_needed();
    let done = |file: &Path| {
        format!("upgrade: done: {} is another file than the one that ran", file.display())
    };
    assert_eq!(told, [UNCHANGED, READ, &done(&program_in(&own.folder))]);
    let process = process.expect("a new process");
    own.stays();
    assert!(process.is_there() && own.has_room());

    // A link that leads elsewhere by now.
    let own = Own::start(
        server,
        |folder| {
            place(&folder.file("one"), REAL.as_ref());
            symlink(folder.file("one"), folder.file("link")).expect("a link");
            Command::new(folder.file("link"))
        },
        "",
    );
    own.stays();
    std::fs::remove_file(own.folder.file("link")).expect("removed");
    symlink(REAL, own.folder.file("link")).expect("a link");
    let (told, process) = own.upgrade_if_needed();
    assert_eq!(told, [UNCHANGED, READ, &done(&own.folder.file("link"))]);
    let process = process.expect("a new process");
    let runs = std::fs::read_link(format!("/proc/{}/exe", process.0)).expect("it runs");
    assert_eq!(runs, Path::new(REAL));
    own.stays();
}

fn a_wrong_setting_is_refused_and_nothing_changes(server: &Server) {
    let own = Own::start(server, copied, "max_connections = 50\n");
    let _open = Session::at(own.port);
    place(&program_in(&own.folder), REAL.as_ref());
    own.write("max_connections = 1\nlogin_timeout = 'never'\n");
    let said = own.is_refused();
    assert!(said.contains("nothing was changed") && said.contains("`login_timeout`"), "{said}");
    assert!(own.has_room(), "a part of it is in force");
    assert!(!own.log().contains("starting a new process"));
}

fn an_upgrade_that_fails_is_reported_and_the_old_process_serves(server: &Server) {
    let own = Own::start(server, copied, "");
    let mut open = Session::at(own.port);
    open.lock("kept");
    let program = program_in(&own.folder);
    replace(&program, "#!/bin/sh\nexit 7\n");
    own.write("max_connections = 2\n");
    let said = own.is_refused();
    for part in [
        "the settings were read again",
        "program is another file than the one that ran",
        "the new process ended (exit status: 7)",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let _second = Session::at(own.port);
    assert!(!own.has_room(), "the settings were read");
    std::fs::remove_file(&program).expect("removed");
    let said = own.is_refused();
    assert!(said.contains("cannot read"), "{said}");
    assert!(!open.is_free("kept"));
}
