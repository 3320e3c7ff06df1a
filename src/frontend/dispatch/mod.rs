//! What happens to the client's commands.

pub(super) mod decide;
mod elsewhere;
mod kill;
pub(super) mod text;
pub(super) mod watched;
