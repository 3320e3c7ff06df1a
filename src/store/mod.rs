//! The lock tables: every statement that touches them, and nothing else does.

pub mod accounts;
pub mod batch;
mod change_rows;
mod changes;
pub mod collect;
pub mod connection;
pub mod definitions;
pub mod doorbell;
pub mod epoch;
pub mod facts;
pub mod gates;
pub mod identity;
pub mod meta;
pub mod overview;
pub(crate) mod peers;
mod proof;
pub mod proxies;
pub mod quoting;
pub mod reads;
pub mod releases;
pub mod rights;
pub mod rows;
pub mod schema;
pub mod sessions;
pub mod statement;
pub mod user_locks;
pub mod waits;
