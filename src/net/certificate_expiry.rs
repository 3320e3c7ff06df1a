//! Until when the certificates are good that the proxy shows, and those by which it checks others.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::certificate_dates::{self, Validity};
use super::certificates::read_certificates;
use crate::config::Config;
use crate::config::tls::StoreTls;

/// Ends of certificates, as they were read last.
#[derive(Debug, Default)]
pub struct Ends(Vec<(&'static str, SystemTime)>);

impl Ends {
    /// Reads those that the settings name, and logs those that expire soon or have expired. Unreadable
    /// ones are reported where they are used.
    pub fn read(config: &Config) -> Self {
        let mut ends = Self::default();
        let (tls, backend) = (&config.tls, &config.backend_tls);
        let shown = tls.pair.iter().map(|pair| ("tls_cert", &pair.cert));
        let http = config.http.iter().filter_map(|http| http.tls.as_ref());
        let shown = shown.chain(http.map(|pair| ("http_tls_cert", &pair.cert)));
        for (key, path) in shown.chain(backend.pairs.iter().map(|p| ("backend_tls_cert", &p.cert)))
        {
            // A chain ends with its first end.
            ends.put(key, path, |ends| ends.min());
        }
        let store = config.store.iter().filter_map(|store| match &store.tls {
            StoreTls::VerifyCa(ca) | StoreTls::VerifyIdentity(ca) => Some(("backend_tls_ca", ca)),
            StoreTls::Off | StoreTls::Required => None,
        });
        let trusted = tls.ca.iter().map(|ca| ("tls_client_ca", ca));
        for (key, path) in
            trusted.chain(backend.ca.iter().map(|ca| ("backend_tls_ca", ca))).chain(store)
        {
            // If several authorities vouch, the old ones may have ended.
            ends.put(key, path, |ends| ends.max());
        }
        ends
    }

    fn put(
        &mut self,
        key: &'static str,
        path: &Path,
        which: impl Fn(&mut dyn Iterator<Item = SystemTime>) -> Option<SystemTime>,
    ) {
        let Ok(all) = read_certificates(path) else { return };
        let Some(end) = which(&mut all.iter().filter_map(certificate_dates::end)) else { return };
        let known = self.0.iter_mut().find(|(known, _)| *known == key);
        let days = |later: SystemTime, sooner: SystemTime| {
            later.duration_since(sooner).unwrap_or_default().as_secs() / 86_400
        };
        let now = certificate_dates::now();
        match certificate_dates::standing(end) {
            Validity::Expired(_) => tracing::error!(
                setting = key,
                path = %path.display(),
                days = days(now, end),
                "a certificate has expired: peers that check it refuse it; renew it, then reload"
            ),
            Validity::EndsSoon(_) => tracing::warn!(
                setting = key,
                path = %path.display(),
                days = days(end, now),
                "a certificate expires soon: renew it, then reload"
            ),
            Validity::Good | Validity::NotYet(_) => {}
        }
        match known {
            Some((_, earliest)) => *earliest = end.min(*earliest),
            None => self.0.push((key, end)),
        }
    }

    /// The setting that names it, and its end in seconds since 1970.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, i64)> {
        self.0.iter().map(|(key, end)| {
            let since = end.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            (*key, i64::try_from(since).unwrap_or(i64::MAX))
        })
    }
}
