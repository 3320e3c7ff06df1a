//! Accounts of clients whose passwords the configuration gives: `[[users]]`.
//!
//! The passwords are read into memory that is overwritten, and are no part of the settings that are kept and shown.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use toml::Table;
use zeroize::Zeroizing;

use crate::private;

/// Longest password, in bytes, that servers take.
const LONGEST: usize = 256;
/// Longest user name, in characters: MariaDB's.
const LONGEST_NAME: usize = 128;
/// Accounts of one cluster at most.
pub(super) const MOST: usize = 1024;

const SOURCES: [&str; 3] = ["password", "password_file", "password_env"];

/// An account of clients, and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenUser {
    /// User name.
    pub name: String,
    /// The password; empty if the account has none.
    pub password: Zeroizing<Vec<u8>>,
    /// A warning, if all users of this machine may read it.
    pub readable: Option<String>,
}

impl fmt::Debug for GivenUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:***", self.name)
    }
}

/// Reads a `[[users]]` table. Returns also the cluster that it names. No error shows a value but the name.
pub(super) fn read(mut table: Table) -> Result<(Option<String>, GivenUser), String> {
    let name = text(&mut table, "name")?.ok_or("name is missing")?;
    let name = name.as_str();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.contains('\0') {
        return Err(format!("name = {name:?}: give 1 to {LONGEST_NAME} characters"));
    }
    let wrong = |problem: &str| format!("name = {name:?}: {problem}");
    let cluster = text(&mut table, "cluster").map_err(|e| wrong(&e))?;
    let mut given = Vec::new();
    for key in SOURCES {
        if let Some(value) = text(&mut table, key).map_err(|e| wrong(&e))? {
            given.push((key, value));
        }
    }
    if let Some(key) = table.keys().next() {
        return Err(wrong(&format!("{key} does not belong here")));
    }
    let [(key, value)] = given.as_slice() else {
        return Err(wrong(&format!("give one of {}", SOURCES.join(", "))));
    };
    let (password, readable) = match *key {
        "password_file" => read_file(Path::new(value.as_str())).map_err(|e| wrong(&e))?,
        "password_env" => (of_variable(value).map_err(|e| wrong(&e))?, None),
        _ => (Zeroizing::new(value.as_bytes().to_vec()), None),
    };
    if password.len() > LONGEST {
        return Err(wrong(&format!("{key} has more than {LONGEST} bytes")));
    }
    if password.contains(&0) {
        return Err(wrong(&format!("{key} has a NUL, which no password can have")));
    }
    let cluster = cluster.map(|cluster| cluster.to_string());
    Ok((cluster, GivenUser { name: name.to_owned(), password, readable }))
}

/// Takes a text out of a table.
fn text(table: &mut Table, key: &str) -> Result<Option<Zeroizing<String>>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(Zeroizing::new(text))),
        Some(_) => Err(format!("{key} is no text")),
    }
}

/// What a file has, without the end of its line; and a warning, if all users may read it.
fn read_file(path: &Path) -> Result<(Zeroizing<Vec<u8>>, Option<String>), String> {
    let shown = path.display();
    let wrong = |problem: String| format!("password_file {shown}: {problem}");
    let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
    let found = file.metadata().map_err(|e| wrong(e.to_string()))?;
    if !found.is_file() {
        return Err(wrong("is no file".to_owned()));
    }
    let readable = private::judge_secret(&found).map_err(wrong)?;
    // No more memory is asked for while it is read, which would leave a copy.
    let most = LONGEST + 3;
    let mut text = Zeroizing::new(Vec::with_capacity(most + 1));
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    file.take(limit).read_to_end(&mut text).map_err(|e| wrong(e.to_string()))?;
    let end = text.strip_suffix(b"\n").map_or(text.len(), <[u8]>::len);
    let end = text[..end].strip_suffix(b"\r").filter(|_| end < text.len()).map_or(end, <[u8]>::len);
    text.truncate(end);
    Ok((text, readable.map(wrong)))
}

fn of_variable(name: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let value = std::env::var_os(name).map(|value| Zeroizing::new(value.into_vec()));
    value.ok_or_else(|| format!("password_env {name:?}: there is no such variable"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn given(text: &str) -> Result<(Option<String>, GivenUser), String> {
        read(text.parse().expect("TOML"))
    }

    fn password(text: &str) -> String {
        let (_, user) = given(text).expect(text);
        String::from_utf8(user.password.to_vec()).expect("text")
    }

    #[test]
    fn a_password_is_given_in_one_of_three_ways_and_not_shown() {
        assert_eq!(password("name = 'app'\npassword = 'tulip'"), "tulip");
        assert_eq!(password("name = 'app'\npassword = ''"), "");
        let path = std::env::var("PATH").expect("a variable that all have");
        if path.len() <= LONGEST {
            assert_eq!(password("name = 'app'\npassword_env = 'PATH'"), path);
        }
        let (cluster, user) =
            given("name = 'app'\npassword = 'tulip'\ncluster = 'shop'").expect("valid");
        assert_eq!(
            (cluster.as_deref(), format!("{user:?}")),
            (Some("shop"), "\"app\":***".to_owned())
        );
    }

    #[test]
    fn a_file_has_one_line_that_others_may_not_write() {
        let path = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        let asked = format!("name = 'app'\npassword_file = '{}'", path.display());
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode));
        for (text, expected) in [
            ("tulip", "tulip"),
            ("tulip\n", "tulip"),
            ("tulip\r\n", "tulip"),
            ("a b \n\n", "a b \n"),
            ("tulip\r", "tulip\r"),
            ("", ""),
        ] {
            std::fs::write(&path, text).expect("written");
            mode(0o600).expect("its own file");
            assert_eq!(password(&asked), expected, "{text:?}");
            assert_eq!(given(&asked).expect("valid").1.readable, None);
        }
        mode(0o644).expect("its own file");
        let (_, user) = given(&asked).expect("valid");
        assert!(user.readable.is_some_and(|says| says.contains("chmod 600")));
        mode(0o622).expect("its own file");
        assert!(given(&asked).expect_err("others may change it").contains("chmod 600"));
        std::fs::write(&path, "x".repeat(LONGEST + 1)).expect("written");
        mode(0o600).expect("its own file");
        assert!(given(&asked).expect_err("too long").contains("more than 256 bytes"));
        std::fs::remove_file(&path).expect("removed");
        let refused = given(&asked).expect_err("no file");
        assert!(refused.contains("\"app\"") && refused.contains("No such file"), "{refused}");
    }

    #[test]
    fn a_refusal_names_the_user_and_no_password() {
        for (text, says) in [
            ("password = 'tulip'", "name is missing"),
            ("name = 5\npassword = 'tulip'", "name is no text"),
            ("name = ''\npassword = 'tulip'", "1 to 128 characters"),
            ("name = 'app'", "give one of password, password_file, password_env"),
            ("name = 'app'\npassword = 'tulip'\npassword_env = 'X'", "give one of"),
            ("name = 'app'\npassword = ['tulip']", "password is no text"),
            ("name = 'app'\npassword = 'LONG'", "password has more"),
            ("name = 'app'\nhost = 'tulip'\npassword = 'tulip'", "host does not belong here"),
            ("name = 'app'\npassword_env = 'LOCKSTEAD_NO_SUCH'", "there is no such variable"),
            ("name = 'app'\npassword_file = '/'", "is no file"),
        ] {
            let text = text.replace("LONG", &"tulip".repeat(60));
            let refused = given(&text).expect_err(says);
            assert!(refused.contains(says) && !refused.contains("tulip"), "{says}: {refused}");
        }
        let refused = given("name = 'app'\npassword = \"tulip\\u0000\"").expect_err("a NUL");
        assert!(refused.contains("a NUL") && !refused.contains("tulip"), "{refused}");
    }
}
