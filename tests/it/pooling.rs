//! Sessions that share server connections, against real servers: `pooling = "transaction"`.

mod accounts;
mod endings;
mod ground;
mod leftovers;
mod locks;
mod statements;
mod turns;
