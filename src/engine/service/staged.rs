//! A service for tests, joined as incarnation 7.

use std::sync::Arc;
use std::time::Duration;

use super::Service;
use super::task::build;
use crate::clock;
use crate::engine::io::link::StoreAccess;
use crate::engine::messages::LeaseEvent;
use crate::engine::shared::lease::Lease;
use crate::store::statement::BatchWriter;
use crate::types::ProxyId;

/// Runs a test as the engine's thread would.
pub(super) fn on_engine_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    tokio::task::LocalSet::new().block_on(&runtime.expect("a runtime"), test);
}

/// A service whose store is never reached: its batches are answered by the test.
pub(super) fn service(lease: &Arc<Lease>) -> Service {
    let access = Arc::new(StoreAccess::unreachable());
    let mut service =
        build(&access, Arc::clone(lease), (false, Duration::from_secs(30)), None).0.into_service();
    let writer = BatchWriter {
        schema: "lockstead".to_owned(),
        proxy: ProxyId(7),
        epoch: 1,
        base: 100,
        run: 0,
    };
    service.lease_event(LeaseEvent::Joined(writer));
    service
}

pub(super) fn renew(lease: &Lease, deadline: Duration) {
    lease.renewed(clock::now(), deadline, clock::now() + Duration::from_mins(1));
}
