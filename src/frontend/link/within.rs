//! Parts of what was read from a peer.

use std::slice::SliceIndex;

use super::close_reason::CloseReason;

/// The bytes at these places. That they are not there ends the session, not the program.
pub(crate) fn within<I>(bytes: &[u8], places: I) -> Result<&[u8], CloseReason>
where
    I: SliceIndex<[u8], Output = [u8]>,
{
    bytes.get(places).ok_or(CloseReason::Broken("a count of bytes went beyond what was read"))
}
