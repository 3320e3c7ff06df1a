//! The administration, over the MySQL protocol (docs/adr/0015-administration.md).
//!
//! On a unix socket root and the user that the proxy runs as may do everything, without a password.
//! On a port there are accounts with roles.

pub mod accounts;
mod backends;
mod client_queries;
mod command;
mod command_text;
mod connection;
mod connection_slots;
mod control;
mod entrance;
mod history;
mod kill;
mod limits;
mod locks;
mod login;
mod pool;
mod release;
mod reply;
mod run;
mod server_locks;
mod sources;
mod switchover;
mod table;
mod tables;
mod upgrade;
mod waits;

pub use control::{ClusterView, Control, Reloaded, Replaced, UpgradeRequest};
pub use entrance::{Entrance, serve};
pub use reply::failed;
pub use table::{AdminTable, Cell, ColumnKind, EXACT};
