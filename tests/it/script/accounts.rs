//! What a run of a script has at the server: a database and two accounts.

use std::time::{Duration, Instant};

use lockstead_support::server::Root;

use super::expand::Names;

/// Password of the accounts.
pub(crate) const PASSWORD: &str = "secret";

/// How long leftovers of a run may take to go away by themselves.
const FAREWELL: Duration = Duration::from_secs(3);

/// An empty database and two accounts with all rights on it.
pub(crate) fn set_up(root: &mut Root, names: &Names) {
    tear_down(root, names);
    let database = names.database();
    root.run(&format!("CREATE DATABASE {database} CHARACTER SET utf8mb4"));
    for user in [names.user(), names.second_user()] {
        root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"));
        root.run(&format!("GRANT ALL ON {database}.* TO {user}@'%'"));
    }
}

/// Drops them.
pub(crate) fn tear_down(root: &mut Root, names: &Names) {
    root.run(&format!("DROP DATABASE IF EXISTS {}", names.database()));
    for user in [names.user(), names.second_user()] {
        root.run(&format!("DROP USER IF EXISTS {user}@'%'"));
    }
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
    let began = Instant::now();
    loop {
        let ids = root.column(&left);
        if ids.is_empty() {
            return;
        }
        assert!(began.elapsed() < 3 * FAREWELL, "sessions {ids:?} cannot be ended");
        if began.elapsed() > FAREWELL {
            for id in ids {
                // It may have gone in this moment, so its error does not matter.
                root.try_run(&format!("KILL {id}"));
            }
        }
        root.run("DO SLEEP(0.005)");
    }
}
