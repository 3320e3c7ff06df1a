//! After the last fault everything comes to rest: what does not is a violation.

use std::sync::Arc;
use std::time::Duration;

use crate::check::{Rest, Violation, leaks};
use crate::control::Control;
use crate::fleet::Node;
use crate::history::now;
use crate::session::{Place, Session};
use crate::workers::keys;

/// Beside the leases, for machines that have much to do.
const SLACK: Duration = Duration::from_secs(20);

/// Waits until nothing is held and nobody is left, tries every lock at every proxy, and ends them.
pub(crate) fn settle(
    control: &Arc<Control>,
    nodes: &Arc<Vec<Node>>,
    place: &Place,
    lease: Duration,
) -> Vec<Violation> {
    let limit = now() + 4 * lease + SLACK;
    let mut rest = Rest::default();
    while now() < limit {
        for node in nodes.iter() {
            node.keep_up();
        }
        rest = look(control, nodes, &place.schema);
        if leaks(&rest, now()).is_empty() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    rest.refused = probe(nodes, place, limit.max(now() + SLACK));
    rest.broken = end(nodes);
    if nodes.iter().any(|node| node.lasting_connections() > 0) {
        // Those that sessions shared go with their proxy; what sleeps there until a lock is free does so for some seconds.
        let left = || Some(control.sessions()).filter(|left| !left.is_empty());
        let limit = limit.max(now() + SLACK);
        while now() < limit && left().is_some() {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        rest.sessions = control.sessions().iter().map(|id| control.described(id)).collect();
    }
    let rows = control.rows(&format!("SELECT CONCAT(id,' ',state) FROM {}.proxies", place.schema));
    rest.incarnations.extend(rows);
    leaks(&rest, now())
}

/// Ends the proxies; those that are broken.
pub(crate) fn end(nodes: &[Node]) -> Vec<String> {
    let mut broken = Vec::new();
    for node in nodes {
        broken.append(&mut node.surprises.lock().expect("surprises"));
        if node.log().contains("panicked") {
            broken.push(format!("proxy {} panicked", node.number));
        }
        match node.end() {
            Some(0) => {}
            code => broken.push(format!("proxy {} ended with {code:?}", node.number)),
        }
    }
    broken
}

fn look(control: &Control, nodes: &[Node], schema: &str) -> Rest {
    let conns = control.rows(&format!("SELECT conns FROM {schema}.proxies"));
    let known: Vec<&str> = conns.iter().flat_map(|c| c.split(',')).collect();
    let mut sessions = control.sessions();
    sessions.retain(|id| !known.contains(&id.as_str()));
    if sessions.len() <= nodes.iter().map(Node::lasting_connections).sum() {
        sessions.clear();
    }
    let live = control.rows(&format!("SELECT id FROM {schema}.proxies WHERE state=1"));
    let mut incarnations =
        control.rows(&format!("SELECT CONCAT(id,' ',state) FROM {schema}.proxies WHERE state<>1"));
    if live.len() != nodes.len() {
        incarnations.push(format!("{} are live", live.len()));
    }
    Rest {
        held: control.rows(&format!(
            "SELECT CONCAT(name,' by ',holder,' for ',conn) FROM {schema}.locks WHERE holder<>0"
        )),
        sessions,
        incarnations,
        ..Rest::default()
    }
}

/// Every proxy grants every lock, and takes it back.
pub(crate) fn probe(nodes: &[Node], place: &Place, limit: Duration) -> Vec<String> {
    let mut refused = Vec::new();
    for node in nodes {
        let mut session = None;
        while session.is_none() && now() < limit {
            session = Session::open(place, node.number, node.port);
        }
        let Some(mut session) = session else {
            refused.push(format!("any, at proxy {}", node.number));
            continue;
        };
        for key in keys(nodes.len()) {
            let got = session.take(&key, 10).and_then(|got| session.release(&key).map(|()| got));
            if got != Ok(true) {
                refused.push(format!("{key}, at proxy {}: {got:?}", node.number));
            }
        }
        session.quit();
    }
    refused
}
