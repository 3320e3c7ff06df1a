//! The settings in force as text: given values, and defaults from the commented sample.

use super::addresses::StoreUrl;
use super::keys::KEYS;
use super::raw::Raw;

/// The sample: each key with a default is a comment there.
const SAMPLE: &str = include_str!("../../config/lockstead.toml");

/// Each key with its value, empty if it has none. The store's password is left out.
pub(super) fn shown(raw: &Raw, store: Option<&StoreUrl>) -> Vec<(&'static str, String)> {
    let given = toml::Table::try_from(raw).unwrap_or_default();
    let value = |key: &'static str| match given.get(key) {
        _ if key == "store" => store.map(|url| format!("{url:?}")).unwrap_or_default(),
        Some(toml::Value::String(text)) => text.clone(),
        Some(toml::Value::Array(list)) => {
            let texts = list.iter().filter_map(|v| v.as_str());
            texts.collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
        None => default(key),
    };
    KEYS.iter().map(|key| (key.name, value(key.name))).collect()
}

fn default(key: &str) -> String {
    let line = SAMPLE
        .lines()
        .find_map(|line| line.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(" = "));
    line.unwrap_or_default().trim_matches(['"', '[', ']']).replace("\", \"", ", ")
}

#[cfg(test)]
mod tests {
    use super::super::raw::OneOrMore;
    use super::*;

    #[test]
    fn a_given_value_is_shown_or_else_the_default() {
        let raw = Raw {
            lease: Some("10s".to_owned()),
            workers: Some(3),
            tls_cert: Some("/a".to_owned()),
            proxy_protocol: Some(OneOrMore(vec!["10.0.0.0/8".to_owned(), "::1".to_owned()])),
            store: Some("mysql://u:tulip@h/db".to_owned()),
            ..Raw::default()
        };
        let store = StoreUrl::parse("mysql://u:tulip@h/db").expect("a URL");
        let all = shown(&raw, Some(&store));
        let of = |key: &str| {
            all.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str()).expect("a key")
        };
        for (key, value) in [
            ("lease", "10s"),
            ("workers", "3"),
            ("tls_cert", "/a"),
            ("proxy_protocol", "10.0.0.0/8, ::1"),
            ("store", "mysql://u:***@h:3306/db"),
            ("listen", "127.0.0.1:6033"),
            ("collect_after", "10m"),
            ("create_schema", "false"),
            ("backend_tls_key", ""),
            ("max_connections", "0"),
        ] {
            assert_eq!(of(key), value, "{key}");
        }
        assert!(!format!("{all:?}").contains("tulip"));
    }
}
