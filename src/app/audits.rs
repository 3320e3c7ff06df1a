//! Answers what sessions with shared server connections ask about their own connections.

use crate::frontend::shared::audits::{AuditRequest, Audits};
use crate::servers::route::{KeptConnection, StoreRoute};
use crate::store::connection::StoreError;
use crate::store::session_lists::SessionLists;

/// Answers one question after the other. Runs as long as the process.
pub(super) async fn tend(route: StoreRoute, audits: Audits) {
    let mut link = KeptConnection::new(route);
    let mut said = false;
    while let Some(AuditRequest { conn, server, answer }) = audits.next().await {
        if answer.is_closed() {
            continue;
        }
        let lists = async {
            let (store, to) = link.get().await?;
            // A session may be on another server than the writer.
            if to.backend().to_string() == server {
                store.session_lists(conn).await
            } else {
                Ok(None)
            }
        };
        let lists: Result<Option<SessionLists>, StoreError> = lists.await;
        let why = match &lists {
            Ok(Some(_)) => None,
            Ok(None) => Some(
                "the server does not list what they leave, or not to the store account".to_owned(),
            ),
            Err(e) => Some(e.to_string()),
        };
        if let Some(why) = why.filter(|_| !std::mem::replace(&mut said, true)) {
            tracing::warn!(
                why,
                "sessions keep their connections after stored programs: run `lockstead check`"
            );
        }
        if lists.is_err() {
            link.close();
        }
        // A session that has waited for too long does not hear it.
        let _ = answer.send(lists.ok().flatten());
    }
}
