//! Answers what sessions with shared server connections ask about their own connections.

use crate::frontend::shared::audits::{AuditRequest, Audits};
use crate::servers::route::StoreRoute;
use crate::servers::writer::Destination;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::session_lists::SessionLists;

/// Answers one question after the other. Runs as long as the process.
pub(super) async fn tend(route: StoreRoute, audits: Audits) {
    let mut link = None;
    let mut said = false;
    while let Some(AuditRequest { conn, server, answer }) = audits.next().await {
        if answer.is_closed() {
            continue;
        }
        let lists = async {
            let open = open(&route, &mut link, &server).await?;
            match open {
                Some(open) => open.session_lists(conn).await,
                None => Ok(None),
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
            link = None;
        }
        // A session that has waited for too long does not hear it.
        let _ = answer.send(lists.ok().flatten());
    }
}

/// The connection to a session's server, if that is the writer.
async fn open<'a>(
    route: &StoreRoute,
    link: &'a mut Option<(StoreConnection, Destination)>,
    server: &str,
) -> Result<Option<&'a mut StoreConnection>, StoreError> {
    link.take_if(|(_, to)| to.is_left());
    let (conn, to) = match link {
        Some(open) => open,
        None => link.insert(route.open().await?),
    };
    Ok((to.backend().to_string() == server).then_some(conn))
}
