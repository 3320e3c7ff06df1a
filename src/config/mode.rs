//! What the proxy does with lock calls.

/// What is done with lock calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The server keeps them; their users are reported.
    Observe,
    /// The server grants its own locks, and a row follows each before the client gets the answer.
    Coexist,
    /// Locks are rows in the lock tables.
    Durable,
}

impl Mode {
    /// As in the settings; the default first.
    pub(super) const NAMES: [(&str, Self); 3] =
        [("coexist", Self::Coexist), ("durable", Self::Durable), ("observe", Self::Observe)];

    /// As in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Coexist => "coexist",
            Self::Durable => "durable",
        }
    }
}
