//! Why a configuration was refused.

/// Why a configuration was refused. Each names the key, what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no TOML, or has an unknown key or a wrong type.
    #[error("{path}:{line}: {message}")]
    Parse {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// A value is impossible.
    #[error("{place}`{key}`: {problem}")]
    Value {
        /// File and line of the key, or empty for a flag or variable.
        place: String,
        /// The key.
        key: &'static str,
        /// The problem, and what would be right.
        problem: String,
    },
}

/// A key, and what is wrong with its value.
pub(super) type WrongValue = (&'static str, String);
