//! Commands for the prepared statements of a session that shares its connections: the statement may not be on the one
//! that the session has now.

use crate::frontend::link::Link;
use crate::frontend::link::from_client::CommandAction;
use crate::frontend::pooling::address::statement_of;
use crate::frontend::pooling::statements::Whereabouts;
use crate::net::buffers::BUFFER;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;

/// The types of an execution's values end within this many bytes, unless it binds more parameters than a statement may
/// have that can be prepared again.
const HEAD: usize = 4096;

/// What to do with the command at the start of `bytes`, of which the first frame has `len` bytes. `None`: the statement is
/// where the session is, or the server needs none.
pub(crate) fn decide_elsewhere(link: &mut Link, bytes: &[u8], len: usize) -> Option<CommandAction> {
    let size = HEADER + len;
    if bytes.len() < if size <= BUFFER { size } else { HEAD } {
        return Some(CommandAction::Incomplete);
    }
    let (command, id) = statement_of(bytes)?;
    if link.pooled().is_preparing() {
        // The meaning of the id is known when the server has answered.
        return Some(CommandAction::Bring(id));
    }
    if matches!(command, Command::STMT_CLOSE | Command::STMT_RESET) {
        return None;
    }
    match link.pooled().whereabouts(id) {
        Whereabouts::Away => return Some(CommandAction::Bring(id)),
        Whereabouts::Refused => return Some(CommandAction::Drop(id)),
        Whereabouts::Here | Whereabouts::Unknown => {}
    }
    if matches!(command, Command::STMT_EXECUTE | Command::MARIADB_BULK_EXECUTE) {
        if size > BUFFER && link.pooled().lacks_room(bytes, link.capabilities()) {
            return Some(CommandAction::Drop(id));
        }
        let alone = !link.owed().any_for_client();
        link.pooled_mut().note_execution(id, alone);
    }
    None
}
