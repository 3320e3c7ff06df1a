//! Keeps packets from servers that they would count as broken handshakes. After
//! `max_connect_errors` of those, a server blocks the proxy's host.

use std::borrow::Cow;

use super::capabilities::Capabilities;
use super::handshake::{Greeting, Login};
use super::reply::ErrorReply;
use crate::types::Flavour;

const NATIVE: &[u8] = b"mysql_native_password";
const OLD: &[u8] = b"mysql_old_password";
const ED25519: &[u8] = b"client_ed25519";
/// MySQL has no accounts any more of clients that cannot name a plugin.
const WITHOUT_NATIVE: u32 = 90_000;

/// An answer to a plugin of the server's, or a wrong one of the length that it must have.
/// `in_full`: caching_sha2_password has asked for the password itself.
pub fn answer(plugin: &[u8], in_full: bool, answer: Vec<u8>) -> Vec<u8> {
    match plugin {
        NATIVE if !matches!(answer.len(), 0 | 20) => vec![1; 20],
        ED25519 if answer.len() != 64 => vec![1; 64],
        _ if in_full && answer.is_empty() => vec![7],
        _ => answer,
    }
}

/// The proof in the packet that begins a login or a change of user, or a wrong one of the length that it must have.
pub fn proof<'a>(plugin: &[u8], proof: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    // No plugin name means the oldest plugin.
    let native = plugin == NATIVE || plugin.is_empty();
    if native && !matches!(proof.len(), 0 | 20) { vec![1; 20].into() } else { proof }
}

/// The server's own error for a login that it would refuse before it looks at the user.
pub fn refusal(login: &Login<'_>, greeting: &Greeting) -> Option<ErrorReply> {
    let unable = match greeting.flavour {
        Flavour::MySql => {
            let plugins = greeting.capabilities.has(Capabilities::PLUGIN_AUTH);
            plugins && !login.names_plugin() && greeting.version_number() >= WITHOUT_NATIVE
        }
        Flavour::MariaDb => login.plugin == OLD,
    };
    if unable {
        return Some(ErrorReply {
            code: 1251,
            state: "08004",
            message: "Client does not support authentication protocol requested by server; \
                      consider upgrading MySQL client"
                .into(),
        });
    }
    // MariaDB reads the database's name in the client's character set, and breaks off at what is none.
    let garbled = greeting.flavour == Flavour::MariaDb
        && matches!(login.collation, 33 | 45 | 46 | 83 | 192..=247)
        && std::str::from_utf8(login.database).is_err();
    if garbled {
        let message = "Bad handshake".into();
        return Some(ErrorReply { code: 1043, state: "08S01", message });
    }
    unusable(login.collation, greeting.flavour).map(|charset| ErrorReply {
        code: 1231,
        state: "42000",
        message: format!(
            "Variable 'character_set_client' can't be set to the value of '{charset}'"
        ),
    })
}

/// The character set of a collation, if no client may speak it.
fn unusable(collation: u8, flavour: Flavour) -> Option<&'static str> {
    Some(match collation {
        17 if flavour == Flavour::MariaDb => "filename",
        35 | 90 | 128..=151 | 159 => "ucs2",
        54 | 55 | 101..=124 => "utf16",
        56 | 62 => "utf16le",
        60 | 61 | 160..=183 => "utf32",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_of_a_wrong_length_are_changed() {
        let said = |plugin: &[u8], full, length| answer(plugin, full, vec![9; length]);
        for length in [0, 20] {
            assert_eq!(said(NATIVE, false, length), vec![9; length]);
            assert_eq!(proof(b"", vec![9; length].into()), vec![9; length]);
        }
        assert_eq!(said(NATIVE, false, 19), [1; 20]);
        assert_eq!(proof(NATIVE, vec![9; 21].into()), [1; 20].as_slice());
        assert_eq!(proof(b"caching_sha2_password", vec![9; 32].into()), [9; 32].as_slice());
        assert_eq!(said(ED25519, false, 64), [9; 64]);
        assert_eq!(said(ED25519, false, 0), [1; 64]);
        assert_eq!(said(b"caching_sha2_password", true, 0), [7]);
        assert!(said(b"caching_sha2_password", false, 0).is_empty());
        assert_eq!(said(b"dialog", false, 3), [9; 3]);
    }
}
