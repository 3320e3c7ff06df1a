//! Mode coexist: the server grants its own lock, and the row follows before the client gets the answer.

mod answer;
mod claim;
pub(super) mod late;
mod native_only;
pub(super) mod settle;
