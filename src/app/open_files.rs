//! The limit of open files.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::{Config, default_connections, files_for};

/// Raises the limit of open files as far as this process may, and says if that is too few.
pub(super) fn raise(config: &Config) -> Option<String> {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = files_for(config.max_connections);
    if limit.current.is_some() {
        // The process has a limit, which is raised as far as it may.
        limit.current = limit.maximum.or(limit.current.max(Some(needed)));
        // A failure shows in the limit that is read below.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let now = getrlimit(Resource::Nofile).current?;
    if now >= needed {
        if config.max_connections == default_connections()
            && now < files_for(config.max_connections + 1)
        {
            let most = config.max_connections;
            tracing::info!(
                max_connections = most,
                open_files = now,
                "the limit of open files has room for so many clients"
            );
        }
        return None;
    }
    Some(format!(
        "max_connections = {} needs {needed} open files, the limit is {now}: raise it (LimitNOFILE, ulimit -Hn), or lower max_connections",
        config.max_connections
    ))
}
