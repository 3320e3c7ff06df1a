//! What the client libraries of applications say in their logins. By it a server chooses the packets of its answers.

use super::capability::DEFAULT;
use crate::Flavour;

/// A client library.
#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    /// As scripts, settings and messages have it.
    pub name: &'static str,
    mysql: u64,
    mariadb: u64,
}

impl Library {
    /// The library's capabilities at a server, which it sends whether or not they are offered.
    pub fn capabilities(&self, flavour: Flavour) -> u64 {
        match flavour {
            Flavour::MySql => self.mysql,
            Flavour::MariaDb => self.mariadb,
        }
    }

    /// The library of a name.
    pub fn named(name: &str) -> Option<&'static Library> {
        [&OWN].into_iter().chain(&LIBRARIES).find(|library| library.name == name)
    }

    /// Each in its turn, and the tests' own every other time: what scripts say of the servers holds for that one.
    pub fn in_turn(turn: usize) -> &'static Library {
        if turn.is_multiple_of(2) { &OWN } else { &LIBRARIES[turn / 2 % LIBRARIES.len()] }
    }

    /// Those of `LOCKSTEAD_CLIENT`, which is a name or `all`. Otherwise the next one in turn, by `LOCKSTEAD_TURN`, another number
    /// for each change, and by `place`, such as that of a test among others.
    pub fn chosen(place: usize) -> Vec<&'static Library> {
        let set = |variable: &str| std::env::var(variable).ok().filter(|value| !value.is_empty());
        match set("LOCKSTEAD_CLIENT").as_deref() {
            Some("all") => LIBRARIES.iter().chain([&OWN]).collect(),
            Some(name) => vec![
                Self::named(name)
                    .unwrap_or_else(|| panic!("there is no library {name}: LOCKSTEAD_CLIENT")),
            ],
            None => {
                let turn = set("LOCKSTEAD_TURN")
                    .map_or(0, |turn| turn.parse().expect("LOCKSTEAD_TURN is a number"));
                let nth: usize = place + turn;
                // Which of the servers is asked, and in which pass, depends on whether it is even.
                vec![Self::in_turn(nth / 2)]
            }
        }
    }
}

/// The tests' own client, which says what MySQL's C library did.
pub static OWN: Library = Library { name: "own", mysql: DEFAULT, mariadb: DEFAULT };

/// As each said it in its login packet at MySQL 9.7 and at MariaDB 10.11, by default settings; MariaDB's extended
/// capabilities are the upper half. A session adds TLS, compression and its schema itself. What distinguishes a row
/// stands above it.
pub static LIBRARIES: [Library; 13] = [
    // PHP 8.2, mysqli: no DEPRECATE_EOF, no SESSION_TRACK, no PS_MULTI_RESULTS.
    Library { name: "mysqlnd", mysql: 0x001a_a285, mariadb: 0x001a_a285 },
    // PHP 8.2, pdo_mysql: MULTI_STATEMENTS.
    Library { name: "pdo", mysql: 0x001b_a285, mariadb: 0x001b_a285 },
    // PyMySQL 1.1: no DEPRECATE_EOF.
    Library { name: "pymysql", mysql: 0x003a_a205, mariadb: 0x003a_a205 },
    // MySQL Connector/Python 9 without its C part: MULTI_STATEMENTS, QUERY_ATTRIBUTES, no DEPRECATE_EOF.
    Library { name: "connector-python", mysql: 0x183b_a205, mariadb: 0x003b_a205 },
    // MariaDB's C library 3.3, as Python's mysqlclient and MariaDB's programs use it: SESSION_TRACK, no DEPRECATE_EOF,
    // and at MariaDB progress, bulk, extended and cached metadata.
    Library { name: "libmariadb", mysql: 0x00bf_a285, mariadb: 0x1d_00bf_a284 },
    // DBD::mysql 4.050 with that library: FOUND_ROWS.
    Library { name: "dbd-mysql", mysql: 0x00be_a287, mariadb: 0x1d_00be_a286 },
    // DBD::MariaDB 1.22 with that library: also REMEMBER_OPTIONS, which is for the library itself.
    Library { name: "dbd-mariadb", mysql: 0x80be_a287, mariadb: 0x1d_80be_a286 },
    // Node's mysql2 3.24: FOUND_ROWS, IGNORE_SPACE, SESSION_TRACK, QUERY_ATTRIBUTES at both, no DEPRECATE_EOF.
    Library { name: "mysql2", mysql: 0x18ba_f3c7, mariadb: 0x08_08ba_f3c6 },
    // MariaDB Connector/Node.js 3.5: no LONG_FLAG, FOUND_ROWS, IGNORE_SPACE, DEPRECATE_EOF, cached metadata.
    Library { name: "mariadb-node", mysql: 0x01be_a302, mariadb: 0x1c_01be_a302 },
    // MariaDB Connector/J 3.5: the like without cached metadata.
    Library { name: "mariadb-java", mysql: 0x01be_a382, mariadb: 0x0c_01be_a382 },
    // MySQL Connector/J 9.4: FOUND_ROWS, DEPRECATE_EOF, QUERY_ATTRIBUTES, no SESSION_TRACK.
    Library { name: "connector-j", mysql: 0x193e_a207, mariadb: 0x013e_a206 },
    // go-sql-driver/mysql 1.10: DEPRECATE_EOF, no SESSION_TRACK, cached metadata.
    Library { name: "go", mysql: 0x013a_a285, mariadb: 0x10_013a_a284 },
    // MySQL's C library 9.7: DEPRECATE_EOF, SESSION_TRACK, QUERY_ATTRIBUTES, also where they are not offered.
    Library { name: "libmysqlclient", mysql: 0x19be_a285, mariadb: 0x19be_a285 },
];
