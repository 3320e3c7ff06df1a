//! A session that shares its connections from its login on, and one that gives its connection away for good.

use tokio::time::Instant;

use crate::backend::admissions::LoginValues;
use crate::backend::left::Left;
use crate::frontend::link::Link;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::pooling::pooled::Pooled;
use crate::frontend::pooling::pooled_session::PooledSession;
use crate::frontend::pooling::restore::begin_reports;

/// From here on the session shares its connections; the one it has becomes the pool's.
pub(crate) fn share(link: &mut Link, mut pooled: PooledSession) -> Result<(), CloseReason> {
    pooled.take_hold();
    let reports = begin_reports(None, link.capabilities());
    *link.pooled_mut() = Pooled::new(pooled);
    link.send_hidden(&reports)
}

/// The session shares its connections, and begins without one, with these values of its login.
pub(crate) fn begin_known(link: &mut Link, mut pooled: PooledSession, values: &LoginValues) {
    pooled.begin_known(values);
    *link.pooled_mut() = Pooled::new(pooled);
    link.pooled_mut().begin_idle(Instant::now());
}

/// Gives the connection back without a look at the state on it.
pub(crate) fn leave_for_good(link: &mut Link) {
    let backend = link.take_server();
    let Some(pooled) = link.pooled_mut().session_mut() else { return };
    if let Some(backend) = backend
        && pooled.leaves_connection()
        && let Ok(backend) = backend.detach(Left::Unknown)
    {
        pooled.place.give(backend);
    }
}
