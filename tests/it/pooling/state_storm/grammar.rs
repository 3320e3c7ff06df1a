//! Statements that change the state of a session, or ask for it.
//!
//! `$DB` is the session's own schema. Documented differences (docs/differences.md, docs/pooling.md) are left out, each with a comment.

use std::collections::VecDeque;
use std::fmt;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::script::Flavour;
use crate::session::Session;
use crate::wire::{Account, Param, render};

/// Tables of each session.
pub(super) const TABLES: [(&str, &str); 2] = [
    ("t", "id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(40), n INT UNIQUE"),
    ("plain", "id INT PRIMARY KEY, v VARCHAR(40) NOT NULL"),
];

/// User variables. All of them have values from the beginning: one that never had any, and is NULL, is told as never set.
const USER: [&str; 6] = ["a", "b", "c", "`d e`", "f", "g.h"];
/// Prepared statements of a session.
const SLOTS: usize = 4;

const CHARSETS: [&str; 16] = [
    "utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4", "latin1", "latin1", "utf8mb3", "latin2", "cp1251",
    "gbk", "sjis", "big5", "ascii", "binary", "koi8r", "swe7",
];
const COLLATED: [&str; 10] = [
    "utf8mb4 COLLATE utf8mb4_bin",
    "utf8mb4 COLLATE utf8mb4_general_ci",
    "utf8mb4 COLLATE utf8mb4_unicode_ci",
    "utf8mb4 COLLATE utf8mb4_swedish_ci",
    "latin1 COLLATE latin1_bin",
    "latin1 COLLATE latin1_german2_ci",
    "latin1 COLLATE latin1_general_cs",
    "utf8mb3 COLLATE utf8mb3_unicode_ci",
    "gbk COLLATE gbk_bin",
    "cp1251 COLLATE cp1251_bulgarian_ci",
];
const RESULTS: [&str; 9] =
    ["NULL", "binary", "utf16", "ucs2", "utf32", "latin1", "utf8mb4", "ascii", "utf16le"];
const COLLATIONS: [&str; 9] = [
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "latin1_german1_ci",
    "latin1_swedish_ci",
    "utf8mb4_czech_ci",
    "utf16_bin",
    "ucs2_general_ci",
    "cp1250_czech_cs",
    "utf8mb3_bin",
];
const MODES: [&str; 14] = [
    "ANSI_QUOTES",
    "PIPES_AS_CONCAT",
    "IGNORE_SPACE",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "ONLY_FULL_GROUP_BY",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_ZERO_DATE",
    "HIGH_NOT_PRECEDENCE",
    "NO_UNSIGNED_SUBTRACTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "ANSI",
];
const ZONES: [&str; 7] = ["+00:00", "+05:30", "-08:00", "+13:00", "SYSTEM", "-00:59", "no/such"];
const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
const ERRORS: [&str; 8] = [
    "SELECT nosuch",
    "SELEC 1",
    "SELECT * FROM nosuch",
    "SET nosuch_variable = 1",
    "SET sql_mode = 'nosuch', @a = 7",
    "INSERT INTO plain VALUES (1, 'x'), (1, 'y')",
    "SET @b = (SELECT 1 UNION SELECT 2)",
    "SET NAMES nosuch",
];
pub(super) const CHARSETS_OF_VARIABLES: &str = "SELECT HEX(@a), CHARSET(@a), COLLATION(@a), HEX(@b), CHARSET(@b), COLLATION(@b), HEX(@f), @a = @b, @c + 0";
const ASKS: [&str; 9] = [
    "SELECT @a, @b, @c, @`d e`, @f, @g.h",
    CHARSETS_OF_VARIABLES,
    "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection, COLLATION('x'), 'a' = 'A', @@character_set_database",
    "SELECT DATABASE(), SCHEMA() = DATABASE(), CURRENT_ROLE()",
    "SELECT LAST_INSERT_ID(), @@identity, @@last_insert_id, @@insert_id",
    "SELECT @@sql_mode, \"x\", 'a' || 'b', 'a\\'",
    "SELECT @@time_zone, FROM_UNIXTIME(86400), @@autocommit, @@lc_time_names, DATE_FORMAT('2024-03-01', '%M')",
    "SELECT COUNT(*), MAX(id), MIN(v) FROM t",
    "SELECT @@innodb_lock_wait_timeout, @@max_join_size, @@sql_big_selects, @@sql_safe_updates, @@foreign_key_checks, @@unique_checks",
];
const LOCK_QUESTION: &str = "SELECT IS_USED_LOCK('$DB.k') = CONNECTION_ID(), IS_FREE_LOCK('$DB.k')";
const AUTOCOMMIT: &str = "SET autocommit = 1";
/// Questions whose answers depend on the statement before them.
const LOOKS: [&str; 4] =
    ["SHOW WARNINGS", "SHOW ERRORS", "SHOW COUNT(*) WARNINGS", "SELECT ROW_COUNT()"];

/// What a client does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Query(Vec<u8>),
    /// SHOW VARIABLES, of which some are not compared.
    Variables,
    /// COM_INIT_DB.
    Schema(Vec<u8>),
    Prepare(usize, Vec<u8>),
    Execute(usize, Vec<Param>),
    /// With the types that were bound before.
    Again(usize, Vec<Param>),
    Close(usize),
    /// COM_SET_OPTION.
    Several(bool),
    Ping,
    Reset,
    ChangeUser,
}

impl Step {
    /// Whether it asks how many rows the statement before it had.
    pub(super) fn asks_for_rows(&self) -> bool {
        let numbers = [&b"FOUND_ROWS()"[..], b"ROW_COUNT()"];
        let asks = |text: &[u8]| numbers.iter().any(|name| text.ends_with(name));
        matches!(self, Self::Query(text) if asks(text))
    }

    /// Whether the definitions of its columns may be in the character set of an earlier moment. Those of warnings are in that in
    /// which they were told. Those of an execution may be as they were prepared, if the client keeps definitions.
    pub(super) fn has_older_definitions(&self) -> bool {
        match self {
            Self::Query(text) => text.starts_with(b"SHOW "),
            Self::Execute(..) | Self::Again(..) => true,
            _ => false,
        }
    }

    /// Whether it chooses a default schema.
    pub(super) fn chooses_schema(&self) -> bool {
        match self {
            Self::Schema(_) | Self::ChangeUser => true,
            Self::Query(text) => text.starts_with(b"USE "),
            _ => false,
        }
    }

    /// Whether the server finds warnings of its own to tell.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Query(_) | Self::Execute(..) | Self::Again(..))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(text) => write!(f, "{}", render::bytes(text)),
            Self::Schema(name) => write!(f, "COM_INIT_DB {}", render::bytes(name)),
            Self::Prepare(slot, text) => write!(f, "prepare {slot}: {}", render::bytes(text)),
            other => write!(f, "{other:?}"),
        }
    }
}

/// System variables that a session may set, each with values that the server takes.
pub(super) struct Variables(Vec<(String, Vec<String>)>);

/// That the sessions of a round set.
const SOME: usize = 12;
/// Variables that have statements of their own, or may not be set at random. Some end a session or a statement after a time,
/// use memory up, tie a session to its connection, or count.
const SET_OTHERWISE: [&str; 35] = [
    // The engine's own open table remembers the last one.
    "auto_increment_",
    "autocommit",
    "completion_type",
    "connection_memory_limit",
    "gtid_",
    "idle_",
    "identity",
    "innodb_lock_wait_timeout",
    // Documented: an account without the right may set DEFAULT only, and no other connection the value.
    "innodb_strict_mode",
    "innodb_tmpdir",
    "insert_id",
    "interactive_timeout",
    "last_insert_id",
    "lock_wait_timeout",
    // The server says which statements were slow.
    "log_slow_query_time",
    "long_query_time",
    "max_execution_time",
    "max_session_mem_used",
    "max_statement_time",
    "net_read_timeout",
    "net_write_timeout",
    "optimizer_trace",
    "parser_max_mem_size",
    "profiling",
    "pseudo_",
    "rand_seed",
    "server_id",
    "session_track_",
    "skip_replication",
    "sql_log_bin",
    "timestamp",
    "wait_timeout",
    "wsrep_",
    // Documented: the row that it finds, and moments of history.
    "sql_auto_is_null",
    "system_versioning_asof",
];
const VALUES: [&str; 10] = ["DEFAULT", "0", "1", "ON", "OFF", "2", "5", "8", "100", "100000"];

impl Variables {
    /// As an account may set them at a server.
    pub(super) fn of(port: u16, account: &Account) -> Self {
        let mut session = Session::of(port, account);
        let rows = session.run("SHOW SESSION VARIABLES");
        let rows = rows.packets.iter().filter_map(|p| crate::wire::decode::text_row(&p.payload));
        let names = rows
            .filter_map(|row| Some(String::from_utf8_lossy(row.first()?.as_ref()?).into_owned()));
        let names: Vec<String> = names
            .filter(|name| name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()))
            .filter(|name| !SET_OTHERWISE.iter().any(|begin| name.starts_with(begin)))
            .collect();
        let mut variables = Vec::new();
        for name in names {
            let mut takes = |value: &&&str| {
                let set = format!("SET SESSION {name} = {value}");
                session.client.query(set.as_bytes()).error().is_none()
            };
            let values: Vec<String> =
                VALUES.iter().filter(|value| takes(value)).map(|&value| value.to_owned()).collect();
            // Almost nothing could be asked any more.
            let values = values.into_iter().filter(|v| name != "sql_select_limit" || v != "0");
            let values: Vec<String> = values.collect();
            if values.len() > 1 {
                variables.push((name, values));
            }
        }
        Self(variables)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A few of them: sessions meet in the same ones, and leave them in different states.
    pub(super) fn some(&self, random: &mut StdRng) -> Self {
        Self(self.0.sample(random, SOME).cloned().collect())
    }
}

/// Draws what a session does.
pub(super) struct Grammar<'a> {
    random: StdRng,
    flavour: Flavour,
    variables: &'a Variables,
    roles: &'a [String; 2],
    /// What is to come, with other statements in between.
    ahead: VecDeque<Step>,
    /// What comes next.
    next: VecDeque<Step>,
    /// Whether the session asks for warnings and numbers of rows, which are lost with a connection.
    looks: bool,
    /// The session prepares statements: its connection is reset for the next session.
    prepares: bool,
    /// The texts of its statements, and whether each has a parameter.
    slots: [Option<usize>; SLOTS],
    /// Whether each was executed with types.
    bound: [bool; SLOTS],
}

/// Texts to prepare, with how many parameters. One without a type of its context keeps that of the first value on MySQL: there is none.
const PREPARED: [(&str, usize); 11] = [
    ("SELECT CONCAT(?, 'x', '\u{e9}'), @@time_zone", 1),
    ("INSERT INTO t (v) VALUES (CONCAT_WS('', ?))", 1),
    ("SELECT v, id FROM t WHERE id = ?", 1),
    ("UPDATE t SET v = CONCAT_WS('', ?) WHERE id = 1", 1),
    ("SET time_zone = CONCAT('', ?)", 1),
    // Documented: on MySQL, a variable that becomes NULL has the type of what it was before.
    ("SELECT CONCAT_WS('', ?, ?) INTO @a", 2),
    ("SELECT LAST_INSERT_ID(), \"x\", DATABASE()", 0),
    ("SELECT @a, @b", 0),
    ("SET @f = CONCAT_WS('', ?, 1)", 1),
    ("SELECT COUNT(*) FROM $DBx.of_role", 0),
    ("SELECT nosuch", 0),
];

impl<'a> Grammar<'a> {
    pub(super) fn new(
        random: StdRng,
        flavour: Flavour,
        variables: &'a Variables,
        roles: &'a [String; 2],
        looks: bool,
    ) -> Self {
        let mut grammar = Self {
            random,
            flavour,
            variables,
            roles,
            ahead: VecDeque::new(),
            next: VecDeque::new(),
            looks,
            prepares: false,
            slots: [None; SLOTS],
            bound: [false; SLOTS],
        };
        grammar.prepares = grammar.one_in(3);
        grammar.begin();
        grammar
    }

    /// After a login.
    pub(super) fn begin(&mut self) {
        self.slots = [None; SLOTS];
        self.ahead.clear();
        let all: Vec<String> = USER.iter().map(|name| format!("@{name} = 0")).collect();
        self.next = VecDeque::from([query(&format!("SET {}", all.join(", ")))]);
    }

    /// What the session does next.
    pub(super) fn step(&mut self) -> Step {
        if let Some(step) = self.next.pop_front() {
            return step;
        }
        if self.one_in(3)
            && let Some(step) = self.ahead.pop_front()
        {
            if step == query(AUTOCOMMIT) && !self.is_mysql() {
                // Without a COMMIT, READ ONLY would hold for the next transaction, as after SET TRANSACTION.
                self.next.push_back(step);
                return query("COMMIT");
            }
            return step;
        }
        match self.random.random_range(0..100) {
            0..20 => self.variable(),
            20..28 => self.charset(),
            28..40 => self.user_variable(),
            40..44 => self.schema(),
            44..48 => self.role(),
            48..54 => self.transaction(),
            54..62 => self.write(),
            62..66 => self.prepared(),
            66..70 => self.episode(),
            70..73 => self.error(),
            73..76 => self.lock(),
            76..78 => self.renewal(),
            78..86 => Step::Variables,
            86 => self.in_utf8(LOCK_QUESTION),
            _ => query(self.pick(&ASKS)),
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.choose(&mut self.random).expect("something to pick")
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.random.random_range(0..n) == 0
    }

    fn is_mysql(&self) -> bool {
        self.flavour == Flavour::MySql
    }

    fn assignment(&mut self) -> String {
        let nth = self.random.random_range(0..self.variables.0.len());
        let (name, values) = &self.variables.0[nth];
        let value = values.choose(&mut self.random).expect("a value");
        let scope = self.random.random_range(0..4);
        let scope = ["", "SESSION ", "@@session.", "@@local."][scope];
        format!("{scope}{name} = {value}")
    }

    fn variable(&mut self) -> Step {
        let set = match self.random.random_range(0..12) {
            0 => {
                let modes: Vec<&str> = (0..2).map(|_| self.pick(&MODES)).collect();
                format!("sql_mode = '{}'", modes.join(","))
            }
            1 => self.pick(&["sql_mode = ''", "sql_mode = DEFAULT"]).to_owned(),
            2 => format!("time_zone = '{}'", self.pick(&ZONES)),
            3 => {
                let (switch, on) =
                    (self.pick(&["index_merge", "mrr", "semijoin"]), self.pick(&["on", "off"]));
                format!("optimizer_switch = '{switch}={on}'")
            }
            4 => format!("lc_time_names = '{}'", self.pick(&["de_AT", "en_US", "ja_JP", "xx_XX"])),
            5 => self
                .pick(&[
                    "max_join_size = 1000000",
                    "sql_big_selects = 1",
                    "max_join_size = DEFAULT",
                ])
                .to_owned(),
            6 => {
                let time =
                    if self.is_mysql() { "max_execution_time" } else { "max_statement_time" };
                format!("{time} = {}", self.pick(&["100000", "0", "DEFAULT"]))
            }
            7 => {
                let name = self.pick(&["wait_timeout", "lock_wait_timeout", "net_read_timeout"]);
                format!("{name} = {}", self.pick(&["1000", "2000", "DEFAULT"]))
            }
            8 => format!("{}, {}", self.assignment(), self.assignment()),
            9 => format!("{}, @a = {}", self.assignment(), self.value()),
            _ => self.assignment(),
        };
        if self.one_in(20) {
            return match self.flavour {
                Flavour::MySql => {
                    query("SELECT /*+ SET_VAR(sort_buffer_size = 100000) */ @a, @@sort_buffer_size")
                }
                Flavour::MariaDb => query(
                    "SET STATEMENT sort_buffer_size = 100000 FOR SELECT @a, @@sort_buffer_size",
                ),
            };
        }
        query(&format!("SET {set}"))
    }

    fn charset(&mut self) -> Step {
        // Documented: on MariaDB, the name of a column in warnings that were taken along in swe7.
        let all = if self.looks && !self.is_mysql() { &CHARSETS[..15] } else { &CHARSETS[..] };
        let charset = self.pick(all);
        let set = match self.random.random_range(0..12) {
            0..3 => format!("NAMES {charset}"),
            3 | 4 => format!("NAMES {}", self.pick(&COLLATED)),
            5 => format!("CHARACTER SET {charset}"),
            6 => format!("character_set_client = {charset}"),
            7 => format!("character_set_connection = {charset}"),
            8 => {
                let charset = self.pick(&RESULTS);
                // Documented: warnings that were told in a wide one are lost with SET NAMES.
                let wide = charset.starts_with("utf") && charset != "utf8mb4" || charset == "ucs2";
                let charset = if wide && !self.is_mysql() { "latin1" } else { charset };
                format!("character_set_results = {charset}")
            }
            9 => format!("collation_connection = {}", self.pick(&COLLATIONS)),
            10 => format!(
                "character_set_server = {charset}, collation_server = {}",
                self.pick(&COLLATIONS)
            ),
            _ => "NAMES DEFAULT".to_owned(),
        };
        query(&format!("SET {set}"))
    }

    /// A value of a user variable, of each type.
    fn value(&mut self) -> String {
        let n: i64 = self.random.random();
        match self.random.random_range(0..20) {
            0 => n.to_string(),
            1 => self.pick(&["0", "-1", "TRUE", "18446744073709551615"]).to_owned(),
            2 => format!("CAST({} AS UNSIGNED)", n.unsigned_abs()),
            3 => format!("{}.{:05}", n / 1_000_000, n.unsigned_abs() % 100_000),
            4 => format!("{:e}", f64::from_bits(n.unsigned_abs() % 0x7fe0_0000_0000_0000)),
            5 => "1/3".to_owned(),
            6 => format!("{}e0", n % 1000),
            7 => format!("_binary x'{n:016x}'"),
            8 => format!("0x{:06x}", n.unsigned_abs() % 0xff_ffff),
            9 => "b'1010'".to_owned(),
            10 => format!("_latin1 x'{:04x}' COLLATE latin1_bin", n.unsigned_abs() % 0xffff),
            11 => format!(
                "_utf8mb4 x'c3a9' COLLATE utf8mb4_{}",
                self.pick(&["bin", "czech_ci", "unicode_ci"])
            ),
            12 => "_utf16 x'00e90041'".to_owned(),
            // Documented: the greatest length of a text that is NULL, and on MySQL the sign of a number.
            13 if self.is_mysql() => "5e-1".to_owned(),
            13 => self.pick(&["CAST(NULL AS SIGNED)", "NULL + 0e0"]).to_owned(),
            14 => "''".to_owned(),
            15 => "DATE '2024-02-29'".to_owned(),
            16 => self.pick(&["@a", "@b", "@g.h", "@`d e`"]).to_owned(),
            17 => "@@sql_mode".to_owned(),
            18 => format!("REPEAT('{}', {})", n.unsigned_abs() % 10, n.unsigned_abs() % 600),
            _ => format!("'t{}\u{e9}'", n % 1000),
        }
    }

    fn user_variable(&mut self) -> Step {
        let name = self.pick(&USER);
        let value = self.value();
        let text = match self.random.random_range(0..8) {
            0 => format!("SELECT @{name} := {value}"),
            1 => format!("SELECT {value}, 5 INTO @{name}, @f"),
            2 => format!("SET @{name} := {value}, @c = 'c'"),
            3 => format!("SELECT v FROM t LIMIT 1 INTO @{name}"),
            4 => format!("DO @{name} := {value}"),
            _ => format!("SET @{name} = {value}"),
        };
        query(&text)
    }

    fn schema(&mut self) -> Step {
        self.ahead.push_back(query("USE $DB"));
        // None has another character set than the server's: after a reset by the client its variables have the server's until the
        // session moves.
        match self.random.random_range(0..6) {
            0 => query("USE nosuch_schema"),
            1 | 2 => Step::Schema(b"$DBx".to_vec()),
            3 => Step::Schema(b"$DB".to_vec()),
            _ => query("USE $DBx"),
        }
    }

    fn role(&mut self) -> Step {
        let [one, other] = self.roles;
        let mysql = ["ALL", "DEFAULT", "ALL EXCEPT nosuch"];
        let role = match self.random.random_range(0..7) {
            0 | 1 => one,
            2 | 3 => other,
            4 if self.is_mysql() => return query(&format!("SET ROLE {}", self.pick(&mysql))),
            5 => "nosuch_role",
            _ => "NONE",
        };
        query(&format!("SET ROLE {role}"))
    }

    fn transaction(&mut self) -> Step {
        let level = self.pick(&LEVELS);
        match self.random.random_range(0..8) {
            0 => {
                // Inside a transaction that then ends by SET autocommit, the next one has the level of before on MySQL.
                let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
                self.next.push_back(query(&set));
                query("COMMIT")
            }
            1 | 2 => {
                // A statement that fails by itself leaves them for the next one on MariaDB, which a move may lose.
                self.next.push_back(query("BEGIN"));
                self.ahead.push_back(query("ROLLBACK"));
                let set = format!("SET TRANSACTION ISOLATION LEVEL {level}");
                query(self.pick(&[
                    &*set,
                    "SET TRANSACTION READ ONLY",
                    "SET TRANSACTION READ WRITE",
                ]))
            }
            3 => {
                self.ahead.push_back(query("COMMIT"));
                self.ahead.push_back(query(AUTOCOMMIT));
                query("SET autocommit = 0")
            }
            4 => query(self.pick(&["COMMIT", "ROLLBACK", "SAVEPOINT s"])),
            _ => {
                let end = self.pick(&["COMMIT", "ROLLBACK"]);
                for _ in 0..self.random.random_range(0..4) {
                    let step = self.written();
                    self.ahead.push_back(step);
                }
                self.ahead.push_back(query(end));
                query(self.pick(&[
                    "BEGIN",
                    "START TRANSACTION",
                    "START TRANSACTION READ ONLY",
                    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                ]))
            }
        }
    }

    fn write(&mut self) -> Step {
        let step = self.written();
        self.look();
        step
    }

    fn look(&mut self) {
        if self.looks && self.one_in(3) {
            let look = query(self.pick(&LOOKS));
            self.next.push_back(look);
        }
    }

    fn written(&mut self) -> Step {
        let n = self.random.random_range(0..50);
        let text = match self.random.random_range(0..12) {
            0..3 => format!("INSERT INTO t (v) VALUES ('v{n}')"),
            3 => format!("INSERT INTO t (v) VALUES ('v{n}'), ('w'), ('x')"),
            4 => format!(
                "INSERT INTO t (v, n) VALUES ('v', {n}) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = 'u'"
            ),
            5 => format!("REPLACE INTO plain VALUES ({n}, 'r')"),
            6 => format!("INSERT IGNORE INTO plain VALUES ({n}, NULL), ({n}, 'i')"),
            7 => format!("UPDATE t SET v = CONCAT('u', {n}) WHERE id < {n}"),
            8 => format!("DELETE FROM t WHERE id = {n}"),
            9 => format!("DO LAST_INSERT_ID({n})"),
            10 => format!("UPDATE plain SET v = LAST_INSERT_ID({n}) WHERE id = {n}"),
            _ => format!("SELECT v, id FROM t WHERE id > {n} ORDER BY id LIMIT 3"),
        };
        query(&text)
    }

    fn param(&mut self) -> Param {
        match self.random.random_range(0..6) {
            0 => Param::LongLong(self.random.random_range(-5..90)),
            1 => Param::Double(1.5),
            2 => Param::Null,
            3 => Param::Text(b"+03:00".to_vec()),
            4 => Param::Long(self.random.random_range(-5..90)),
            // In ASCII: MySQL binds no types if a value cannot be converted, and a session that has moved does.
            _ => Param::Text(b"pq".to_vec()),
        }
    }

    fn prepared(&mut self) -> Step {
        if !self.prepares {
            let value = self.value();
            return query(&format!("SET @a = {value}"));
        }
        let slot = self.random.random_range(0..SLOTS);
        let Some(nth) = self.slots[slot] else {
            let nth = self.random.random_range(0..PREPARED.len());
            (self.slots[slot], self.bound[slot]) = (Some(nth), false);
            return Step::Prepare(slot, PREPARED[nth].0.as_bytes().to_vec());
        };
        if self.one_in(6) {
            self.slots[slot] = None;
            return Step::Close(slot);
        }
        let (text, count) = PREPARED[nth];
        let mut params: Vec<Param> = (0..count).map(|_| self.param()).collect();
        if self.is_mysql() && text.contains("CONCAT(?") {
            // Documented: a number has the server read the text again, in the state of that moment.
            params = vec![Param::Text(b"pq".to_vec()); count];
        }
        if !self.is_mysql() && text.contains("CONCAT_WS(") {
            // Documented: the server keeps what the first execution with a text has made of the other arguments.
            params = vec![Param::Long(7); count];
        }
        self.next.push_back(Step::Execute(slot, params.clone()));
        // Documented: without types, another error is told first in a READ ONLY transaction.
        let has_types = self.bound[slot];
        self.bound[slot] = true;
        if has_types && self.one_in(2) {
            Step::Again(slot, params)
        } else {
            Step::Execute(slot, params)
        }
    }

    /// Several statements that belong together, in between others.
    fn episode(&mut self) -> Step {
        let n: u32 = self.random.random_range(1..1000);
        let last = if self.looks { 10 } else { 7 };
        let texts: Vec<String> = match self.random.random_range(0..last) {
            0 => vec![
                "CREATE TEMPORARY TABLE IF NOT EXISTS tmp (id INT PRIMARY KEY AUTO_INCREMENT, v INT)".to_owned(),
                format!("INSERT INTO tmp (v) VALUES ({n})"),
                "SELECT v FROM tmp".to_owned(),
                "DROP TEMPORARY TABLE IF EXISTS tmp".to_owned(),
            ],
            1 => vec![
                format!("PREPARE p FROM 'SELECT {n}, @a'"),
                "EXECUTE p".to_owned(),
                "DEALLOCATE PREPARE p".to_owned(),
            ],
            2 => vec![
                format!("PREPARE q FROM 'SET @b = ?, time_zone = \"+0{}:00\"'", n % 9),
                "EXECUTE q USING @a".to_owned(),
                "DEALLOCATE PREPARE q".to_owned(),
            ],
            3 => vec![
                "LOCK TABLES t WRITE".to_owned(),
                format!("INSERT INTO t (v) VALUES ('locked {n}')"),
                "UNLOCK TABLES".to_owned(),
            ],
            4 => vec![
                format!("SET timestamp = {}", 1_000_000_000 + n),
                "SELECT NOW(), @@timestamp".to_owned(),
                "SET timestamp = DEFAULT".to_owned(),
            ],
            5 => vec![
                format!("SET insert_id = {}", 10_000 + n),
                "INSERT INTO t (v) VALUES ('given')".to_owned(),
                "SELECT LAST_INSERT_ID()".to_owned(),
            ],
            6 => vec![format!("SET last_insert_id = {n}"), "SELECT LAST_INSERT_ID()".to_owned()],
            8 => vec![
                "SELECT SQL_CALC_FOUND_ROWS v FROM $DB.t LIMIT 1".to_owned(),
                "SELECT FOUND_ROWS()".to_owned(),
            ],
            7 => vec![
                format!("SET rand_seed1 = {n}, rand_seed2 = 7"),
                "SELECT RAND()".to_owned(),
            ],
            _ => vec![
                "SELECT v FROM $DB.t LIMIT 2".to_owned(),
                "SELECT FOUND_ROWS()".to_owned(),
            ],
        };
        let mut texts = texts.into_iter();
        let first = texts.next().expect("a statement");
        // A look at the statement before comes at once.
        let at_once = first.contains(".t LIMIT");
        for text in texts {
            let to = if at_once
                || text.contains("NOW()")
                || text.contains("RAND()")
                || text.contains("EXECUTE")
            {
                &mut self.next
            } else {
                &mut self.ahead
            };
            to.push_back(query(&text));
        }
        if first.contains("rand_seed") {
            self.ahead.push_back(Step::Reset);
        }
        query(&first)
    }

    fn error(&mut self) -> Step {
        self.look();
        query(self.pick(&ERRORS))
    }

    fn lock(&mut self) -> Step {
        let call = self.pick(&[
            "SELECT GET_LOCK('$DB.k', 0)",
            "DO GET_LOCK('$DB.k', 0)",
            "SELECT RELEASE_LOCK('$DB.k')",
            "SELECT RELEASE_ALL_LOCKS()",
        ]);
        self.in_utf8(call)
    }

    /// Documented: in a wide character set servers may know another name.
    fn in_utf8(&mut self, call: &str) -> Step {
        self.next.push_back(query(call));
        query("SET NAMES utf8mb4")
    }

    fn renewal(&mut self) -> Step {
        let step = match self.random.random_range(0..6) {
            0 | 1 => Step::Reset,
            2 => Step::ChangeUser,
            // After a move, MySQL's answer counts no warnings.
            3 if !self.is_mysql() => return Step::Ping,
            3 => return query("DO 1"),
            _ => {
                let on = self.one_in(2);
                self.next.push_back(query("SELECT @a; SET @b = 5; SELECT @b"));
                return Step::Several(on);
            }
        };
        self.begin();
        step
    }
}

fn query(text: &str) -> Step {
    Step::Query(text.as_bytes().to_vec())
}
