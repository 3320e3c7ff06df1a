//! The connections that the sessions of a listener share.

use std::sync::Arc;

use super::start_error::StartError;
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::{Pool, PoolLimits};
use crate::frontend::shared::audits::Audits;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::programs::KnownPrograms;

/// The connections that a listener's sessions share, if it has them share any.
pub(super) fn shared_connections(context: &Context) -> Result<Option<Shared>, StartError> {
    let pooling = context.config.pooling;
    if !pooling.is_shared() {
        return Ok(None);
    }
    let limits =
        PoolLimits { size: pooling.size, idle_keep: pooling.idle_keep, lifetime: pooling.lifetime };
    let metrics = Arc::clone(&context.metrics);
    let secrets = LearnedSecrets::new(pooling.learn, metrics.unlocked_memory.clone());
    let secrets = secrets.map_err(|_| StartError::NoPool("no RSA key can be made"))?;
    Ok(Some(Shared {
        pool: Pool::new(limits, metrics),
        secrets: Arc::new(secrets),
        programs: KnownPrograms::default(),
        audits: Audits::default(),
    }))
}

/// The connections that sessions of a listener share, if they do, and its first address.
pub(super) fn pool_of(context: &Context) -> Option<(String, Pool)> {
    let listen = context.config.listen.first().map(ToString::to_string).unwrap_or_default();
    context.shared.as_ref().map(|shared| (listen, shared.pool.clone()))
}
