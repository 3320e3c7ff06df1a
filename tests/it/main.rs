//! Lockstead against real servers. `make test` starts them.

mod cli;
mod differential;
mod documented;
mod endings;
mod forwarder;
mod gates;
mod invariants;
mod large;
mod launch;
mod locks;
mod lost_replies;
mod memory;
mod mutual_exclusion;
mod own_server;
mod pipelining;
mod probes;
mod proxy;
mod relay;
mod script;
mod scripted;
mod session;
mod stage;
mod takeover;
mod wire;
