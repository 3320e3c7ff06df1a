//! The certificate that the proxy makes itself, at its first start, so that TLS works without a
//! setting.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::tls_error::TlsError;
use crate::private;

const CERT: &str = "tls-cert.pem";
const KEY: &str = "tls-key.pem";

/// A certificate and its private key.
pub(super) type CertificateAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The pair in the directory; made if there is none. Without a directory, one for this run.
pub fn pair(dir: Option<&Path>) -> Result<CertificateAndKey, TlsError> {
    let Some(dir) = dir else {
        let (cert, key) = make().map_err(|e| TlsError::Refused(e.to_string()))?;
        return read(cert.as_bytes(), key.as_bytes());
    };
    let failed = |e: &dyn ToString| TlsError::File { path: dir.to_owned(), problem: advice(e) };
    let (cert_path, key_path) = (dir.join(CERT), dir.join(KEY));
    if !(cert_path.exists() && key_path.exists()) {
        let (cert, key) = make().map_err(|e| failed(&e))?;
        let written = private::make_folder(dir)
            .and_then(|()| put(&key_path, &key, 0o600))
            .and_then(|()| put(&cert_path, &cert, 0o644));
        written.map_err(|e| not_written(dir, &e))?;
        tracing::info!(path = %cert_path.display(), "created a certificate for clients");
    }
    for path in [&cert_path, &key_path] {
        let found = fs::metadata(path).map_err(|e| failed(&e))?;
        let wrong = |problem| TlsError::File { path: path.clone(), problem };
        let warning = private::judge_secret(&found).map_err(wrong)?;
        if let Some(warning) = warning.filter(|_| *path == key_path) {
            tracing::warn!(path = %path.display(), "the key of the certificate for clients: {warning}");
        }
    }
    let cert = fs::read(&cert_path).map_err(|e| failed(&e))?;
    let key = fs::read(&key_path).map_err(|e| failed(&e))?;
    read(&cert, &key)
}

fn advice(problem: &dyn ToString) -> String {
    format!(
        "{}; Lockstead keeps its own certificate for clients here: set state_dir to a directory that \
         it can write, or set tls_cert and tls_key, or tls = \"off\"",
        problem.to_string()
    )
}

/// Space may come back by itself; rights do not.
fn not_written(dir: &Path, error: &io::Error) -> TlsError {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let (path, problem) = (dir.to_owned(), advice(error));
    match error.kind() {
        StorageFull | QuotaExceeded | ReadOnlyFilesystem => TlsError::Disk { path, problem },
        _ => TlsError::File { path, problem },
    }
}

fn read(cert: &[u8], key: &[u8]) -> Result<CertificateAndKey, TlsError> {
    let broken = |e: rustls::pki_types::pem::Error| TlsError::Refused(e.to_string());
    let cert = CertificateDer::from_pem_slice(cert).map_err(broken)?;
    Ok((vec![cert], PrivateKeyDer::from_pem_slice(key).map_err(broken)?))
}

fn make() -> Result<(String, String), rcgen::Error> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, "Lockstead (made by itself)");
    // The date does not matter: nobody verifies it.
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(2100, 1, 1);
    let key = KeyPair::generate()?;
    let cert = params.self_signed(&key)?;
    let text = |label: &str, der: &[u8]| {
        pem::encode_config(
            &Pem::new(label, der),
            EncodeConfig::new().set_line_ending(LineEnding::LF),
        )
    };
    Ok((text("CERTIFICATE", cert.der()), text("PRIVATE KEY", &key.serialize_der())))
}

/// Whole or not at all, for another process that starts at the same time.
fn put(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let unfinished = path.with_extension(format!("new-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let written = options.open(&unfinished).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    });
    if written.is_err() {
        // The file may not even be there.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_matter_of_settings() {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let dir = Path::new("/var/lib/lockstead");
        for kind in [StorageFull, QuotaExceeded, ReadOnlyFilesystem] {
            let error = not_written(dir, &kind.into());
            assert!(matches!(error, TlsError::Disk { .. }), "{kind:?}");
            assert!(error.to_string().contains("state_dir"), "{error}");
        }
        let error = not_written(dir, &PermissionDenied.into());
        assert!(matches!(error, TlsError::File { .. }), "{error}");
    }
}
