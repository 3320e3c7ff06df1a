//! Opens another connection for a session's account.

use super::seat::Seat;
use crate::backend::connection::Backend;
use crate::backend::pool::Permit;
use crate::frontend::shared::context::Context;
use crate::protocol::capabilities::Capabilities;

/// Opens one. An error says why there is none.
pub(crate) async fn open_as(
    _: &Context,
    _: &Seat,
    _: Capabilities,
    _: Permit,
) -> Result<Backend, String> {
    Err("not yet".to_owned())
}
