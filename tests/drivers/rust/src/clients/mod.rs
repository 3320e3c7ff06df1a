mod by_diesel;
mod by_mysql_async;
mod by_sqlx;

use std::future::Future;
use std::sync::LazyLock;

use tokio::runtime::Runtime;

use crate::session::{Boxed, Fault, Options, Pool, Session};

pub type Case = (&'static str, fn(&'static Client));

pub struct Client {
    pub name: &'static str,
    pub open: fn(&Options) -> Result<Boxed, Fault>,
    pub pool: fn(u32) -> Box<dyn Pool>,
    /// Runs what makes tables, in the client's way.
    pub setup: fn(&mut dyn Session, &str) -> Result<(), Fault>,
    /// Cases of its own; several may have the name of a shared one.
    pub own: &'static [Case],
    /// The shared cases that it cannot do.
    pub lacks: &'static [&'static str],
    /// An expression that gives a parameter back.
    pub echo: &'static str,
    /// The columns to select from a table with types that it cannot read.
    pub columns: fn(table: &str) -> &'static str,
}

impl Client {
    pub fn session(&self) -> Boxed {
        (self.open)(&Options::default()).unwrap_or_else(|fault| panic!("{fault}"))
    }
}

pub fn find(name: &str) -> Option<&'static Client> {
    [&by_mysql_async::CLIENT, &by_sqlx::CLIENT, &by_diesel::CLIENT]
        .into_iter()
        .find(|c| c.name == name)
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// Waits for an asynchronous call.
fn wait<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}
