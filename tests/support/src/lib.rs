//! Servers, proxies and faults, for the tests and for the programs of `cargo xtask`.
//!
//! | Module | |
//! |---|---|
//! | [`launch`] | starts a proxy and waits until it is ready: the only launcher |
//! | [`private_server`] | a MySQL or MariaDB server of one's own, by `dev/server.sh` |
//! | [`topology`] | several of them as they are really run, by `dev/topology.sh` |
//! | [`link`] | a network link that can be cut, slowed down or muted |
//! | [`hole`] | a way on which packets are dropped in silence |
//! | [`http`] | pages and metrics of a proxy |
//! | [`patience`] | waiting for what must happen |
//! | [`process`] | process groups and signals |
//!
//! With the feature `client` also:
//!
//! | Module | |
//! |---|---|
//! | [`wire`] | a MySQL client that shows packets as they came |
//! | [`server`] | where a server is, and root's connection to it |
//! | [`session`] | a client's session: statements in, values out |

#![allow(clippy::missing_panics_doc, reason = "a helper of tests panics where a test would")]

pub mod hole;
pub mod http;
pub mod launch;
pub mod link;
pub mod patience;
pub mod private_server;
pub mod process;
#[cfg(feature = "client")]
pub mod server;
#[cfg(feature = "client")]
pub mod session;
pub mod topology;
#[cfg(feature = "client")]
#[allow(missing_docs, reason = "constants and fields have the names of the protocol manual")]
pub mod wire;

mod flavour;

pub use flavour::{Flavour, Release};
pub use launch::{Launch, Log, Proxy, Ready, free_port};
pub use link::{Link, Way};
pub use patience::{Deadline, PATIENCE, eventually};
pub use private_server::PrivateServer;
pub use topology::Topology;
