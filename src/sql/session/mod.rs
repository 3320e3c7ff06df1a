//! What a text may do to its session that none of the server's state trackers reports.
//!
//! A session that goes to another server connection takes along what the trackers report. Where a text has a mark, the
//! rest must be asked for first, or the session stays where it is. So a mark too many costs little,
//! and one too few is a wrong answer: what is in doubt is marked.
//!
//! Only the text is judged. Routines, triggers, views and defaults of columns may do as much, and the texts
//! that EXECUTE runs are judged when they are prepared.

pub mod effects;
mod first_look;
mod judge;
pub mod runs_others;
pub mod stateful;
mod variables;
mod words;

use self::effects::SessionEffects;
use self::first_look::may_matter;
use self::judge::{FoundEffects, guess, read};
use super::lexer::dialect::Dialect;

/// Bytes of differing readings that are judged. For more, no reading counts: every word is code.
const MOST_READ: usize = 256 * 1024;

/// Judges the text of a COM_QUERY or COM_STMT_PREPARE, which may be several statements.
pub fn session_effects(text: &[u8], dialect: Dialect) -> SessionEffects {
    if may_matter(text, dialect.flavour) {
        effects_in_readings(text, dialect)
    } else {
        SessionEffects::default()
    }
}

/// Modes and character sets that are not certain give differing readings; what one of them finds
/// is found.
fn effects_in_readings(text: &[u8], dialect: Dialect) -> SessionEffects {
    let (mut found, whole) = read(text, dialect);
    let readings = dialect.readings(text);
    let others = readings.get(1..).unwrap_or_default();
    let too_many = others.len().saturating_mul(text.len()) > MOST_READ;
    let mut add = |other: &FoundEffects| {
        found.marks.add_all(other.marks);
        found.names.add_all(&other.names);
        found.settings.add_all(&other.settings);
    };
    if too_many || !whole {
        add(&guess(text, dialect));
    }
    if !too_many {
        for dialect in others {
            add(&read(text, *dialect).0);
        }
    }
    SessionEffects {
        marks: found.marks,
        variables: found.names.names,
        settings: found.settings.names,
        more_variables: found.names.more || found.settings.more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::lexer::dialect::Multibyte;
    use crate::sql::work::{best, many_readings, worked};

    const MYSQL: Dialect = Dialect::MYSQL;
    const MARIADB: Dialect = Dialect::MARIADB;

    /// Marks and variables in one line; `…` for those not kept.
    fn shown(effects: &SessionEffects) -> String {
        let marks = effects.marks.iter().map(|mark| format!("{mark:?}"));
        let names =
            effects.variables.iter().map(|name| format!("@{}", String::from_utf8_lossy(name)));
        let settings =
            effects.settings.iter().map(|name| format!("@@{}", String::from_utf8_lossy(name)));
        let more = effects.more_variables.then(|| "…".to_owned());
        marks.chain(names).chain(settings).chain(more).collect::<Vec<_>>().join(" ")
    }

    fn check(dialect: Dialect, text: &[u8], expected: &str) {
        let effects = session_effects(text, dialect);
        assert_eq!(shown(&effects), expected, "{}", text.escape_ascii());
    }

    #[test]
    fn settings_that_mariadb_does_not_report_are_found() {
        for (text, expected) in [
            ("SET @@sql_mode='ANSI'", "@@sql_mode"),
            (
                "set @@SQL_MODE := 'ANSI', @@`wait_timeout` = 5, max_join_size = 1",
                "@@sql_mode @@wait_timeout",
            ),
            ("SET\n@@sort_buffer_size\n= 100000", "@@sort_buffer_size"),
            ("SET @@sql_mode /* a */ = ''", "…"),
            ("SET @@session.sql_mode='ANSI', @@local.wait_timeout=1", ""),
            ("SET SESSION sql_mode=@@max_join_size", ""),
            ("SET @@hot.key_buffer_size = 1", ""),
            ("SET @@global.wait_timeout = 1", "Accounts"),
            ("SELECT @@sql_mode = 'ANSI'", ""),
            ("SELECT 1; SET @@sql_mode=''", "@@sql_mode"),
            ("SET @@tx_isolation = 'SERIALIZABLE'", "OneShotTransaction"),
        ] {
            check(MARIADB, text.as_bytes(), expected);
        }
        check(MYSQL, b"SET @@sql_mode='ANSI'", "");
    }

    /// Texts that both servers read alike.
    const BOTH: &[(&str, &str)] = &[
        // Ordinary statements.
        ("SELECT * FROM t WHERE a=1", ""),
        ("INSERT INTO t (email) VALUES ('bob@example.com')", ""),
        ("INSERT INTO t VALUES ('CALL p(); LAST_INSERT_ID() @a', 'it''s; LOCK TABLES t')", ""),
        ("UPDATE t SET row_count=1, `identity`=2, insert_id=3, profiling=4", ""),
        ("SELECT last_insert_id, `found_rows`, connection_id FROM t", ""),
        ("DELETE FROM t WHERE a IN (1); ", ""),
        ("BEGIN", ""),
        ("BEGIN;", ""),
        ("BEGIN /* a */ WORK", ""),
        ("COMMIT AND CHAIN", ""),
        ("SELECT 1 -- ; CALL p() @a", ""),
        ("SELECT 1 # LAST_INSERT_ID()", ""),
        ("SELECT 1 /* @a; LAST_INSERT_ID() */", ""),
        ("/* @a CALL p() */ SELECT 1; SELECT 2", ""),
        ("SELECT `LAST_INSERT_ID()`, `a@b`", ""),
        ("SET NAMES utf8mb4", ""),
        ("SET autocommit=0, sql_mode='ANSI'", ""),
        ("SELECT @@version, @@session.sql_mode, @@tx_isolation AS identity", ""),
        ("SELECT @@version FROM t.identity", ""),
        ("SHOW TABLES", ""),
        ("SHOW GLOBAL VARIABLES LIKE 'a'", ""),
        ("SHOW CREATE PROCEDURE p", ""),
        ("SHOW CREATE TABLE t", ""),
        ("EXPLAIN SELECT 1", ""),
        ("CREATE TABLE t (event INT, view INT, user INT, password INT, `role` INT)", ""),
        ("CREATE UNIQUE INDEX trigger_ ON t (a)", ""),
        ("ALTER TABLE t ADD event INT", ""),
        ("HANDLER t READ FIRST", ""),
        ("FLUSH TABLES", ""),
        ("FLUSH LOCAL TABLES t, u", ""),
        ("LOAD INDEX INTO CACHE t", ""),
        ("START REPLICA", ""),
        ("", ""),
        (";;", ""),
        ("\0", ""),
        // The last insert id.
        ("SELECT LAST_INSERT_ID()", "LastInsertId"),
        ("INSERT INTO t VALUES (last_insert_id ( 44 ))", "LastInsertId"),
        ("SELECT `Last_Insert_Id`()", "LastInsertId"),
        ("SELECT LAST_INSERT_ID/**/()", "LastInsertId"),
        ("SELECT {fn LAST_INSERT_ID()}", "LastInsertId"),
        ("SELECT @@identity", "LastInsertId"),
        ("SELECT @@session.last_insert_id", "LastInsertId"),
        ("SELECT @@`local` . `identity`", "LastInsertId"),
        ("SET insert_id=7", "LastInsertId"),
        ("SET a=1, `last_insert_id`=7", "LastInsertId"),
        ("SELECT SQL_CALC_FOUND_ROWS * FROM t", "CalcFoundRows"),
        ("SELECT FOUND_ROWS()", "FoundRows"),
        ("SELECT ROW_COUNT()", "RowCount"),
        ("GET DIAGNOSTICS @n = ROW_COUNT, @m = NUMBER", "RowCount Diagnostics @m @n"),
        ("GET CURRENT DIAGNOSTICS CONDITION 1@e=MESSAGE_TEXT", "Diagnostics @e"),
        ("SHOW WARNINGS", "Diagnostics"),
        ("SHOW COUNT(*) ERRORS", "Diagnostics"),
        ("SELECT @@warning_count, @@SESSION.error_count", "Diagnostics"),
        ("SHOW VARIABLES LIKE 'warning_count'", "ListsVariables"),
        ("SHOW SESSION VARIABLES", "ListsVariables"),
        ("SELECT * FROM performance_schema.session_variables", "ListsVariables"),
        ("SELECT * FROM `performance_schema`.`variables_by_thread`", "ListsVariables"),
        // Code that is elsewhere.
        ("CALL p(@a, 1)", "Call @a"),
        ("  call `p`", "Call"),
        ("SELECT 1; /* a */ CALL p()", "Call"),
        ("/*!50000 CALL p() */", "Call"),
        ("/*!99999 CALL p() */ SELECT 1", ""),
        ("SELECT 1 /*! ; CALL p() */", "Call"),
        ("-- a\nCALL p()", "Call"),
        ("EXECUTE s USING @a, @`b c`", "Execute @a @b c"),
        ("PREPARE s FROM 'SELECT LAST_INSERT_ID()'", "PreparesLiteral"),
        ("PREPARE s FROM 'a' ;", "PreparesLiteral"),
        ("PREPARE s FROM @v", "PreparesComputed @v"),
        ("DEALLOCATE PREPARE s", "Deallocates"),
        ("DROP PREPARE s", "Deallocates"),
        ("CREATE PROCEDURE p() SELECT 1", "ChangesRoutines"),
        (
            "CREATE DEFINER=`root`@`localhost` TRIGGER t BEFORE INSERT ON u FOR EACH ROW SET @a=1",
            "ChangesRoutines @a @localhost",
        ),
        ("CREATE DEFINER=event@host FUNCTION f() RETURNS INT RETURN 1", "ChangesRoutines @host"),
        ("CREATE DEFINER=table VIEW v AS SELECT 1", "ChangesRoutines"),
        ("ALTER EVENT e DISABLE", "ChangesRoutines"),
        ("DROP TRIGGER IF EXISTS t", "ChangesRoutines"),
        ("DROP DATABASE d", "Accounts ChangesRoutines"),
        ("RENAME TABLE a TO b", "ChangesRoutines"),
        ("ALTER TABLE a RENAME TO b", "ChangesRoutines"),
        ("CREATE PROCEDURE p() BEGIN SELECT 1; CALL q(); END", "Call ChangesRoutines"),
        // Held by the session.
        ("HANDLER t OPEN AS u", "OpensHandler"),
        ("HANDLER t CLOSE", "ClosesHandler"),
        ("HANDLER t OPEN; HANDLER u CLOSE", "OpensHandler ClosesHandler"),
        ("FLUSH TABLES WITH READ LOCK", "GlobalReadLock"),
        ("FLUSH NO_WRITE_TO_BINLOG TABLES WITH READ LOCK", "GlobalReadLock"),
        ("FLUSH TABLES t WITH READ LOCK", "LocksTables"),
        ("FLUSH TABLE t, u FOR EXPORT", "LocksTables"),
        ("LOCK TABLES t READ, u WRITE", "LocksTables"),
        ("lock table t write", "LocksTables"),
        ("UNLOCK TABLES", "UnlocksTables"),
        ("LOCK INSTANCE FOR BACKUP", "BackupLock"),
        ("UNLOCK INSTANCE", ""),
        ("CREATE TEMPORARY TABLE t (a INT)", "TemporaryTable"),
        ("CREATE /*!50000 TEMPORARY */ TABLE t SELECT @a := 1", "TemporaryTable @a"),
        ("DROP TABLE IF EXISTS t", "DropsTable"),
        ("DROP TEMPORARY TABLE t", "DropsTable"),
        ("SELECT service_get_read_locks('a', 'b', 10)", "ServiceLock"),
        ("XA START 'a'", "Xa"),
        ("XA PREPARE 'a'", "Xa"),
        // Accounts and rights.
        ("SET ROLE r", "Role"),
        ("SET DEFAULT ROLE r TO u", "Role Accounts"),
        ("SET RESOURCE GROUP g", "ResourceGroup"),
        ("SET SESSION AUTHORIZATION 'u'@'h'", "SessionUser @h"),
        ("SET PASSWORD FOR u = 'p@ss'", "Accounts"),
        ("ALTER USER u IDENTIFIED BY 'p@ss'", "Privileges"),
        ("CREATE USER 'u'@'%'", "Privileges @%"),
        ("DROP USER u", "Privileges"),
        ("RENAME USER a TO b", "Privileges"),
        ("CREATE ROLE r", "Privileges"),
        ("GRANT SELECT ON *.* TO u", "Privileges"),
        ("REVOKE ALL ON *.* FROM u", "Privileges"),
        ("FLUSH HOSTS, PRIVILEGES", "Privileges"),
        ("CREATE OR REPLACE USER IF NOT EXISTS u", "Privileges"),
        ("SELECT 1; /*!50000 ALTER */ USER IF EXISTS u ACCOUNT LOCK", "Privileges"),
        ("SELECT 1; /*!50600 ALTER USER */ u ACCOUNT LOCK", "Privileges"),
        // Settings.
        ("SET TRANSACTION READ ONLY", "OneShotTransaction"),
        ("SET SESSION TRANSACTION READ ONLY", ""),
        ("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE", "Accounts"),
        ("SET PERSIST init_connect=''", "Accounts"),
        ("SELECT @@global.init_connect, DEFAULT(a)", ""),
        ("SET @@transaction_isolation='SERIALIZABLE'", "OneShotTransaction"),
        ("SET @@`tx_read_only`=1", "OneShotTransaction"),
        ("SET @@session.transaction_isolation='SERIALIZABLE'", ""),
        ("SET transaction_isolation='SERIALIZABLE'", ""),
        ("SET session_track_schema=0", "TrackSetting"),
        ("SELECT @@`session_track_gtids`", "TrackSetting"),
        ("SET profiling=1", "Profiling"),
        ("SHOW PROFILES", "Profiling"),
        ("SHOW PROFILE FOR QUERY 1", "Profiling"),
        ("SELECT * FROM information_schema.PROFILING", "Profiling"),
        ("SET optimizer_trace='enabled=on'", "OptimizerTrace"),
        ("SELECT * FROM information_schema.`OPTIMIZER_TRACE`", "OptimizerTrace"),
        ("SELECT CONNECTION_ID()", "ConnectionId"),
        ("SELECT @@pseudo_thread_id", "ConnectionId"),
        ("SELECT ps_current_thread_id()", "ConnectionId"),
        ("EXPLAIN FOR CONNECTION 7", "ConnectionId"),
        ("KILL QUERY CONNECTION_ID()", "ConnectionId Kill"),
        ("KILL 7", "Kill"),
        ("LOAD DATA LOCAL INFILE 'a' INTO TABLE t (@a, b)", "LoadsData @a"),
        ("BINLOG 'abc'", "Binlog"),
        // User variables.
        ("SELECT @a, @A, @b.c, @`d e`, @'f', @$g", "@$g @a @b.c @d e @f"),
        ("SELECT 1 INTO@x", "@x"),
        ("SET@role=1,@password:=2,@transaction=3", "@password @role @transaction"),
        ("SELECT @a:=@b, @@c, @@d.e", "@a @b"),
        ("SELECT @`a``b`, @'c''d'", "@c'd …"),
        ("SELECT @, @ x, @``", ""),
        ("SELECT @\u{e9}", "…"),
        ("SELECT 'a\\'; CALL p() @b'", "Call @b"),
        ("SELECT * FROM performance_schema.user_variables_by_thread", "AllUserVariables"),
    ];

    #[test]
    fn effects_that_both_servers_read_alike_are_found() {
        for (text, expected) in BOTH {
            check(MYSQL, text.as_bytes(), expected);
            check(MARIADB, text.as_bytes(), expected);
        }
    }

    #[test]
    fn effects_that_one_server_has_are_found() {
        for (text, mysql, mariadb) in [
            ("BEGIN NOT ATOMIC SET @a=1; CALL p(); END", "Call Block @a", "Call Block @a"),
            ("IF 1 THEN CALL p(); END IF", "Call Block", "Call Block"),
            ("<<l>> BEGIN NULL; END", "Block", "Block"),
            ("EXECUTE IMMEDIATE 'SELECT @a'", "Execute", "Execute"),
            ("PREPARE s FROM CONCAT('a', @b)", "PreparesComputed @b", "PreparesComputed @b"),
            (
                "PREPARE s FROM 'a' 'b'",
                "PreparesLiteral PreparesComputed",
                "PreparesLiteral PreparesComputed",
            ),
            (
                "SET STATEMENT max_statement_time=1 FOR SELECT 1 FOR UPDATE",
                "SetStatement",
                "SetStatement",
            ),
            ("SET STATEMENT a=1 FOR CALL p()", "Call SetStatement", "Call SetStatement"),
            ("SET STATEMENT a=1e5FOR CALL p()", "Call SetStatement", "Call SetStatement"),
            ("/*M! CALL p() */", "", "Call"),
            ("/*M!100100 CALL p() */", "", "Call"),
            ("SELECT /*!80000 @a, */ 1", "@a", ""),
            ("SELECT NEXTVAL(s)", "", "Sequence"),
            ("SELECT NEXT /* a */ VALUE FOR s", "", "Sequence"),
            ("SELECT PREVIOUS VALUE FOR s, next, value FROM t", "", "Sequence"),
            ("SELECT s.nextval, `lastval`(s)", "", "Sequence"),
            ("INSERT INTO t VALUES (1) RETURNING id", "", "LastInsertId"),
            ("REPLACE t VALUES ('returning')", "", ""),
            ("SELECT next, value FROM t", "", ""),
            ("BACKUP STAGE START", "BackupLock", "BackupLock"),
            ("BACKUP STAGE BLOCK_COMMIT", "BackupLock", "BackupLock"),
            ("BACKUP STAGE END", "", ""),
            ("BACKUP LOCK d.t", "BackupLock", "BackupLock"),
            ("BACKUP UNLOCK", "", ""),
            ("CREATE OR REPLACE TEMPORARY SEQUENCE s", "TemporaryTable", "TemporaryTable"),
            ("CREATE OR REPLACE PACKAGE BODY p AS END", "ChangesRoutines", "ChangesRoutines"),
            ("FLUSH USER_VARIABLES", "AllUserVariables", "AllUserVariables"),
            ("SHOW EXPLAIN FOR 7", "ConnectionId", "ConnectionId"),
            (
                "SELECT * FROM information_schema.system_variables",
                "ListsVariables",
                "ListsVariables",
            ),
        ] {
            check(MYSQL, text.as_bytes(), mysql);
            check(MARIADB, text.as_bytes(), mariadb);
        }
    }

    #[test]
    fn all_readings_count() {
        let ansi = Dialect { ansi_quotes: true, ..MYSQL };
        let plain = Dialect { no_backslash_escapes: true, ..MYSQL };
        let latin1 = Dialect { multibyte: Multibyte::Latin, ..MYSQL };
        for dialect in [MYSQL, MARIADB, ansi, plain, latin1] {
            for (text, expected) in [
                (&b"SELECT \"LAST_INSERT_ID\"()"[..], "LastInsertId"),
                (b"SELECT @\"a b\"", "@a b"),
                (b"SELECT \"a'\", @b, '\"'", "@b"),
                (b"PREPARE s FROM \"SELECT 1\"", "PreparesLiteral"),
                (b"SELECT 'a\\', LAST_INSERT_ID()", "LastInsertId"),
                (b"SELECT 'a\\', @b, '", "@b"),
                (b"SELECT 1 --\xa0, CONNECTION_ID()", "ConnectionId"),
                (b"SELECT\xa0LAST_INSERT_ID\xa0()", "LastInsertId"),
                (b"\xa0CALL p()", "Call"),
                (b"SELECT LAST_INSERT_ID\xc3()", "LastInsertId"),
                (b"SELECT '\x81\\', @a, '\\'", "@a"),
            ] {
                let effects = session_effects(text, dialect);
                assert!(
                    expected.split(' ').all(|part| shown(&effects).contains(part)),
                    "{}: {}",
                    text.escape_ascii(),
                    shown(&effects)
                );
            }
        }
        let brackets = b"SELECT [a'], @b, [']";
        check(MARIADB, brackets, "@b");
        check(MYSQL, brackets, "");
    }

    #[test]
    fn of_a_text_that_ends_in_quotes_or_comments_every_word_counts() {
        for (text, expected) in [
            ("SELECT 'LAST_INSERT_ID()", "LastInsertId"),
            ("SELECT 1 /* @a", "@a"),
            ("SELECT `;CALL p", "Call"),
            ("/*! SELECT @'a", "…"),
            ("PREPARE s FROM 'a", "PreparesLiteral PreparesComputed"),
        ] {
            check(MYSQL, text.as_bytes(), expected);
        }
    }

    #[test]
    fn variables_of_a_text_are_bounded() {
        let text = (0..1000).map(|n| format!("SET @v{n}=1;")).collect::<Vec<_>>().concat();
        let effects = session_effects(text.as_bytes(), MYSQL);
        assert!(effects.more_variables && effects.variables.len() < 100);
    }

    /// Every text of the tables, cut anywhere, and with bytes put in that change how it reads.
    fn hostile() -> impl Iterator<Item = Vec<u8>> {
        const ODD: [&[u8]; 13] = [
            b"'",
            b"\"",
            b"`",
            b"\\",
            b"/*",
            b"*/",
            b"/*!",
            b"/*M!100000",
            b"-- ",
            b"\xa0",
            b"\x81",
            b"@",
            b";",
        ];
        let cuts = |text: &'static str| {
            (0..=text.len()).flat_map(move |at| {
                let (head, tail) = text.as_bytes().split_at(at);
                let odd = ODD[at % ODD.len()];
                [head.to_vec(), tail.to_vec(), [head, odd, tail].concat()]
            })
        };
        BOTH.iter().flat_map(move |(text, _)| cuts(text))
    }

    /// Pieces of statements in no order.
    fn random() -> impl Iterator<Item = Vec<u8>> {
        const PIECES: [&[u8]; 40] = [
            b"SELECT ",
            b"CALL ",
            b"BEGIN ",
            b"SET ",
            b"FLUSH ",
            b"TABLES ",
            b"CREATE ",
            b"DROP ",
            b"TABLE ",
            b"PREPARE ",
            b"FROM ",
            b"LAST_INSERT_ID",
            b"(",
            b")",
            b"@",
            b"@@",
            b"identity",
            b".",
            b"'",
            b"\"",
            b"`",
            b"\\",
            b"[",
            b"]",
            b"/*",
            b"*/",
            b"/*!",
            b"/*M!",
            b"/*!50000",
            b"#",
            b"-- ",
            b"\n",
            b";",
            b"\xa0",
            b"\xff",
            b"\x81",
            b"{",
            b"NEXT ",
            b"VALUE ",
            b"_",
        ];
        let mut state = 7_u64;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::from(state.to_be_bytes()[0])
        };
        (0..20_000).map(move |round| {
            let mut text = Vec::new();
            for _ in 0..next() % 12 {
                match round % 4 {
                    0 => text.push(next().to_le_bytes()[0]),
                    _ => text.extend_from_slice(PIECES[next() % PIECES.len()]),
                }
            }
            text
        })
    }

    #[test]
    fn where_the_first_look_sees_nothing_there_is_nothing() {
        let mut calm = 0;
        for text in hostile().chain(random()) {
            for dialect in [MYSQL, MARIADB] {
                if !may_matter(&text, dialect.flavour) {
                    calm += 1;
                    let effects = effects_in_readings(&text, dialect);
                    assert!(effects.is_empty(), "{}: {effects:?}", text.escape_ascii());
                }
            }
        }
        assert!(calm > 1000, "{calm}");
    }

    #[test]
    fn a_guess_finds_what_any_reading_finds() {
        for text in hostile().chain(random()) {
            for dialect in [MYSQL, MARIADB] {
                let guess = guess(&text, dialect);
                for dialect in dialect.readings(&text) {
                    let (found, _) = read(&text, dialect);
                    let known = |name| guess.names.more || guess.names.names.contains(name);
                    assert!(
                        found.marks.iter().all(|mark| guess.marks.has(mark))
                            && found.names.names.iter().all(known)
                            && (guess.names.more || !found.names.more),
                        "{}: {:?}, not {:?}",
                        text.escape_ascii(),
                        found.marks,
                        guess.marks
                    );
                }
            }
        }
    }

    #[test]
    fn no_text_takes_much_longer_than_a_plain_one() {
        const SIZE: usize = 64 * 1024;
        let took = |text: &[u8]| {
            best(|| {
                let began = worked();
                let _ = session_effects(text, MARIADB);
                worked().saturating_sub(began)
            })
        };
        let repeated = |item: &str| item.repeat(SIZE / item.len()).into_bytes();
        let plain = took(&[b"SELECT @a", repeated(",a").as_slice()].concat());
        let mut texts = many_readings(SIZE);
        texts.extend([";/*", ";", "@a", "@@", "(", "_id", "SET ", "/*!*/", "/**/"].map(repeated));
        let names: Vec<String> = (0..SIZE / 8).map(|n| format!("@a{n:x}'\\'")).collect();
        texts.push(names.concat().into_bytes());
        for text in texts {
            let took = took(&text);
            let start = text[..48].escape_ascii();
            assert!(took < 20 * plain, "{start}: {took:?}, a plain text {plain:?}");
        }
    }
}
