//! Why TLS cannot be set up.

use std::path::PathBuf;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read as what it should be.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// Certificate and key, or a CA, are refused.
    #[error("{0}")]
    Refused(String),
    /// The disk is full or may not be written now: with the same settings a later start may succeed.
    #[error("{path}: {problem}")]
    Disk {
        /// The directory.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
}
