//! What happens to the client's commands.

pub(super) mod decide;
mod elsewhere;
pub(super) mod kill;
mod kill_computed;
mod kill_rights;
pub(super) mod prepared_noted;
pub(super) mod text;
pub(super) mod watched;
