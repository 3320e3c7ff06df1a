//! From when until when certificates are good.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, RootCertStore};

use super::certificates::{provider, read_certificates};
use super::tls_error::TlsError;

/// An end that is nearer than this is reported.
const SOON: Duration = Duration::from_hours(30 * 24);

/// How a certificate stands by its dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// Good.
    Good,
    /// Good, but not for long.
    EndsSoon(SystemTime),
    /// The certificate is not good any more, since this time.
    Expired(SystemTime),
    /// The certificate is not good before this time.
    NotYet(SystemTime),
}

/// How each certificate of a file stands.
pub fn of_file(path: &Path) -> Result<Vec<Validity>, TlsError> {
    Ok(read_certificates(path)?.iter().map(of).collect())
}

/// How a certificate stands; one whose dates cannot be read counts as good: others judge that.
pub fn of(certificate: &CertificateDer<'_>) -> Validity {
    let at = |since: Duration| UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH);
    match dates(certificate) {
        Some((begin, _)) if at(begin) > now() => Validity::NotYet(at(begin)),
        Some((_, end)) => standing(at(end)),
        None => Validity::Good,
    }
}

/// How one stands that has begun and ends at this moment.
pub(super) fn standing(end: SystemTime) -> Validity {
    if end <= now() {
        Validity::Expired(end)
    } else if end <= now() + SOON {
        Validity::EndsSoon(end)
    } else {
        Validity::Good
    }
}

/// The moment by which certificates are judged.
pub(super) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(UnixTime::now().as_secs())
}

/// When a certificate ends; `None` if that cannot be read.
pub(super) fn end(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, end) = dates(certificate)?;
    UNIX_EPOCH.checked_add(end)
}

/// First and last moment since 1970. A verifier looks at a certificate's dates first, and names
/// them at moments when it is not good.
fn dates(certificate: &CertificateDer<'_>) -> Option<(Duration, Duration)> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).ok()?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
    let verifier = verifier.build().ok()?;
    let name = ServerName::try_from("localhost").ok()?;
    let judge = |moment: Duration| {
        let moment = UnixTime::since_unix_epoch(moment);
        match verifier.verify_server_cert(certificate, &[], &name, &[], moment) {
            Err(rustls::Error::InvalidCertificate(e)) => Some(e),
            _ => None,
        }
    };
    // The last second that a certificate can name.
    let last = Duration::from_secs(253_402_300_799);
    match (judge(Duration::ZERO)?, judge(last)) {
        (
            CertificateError::NotValidYetContext { not_before, .. },
            Some(CertificateError::ExpiredContext { not_after, .. }),
        ) => {
            let since = |time: UnixTime| Duration::from_secs(time.as_secs());
            Some((since(not_before), since(not_after)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, IsCa, KeyPair};

    use super::*;

    fn from_to(begin: i32, end: i32, ca: bool) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["db".to_owned()]).expect("a name");
        params.not_before = rcgen::date_time_ymd(begin, 1, 1);
        params.not_after = rcgen::date_time_ymd(end, 1, 1);
        if ca {
            params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().clone()
    }

    #[test]
    fn dates_are_read_from_certificates_of_servers_and_authorities() {
        let year = |years: u64| UNIX_EPOCH + Duration::from_hours(24 * 365 * years);
        for ca in [false, true] {
            assert_eq!(of(&from_to(1999, 2199, ca)), Validity::Good);
            let Validity::Expired(end) = of(&from_to(1999, 2001, ca)) else { panic!("{ca}") };
            assert!(year(31) < end && end < year(32), "{end:?}");
            let Validity::NotYet(begin) = of(&from_to(2198, 2199, ca)) else { panic!("{ca}") };
            assert!(year(228) < begin && begin < year(229), "{begin:?}");
        }
        assert_eq!(of(&CertificateDer::from(vec![1, 2, 3])), Validity::Good);
    }
}
