//! Keeps what a proxy with shared server connections knows of stored programs up to date.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::frontend::shared::programs::KnownPrograms;
use crate::servers::route::{KeptConnection, StoreRoute};
use crate::sql::lexer::dialect::Dialect;
use crate::sql::session::stateful::StatefulNames;
use crate::store::connection::StoreError;

/// How often they are read, if no client is seen to change one.
const EVERY: Duration = Duration::from_mins(1);
/// A version that runs the code in versioned comments.
const NEWEST: u32 = 999_999;
/// The least pause between two readings.
const PAUSE: Duration = Duration::from_millis(200);

/// Reads them again and again. Runs as long as the process.
pub(super) async fn tend(route: StoreRoute, known: KnownPrograms) {
    let mut link = KeptConnection::new(route);
    let mut said = false;
    loop {
        if let Err(e) = read(&mut link, &known).await {
            link.close();
            if !std::mem::replace(&mut said, true) {
                tracing::warn!(error = %e, "stored programs cannot be read: their effects on sessions go unnoticed");
            }
        }
        sleep(PAUSE).await;
        // Nobody has changed one: it is read again nevertheless.
        let _ = timeout(EVERY, known.wait_until_stale()).await;
    }
}

async fn read(link: &mut KeptConnection, known: &KnownPrograms) -> Result<(), StoreError> {
    let (conn, _) = link.get().await?;
    // A text that differs by mode is judged in all modes.
    let dialect = Dialect::by_default(conn.flavour(), NEWEST);
    let reading = known.start_reading();
    let programs = conn.stored_programs().await?;
    known.learn(StatefulNames::of(&programs, dialect), reading);
    Ok(())
}
