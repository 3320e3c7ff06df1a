//! The servers of a cluster: where sessions of clients connect to each, and where its lock tables are.

use super::addresses::{HostPort, StoreUrl};
use super::error::WrongValue;
use super::mode::Mode;
use super::parse::parse_host_port;
use super::raw::Raw;

/// One server of a cluster. At any time one of them is the writer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    /// Where sessions of clients connect.
    pub backend: HostPort,
    /// Where the proxy's own connections to the lock tables go.
    pub store: HostPort,
}

/// Pairs the servers of `backend` with the hosts of `store`. A `store` without hosts gets those of `backend`.
pub(super) fn read(
    backend: Option<&[String]>,
    store: Option<&mut StoreUrl>,
) -> Result<Vec<ServerAddress>, WrongValue> {
    let backends = backends(backend).map_err(|problem| ("backend", problem))?;
    let Some(store) = store else {
        if backends.len() > 1 {
            return Err((
                "store",
                "is missing: where `backend` names several servers, its account asks each whether it takes writes; \
                 give for example mysql://lockstead:secret@/lockstead"
                    .to_owned(),
            ));
        }
        let alone = |backend: HostPort| ServerAddress { store: backend.clone(), backend };
        return Ok(backends.into_iter().map(alone).collect());
    };
    if store.hosts.is_empty() {
        store.hosts.clone_from(&backends);
        (store.host, store.port) = (backends[0].host.clone(), backends[0].port);
    }
    if let Some(host) = twice(&store.hosts) {
        return Err(("store", format!("names {host} twice")));
    }
    let (stores, servers) = (store.hosts.len(), backends.len());
    if stores != servers {
        return Err((
            "store",
            format!(
                "names {stores} hosts, and `backend` names {servers} servers: name the same servers in the same order, \
                 or no host at all (mysql://user:password@/schema)"
            ),
        ));
    }
    let pairs = backends.into_iter().zip(store.hosts.iter().cloned());
    Ok(pairs.map(|(backend, store)| ServerAddress { backend, store }).collect())
}

/// The servers of `failover_candidates`, which are among those of `backend`.
pub(super) fn candidates(
    raw: &Raw,
    servers: &[ServerAddress],
    mode: Mode,
) -> Result<Vec<ServerAddress>, WrongValue> {
    let refuse = |problem: String| Err(("failover_candidates", problem));
    let texts = raw.failover_candidates.as_ref().map(|list| &list.0[..]).unwrap_or_default();
    if mode == Mode::Observe && !texts.is_empty() {
        return refuse("has no use in mode observe, which grants no locks".to_owned());
    }
    if servers.len() == 1 && !texts.is_empty() {
        let needed =
            "needs several servers in `backend`: the writer, and those that may be promoted";
        return refuse(needed.to_owned());
    }
    let mut found = Vec::new();
    for text in texts {
        let at = parse_host_port(text.trim());
        match servers.iter().find(|server| Some(&server.backend) == at.as_ref()) {
            Some(server) if found.contains(server) => {
                return refuse(format!("names {text:?} twice"));
            }
            Some(server) => found.push(server.clone()),
            None => {
                return refuse(format!(
                    "names {text:?}, which is none of the servers in `backend`"
                ));
            }
        }
    }
    Ok(found)
}

fn backends(given: Option<&[String]>) -> Result<Vec<HostPort>, String> {
    let example = "127.0.0.1:3306";
    let texts =
        given.ok_or_else(|| format!("is missing; give for example backend = \"{example}\""))?;
    let read = |text: &String| {
        parse_host_port(text.trim())
            .ok_or_else(|| format!("{text:?} is no host:port; give for example {example}"))
    };
    let all: Vec<HostPort> = texts.iter().map(read).collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err(format!("names no server; give for example {example}"));
    }
    match twice(&all) {
        Some(host) => Err(format!("names {host} twice")),
        None => Ok(all),
    }
}

fn twice(hosts: &[HostPort]) -> Option<&HostPort> {
    hosts.iter().enumerate().find(|(n, host)| hosts[..*n].contains(host)).map(|(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::super::raw::OneOrMore;
    use super::*;

    fn servers(backend: &[&str], store: Option<&str>) -> Result<Vec<String>, WrongValue> {
        let backend: Vec<String> = backend.iter().map(|text| (*text).to_owned()).collect();
        let mut store = store.map(|text| StoreUrl::parse(text).expect("a URL"));
        let read = read(Some(&backend), store.as_mut())?;
        Ok(read.iter().map(|server| format!("{} {}", server.backend, server.store)).collect())
    }

    #[test]
    fn servers_and_hosts_of_the_lock_tables_come_in_pairs() {
        let good = |backend: &[&str], store| servers(backend, store).expect("valid");
        assert_eq!(good(&["a:1"], None), ["a:1 a:1"]);
        assert_eq!(good(&["a:1"], Some("mysql://u@b:2/")), ["a:1 b:2"]);
        assert_eq!(good(&["a:1"], Some("mysql://u@/")), ["a:1 a:1"]);
        assert_eq!(good(&["a:1", "b:1"], Some("mysql://u@/")), ["a:1 a:1", "b:1 b:1"]);
        assert_eq!(good(&["a:1", " b:1"], Some("mysql://u@c,d:9/")), ["a:1 c:3306", "b:1 d:9"]);
    }

    #[test]
    fn lists_that_do_not_fit_are_refused_by_their_key() {
        for (backend, store, key, says) in [
            (&["a:1", "b:1", "a:1"][..], Some("mysql://u@/"), "backend", "a:1 twice"),
            (&[], Some("mysql://u@/"), "backend", "names no server"),
            (&["a:1", "b"], Some("mysql://u@/"), "backend", "\"b\" is no host:port"),
            (&["a:1", "b:1"], None, "store", "is missing"),
            (&["a:1", "b:1"], Some("mysql://u@a/"), "store", "names 1 hosts"),
            (&["a:1"], Some("mysql://u@a,b/"), "store", "names 2 hosts"),
            (&["a:1", "b:1"], Some("mysql://u@c,c:3306/"), "store", "c:3306 twice"),
        ] {
            let (found, problem) = servers(backend, store).expect_err(says);
            assert_eq!(found, key);
            assert!(problem.contains(says), "{says}: {problem}");
        }
        assert!(read(None, None).expect_err("nothing").1.contains("is missing"));
    }

    #[test]
    fn candidates_are_servers_of_the_list() {
        let all = |names: &[&str]| -> Vec<ServerAddress> {
            let at = |name: &&str| parse_host_port(name).expect("an address");
            let both = |at: HostPort| ServerAddress { backend: at.clone(), store: at };
            names.iter().map(at).map(both).collect()
        };
        let read = |given: &[&str], of: &[&str], mode| {
            let list = OneOrMore(given.iter().map(|text| (*text).to_owned()).collect());
            let raw = Raw { failover_candidates: Some(list), ..Raw::default() };
            candidates(&raw, &all(of), mode)
        };
        let two = ["a:1", "b:1"];
        assert_eq!(candidates(&Raw::default(), &all(&two), Mode::Durable), Ok(Vec::new()));
        assert_eq!(read(&[], &["a:1"], Mode::Observe), Ok(Vec::new()));
        assert_eq!(read(&[" b:1"], &two, Mode::Coexist), Ok(all(&["b:1"])));
        for (given, of, mode, says) in [
            (&["c:1"][..], &two[..], Mode::Durable, "none of the servers"),
            (&["b"], &two, Mode::Durable, "none of the servers"),
            (&["b:1", "b:1"], &two, Mode::Durable, "twice"),
            (&["a:1"], &["a:1"], Mode::Durable, "several servers"),
            (&["b:1"], &two, Mode::Observe, "mode observe"),
        ] {
            let (key, problem) = read(given, of, mode).expect_err(says);
            assert!(key == "failover_candidates" && problem.contains(says), "{says}: {problem}");
        }
    }
}
