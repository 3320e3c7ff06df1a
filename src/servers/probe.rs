//! Asks one server again and again whether it takes writes, over a connection of its own.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::cluster::ClusterSeat;
use super::heard::{ProbeAnswer, ServerState};
use super::writer::Writer;
use crate::clock;
use crate::config::StoreUrl;
use crate::store::connection::{StoreConnection, StoreError};

/// How often a server is asked.
const EVERY: Duration = Duration::from_millis(500);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(1);
/// How long a connect may take.
const CONNECT: Duration = Duration::from_secs(2);

/// An account that a replica would not refuse: whether that takes writes cannot be seen with it.
const PASSES: &str = "lets the store account write in spite of read_only (READ ONLY ADMIN, ALL PRIVILEGES): with several \
                      servers, use an account with the privileges that `lockstead grants` prints";

/// Asks until it is dropped.
pub(super) async fn keep_asking(writer: Writer, server: usize, mut probe: Probe) {
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let answer = probe.ask().await;
        writer.note_answer(server, answer, clock::now());
    }
}

/// The questions to one server.
pub(super) struct Probe {
    url: StoreUrl,
    limit: Duration,
    /// Whether sessions may be led to it while it takes no writes.
    reads: bool,
    conn: Option<StoreConnection>,
}

impl Probe {
    /// A probe of the server whose lock tables are at `url`.
    pub(super) fn new(url: StoreUrl, limit: Duration, reads: bool) -> Self {
        Self { url, limit: limit.min(CONNECT), reads, conn: None }
    }

    async fn ask(&mut self) -> ProbeAnswer {
        if let Some(mut conn) = self.conn.take() {
            match self.ask_on(&mut conn).await {
                Ok(answer) => {
                    self.conn = Some(conn);
                    return answer;
                }
                // The server may go on, and only this connection have ended.
                Err(StoreError::Lost(_)) => {}
                Err(e) => return refusal(&e),
            }
        }
        match self.ask_anew().await {
            Ok(answer) => answer,
            Err(e) => refusal(&e),
        }
    }

    async fn ask_anew(&mut self) -> Result<ProbeAnswer, StoreError> {
        let mut conn = StoreConnection::open(&self.url, self.limit).await?;
        if conn.passes_read_only().await? {
            conn.close().await;
            return Ok(ProbeAnswer::Said(ServerState::Unfit(PASSES)));
        }
        let answer = self.ask_on(&mut conn).await?;
        self.conn = Some(conn);
        Ok(answer)
    }

    /// Asks on this connection, which is of no use after an error.
    async fn ask_on(&mut self, conn: &mut StoreConnection) -> Result<ProbeAnswer, StoreError> {
        let seen = conn.writability(ANSWER).await?;
        let (ident, mut seat) = (conn.ident().to_owned(), ClusterSeat::of(&seen.membership));
        if let Some(why) = seen.refusal() {
            let (mut why, member) = (why.to_owned(), Some((ident, seat)));
            let in_cluster = seen.has_changes_of_cluster();
            let mut follows = in_cluster == Some(true);
            if self.reads && in_cluster.is_none() {
                follows = conn.follows(ANSWER).await?;
                if !follows {
                    why.push_str(", and applies no changes of another server");
                }
            }
            return Ok(ProbeAnswer::Said(ServerState::Closed { why, member, follows }));
        }
        if let Some(seat) = &mut seat {
            // Only of one that takes writes: others may leave a question about a table without an answer.
            seat.named = conn.reigning(ANSWER).await?;
        }
        Ok(ProbeAnswer::Said(ServerState::Writable { ident, seat, copies: seen.copies }))
    }
}

fn refusal(e: &StoreError) -> ProbeAnswer {
    match e {
        // The others: there are too many connections.
        StoreError::Silent(_) | StoreError::Refused { code: 1040 | 1203 | 1226, .. } => {
            ProbeAnswer::Late(e.to_string())
        }
        StoreError::Connect(why) | StoreError::Lost(why) if is_late(why) => {
            ProbeAnswer::Late(why.clone())
        }
        StoreError::Connect(why) | StoreError::Lost(why) => ProbeAnswer::Gone(why.clone()),
        StoreError::Refused { .. }
        | StoreError::Blind
        | StoreError::Method(_)
        | StoreError::Packet(_)
        | StoreError::Unwitnessed(_)
        | StoreError::Unchecked(_)
        | StoreError::Foreign(_) => {
            let why = format!("refuses the store account: {e}");
            ProbeAnswer::Said(ServerState::Closed { why, member: None, follows: false })
        }
    }
}

/// Whether the server may be there: it has not answered in time.
fn is_late(why: &str) -> bool {
    why.starts_with("no answer within")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_may_be_busy_is_late() {
        let refused = |code| StoreError::Refused { code, message: "no".to_owned() };
        for (e, late) in [
            (StoreError::Silent(ANSWER), true),
            (StoreError::Connect("no answer within 2s".to_owned()), true),
            (StoreError::Connect("Connection refused".to_owned()), false),
            (StoreError::Lost("broken pipe".to_owned()), false),
            (refused(1040), true),
            (refused(1045), false),
            (refused(1047), false),
        ] {
            assert_eq!(matches!(refusal(&e), ProbeAnswer::Late(_)), late, "{e}");
        }
        let denied = refusal(&refused(1045));
        assert!(matches!(denied, ProbeAnswer::Said(ServerState::Closed { .. })), "{denied:?}");
    }
}
