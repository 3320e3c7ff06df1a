//! Lockstead against real servers. `make test` starts them.

mod differential;
mod proxy;
mod script;
mod wire;
