//! What the client's next bytes are.

use crate::protocol::command::Command;
use crate::sql::find::stream::Stream;

/// What the client's next bytes are.
#[derive(Debug)]
pub(crate) enum ClientInput {
    /// A command.
    Command,
    /// The rest of a packet that is forwarded: bytes left in its frame, whether another frame
    /// follows, and with which sequence id. A long statement is searched for lock calls on its way.
    Body { left: usize, continued: bool, seq: u8, stream: Option<Box<Stream>> },
    /// The rest of a packet that is not forwarded.
    Dropped(Dropped),
    /// The file that the server asked for, up to an empty packet: bytes left in a frame, and the
    /// next one's sequence id.
    File { left: usize, seq: u8 },
    /// Both sides talk freely (replication).
    Pipe,
}

/// A packet that is read to its end and not forwarded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropped {
    /// The prepared statement that it is for.
    pub id: u32,
    /// Its command.
    pub command: Command,
    pub(super) left: usize,
    pub(super) continued: bool,
    /// Sequence id of the last frame.
    pub seq: u8,
}
