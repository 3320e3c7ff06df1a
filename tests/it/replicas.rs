//! Replicas of a test's own servers, and how one becomes the primary.

use crate::own_server::{OwnServer, flavour_of};
use crate::script::{Flavour, Server};

/// Two servers with further options, neither of which replicates from the other.
pub(crate) fn two(flavour: Flavour, options: &[&str]) -> (OwnServer, OwnServer) {
    let all: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    let second = std::thread::spawn(move || {
        let options: Vec<&str> = all.iter().map(String::as_str).chain(["--server-id=2"]).collect();
        OwnServer::start(flavour, &options)
    });
    let first = OwnServer::start(flavour, options);
    (first, second.join().expect("a second server"))
}

/// The second becomes a replica of the first, from the beginning of its log; it takes writes.
pub(crate) fn attach(first: &Server, second: &Server) {
    let log = first.root().column("SHOW BINARY LOGS")[0].clone();
    attach_at(first, second, &log);
}

/// The second, which has all that the first has, becomes its replica from now on.
pub(crate) fn attach_from_now_on(first: &Server, second: &Server) {
    let mut root = first.root();
    root.run("FLUSH BINARY LOGS");
    let log = root.column("SHOW BINARY LOGS").pop().expect("a log");
    attach_at(first, second, &log);
}

fn attach_at(first: &Server, second: &Server, log: &str) {
    let flavour = flavour_of(first);
    let mut root = second.root();
    let port = first.port;
    root.run(&match flavour {
        Flavour::MySql => format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
             SOURCE_USER='root', SOURCE_PASSWORD='rootpw', SOURCE_LOG_FILE='{log}', \
             SOURCE_LOG_POS=4, GET_SOURCE_PUBLIC_KEY=1"
        ),
        Flavour::MariaDb => format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', \
             MASTER_PASSWORD='rootpw', MASTER_LOG_FILE='{log}', MASTER_LOG_POS=4"
        ),
    });
    again(second);
}

/// Has a replica go on hearing from the other server.
pub(crate) fn again(replica: &Server) {
    let mysql = flavour_of(replica) == Flavour::MySql;
    replica.root().run(if mysql { "START REPLICA" } else { "START SLAVE" });
}

/// Has a replica hear nothing more from the other server.
pub(crate) fn detach(replica: &Server) {
    let mysql = flavour_of(replica) == Flavour::MySql;
    replica.root().run(if mysql { "STOP REPLICA" } else { "STOP SLAVE" });
}

/// Makes a replica a server of its own.
pub(crate) fn promote(replica: &Server) {
    detach(replica);
    let mysql = flavour_of(replica) == Flavour::MySql;
    replica.root().run(if mysql { "RESET REPLICA ALL" } else { "RESET SLAVE ALL" });
}
