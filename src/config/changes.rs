//! The differences of a configuration that was read again, and which of them need a restart.

use super::addresses::Listen;
use super::keys::{ConfigKey, Effect, Owner};
use super::plan::Plan;
use super::pooling::Pooling;
use super::validated::Config;

/// One difference, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// A setting, or what is bound.
    pub what: String,
    /// What was done about it.
    pub result: String,
    /// Whether only a start applies it.
    pub at_start: bool,
}

impl SettingChange {
    /// Something that is so already.
    pub fn of(what: &str, result: &str) -> Self {
        Self { what: what.to_owned(), result: result.to_owned(), at_start: false }
    }

    fn at_start(what: String, result: String) -> Self {
        Self { what, result, at_start: true }
    }
}

/// The settings of a listener that runs, with its cluster's name.
pub(crate) type ListenerInForce<'a> = (Option<&'a str>, &'a Config);

impl Plan {
    /// The settings of each running listener from now on, in their order, and what has changed.
    pub(crate) fn over(mut self, now: &[ListenerInForce<'_>]) -> (Vec<Config>, Vec<SettingChange>) {
        let mut changes = Vec::new();
        let alone = now.len() == 1;
        let mut settings = Vec::new();
        for (cluster, old) in now {
            let new = self.take(*cluster, alone, &old.listen);
            settings.push(if let Some(new) = new {
                old.changed_to(new, *cluster, alone, &mut changes)
            } else {
                let gone = format!("is gone; {RESTART}");
                changes.push(SettingChange::at_start(label(*cluster, old), gone));
                (*old).clone()
            });
        }
        for cluster in &self.clusters {
            for new in &cluster.listeners {
                let label = label(cluster.name.as_deref(), new);
                changes.push(SettingChange::at_start(label, format!("is new; {RESTART}")));
            }
        }
        // A key of the process or a cluster has changed for each of its listeners: report it once.
        let mut told = Vec::new();
        for change in changes {
            if !told.contains(&change) {
                told.push(change);
            }
        }
        (settings, told)
    }

    /// The listener at this address; the only one, whatever its address.
    fn take(&mut self, cluster: Option<&str>, alone: bool, at: &[Listen]) -> Option<Config> {
        let of = self.clusters.iter_mut().find(|c| c.name.as_deref() == cluster)?;
        let only = alone && of.listeners.len() == 1;
        let found = of.listeners.iter().position(|l| only || l.listen == at)?;
        Some(of.listeners.remove(found))
    }
}

const RESTART: &str = "needs a restart";

fn label(cluster: Option<&str>, config: &Config) -> String {
    let listen: Vec<_> = config.listen.iter().map(ToString::to_string).collect();
    let name = cluster.map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}listener {}", listen.join(", "))
}

impl Config {
    /// The new settings, except those that only a restart applies.
    fn changed_to(
        &self,
        new: Self,
        cluster: Option<&str>,
        alone: bool,
        changes: &mut Vec<SettingChange>,
    ) -> Self {
        let mut shown = Vec::new();
        for ((key, old_value), (_, new_value)) in self.shown.iter().zip(&new.shown) {
            let late = ConfigKey::find(key).is_some_and(|key| key.effect == Effect::AtStart);
            // A password does not show.
            let differs =
                old_value != new_value || (*key == "store" && self.password() != new.password());
            shown.push((*key, if late { old_value.clone() } else { new_value.clone() }));
            if differs {
                let said = match late {
                    _ if *key == "store" => RESTART.to_owned(),
                    true => {
                        format!("{} needs a restart, {} stays", word(new_value), word(old_value))
                    }
                    false => format!("{}, was {}", word(new_value), word(old_value)),
                };
                let what = self.place(key, cluster, alone);
                changes.push(SettingChange { what, result: said, at_start: late });
            }
        }
        let old = self.clone();
        Self {
            listen: old.listen,
            role: old.role,
            has_replicas: old.has_replicas,
            servers: old.servers,
            store: old.store,
            mode: old.mode,
            pooling: Pooling { wait: new.pooling.wait, ..old.pooling },
            http: old.http,
            metrics_locks: old.metrics_locks,
            admin: old.admin,
            lease: old.lease,
            on_failover: old.on_failover,
            collect_after: old.collect_after,
            state_dir: old.state_dir,
            create_schema: old.create_schema,
            workers: old.workers,
            log_format: old.log_format,
            shown,
            ..new
        }
    }

    fn password(&self) -> Option<&str> {
        self.store.as_ref().map(|store| store.password.as_str())
    }

    /// A key with its cluster's or listener's name, if there are several.
    fn place(&self, key: &str, cluster: Option<&str>, alone: bool) -> String {
        match (ConfigKey::find(key).map(|key| key.owner), cluster) {
            (Some(Owner::Listener), _) if !alone => format!("{}: {key}", label(cluster, self)),
            (Some(Owner::Cluster), Some(name)) => format!("{name}: {key}"),
            _ => key.to_owned(),
        }
    }
}

fn word(value: &str) -> &str {
    if value.is_empty() { "nothing" } else { value }
}

#[cfg(test)]
mod tests {
    use super::super::keys::KEYS;
    use super::super::raw::Raw;
    use super::*;

    fn load(text: &str) -> Plan {
        let path = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        std::fs::write(&path, text).expect("write");
        let plan = Plan::load(Some(&path), Raw::default());
        std::fs::remove_file(&path).expect("remove");
        plan.expect("valid")
    }

    /// Settings and differences, as text.
    fn over(new: &str, old: &str) -> (Vec<Config>, Vec<String>) {
        let old = load(old);
        let mut now: Vec<ListenerInForce<'_>> = Vec::new();
        for cluster in &old.clusters {
            now.extend(cluster.listeners.iter().map(|l| (cluster.name.as_deref(), l)));
        }
        let (settings, changes) = load(new).over(&now);
        for change in &changes {
            assert_eq!(change.at_start, change.result.contains(RESTART), "{change:?}");
        }
        (settings, changes.iter().map(|c| format!("{}: {}", c.what, c.result)).collect())
    }

    const ONE: &str = "backend = 'db:1'\nstore = 'mysql://a:tulip@db/x'\n";
    const TWO: &str = "
        [[cluster]]
        name = 'shop'
        backend = 'db1:3306'
        store = 'mysql://l:p@db1/locks'
        [[cluster]]
        name = 'wiki'
        backend = 'db2:3306'
        store = 'mysql://l:p@db2/locks'
        [[listener]]
        cluster = 'shop'
        listen = '127.0.0.1:1'
        [[listener]]
        cluster = 'shop'
        listen = '127.0.0.1:2'
        [[listener]]
        cluster = 'wiki'
        listen = '127.0.0.1:3'
    ";

    #[test]
    fn settings_of_what_is_bound_or_running_stay_and_are_named() {
        let (settings, changes) = over(
            &format!(
                "{}listen = '127.0.0.1:9'\nmax_connections = 7\n",
                ONE.replace("tulip", "rose")
            ),
            ONE,
        );
        assert_eq!(
            changes,
            [
                "listen: 127.0.0.1:9 needs a restart, 127.0.0.1:6033 stays",
                "store: needs a restart",
                "max_connections: 7, was 0",
            ]
        );
        let now = &settings[0];
        assert_eq!(now.listen[0].to_string(), "127.0.0.1:6033");
        assert_eq!(now.password(), Some("tulip"));
        assert_eq!(now.max_connections, 7);
        let shown = |key| now.shown.iter().find(|(k, _)| *k == key).expect("a key").1.as_str();
        assert_eq!((shown("listen"), shown("max_connections")), ("127.0.0.1:6033", "7"));
    }

    /// Another value for each key that needs a start.
    const AT_START: &str = "
        listen = '127.0.0.1:9'
        role = 'writer'
        backend = 'db:2'
        store = 'mysql://b:rose@db/y'
        mode = 'durable'
        http = '127.0.0.1:1'
        http_page = 'off'
        http_token_file = '/token'
        http_tls_cert = '/cert'
        http_tls_key = '/key'
        metrics_locks = ['a']
        admin = 'unix:/admin.sock'
        admin_listen = '127.0.0.1:2'
        admin_accounts = '/accounts'
        lease = '9s'
        on_failover = 'adopt'
        collect_after = '1m'
        state_dir = '/state'
        create_schema = true
        workers = 3
        store_tls = 'required'
        pooling = 'transaction'
        pool_size = 5
        idle_keep = '5s'
        backend_lifetime = '5m'
        learn_passwords = 'off'
        log_format = 'json'
    ";

    #[test]
    fn each_value_that_needs_a_start_stays() {
        let old = "role = 'replica'\nbackend = ['db:1', 'db:3']\nstore = 'mysql://a:tulip@/x'\n";
        let (settings, changes) = over(AT_START, old);
        let keys: Vec<_> = changes.iter().filter_map(|c| c.split(':').next()).collect();
        let late = KEYS.iter().filter(|key| key.effect == Effect::AtStart);
        assert_eq!(keys, late.map(|key| key.name).collect::<Vec<_>>());
        assert_eq!(format!("{:?}", settings[0]), format!("{:?}", load(old).only()));
    }

    #[test]
    fn differences_are_listed_once_with_their_listener() {
        assert_eq!(over(TWO, TWO).1, [""; 0]);
        let new = format!("login_timeout = '1s'\n{TWO}");
        let new = new.replace("name = 'shop'", "name = 'shop'\nbackend_proxy_protocol = true");
        let new = new.replace("127.0.0.1:2'", "127.0.0.1:2'\ntls = 'off'");
        let (settings, changes) = over(&new, TWO);
        assert_eq!(
            changes,
            [
                "login_timeout: 1s, was 10s",
                "shop: backend_proxy_protocol: true, was false",
                "shop: listener 127.0.0.1:2: tls: off, was prefer",
            ]
        );
        let told: Vec<_> = settings.iter().map(|config| config.backend_proxy_protocol).collect();
        assert_eq!(told, [true, true, false]);
    }

    #[test]
    fn clusters_and_listeners_do_not_come_and_go() {
        let wiki = TWO.replace("'wiki'", "'blog'").replace("127.0.0.1:2", "127.0.0.1:4");
        let (settings, changes) = over(&wiki, TWO);
        assert_eq!(settings.len(), 3);
        assert_eq!(
            changes,
            [
                "shop: listener 127.0.0.1:2: is gone; needs a restart",
                "wiki: listener 127.0.0.1:3: is gone; needs a restart",
                "shop: listener 127.0.0.1:4: is new; needs a restart",
                "blog: listener 127.0.0.1:3: is new; needs a restart",
            ]
        );
        assert_eq!(over(TWO, ONE).1.len(), 4);
    }
}
