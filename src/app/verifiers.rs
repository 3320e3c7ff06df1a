//! Keeps what a proxy with shared server connections knows of MariaDB's accounts up to date.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::learned::LearnedSecrets;
use crate::protocol::recover::Scheme;
use crate::servers::route::{KeptConnection, StoreRoute};
use crate::store::connection::StoreError;

/// How often accounts are read. A password that was changed is noticed by the login that fails, too.
const EVERY: Duration = Duration::from_secs(10);

/// Reads the accounts again and again. Runs as long as the process.
pub(super) async fn tend(route: StoreRoute, secrets: Arc<LearnedSecrets>) {
    let mut link = KeptConnection::new(route);
    let mut said = false;
    loop {
        let begun = Instant::now();
        secrets.verifier_reads().note_start();
        let done = read(&mut link, &secrets).await;
        secrets.verifier_reads().end();
        if let Err(e) = done {
            link.close();
            let refused = matches!(e, StoreError::Refused { .. });
            if refused && !std::mem::replace(&mut said, true) {
                tracing::warn!(
                    error = %e,
                    "the store account may not read mysql.global_priv: sessions of accounts with mysql_native_password keep \
                     their connection to the server; GRANT SELECT ON mysql.global_priv to it"
                );
            }
        }
        secrets.verifier_reads().next(begun, EVERY).await;
    }
}

async fn read(link: &mut KeptConnection, secrets: &LearnedSecrets) -> Result<(), StoreError> {
    let (conn, _) = link.get().await?;
    for account in conn.account_verifiers().await? {
        secrets.learn_verifier(&account.user, Scheme::Native, &account.verifier);
    }
    Ok(())
}
