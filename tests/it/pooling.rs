//! Sessions that share server connections, against real servers: `pooling = "transaction"`.

mod accounts;
mod changes_of_user;
mod endings;
mod ground;
mod idle;
mod kills;
mod leftovers;
mod locks;
mod named;
mod shown;
mod statements;
mod statements_compared;
mod turns;
