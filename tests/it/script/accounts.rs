//! What a run of a script has at the server: a database and two accounts.

use std::time::Duration;

use lockstead_support::eventually;
use lockstead_support::patience::within;
use lockstead_support::server::{Root, Server};

use super::expand::Names;

/// Password of the accounts.
pub(crate) const PASSWORD: &str = "secret";

/// How long leftovers of a run may take to go away by themselves.
const FAREWELL: Duration = Duration::from_secs(3);

/// Two accounts with all rights on the database of a run, for it and the runs it is compared with.
pub(crate) struct Accounts {
    server: Server,
    pub(crate) names: Names,
}

impl Accounts {
    pub(crate) fn create(server: &Server) -> Self {
        let accounts = Self { server: server.clone(), names: Names::fresh() };
        let mut root = server.root();
        for user in accounts.users() {
            root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"));
            root.run(&format!("GRANT ALL ON {}.* TO {user}@'%'", accounts.names.database()));
            server.warm_up(&user, PASSWORD);
        }
        accounts
    }

    fn users(&self) -> [String; 2] {
        [self.names.user(), self.names.second_user()]
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        // The server of a test that fails may be gone.
        if !std::thread::panicking() {
            let [one, other] = self.users();
            self.server.root().run(&format!("DROP USER {one}@'%', {other}@'%'"));
        }
    }
}

/// An empty database.
pub(crate) fn set_up(root: &mut Root, names: &Names) {
    root.run(&format!("CREATE DATABASE {} CHARACTER SET utf8mb4", names.database()));
}

/// Drops it.
pub(crate) fn tear_down(root: &mut Root, names: &Names) {
    root.run(&format!("DROP DATABASE IF EXISTS {}", names.database()));
}

/// Waits until no statement of the run's accounts is running and none of `ids` is connected;
/// what does not go by itself is killed.
pub(crate) fn see_off(root: &mut Root, names: &Names, ids: &[u32]) {
    let ids: Vec<String> = ids.iter().map(u32::to_string).chain(["0".to_owned()]).collect();
    let left = format!(
        "SELECT ID FROM {} WHERE ID IN ({}) \
         OR (USER IN ('{}', '{}') AND COMMAND <> 'Sleep')",
        root.processes(),
        ids.join(","),
        names.user(),
        names.second_user()
    );
    let are_gone = |root: &mut Root| root.column(&left).is_empty().then_some(());
    if within(FAREWELL, || are_gone(root)).is_some() {
        return;
    }
    for id in root.column(&left) {
        // The connection may have gone in this moment, so its error does not matter.
        root.try_run(&format!("KILL {id}"));
    }
    eventually("the sessions of a script are ended", || are_gone(root));
}
