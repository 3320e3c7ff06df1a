//! Why a question of an administrator has no answer.

use crate::store::connection::StoreError;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The proxy runs without an engine.
    #[error("there is no lock engine")]
    NoEngine,
    /// The lock tables have not answered, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}
