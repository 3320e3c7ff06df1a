//! Many clients, three proxies and everything that can go wrong, against a private server of each
//! family; checkers judge what the clients saw.
//!
//! LOCKSTEAD_TORTURE_SECONDS says for how long (25), LOCKSTEAD_TORTURE_SEED draws the same faults
//! again. `make torture` is the long form.

mod check;
mod check_tests;
mod control;
mod failover;
mod faults;
mod fleet;
mod history;
#[cfg(feature = "mutants")]
mod mutants;
mod report;
mod run;
mod session;
mod settle;
mod workers;

/// What the other tests have as well.
#[path = "../it"]
#[allow(dead_code, unused_imports, unused_macros, reason = "it has more than is needed here")]
mod shared {
    pub(crate) mod launch;
    pub(crate) mod own_server;
    pub(crate) mod proxy;
    pub(crate) mod stage;
}
/// Under the name that it has in the other tests.
mod script {
    pub(crate) use lockstead_support::Flavour;
    pub(crate) use lockstead_support::server::Server;
}
use lockstead_support::wire;
use shared::{launch, own_server, proxy, stage};
