//! Sessions that share server connections, against real servers: `pooling = "transaction"`.

mod accounts;
mod crowds;
mod endings;
mod ground;
mod leftovers;
mod locks;
mod turns;
