//! Why HTTP cannot be served.

use crate::net::certificates::TlsError;

/// Why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The token's file cannot be used.
    #[error("http_token_file {path}: {problem}")]
    Token {
        /// The file.
        path: String,
        /// The problem.
        problem: String,
    },
    /// There is no TLS as the settings want it.
    #[error("http: {0}")]
    Tls(#[from] TlsError),
}
