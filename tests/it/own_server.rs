//! A server of a test's own, to be stopped, killed and started again.

use std::path::PathBuf;
use std::process::Command;

use crate::script::{Flavour, Server};
use crate::wire::Account;

/// A running server; killed and removed when dropped.
pub(crate) struct OwnServer {
    pub(crate) server: Server,
    dir: PathBuf,
}

impl OwnServer {
    /// Starts one with further options.
    pub(crate) fn start(flavour: Flavour, options: &[&str]) -> Self {
        let dir = std::env::temp_dir().join(format!("lt{:08x}", rand::random::<u32>()));
        let server = Server {
            url: String::new(),
            host: "127.0.0.1".to_owned(),
            port: 0,
            root: Account::new("root", "rootpw"),
        };
        let mut own = Self { server, dir };
        let name = match flavour {
            Flavour::MySql => "mysql",
            Flavour::MariaDb => "mariadb",
        };
        let dir = own.dir.to_string_lossy().into_owned();
        script(&[&["start", name, &dir][..], options].concat());
        own.learn_address();
        own
    }

    fn learn_address(&mut self) {
        let path = self.dir.join("server.env");
        let env = std::fs::read_to_string(&path).expect("server.env");
        let value = |key: &str| env.lines().find_map(|l| l.strip_prefix(key)).expect("a setting");
        self.server.port = value("PORT=").parse().expect("a port");
        self.server.url = format!("mysql://root:rootpw@127.0.0.1:{}/", self.server.port);
    }

    fn tell(&self, what: &str) {
        script(&[what, &self.dir.to_string_lossy()]);
    }

    /// Shuts it down.
    pub(crate) fn stop(&self) {
        self.tell("stop");
    }

    /// Kills it, as a loss of power would.
    #[allow(dead_code, reason = "not every test target does")]
    pub(crate) fn kill(&self) {
        self.tell("kill");
    }

    /// Starts it again, on its port and with its data.
    pub(crate) fn restart(&self) {
        self.tell("restart");
    }
}

fn script(arguments: &[&str]) {
    let dev = std::env::var("LOCKSTEAD_DEV_DIR").expect("LOCKSTEAD_DEV_DIR has dev/server.sh");
    let ran = Command::new(format!("{dev}/server.sh")).args(arguments).status();
    assert!(ran.expect("server.sh runs").success(), "server.sh {arguments:?}");
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if !self.dir.exists() {
            return;
        }
        if let Ok(dev) = std::env::var("LOCKSTEAD_DEV_DIR") {
            let _ = Command::new(format!("{dev}/server.sh")).arg("kill").arg(&self.dir).status();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The family of a server.
pub(crate) fn flavour_of(server: &Server) -> Flavour {
    let greeting = server.root().column("SELECT VERSION()").concat();
    if greeting.contains("MariaDB") { Flavour::MariaDb } else { Flavour::MySql }
}
