//! KILL: ends a session of this proxy at its server.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::control::{ClusterView, Control, in_cluster};
use super::reply::{AdminReply, failed};
use crate::engine::handle::{Engine, SessionEvent};
use crate::frontend::shared::registry::SessionInfo;
use crate::protocol::reply::ErrorReply;
use crate::servers::writer::Destination;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::sessions::KillResult;
use crate::types::{BackendId, ConnectionId};

/// How long a server may take to end a connection before its session ends here.
const LAST_WORDS: Duration = Duration::from_millis(500);

impl Control {
    /// Several servers may have a connection of this id each: then none is killed by chance.
    pub(super) async fn kill(
        &self,
        id: u64,
        cluster: Option<&str>,
    ) -> Result<AdminReply, ErrorReply> {
        let conn = ConnectionId(id);
        let (cluster, session) = self.session_to_kill(conn, cluster)?;
        let Some(engine) = cluster.engine.as_ref() else {
            return Err(failed(
                "a proxy that observes has no account that could end sessions".into(),
            ));
        };
        let owner = String::from_utf8_lossy(&session.owner);
        let cluster_name = in_cluster(cluster);
        let did =
            format!("killed {owner}{cluster_name}; what it ran may have taken effect, or not");
        let killed = match session.backend.at_replica() {
            Some(to) => kill_at_replica(cluster, &to, BackendId(conn.0)).await?,
            None => self.kill_at_writer(cluster, engine, &session).await?,
        };
        if killed == KillResult::Accepted {
            return Ok(AdminReply::Did(None, did));
        }
        let message =
            "the store account may not end other accounts' sessions: GRANT CONNECTION_ADMIN \
                       (MariaDB: CONNECTION ADMIN) ON *.* to it"
                .to_owned();
        Err(ErrorReply { code: 1095, state: "HY000", message })
    }

    /// The one session with this id.
    fn session_to_kill(
        &self,
        conn: ConnectionId,
        cluster: Option<&str>,
    ) -> Result<(&ClusterView, Arc<SessionInfo>), ErrorReply> {
        let (id, meant) = (conn.0, self.meant(cluster)?);
        let sessions = self.registry.shown(usize::MAX);
        let in_cluster = |cluster: &'_ ClusterView| {
            let name = cluster.name.clone();
            let is = move |s: &&Arc<SessionInfo>| s.connection == conn && s.cluster == name;
            sessions.iter().filter(is).cloned().collect::<Vec<_>>()
        };
        let of = |cluster| in_cluster(cluster).into_iter().map(move |session| (cluster, session));
        let mut found: Vec<_> = meant.into_iter().flat_map(of).collect();
        if found.len() > 1 {
            let names: Vec<_> = found.iter().filter_map(|(of, _)| of.name.as_deref()).collect();
            if names.iter().collect::<HashSet<_>>().len() < found.len() {
                return Err(failed(format!(
                    "several servers have a session {id} each, as SHOW SESSIONS shows: end it with KILL at its own server"
                )));
            }
            return Err(failed(format!(
                "the clusters {} have a session {id} each: choose one, KILL {id} CLUSTER '{}'",
                names.join(", "),
                names.first().copied().unwrap_or_default()
            )));
        }
        found.pop().ok_or_else(|| {
            let message = format!("Unknown thread id: {id}; SHOW SESSIONS lists this proxy's");
            ErrorReply { code: 1094, state: "HY000", message }
        })
    }

    async fn kill_at_writer(
        &self,
        cluster: &ClusterView,
        engine: &Engine,
        session: &SessionInfo,
    ) -> Result<KillResult, ErrorReply> {
        let conn = session.connection;
        let own = session.backend.id().is_some_and(|backend| backend.as_session() == conn)
            && !conn.is_made();
        if !own && let Some(member) = self.registry.session(cluster.name.as_deref(), conn) {
            // Without this event, the session would go on with another connection; it may have none at this moment.
            let _ = member.events.send(SessionEvent::Stop);
            if let Some((backend, run)) = session.backend.condemn() {
                engine.kill(backend, run).await?;
            }
            return Ok(KillResult::Accepted);
        }
        let Some((backend, run)) = session.backend.condemn() else {
            let id = conn.0;
            return Err(failed(format!("the server does nothing for session {id} now: try again")));
        };
        let member = self.registry.session(cluster.name.as_deref(), conn);
        // The session passes the server's last words on. A server that is silent has none.
        let stop = tokio::spawn(async move {
            sleep(LAST_WORDS).await;
            member.is_some_and(|member| member.events.send(SessionEvent::Stop).is_ok())
        });
        match engine.kill(backend, run).await {
            Ok(KillResult::Accepted) => Ok(KillResult::Accepted),
            Ok(KillResult::NotAllowed) => {
                stop.abort();
                Ok(KillResult::NotAllowed)
            }
            // The session ends here. The locks go when the server is known to work for it no more.
            Err(_) if stop.await.unwrap_or(false) => Ok(KillResult::Accepted),
            Err(e) => Err(e.into()),
        }
    }
}

/// The engine knows the writer alone.
async fn kill_at_replica(
    cluster: &ClusterView,
    to: &Destination,
    backend: BackendId,
) -> Result<KillResult, ErrorReply> {
    let config = cluster.in_force.config();
    let kill = async {
        let store = config.store.as_ref();
        let url = store.ok_or_else(|| StoreError::Connect("there is no store account".into()))?;
        let mut conn = StoreConnection::open(&url.at(to.store()), config.connect_timeout).await?;
        let killed = conn.kill(backend.0).await;
        conn.close().await;
        killed
    };
    kill.await.map_err(|e| failed(format!("{} was not told: {e}", to.store())))
}
