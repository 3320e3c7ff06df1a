//! Token and certificate of the windows, as their files were read last.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;

use super::error::HttpError;
use crate::config::Http;
use crate::net::certificates::http_config;

/// Shortest token taken, in bytes.
const TOKEN: usize = 16;

/// The token and certificate in force. All clones change together.
#[derive(Clone)]
pub struct Keys {
    files: Arc<Http>,
    now: Arc<ArcSwap<LoadedKeys>>,
}

/// The contents of the files.
pub struct LoadedKeys {
    token: Option<Arc<str>>,
    tls: Option<Arc<ServerConfig>>,
}

impl Keys {
    /// Reads the files that the settings name.
    pub fn load(settings: &Http) -> Result<Self, HttpError> {
        let now = Arc::new(ArcSwap::from_pointee(read(settings)?));
        Ok(Self { files: Arc::new(settings.clone()), now })
    }

    /// Reads the same files again.
    pub fn again(&self) -> Result<LoadedKeys, HttpError> {
        read(&self.files)
    }

    /// Has what was read again in force.
    pub fn put(&self, read: LoadedKeys) {
        self.now.store(Arc::new(read));
    }

    /// The token that requests for the page must have.
    pub(super) fn token(&self) -> Option<Arc<str>> {
        self.now.load().token.clone()
    }

    /// With what connections are encrypted; none: in clear, for as long as the process lives.
    pub(super) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.now.load().tls.clone()
    }
}

fn read(settings: &Http) -> Result<LoadedKeys, HttpError> {
    let token = settings.token.as_deref().map(read_token).transpose()?;
    let tls = settings.tls.as_ref().map(http_config).transpose()?.map(Arc::new);
    Ok(LoadedKeys { token, tls })
}

/// A file that its owner alone may read, with one line.
fn read_token(path: &Path) -> Result<Arc<str>, HttpError> {
    let wrong = |problem: String| HttpError::Token { path: path.display().to_string(), problem };
    let mode = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.mode();
    if mode & 0o077 != 0 {
        return Err(wrong("other users may read it: chmod 600".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let token = text.trim();
    let plain = token.bytes().all(|b| b.is_ascii_graphic());
    if token.len() < TOKEN || !plain {
        return Err(wrong(format!(
            "has no token of at least {TOKEN} letters, digits and signs; create one with `openssl rand -hex 24`"
        )));
    }
    Ok(token.into())
}
