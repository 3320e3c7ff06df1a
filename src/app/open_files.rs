//! The limit of open files.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::Config;

/// Raises the limit of open files to what may be, and says if that is too few.
pub(super) fn raise(config: &Config) -> Option<String> {
    let mut limit = getrlimit(Resource::Nofile);
    // Two for each session; store connections, pages and logs beside.
    let needed = 2 * config.max_connections as u64 + 100;
    if limit.current.is_some_and(|now| now < needed) {
        limit.current = limit.maximum.map_or(Some(needed), |most| Some(most.min(needed)));
        // Told below by what it is then.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let now = getrlimit(Resource::Nofile).current?;
    (now < needed).then(|| {
        format!(
            "max_connections = {} needs {needed} open files, the limit is {now}: raise it (LimitNOFILE, ulimit -Hn), or lower max_connections",
            config.max_connections
        )
    })
}
