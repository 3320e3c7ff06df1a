//! Why a question of an administrator has no answer.

use crate::store::connection::StoreError;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// Nobody is there to ask.
    #[error("there is no lock engine")]
    NoEngine,
    /// The lock tables have not answered, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}
