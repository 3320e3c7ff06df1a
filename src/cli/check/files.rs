//! Files and folders: whether certificates are good by their dates, and whether the state directory
//! can be written.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use humantime::format_rfc3339_seconds;

use super::findings::Findings;
use crate::config::{Config, Mode};
use crate::net::certificate_dates::{self, Validity};
use crate::private;

const DATES: &str = "certificates";

/// Checks the certificate that the windows over HTTP show.
pub(super) fn pages(config: &Config, findings: &mut Findings) {
    if let Some(pair) = config.http.as_ref().and_then(|http| http.tls.as_ref()) {
        shown("http_tls_cert", &pair.cert, findings);
    }
}

/// Checks the certificates for one listener's clients, and for its server.
pub(super) fn certificates(config: &Config, findings: &mut Findings) {
    if let Some(pair) = &config.tls.pair {
        shown("tls_cert", &pair.cert, findings);
    }
    for pair in &config.backend_tls.pairs {
        shown("backend_tls_cert", &pair.cert, findings);
    }
    let trusted = [("tls_client_ca", &config.tls.ca), ("backend_tls_ca", &config.backend_tls.ca)];
    for (key, path) in trusted {
        if let Some(path) = path {
            vouching(key, path, findings);
        }
    }
}

/// None of what is shown may be out of its time.
fn shown(key: &str, path: &Path, findings: &mut Findings) {
    // A file that cannot be read is reported with the others that TLS needs.
    for standing in certificate_dates::of_file(path).unwrap_or_default() {
        tell(&standing, &named(key, path), findings);
    }
}

/// Of several that may vouch, one that is good suffices.
fn vouching(key: &str, path: &Path, findings: &mut Findings) {
    let all = certificate_dates::of_file(path).unwrap_or_default();
    let good = |standing: &Validity| matches!(standing, Validity::Good | Validity::EndsSoon(_));
    let one_is_good = all.iter().any(good);
    for standing in &all {
        if one_is_good {
            warn_of(standing, &named(key, path));
        } else {
            tell(standing, &named(key, path), findings);
        }
    }
}

fn named(key: &str, path: &Path) -> String {
    format!("{key}, {}", path.display())
}

fn tell(standing: &Validity, whose: &str, findings: &mut Findings) {
    match standing {
        Validity::Expired(_) | Validity::NotYet(_) => {
            findings.failed(DATES, said(standing, whose).unwrap_or_default());
        }
        Validity::Good | Validity::EndsSoon(_) => warn_of(standing, whose),
    }
}

/// Warns of a certificate whose end shuts nobody out.
pub(super) fn warn_of(standing: &Validity, whose: &str) {
    if let Some(said) = said(standing, whose) {
        Findings::warn(said);
    }
}

fn said(standing: &Validity, whose: &str) -> Option<String> {
    Some(match *standing {
        Validity::Good => return None,
        Validity::EndsSoon(end) => {
            format!("{whose}: expires at {}, renew it", format_rfc3339_seconds(end))
        }
        Validity::Expired(end) => {
            format!("{whose}: expired at {}, renew it", format_rfc3339_seconds(end))
        }
        Validity::NotYet(begin) => format!(
            "{whose}: is not valid before {}; is the clock right?",
            format_rfc3339_seconds(begin)
        ),
    })
}

/// Whether the state directory can be written. One that is not there is not made: another user than
/// this one may serve.
pub(super) fn state_dir(config: &Config, findings: &mut Findings) {
    const LABEL: &str = "state directory";
    let lost = match config.mode {
        Mode::Observe => "there is no report",
        Mode::Coexist => "the rows of its locks stay for the lease after kill -9",
        Mode::Durable => "a restart after kill -9 waits for the lease",
    };
    let Some(path) = config.state_dir.as_deref() else {
        return Findings::fine(LABEL, format_args!("none: {lost}"));
    };
    let shown = path.display();
    let tried = if path.exists() { try_to_write(path) } else { try_to_make(path) };
    match tried {
        Ok(()) if path.exists() => Findings::fine(LABEL, format_args!("ok: {shown}")),
        Ok(()) => Findings::fine(LABEL, format_args!("ok: {shown}, will be created at start")),
        Err(e) => findings.failed(LABEL, format_args!("{shown}: {e}; without it, {lost}")),
    }
    if let Some(warning) = private::shared_folder(path) {
        Findings::warn(warning);
    }
}

fn try_to_write(dir: &Path) -> io::Result<()> {
    let file = dir.join(format!("check-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&file)?;
    fs::remove_file(&file)
}

/// Makes another one beside it: directories made on the way could not be told from existing ones.
fn try_to_make(dir: &Path) -> io::Result<()> {
    let mut above = dir.to_path_buf();
    while !above.exists() && above.pop() {}
    let tried = above.join(format!("lockstead-check-{}", std::process::id()));
    fs::create_dir(&tried)?;
    fs::remove_dir(&tried)
}
