//! A service for tests, joined as incarnation 7.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{LeaseEvent, Service, build};
use crate::clock;
use crate::config::StoreUrl;
use crate::engine::io::pipe::StoreAccess;
use crate::engine::shared::lease::Lease;
use crate::metrics::Metrics;
use crate::store::statement::Writer;
use crate::types::ProxyId;

/// Runs a test as the engine's thread would.
pub(super) fn on_engine_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    tokio::task::LocalSet::new().block_on(&runtime.expect("a runtime"), test);
}

/// A store that is never reached.
pub(in crate::engine) fn store_access() -> Arc<StoreAccess> {
    let url = StoreUrl {
        host: "127.0.0.1".to_owned(),
        port: 1,
        user: String::new(),
        password: String::new(),
        schema: "lockstead".to_owned(),
        tls: crate::config::tls::StoreTls::default(),
    };
    Arc::new(StoreAccess {
        url,
        connect_timeout: Duration::from_secs(1),
        open: Mutex::default(),
        home: Mutex::default(),
        metrics: Arc::new(Metrics::new(None).expect("metrics")),
        stuck: Arc::default(),
    })
}

/// A service whose store is never reached: its batches are answered by the test.
pub(super) fn service(lease: &Arc<Lease>) -> Service {
    let access = store_access();
    let (mut service, _, _) = build(&access, Arc::clone(lease));
    let writer =
        Writer { schema: "lockstead".to_owned(), proxy: ProxyId(7), epoch: 1, base: 100, run: 0 };
    service.lease_event(LeaseEvent::Joined(writer));
    service
}

pub(super) fn renew(lease: &Lease, deadline: Duration) {
    lease.renewed(clock::now(), deadline, clock::now() + Duration::from_mins(1));
}
