//! Responses that are still to come, and statements that the server still has to see.

use crate::protocol::command::Shape;
use crate::protocol::refusal::Refusal;

/// A response that the server owes.
#[derive(Debug)]
pub(super) struct Owed {
    pub(super) shape: Shape,
    pub(super) whose: Whose,
}

/// Who asked for a response.
#[derive(Debug)]
pub(super) enum Whose {
    /// The client, for a statement as it stands.
    Clients,
    /// The client, for a statement that was spoilt on its way: the server's refusal is replaced.
    Refused(Box<Refusal>),
    /// The proxy: not for the client.
    Hidden,
    /// The proxy, which repeats this packet some times if it fails: a KILL QUERY for the client's
    /// wait may come late, and hit the release of its gate.
    Release(Box<[u8]>, u8),
    /// The proxy, to show a wait: kept until it is complete.
    Gate(Vec<u8>),
}

/// Statements that the server has not seen because the proxy answered them: what they would
/// have left behind in its session (row count, found rows, warnings) is caught up before it
/// runs anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Behind {
    pub(super) select: bool,
    pub(super) then_do: bool,
}
