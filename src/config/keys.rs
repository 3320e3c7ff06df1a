//! The table of all keys: whose setting each is, and when a changed value takes effect.

use super::raw::Raw;

/// Whose setting a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The process: the key stands above all tables.
    Process,
    /// A `[[cluster]]`.
    Cluster,
    /// A `[[listener]]`.
    Listener,
}

/// When a changed value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// When the configuration is read again.
    OnReload,
    /// At the next start: it concerns what is bound, registered or running.
    AtStart,
}

/// A key of the configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigKey {
    pub(super) name: &'static str,
    pub(super) owner: Owner,
    pub(super) effect: Effect,
}

impl ConfigKey {
    /// By its name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The names of all keys of an owner.
    pub(super) fn names_of(owner: Owner) -> impl Iterator<Item = &'static str> {
        KEYS.iter().filter(move |key| key.owner == owner).map(|key| key.name)
    }
}

macro_rules! keys {
    ($($key:ident: $owner:ident, $effect:ident;)*) => {
        /// All keys, in the order in which they are shown.
        pub(super) const KEYS: &[ConfigKey] = &[$(
            ConfigKey { name: stringify!($key), owner: Owner::$owner, effect: Effect::$effect },
        )*];

        impl Raw {
            /// Every key that `over` has replaces this one's.
            pub fn put_over(&mut self, over: Self) {
                $( if over.$key.is_some() { self.$key = over.$key; } )*
            }

            /// The keys that have a value.
            pub fn given(&self) -> Vec<&'static str> {
                let mut all = Vec::new();
                $( if self.$key.is_some() { all.push(stringify!($key)); } )*
                all
            }
        }
    };
}

keys! {
    listen: Listener, AtStart;
    proxy_protocol: Listener, OnReload;
    role: Listener, AtStart;
    backend: Cluster, AtStart;
    store: Cluster, AtStart;
    mode: Cluster, AtStart;
    unsupported: Cluster, OnReload;
    on_store_error: Cluster, OnReload;
    http: Process, AtStart;
    http_page: Process, AtStart;
    http_token_file: Process, AtStart;
    http_tls_cert: Process, AtStart;
    http_tls_key: Process, AtStart;
    metrics_locks: Process, AtStart;
    admin: Process, AtStart;
    admin_listen: Process, AtStart;
    admin_accounts: Process, AtStart;
    lease: Cluster, AtStart;
    on_failover: Cluster, AtStart;
    failover_candidates: Cluster, OnReload;
    fenced_commit: Cluster, OnReload;
    history: Cluster, OnReload;
    history_rows: Cluster, OnReload;
    keep_names: Cluster, OnReload;
    row_delay: Cluster, OnReload;
    collect_after: Cluster, AtStart;
    state_dir: Cluster, AtStart;
    create_schema: Cluster, AtStart;
    workers: Process, AtStart;
    max_connections: Process, OnReload;
    max_login_rate: Process, OnReload;
    max_session_locks: Process, OnReload;
    max_session_memory: Process, OnReload;
    max_waiters: Process, OnReload;
    connect_timeout: Process, OnReload;
    writer_wait: Cluster, OnReload;
    switchover_hold: Cluster, OnReload;
    login_timeout: Process, OnReload;
    drain_timeout: Process, OnReload;
    tls: Listener, OnReload;
    tls_cert: Listener, OnReload;
    tls_key: Listener, OnReload;
    tls_min_version: Listener, OnReload;
    tls_client_ca: Listener, OnReload;
    tls_client_cert: Listener, OnReload;
    backend_tls: Cluster, OnReload;
    backend_tls_ca: Cluster, OnReload;
    backend_tls_cert: Cluster, OnReload;
    backend_tls_key: Cluster, OnReload;
    backend_tls_local: Cluster, OnReload;
    store_tls: Cluster, AtStart;
    pooling: Listener, AtStart;
    pool_size: Listener, AtStart;
    pool_wait: Listener, OnReload;
    idle_keep: Listener, AtStart;
    backend_lifetime: Listener, AtStart;
    learn_passwords: Listener, AtStart;
    login_check_ttl: Listener, OnReload;
    compression: Listener, OnReload;
    backend_compression: Cluster, OnReload;
    backend_proxy_protocol: Cluster, OnReload;
    log_format: Process, AtStart;
    log_level: Process, OnReload;
}
