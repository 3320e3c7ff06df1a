//! Clusters and their listeners.
//!
//! A file without `[[cluster]]` and `[[listener]]` has one of each. With them, each key is in the
//! table that it belongs to, and what concerns the whole process above them.

use std::path::{Path, PathBuf};

use toml::Table;

use super::admin;
use super::error::ConfigError;
use super::keys::{ConfigKey, Owner};
use super::parse::{LISTEN, state_dir};
use super::pooling::Pooling;
use super::raw::{Raw, RawFile};
use super::retired;
use super::role::ListenerRole;
use super::users::{self, GivenUser};
use super::validated::Config;

/// Accounts, with their cluster's name.
pub(crate) type NamedUsers = (Option<String>, Vec<GivenUser>);

/// All that a process serves.
#[derive(Debug, Clone)]
pub struct Plan {
    /// At least one.
    pub clusters: Vec<ClusterPlan>,
}

/// Servers that share lock tables, and where their clients connect.
#[derive(Debug, Clone)]
pub struct ClusterPlan {
    /// Name of the cluster, where there may be several.
    pub name: Option<String>,
    /// At least one; what concerns the cluster is equal in all.
    pub listeners: Vec<Config>,
    /// Accounts of its clients whose passwords are given.
    pub users: Vec<GivenUser>,
}

impl ClusterPlan {
    /// Settings of the cluster.
    pub fn config(&self) -> &Config {
        &self.listeners[0]
    }
}

impl Plan {
    /// Reads the file, if any, puts what flags and environment say over it, and validates.
    pub fn load(file: Option<&Path>, over: Raw) -> Result<Self, ConfigError> {
        retired::refuse_variables(|name| std::env::var_os(name).is_some())?;
        let (mut raw, source) = match file {
            Some(path) => Raw::read(path)?,
            None => (Raw::default(), RawFile::default()),
        };
        let source = source.under(&over);
        raw.put_over(over);
        let clusters = std::mem::take(&mut raw.cluster);
        let listeners = std::mem::take(&mut raw.listener);
        let users = std::mem::take(&mut raw.users);
        if clusters.is_empty() && listeners.is_empty() {
            let mut raw = [raw];
            Pooling::settle_mode(&mut raw);
            let [raw] = raw;
            let only = Config::validate(raw, None, &source)?;
            let only = ClusterPlan { name: None, listeners: vec![only], users: Vec::new() };
            return with_users(Self { clusters: vec![only] }, users);
        }
        let given = raw.given().into_iter().filter_map(ConfigKey::find);
        let misplaced = given.filter_map(|key| match key.owner {
            Owner::Listener => Some((key.name, "[[listener]]")),
            Owner::Cluster if !clusters.is_empty() => Some((key.name, "[[cluster]]")),
            Owner::Cluster | Owner::Process => None,
        });
        if let Some((key, table)) = misplaced.into_iter().next() {
            let problem = format!("belongs in a {table}, because the file has such tables");
            return Err(ConfigError::Value { place: source.place(key), key, problem });
        }
        let plan = Sections { raw, clusters, listeners, source }.plan();
        let plan = plan.map_err(|problem| match problem {
            PlanProblem::Table(table, problem) => {
                ConfigError::Value { place: String::new(), key: table, problem }
            }
            PlanProblem::Value(e) => e,
        })?;
        with_users(plan, users)
    }

    /// The settings of the process, which are the same everywhere.
    pub fn process(&self) -> &Config {
        self.clusters[0].config()
    }

    /// The accounts of each cluster, by its name.
    pub(crate) fn users(&self) -> Vec<NamedUsers> {
        let named = |cluster: &ClusterPlan| (cluster.name.clone(), cluster.users.clone());
        self.clusters.iter().map(named).collect()
    }

    /// The first listener of the first cluster, for tests of the rest.
    #[cfg(test)]
    pub fn only(mut self) -> Config {
        self.clusters.remove(0).listeners.remove(0)
    }

    /// The plan of one cluster, if it is named.
    pub fn only_cluster(self, name: Option<&str>) -> Result<Self, ConfigError> {
        let Some(name) = name else {
            return Ok(self);
        };
        let mut clusters = self.clusters.clone();
        self.choose(Some(name))?;
        clusters.retain(|cluster| cluster.name.as_deref() == Some(name));
        Ok(Self { clusters })
    }

    /// One cluster's settings: the only one's, or that of this name.
    pub fn choose(mut self, name: Option<&str>) -> Result<Config, ConfigError> {
        let names: Vec<_> = self.clusters.iter().filter_map(|c| c.name.clone()).collect();
        let found = match name {
            None if self.clusters.len() == 1 => Some(0),
            None => None,
            Some(name) => self.clusters.iter().position(|c| c.name.as_deref() == Some(name)),
        };
        let problem = || match name {
            None => format!("is missing; give one of {}", names.join(", ")),
            Some(name) => format!("{name:?} is none of {}", names.join(", ")),
        };
        let found = found.ok_or_else(|| ConfigError::Value {
            place: String::new(),
            key: "--cluster",
            problem: problem(),
        })?;
        Ok(self.clusters.remove(found).listeners.remove(0))
    }

    /// Only the state directory, without validating the rest.
    pub fn state_dir(
        file: Option<&Path>,
        over: Raw,
        cluster: Option<&str>,
    ) -> Result<Option<PathBuf>, ConfigError> {
        let mut raw = file.map(Raw::read).transpose()?.unwrap_or_default().0;
        raw.put_over(over);
        if !raw.cluster.is_empty() || !raw.listener.is_empty() {
            return Ok(Self::load(file, Raw::default())?.choose(cluster)?.state_dir);
        }
        Ok(state_dir_of(&raw))
    }

    /// Only the administrators' socket, without validating the rest.
    pub fn admin(file: Option<&Path>, over: Raw) -> Result<Option<PathBuf>, ConfigError> {
        let (mut raw, source) = file.map(Raw::read).transpose()?.unwrap_or_default();
        raw.put_over(over.clone());
        if !raw.cluster.is_empty() || !raw.listener.is_empty() {
            return Ok(Self::load(file, over)?.process().admin.socket.clone());
        }
        admin::socket(raw.admin.as_deref(), state_dir_of(&raw).as_deref()).map_err(|problem| {
            ConfigError::Value { place: source.place("admin"), key: "admin", problem }
        })
    }
}

/// The state directory of a file without tables.
fn state_dir_of(raw: &Raw) -> Option<PathBuf> {
    let listen = raw.listen.as_ref().and_then(|list| list.0.first());
    state_dir(raw.state_dir.as_deref(), listen.map_or(LISTEN, String::as_str))
}

enum PlanProblem {
    Table(&'static str, String),
    Value(ConfigError),
}

/// A file with tables.
struct Sections {
    raw: Raw,
    clusters: Vec<Table>,
    listeners: Vec<Table>,
    source: RawFile,
}

impl Sections {
    fn plan(self) -> Result<Plan, PlanProblem> {
        let Self { raw, clusters, listeners, source } = self;
        let mut named: Vec<(Option<String>, Raw, Vec<Raw>)> = Vec::new();
        for mut table in clusters {
            let wrong = |problem: String| PlanProblem::Table("[[cluster]]", problem);
            let name = text(&mut table, "name").map_err(wrong)?;
            let good = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if name.is_empty() || name.len() > 64 || !good {
                return Err(wrong(format!("name = {name:?}: give letters, digits, - and _")));
            }
            if named.iter().any(|(other, ..)| other.as_deref() == Some(&name)) {
                return Err(wrong(format!("name = {name:?} is used twice")));
            }
            let own = read(table, Owner::Cluster, &raw).map_err(wrong)?;
            named.push((Some(name), own, Vec::new()));
        }
        if named.is_empty() {
            named.push((None, raw, Vec::new()));
        }
        for mut table in listeners {
            let wrong = |problem: String| PlanProblem::Table("[[listener]]", problem);
            let cluster = match named.as_mut_slice() {
                [only] if !table.contains_key("cluster") => only,
                _ => {
                    let name = text(&mut table, "cluster").map_err(wrong)?;
                    let found = named.iter_mut().find(|(n, ..)| n.as_deref() == Some(&name));
                    found.ok_or_else(|| {
                        wrong(format!("cluster = {name:?}: there is no such cluster"))
                    })?
                }
            };
            if !table.contains_key("listen") {
                return Err(wrong("listen is missing".to_owned()));
            }
            let own = read(table, Owner::Listener, &cluster.1).map_err(wrong)?;
            cluster.2.push(own);
        }
        let clusters: Result<Vec<_>, _> = named
            .into_iter()
            .map(|(name, _, mut listeners)| {
                if listeners.is_empty() {
                    let name = name.unwrap_or_default();
                    let problem = format!("name = {name:?}: no [[listener]] names it");
                    return Err(PlanProblem::Table("[[cluster]]", problem));
                }
                Pooling::settle_mode(&mut listeners);
                let valid = |raw| Config::validate(raw, name.as_deref(), &source);
                let listeners: Result<Vec<_>, _> = listeners.into_iter().map(valid).collect();
                let mut listeners = listeners.map_err(PlanProblem::Value)?;
                tell_of_each_other(&mut listeners);
                Ok(ClusterPlan { name, listeners, users: Vec::new() })
            })
            .collect();
        Ok(Plan { clusters: clusters? })
    }
}

/// Gives each cluster its accounts.
fn with_users(mut plan: Plan, tables: Vec<Table>) -> Result<Plan, ConfigError> {
    let refuse = |problem| ConfigError::Value { place: String::new(), key: "[[users]]", problem };
    for table in tables {
        let (cluster, user) = users::read(table).map_err(refuse)?;
        let wrong = |problem: String| refuse(format!("name = {:?}: {problem}", user.name));
        let found = match (plan.clusters.as_mut_slice(), &cluster) {
            ([only], None) => only,
            (_, None) => return Err(wrong("cluster is missing".to_owned())),
            (clusters, Some(name)) => clusters
                .iter_mut()
                .find(|cluster| cluster.name.as_ref() == Some(name))
                .ok_or_else(|| wrong(format!("cluster = {name:?}: there is no such cluster")))?,
        };
        if found.users.iter().any(|other| other.name == user.name) {
            return Err(wrong("is there twice".to_owned()));
        }
        if found.users.len() >= users::MOST {
            return Err(wrong(format!("there are more than {}", users::MOST)));
        }
        found.users.push(user);
    }
    Ok(plan)
}

/// What the listeners of a cluster have to know of each other.
fn tell_of_each_other(listeners: &mut [Config]) {
    let shares = listeners.iter().any(|config| config.pooling.is_shared());
    // Sessions at replicas hold no locks.
    let mut holders = listeners.iter().filter(|config| config.role == ListenerRole::Writer);
    let all = shares && holders.all(|config| config.pooling.is_shared());
    let replicas = listeners.iter().any(|config| config.role == ListenerRole::Replica);
    for config in listeners {
        config.pooling.of_cluster = shares;
        config.pooling.of_all = all;
        config.has_replicas = replicas;
    }
}

/// Takes a text out of a table.
fn text(table: &mut Table, key: &str) -> Result<String, String> {
    match table.remove(key) {
        Some(toml::Value::String(text)) => Ok(text),
        Some(_) => Err(format!("{key} is no text")),
        None => Err(format!("{key} is missing")),
    }
}

/// A table's keys over those above it.
fn read(table: Table, owner: Owner, above: &Raw) -> Result<Raw, String> {
    if let Some(key) = table.keys().find(|key| !ConfigKey::names_of(owner).any(|name| name == *key))
    {
        let why = retired::advice(key).unwrap_or("does not belong here");
        return Err(format!("{key} {why}"));
    }
    let mut all = above.clone();
    all.put_over(Raw::of_table(table)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::mode::Mode;
    use super::*;

    fn load(text: &str) -> Result<Plan, String> {
        let path = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        std::fs::write(&path, text).expect("write");
        let plan = Plan::load(Some(&path), Raw::default());
        std::fs::remove_file(&path).expect("remove");
        plan.map_err(|e| e.to_string())
    }

    #[test]
    fn a_setting_that_is_gone_is_refused_with_what_to_do() {
        let whole = "backend = 'db:3306'\nstore = 'mysql://l:tulip@db/locks'\n";
        let said = load(&format!("{whole}fast_path = true\n")).expect_err("it is gone");
        assert!(said.contains(":3: `fast_path`: is gone: bare lock calls"), "{said}");
        let of_table = TWO.replace("lease = \"10s\"", "on_lease_lost = \"close\"");
        let said = load(&of_table).expect_err("it is gone");
        assert!(said.contains("is gone: sessions with locks"), "{said}");
        let said = load(&format!("{whole}fast_paths = true\n")).expect_err("there is none");
        assert!(said.contains("unknown field `fast_paths`"), "{said}");
    }

    const TWO: &str = r#"
        workers = 3
        [[cluster]]
        name = "shop"
        backend = "db1:3306"
        store = "mysql://l:tulip@db1/locks"
        lease = "10s"
        [[cluster]]
        name = "wiki"
        backend = "db2:3306"
        mode = "observe"
        state_dir = "/var/lib/wiki"
        [[listener]]
        cluster = "wiki"
        listen = "127.0.0.1:1"
        [[listener]]
        cluster = "shop"
        listen = ["[::1]:2", "unix:/run/shop.sock"]
        tls = "require"
        [[listener]]
        cluster = "shop"
        listen = "127.0.0.1:3"
        proxy_protocol = ["10.0.0.0/8", "10.1.2.3"]
    "#;

    #[test]
    fn clusters_own_their_listeners() {
        let plan = load(TWO).expect("valid");
        assert_eq!(plan.process().workers, 3);
        let [shop, wiki] = plan.clusters.as_slice() else { panic!("two clusters") };
        assert_eq!((shop.name.as_deref(), shop.listeners.len()), (Some("shop"), 2));
        let listens = |n: usize| shop.listeners[n].listen.iter().map(ToString::to_string);
        assert_eq!(listens(0).collect::<Vec<_>>(), ["[::1]:2", "unix:/run/shop.sock"]);
        assert_eq!(shop.listeners[1].proxy_protocol.len(), 2);
        assert_eq!(shop.listeners[1].lease.as_secs(), 10);
        assert_eq!(wiki.config().backend().host, "db2");
        assert_eq!(plan.clone().choose(Some("wiki")).expect("there").backend().host, "db2");
        let refused = plan.choose(None).expect_err("two").to_string();
        assert!(refused.contains("shop, wiki"), "{refused}");
    }

    #[test]
    fn listeners_without_clusters_share_the_keys_above_them() {
        let plan = load(
            "backend = 'db:1'\nstore = 'mysql://a:b@db/x'\n[[listener]]\nlisten = '127.0.0.1:1'\n\
             [[listener]]\nlisten = '127.0.0.1:2'\ntls = 'off'\n",
        );
        assert_eq!(plan.expect("valid").clusters[0].listeners.len(), 2);
    }

    #[test]
    fn a_listener_with_shared_connections_decides_the_mode_of_its_cluster() {
        let text = TWO.replace("tls = \"require\"", "pooling = \"transaction\"");
        let plan = load(&text).expect("valid");
        let [shop, wiki] = plan.clusters.as_slice() else { panic!("two clusters") };
        let shares: Vec<_> = shop.listeners.iter().map(|l| l.pooling.is_shared()).collect();
        assert_eq!(shares, [true, false]);
        for config in &shop.listeners {
            assert!(config.mode == Mode::Durable && config.pooling.of_cluster);
            assert!(config.shown.contains(&("mode", "durable".to_owned())));
        }
        assert!(wiki.config().mode == Mode::Observe && !wiki.config().pooling.of_cluster);
        let refused = load(&text.replace("lease = ", "mode = \"coexist\"\nlease = "));
        assert!(refused.expect_err("needs durable").contains("needs mode = \"durable\""));
    }

    #[test]
    fn a_listener_to_replicas_is_known_to_its_cluster_and_holds_no_locks() {
        let plan = load(
            "backend = ['db:1', 'db:2']\nstore = 'mysql://a:b@/x'\n[[listener]]\nlisten = '127.0.0.1:1'\n\
             pooling = 'transaction'\n[[listener]]\nlisten = '127.0.0.1:2'\nrole = 'replica'\n",
        );
        let [cluster] = plan.expect("valid").clusters.try_into().expect("one");
        let roles: Vec<_> = cluster.listeners.iter().map(|config| config.role).collect();
        assert_eq!(roles, [ListenerRole::Writer, ListenerRole::Replica]);
        for config in &cluster.listeners {
            assert!(config.has_replicas && config.pooling.of_cluster && config.pooling.of_all);
        }
    }

    #[test]
    fn accounts_belong_to_their_clusters() {
        let user = |name: &str, cluster: &str| {
            format!("[[users]]\nname = '{name}'\npassword = 'tulip'\n{cluster}\n")
        };
        let (shop, wiki) = ("cluster = 'shop'", "cluster = 'wiki'");
        let text = [TWO, &user("a", shop), &user("b", shop), &user("a", wiki)].concat();
        let plan = load(&text).expect("valid");
        let names = |n: usize| plan.clusters[n].users.iter().map(|user| user.name.clone());
        assert_eq!(
            (names(0).collect::<String>(), names(1).collect::<String>()),
            ("ab".into(), "a".into())
        );
        assert!(!format!("{plan:?}").contains("tulip"), "a password in a debug form");
        let one = "backend = 'db:1'\nstore = 'mysql://a:b@db/x'\n";
        assert_eq!(
            load(&[one, &user("a", "")].concat()).expect("valid").clusters[0].users.len(),
            1
        );
        for (text, says) in [
            ([TWO, &user("a", "")].concat(), "name = \"a\": cluster is missing"),
            ([TWO, &user("a", "cluster = 'blog'")].concat(), "there is no such cluster"),
            ([one, &user("a", shop)].concat(), "there is no such cluster"),
            ([one, &user("a", ""), &user("a", "")].concat(), "name = \"a\": is there twice"),
            ([one, "users = 'tulip'"].concat(), "`users`: a value of a wrong type"),
            ([one, "[[users]]\nname = 'a'\npassword = 'tulip\n"].concat(), ":5:"),
        ] {
            let refused = load(&text).expect_err(says);
            assert!(refused.contains(says) && !refused.contains("tulip"), "{says}: {refused}");
        }
    }

    #[test]
    fn a_key_in_the_wrong_place_is_refused_by_name() {
        for (text, says) in [
            (TWO.replace("workers", "lease = '1s'\nworkers"), "`lease`: belongs in a [[cluster]]"),
            (TWO.replace("workers", "tls = 'off'\nworkers"), "`tls`: belongs in a [[listener]]"),
            (TWO.replace("\"wiki\"", "\"shop\""), "is used twice"),
            (TWO.replace("cluster = \"wiki\"", "cluster = \"blog\""), "there is no such cluster"),
            (TWO.replace("cluster = \"wiki\"", "cluster = \"shop\""), "no [[listener]] names it"),
            (TWO.replace("tls = ", "workers = 1\ntls = "), "workers does not belong here"),
            (TWO.replace("name = \"wiki\"", "name = \"a b\""), "letters, digits"),
            (TWO.replace("lease = \"10s\"", "lease = 5"), "[[cluster]]"),
            (TWO.replace("10.1.2.3", "10.1.2.3.4"), "`proxy_protocol`"),
            (TWO.replace("mysql://l:tulip@db1/locks", "nonsense"), "`store`"),
        ] {
            let refused = load(&text).expect_err(says);
            assert!(refused.contains(says) && !refused.contains("tulip"), "{says}: {refused}");
        }
    }
}
