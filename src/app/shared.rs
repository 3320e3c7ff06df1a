//! The connections that the sessions of a listener share.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::start_error::StartError;
use super::{audits, follow, programs, verifiers};
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::{Pool, PoolLimits};
use crate::config::GivenUser;
use crate::frontend::shared::audits::Audits;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::paced::Paced;
use crate::frontend::shared::programs::KnownPrograms;

/// Between two connections that are opened for the question whether a session may end others.
const EXAMPLES: Duration = Duration::from_millis(100);

/// A listener's context, with the connections that its sessions share, if it has them share any.
pub(super) fn given_to(context: Context, users: &[GivenUser]) -> Result<Context, StartError> {
    let shared = shared_connections(&context, users)?;
    Ok(Context { shared, ..context })
}

/// Says which passwords all users of this machine may read.
pub(super) fn warn_of(users: &[GivenUser]) {
    for warning in users.iter().filter_map(|user| user.readable.as_deref()) {
        tracing::warn!("[[users]] {warning}");
    }
}

fn shared_connections(
    context: &Context,
    users: &[GivenUser],
) -> Result<Option<Shared>, StartError> {
    let pooling = context.config.pooling;
    if !pooling.is_shared() {
        return Ok(None);
    }
    let limits =
        PoolLimits { size: pooling.size, idle_keep: pooling.idle_keep, lifetime: pooling.lifetime };
    let metrics = Arc::clone(&context.metrics);
    let (unlocked, wrong) = (metrics.unlocked_memory.clone(), metrics.given_wrong.clone());
    let secrets = LearnedSecrets::new(pooling.learn, unlocked, wrong);
    let secrets = secrets.map_err(|_| StartError::NoPool("no RSA key can be made"))?;
    let given = secrets.give(users);
    given.map_err(|_| StartError::NoPool("there is no memory for the passwords in [[users]]"))?;
    Ok(Some(Shared {
        pool: Pool::new(limits, metrics),
        secrets: Arc::new(secrets),
        programs: KnownPrograms::default(),
        audits: Audits::default(),
        examples: Arc::new(Paced::new(EXAMPLES)),
    }))
}

/// The connections that sessions of a listener share, if they do, and its first address.
pub(super) fn pool_of(context: &Context) -> Option<(String, Pool)> {
    let listen = context.config.listen.first().map(ToString::to_string).unwrap_or_default();
    context.shared.as_ref().map(|shared| (listen, shared.pool.clone()))
}

/// Work beside the sessions of these listeners that share connections; runs as long as the process.
pub(super) fn tend(contexts: &[&Context]) -> impl Future<Output = ()> + use<> {
    let accounts = contexts.iter().filter_map(|context| {
        let secrets = Arc::clone(&context.shared.as_ref()?.secrets);
        secrets.policy().learns().then_some((follow::route(context)?, secrets))
    });
    let accounts: Vec<_> = accounts.collect();
    let known = contexts.iter().filter_map(|context| {
        let Shared { programs, audits, .. } = context.shared.clone()?;
        Some((follow::route(context)?, programs, audits))
    });
    let known: Vec<_> = known.collect();
    let pools: Vec<_> = contexts.iter().filter_map(|context| context.shared.clone()).collect();
    async {
        let mut tended: JoinSet<()> = pools.into_iter().map(|shared| shared.pool.tend()).collect();
        for (route, known, audited) in known {
            tended.spawn(audits::tend(route.clone(), audited));
            tended.spawn(programs::tend(route, known));
        }
        for (route, secrets) in accounts {
            tended.spawn(verifiers::tend(route, secrets));
        }
        while tended.join_next().await.is_some() {}
    }
}
