//! Lockstead against real servers. `make test` starts them.

mod differential;
mod endings;
mod forwarder;
mod launch;
mod locks;
mod mutual_exclusion;
mod own_server;
mod proxy;
mod script;
mod session;
mod stage;
mod takeover;
mod wire;
