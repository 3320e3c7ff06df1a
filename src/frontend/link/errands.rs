//! The errands of a session at the server that it has. How it gets to one, and leaves it: `moves`.

use super::Link;
use super::asker::Asker;
use super::errand::{Errand, ErrandKind};
use super::question::Whose;
use super::reply::{Keep, Reply};

/// Sends one packet of the client's and reads its whole response. Nothing may be owed before it.
pub(crate) fn run<'a>(link: &'a mut Link, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply> {
    Errand::new(ErrandKind::Statement, async move { Asker::of(link).exchange(packet, keep).await })
}

/// Runs a COM_STMT_PREPARE of the client's, as [`run`].
pub(crate) fn run_prepare<'a>(link: &'a mut Link, packet: &'a [u8]) -> Errand<'a, Reply> {
    Errand::new(ErrandKind::Statement, async { Asker::of(link).exchange_prepare(packet).await })
}

/// Asks something in which nothing is the client's: the server answers it at once, or not at all.
pub(crate) fn ask<'a>(link: &'a mut Link, packet: &'a [u8]) -> Errand<'a, Reply> {
    Errand::new(ErrandKind::Question, async { Asker::of(link).question(packet).await })
}

/// Sends packets that leave nothing in the session, as [`Asker::exchange_unseen`].
pub(crate) fn run_unseen(
    link: &mut Link,
    packets: Vec<Vec<u8>>,
    undone: bool,
    whose: Whose,
) -> Errand<'_, Reply> {
    Errand::new(ErrandKind::Fence, async move {
        Asker::of(link).exchange_unseen(packets, undone, whose).await
    })
}

/// Lets come in what the server owes.
pub(crate) fn settled(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::Settle, async { Asker::of(link).let_come_in().await })
}

/// Sends and hears all, before a login on the open connection.
pub(crate) fn drained(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::ChangeUser, async {
        link.server.drain().await?;
        link.client.drain().await?;
        link.server.until_certain(&link.buffers).await
    })
}
