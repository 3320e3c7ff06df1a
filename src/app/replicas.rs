//! What the listeners of a cluster have for themselves that lead to replicas.

use std::sync::Arc;

use crate::backend::own::{Credentials, Guard};
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::{HostPort, ListenerRole};
use crate::frontend::shared::context::Context;
use crate::frontend::shared::switchover::Switchover;
use crate::servers::replicas::Replicas;

/// What they share, beside all that the whole cluster shares.
#[derive(Clone)]
pub(super) struct ReplicaParts {
    replicas: Replicas,
    spares: Spares,
    reach: Reach,
    /// None is ever on: a switch of the writer concerns no statement at a replica.
    switchover: Switchover,
}

impl ReplicaParts {
    /// The parts of a cluster, if one of its listeners leads to replicas.
    pub(super) fn of(context: &Context) -> Option<Self> {
        if !context.config.has_replicas {
            return None;
        }
        let (writer, metrics) = (context.reach.writer(), &context.metrics);
        let gauge = |backend: &HostPort| {
            metrics.replica_sessions.with_label_values(&[&*backend.to_string()])
        };
        Some(Self {
            replicas: Replicas::of(writer, gauge),
            spares: Spares::new(context.spares.connect_timeout()),
            reach: Reach::of_replicas(writer.clone()),
            switchover: Switchover::new(context.cluster.as_deref(), &context.registry, metrics),
        })
    }

    /// Which servers they lead to.
    pub(super) fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// A listener's context, with these instead of the cluster's own if it leads there.
    pub(super) fn given_to(this: Option<&Self>, context: Context) -> Context {
        match this.filter(|_| context.config.role == ListenerRole::Replica) {
            Some(Self { replicas, spares, reach, switchover }) => Context {
                replicas: Some(replicas.clone()),
                spares: spares.clone(),
                reach: reach.clone(),
                switchover: switchover.clone(),
                ..context
            },
            None => context,
        }
    }

    /// Completes connections whose client has left before its login; runs as long as the process.
    pub(super) async fn tend(self, account: Credentials, guard: impl Fn() -> Arc<Guard>) {
        self.spares.tend(account, guard, self.reach).await;
    }

    /// Completes the last connections whose client has left before its login.
    pub(super) async fn finish(&self, account: &Credentials, guard: &Guard) {
        self.spares.finish(account, guard, &self.reach).await;
    }
}
