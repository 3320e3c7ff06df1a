//! Sessions that share server connections, against real servers: `pooling = "transaction"`.

mod accounts;
mod backups;
mod busy;
mod changes_of_user;
mod crowds;
mod doors;
mod ended_pins;
mod endings;
mod failover;
mod failover_beside_native;
mod fairness;
#[cfg(feature = "mutants")]
mod faults;
mod fences;
pub(crate) mod ground;
mod idle;
mod kill_rights;
mod kills;
mod leftovers;
mod locks;
mod logins;
mod logins_compared;
mod losses;
mod named;
mod registrations;
mod remains;
mod shown;
mod state_storm;
mod statements;
mod statements_compared;
mod storm;
mod switchovers;
mod taken_along;
mod turns;
mod users;
