//! User names as servers read them: which names mean one account in every login.
//!
//! A server converts the name of a login from the character set of the login's collation to utf8, and looks for an
//! account by the result. So the same bytes may mean several accounts, and several names one. MySQL cuts a name before
//! a character that is broken off; MariaDB writes `?` for that. Both take quotes away and cut what is too long.

use std::fmt;

use super::handshake::{ChangeUser, Login};
use crate::types::Flavour;

/// Characters of a user name.
const LONGEST: usize = 32;
/// Characters of a user name on MariaDB.
const LONGEST_OF_MARIADB: usize = 128;

/// A user name as a login says it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UserName {
    bytes: Box<[u8]>,
    certain: bool,
}

impl UserName {
    /// In a login with this collation. `None`: any.
    pub fn of_login(name: &[u8], collation: Option<u8>, flavour: Flavour) -> Self {
        Self { bytes: name.into(), certain: is_certain(name, collation, flavour) }
    }

    /// What was said.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The name in utf8, if equal ones mean the same account. Otherwise only the server can tell whose the login is.
    pub fn certain(&self) -> Option<&[u8]> {
        self.certain.then_some(&self.bytes)
    }
}

impl fmt::Debug for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.bytes), f)
    }
}

impl Login<'_> {
    /// The user name, as this server reads it.
    pub fn user_name(&self, flavour: Flavour) -> UserName {
        UserName::of_login(self.user, Some(self.collation), flavour)
    }
}

impl ChangeUser<'_> {
    /// The collation, if a login can name it: that has room for one byte.
    pub fn collation_of_login(&self) -> Option<u8> {
        self.collation.and_then(|collation| u8::try_from(collation).ok())
    }

    /// The user name, as this server reads it, here and in a login.
    pub fn user_name(&self, flavour: Flavour) -> UserName {
        UserName::of_login(self.user, self.collation_of_login(), flavour)
    }
}

fn is_certain(name: &[u8], collation: Option<u8>, flavour: Flavour) -> bool {
    let longest = match flavour {
        Flavour::MySql => LONGEST,
        Flavour::MariaDb => LONGEST_OF_MARIADB,
    };
    let Ok(text) = std::str::from_utf8(name) else { return false };
    if text.chars().nth(longest).is_some() {
        return false;
    }
    let charset = collation.map_or(Charset::Other, |id| Charset::of(id, flavour));
    text.chars().all(|letter| match letter {
        // These letters are equal in each character set of a client.
        '0'..='9' | 'A'..='Z' | 'a'..='z' | '_' | '-' | '.' => true,
        '\'' => false,
        // In swe7 some of these signs are letters.
        ' '..='~' => charset != Charset::Other,
        // Servers keep names in utf8mb3, which has no others.
        '\u{a0}'..='\u{ffff}' => charset == Charset::Utf8,
        _ => false,
    })
}

/// How a server reads a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    /// As ASCII, as far as that goes.
    Ascii,
    /// In another way, or it depends on the server.
    Other,
}

impl Charset {
    /// By a collation's number, if every release reads it so. The number of one that a server does not have means the
    /// server's own character set.
    fn of(collation: u8, flavour: Flavour) -> Self {
        match collation {
            33 | 45 | 46 | 83 | 192..=215 | 223..=247 => Self::Utf8,
            255 if flavour == Flavour::MySql => Self::Utf8,
            // ascii, latin1, binary
            5 | 8 | 11 | 15 | 31 | 47..=49 | 63 | 65 | 94 => Self::Ascii,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTF8MB4: Option<u8> = Some(45);
    const LATIN1: Option<u8> = Some(8);
    const SWE7: Option<u8> = Some(10);
    const UCS2: Option<u8> = Some(35);
    const UTF8MB4_0900: Option<u8> = Some(255);

    fn certain(name: &[u8], collation: Option<u8>, flavour: Flavour) -> bool {
        UserName::of_login(name, collation, flavour).certain() == Some(name)
    }

    #[test]
    fn a_name_is_certain_where_every_server_reads_it_as_it_stands() {
        let e = "\u{e9}".as_bytes();
        for (name, collation, expected) in [
            (&b"app_2.x-y"[..], None, true),
            (b"app_2.x-y", SWE7, true),
            (b"app_2.x-y", UCS2, true),
            (b"", LATIN1, true),
            (b"app@shop", LATIN1, true),
            (b"app@shop", SWE7, false),
            (b"o[b", SWE7, false),
            (b"o[b", None, false),
            (e, UTF8MB4, true),
            (e, LATIN1, false),
            (e, None, false),
            (b"\xe9", LATIN1, false),
            (b"bob\xc3", UTF8MB4, false),
            (b"'bob'", UTF8MB4, false),
            (b"bob\x01", UTF8MB4, false),
            ("\u{85}".as_bytes(), UTF8MB4, false),
            ("\u{1f600}".as_bytes(), UTF8MB4, false),
        ] {
            for flavour in [Flavour::MySql, Flavour::MariaDb] {
                let case = String::from_utf8_lossy(name);
                assert_eq!(certain(name, collation, flavour), expected, "{case} {collation:?}");
            }
        }
        assert!(certain(e, UTF8MB4_0900, Flavour::MySql));
        assert!(!certain(e, UTF8MB4_0900, Flavour::MariaDb), "the server's own character set");
    }

    #[test]
    fn a_name_that_a_server_cuts_is_not_certain() {
        let name = |length: usize| "\u{4e2d}".repeat(length).into_bytes();
        for (flavour, longest) in [(Flavour::MySql, 32), (Flavour::MariaDb, 128)] {
            assert!(certain(&name(longest), UTF8MB4, flavour));
            assert!(!certain(&name(longest + 1), UTF8MB4, flavour));
        }
    }

    #[test]
    fn the_same_bytes_are_two_names_where_one_is_not_certain() {
        let of = |collation| UserName::of_login("\u{e9}".as_bytes(), collation, Flavour::MySql);
        assert_eq!(of(UTF8MB4), of(Some(33)));
        assert_ne!(of(UTF8MB4), of(LATIN1));
    }
}
