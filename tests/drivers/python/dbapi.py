"""The cases for clients with Python's own interface."""

import hashlib
import os
import tempfile
import time

import show
from clients import CLIENTS
from show import Aside, Shown, attempt, line, until, value


class Cases:
    def __init__(self, client):
        self.client = client

    # --- tools ------------------------------------------------------------------

    def open(self, **options):
        return self.client.connect(**options)

    def run(self, connection, sql, values=None):
        """Runs it and returns all that the cursor tells."""
        with connection.cursor() as cursor:
            cursor.execute(sql, values) if values is not None else cursor.execute(sql)
            return self.told(cursor)

    def told(self, cursor):
        description = cursor.description
        rows = cursor.fetchall() if description else None
        told = [f"rowcount {cursor.rowcount}", f"id {cursor.lastrowid}"]
        if description:
            told.append("columns " + value([tuple(column)[:7] for column in description]))
            told.append("rows " + value(rows))
        return Shown("; ".join(told))

    def show(self, connection, sql, values=None):
        attempt(sql[:150] + ("" if values is None else " " + value(values)), self.run, connection, sql, values)

    def one(self, connection, sql, values=None):
        with connection.cursor() as cursor:
            cursor.execute(sql, values) if values is not None else cursor.execute(sql)
            row = cursor.fetchone()
            return row[0]

    def do(self, connection, sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)

    def marks(self, sql):
        return sql.replace("?", self.client.placeholder)

    def by_statement(self, sql, values):
        cursor = self.client.prepared(self.open())
        cursor.execute(sql, values)
        return self.told(cursor)

    def over(self, connection):
        """How a client notices that its connection was closed depends on what arrives first."""
        try:
            line("still there", self.one(connection, "SELECT 1"))
        except Exception as e:  # noqa: BLE001
            line("it is over:", type(e).__name__)

    # --- cases ------------------------------------------------------------------

    def connect(self):
        a = self.open()
        line("TLS", self.client.tls(a))
        self.show(a, "SELECT VERSION(), USER(), CURRENT_USER(), DATABASE(), @@character_set_client, @@autocommit")
        for name in ("get_server_info", "server_version", "server_info", "get_host_info", "character_set_name", "get_proto_info"):
            told = getattr(a, name, None)
            if told is not None:
                line(name, value(told() if callable(told) else told))
        a.close()

    def let_in(self, **options):
        connection = self.open(**options)
        connection.close()
        return "let in"

    def types(self):
        a = self.open()
        self.do(a, "SET time_zone = '+00:00', sql_mode = ''")
        for sql in show.TYPES:
            self.do(a, sql)
        self.show(a, "SELECT * FROM types ORDER BY id")
        self.show(a, self.marks("SELECT ?, ?, ?, ?, ?"), (1, "é😀", None, 1.5, b"\x00\xff"))
        if self.client.prepared(a):
            for columns in ("*", "id, a, b, c, d, e, f", "id, i, k, l, m", "id, j", "id, g, n, o, p, q, r, s, t, u, v, w"):
                # On a connection of its own: not every client survives its own failures.
                sql = f"SELECT {columns} FROM types WHERE id >= ? ORDER BY id"
                attempt("prepared " + sql, self.by_statement, sql, (0,))

    def prepared(self):
        a = self.open()
        if not self.client.prepared(a):
            return
        self.do(a, "CREATE TABLE ps (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(20))")
        cursor = self.client.prepared(a)
        for text in ("one", None, "é"):
            cursor.execute("INSERT INTO ps (s) VALUES (?)", (text,))
            line("inserted", cursor.rowcount, cursor.lastrowid)
        cursor.executemany("INSERT INTO ps (s) VALUES (?)", [("many 1",), ("many 2",)])
        line("many", cursor.rowcount)
        cursor.close()
        cursor = self.client.prepared(a)
        for least in (0, 2, 9):
            cursor.execute("SELECT id, s FROM ps WHERE id > ? ORDER BY id", (least,))
            line("selected", self.told(cursor))
        cursor.close()
        for sql in ("SELECT GET_LOCK(?, 0)", "SELECT RELEASE_LOCK(?)", "SELECT IS_FREE_LOCK(?)", "SELECT * FROM nosuch WHERE a = ?"):
            cursor = self.client.prepared(a)
            attempt(sql, lambda sql=sql, cursor=cursor: (cursor.execute(sql, ("prepared",)), cursor.fetchall())[1])
            try:
                cursor.close()
            except Exception as e:  # noqa: BLE001
                line("close", show.error(e))
        a.close()

    def transactions(self):
        a, b = self.open(autocommit=False), self.open()
        self.do(a, "CREATE TABLE tx (id INT PRIMARY KEY)")
        self.do(a, "INSERT INTO tx VALUES (1)")
        line("seen by b", self.one(b, "SELECT COUNT(*) FROM tx"))
        a.commit()
        line("seen by b", self.one(b, "SELECT COUNT(*) FROM tx"))
        self.do(a, "INSERT INTO tx VALUES (2)")
        line("lock", self.one(a, "SELECT GET_LOCK('tx', 0)"))
        a.rollback()
        line("after a rollback", self.one(a, "SELECT COUNT(*) FROM tx"), self.one(b, "SELECT IS_FREE_LOCK('tx')"))
        self.one(a, "SELECT id FROM tx FOR UPDATE")
        self.do(b, "SET innodb_lock_wait_timeout = 1")
        self.show(b, "DELETE FROM tx")
        a.rollback()
        self.show(b, "DELETE FROM tx")
        a.close()
        b.close()

    def errors(self):
        a = self.open()
        self.do(a, "CREATE TABLE e (id INT PRIMARY KEY, s VARCHAR(3) NOT NULL)")
        self.do(a, "INSERT INTO e VALUES (1, 'x')")
        for sql in (
            "SELEC 1", "SELECT * FROM nosuch", "SELECT nosuch", "INSERT INTO e VALUES (1, 'x')",
            "INSERT INTO e VALUES (2, 'abcd')", "INSERT INTO e VALUES (3, NULL)", "SELECT GET_LOCK('', 1)",
            "SELECT GET_LOCK('x')", "SELECT RELEASE_LOCK()", "KILL 4000000000",
            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'déjà', MYSQL_ERRNO = 5000", "SELECT 1",
        ):
            self.show(a, sql)
        a.close()
        attempt("wrong password", lambda: self.let_in(password="wrong"))
        attempt("unknown user", lambda: self.let_in(user="nobody"))
        attempt("unknown schema", lambda: self.let_in(database="nosuch"))

    def big_packet(self):
        a = self.open()
        data, text = show.pattern(20 << 20), show.pattern(10 << 20).hex()
        mark = self.client.placeholder
        with a.cursor() as cursor:
            cursor.execute(f"SELECT SHA2({mark}, 256), {mark}", (data, text))
            line("up and down", value(cursor.fetchone()))
        self.show(a, "SELECT REPEAT('down', 5242880)")
        if self.client.prepared(a):
            attempt("prepared", self.by_statement, "SELECT SHA2(?, 256), ?", (data, text))
        a.close()

    def big_result(self):
        a = self.open()
        cursor = self.client.streaming(a)
        cursor.execute(show.BIG)
        total, digest = 0, hashlib.sha256()
        for row in cursor:
            total += 1
            digest.update(f"{row[0]} {row[1]}".encode())
        line(total, "rows", digest.hexdigest())
        cursor.close()
        a.close()

    def cursor(self):
        a = self.open()
        cursor = self.client.streaming(a)
        cursor.execute(show.BIG.replace("a.n < 2", "a.n = 0 AND b.n = 0 AND c.n = 0"))
        line("first", value(cursor.fetchone()), value(cursor.fetchmany(3)))
        attempt("close early", cursor.close)
        self.show(a, "SELECT 'in step'")
        a.close()

    def multi_results(self):
        a = self.open(multi=True)
        self.do(a, "CREATE PROCEDURE several(x INT) BEGIN SELECT x; SELECT x + 1, 'b'; END")
        self.do(a, "CREATE PROCEDURE broken() BEGIN SELECT 1; SELECT * FROM nosuch; END")
        for sql in (
            "SELECT 1; SELECT 2, 3; DO 1; SELECT 4", "SELECT 1; SELECT nosuch; SELECT 3", "CALL several(1)", "CALL broken()",
            "SELECT GET_LOCK('m', 0); SELECT IS_FREE_LOCK('m'); SELECT RELEASE_LOCK('m')",
        ):
            attempt(sql, self.all_results, a, sql)
            if not getattr(a, "open", True):
                a = self.open(multi=True)
        attempt("callproc", self.call, a)
        a.close()
        a = self.open()
        attempt("without the flag", self.all_results, a, "SELECT 1; SELECT 2")
        a.close()

    def all_results(self, connection, sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)
            found = []
            while True:
                found.append(cursor.fetchall() if cursor.description else "no rows")
                if not cursor.nextset():
                    return found

    def call(self, connection):
        with connection.cursor() as cursor:
            cursor.callproc("several", (41,))
            if hasattr(cursor, "stored_results") and type(connection).__module__.startswith("mysql"):
                return [result.fetchall() for result in cursor.stored_results()]
            found = [cursor.fetchall()]
            while cursor.nextset():
                if cursor.description:
                    found.append(cursor.fetchall())
            return found

    def warnings(self):
        a = self.open()
        self.do(a, "SET sql_mode = ''")
        self.do(a, "CREATE TABLE w (s VARCHAR(2), n TINYINT)")
        with a.cursor() as cursor:
            cursor.execute("INSERT INTO w VALUES ('abc', 1000)")
            for name in ("warning_count", "warnings"):
                told = getattr(cursor, name, None)
                line(name, value(told() if callable(told) else told))
        self.show(a, "SHOW WARNINGS")
        self.show(a, "SELECT CAST('1x' AS SIGNED), GET_LOCK('w', '1x')")
        self.show(a, "SHOW WARNINGS")
        a.close()

    def infile(self):
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                with open("file.csv", "w") as file:
                    file.writelines(f"{n},line {n}\n" for n in range(50000))
                a = self.open(infile=True)
                self.do(a, "CREATE TABLE loaded (id INT PRIMARY KEY, s VARCHAR(20))")
                load = "LOAD DATA LOCAL INFILE '{}' INTO TABLE loaded FIELDS TERMINATED BY ','"
                self.show(a, load.format("file.csv"))
                self.show(a, "SELECT COUNT(*), SUM(id), MAX(s) FROM loaded")
                try:
                    self.do(a, load.format("nosuch.csv"))
                except Exception as e:  # noqa: BLE001
                    line("no such file", show.error(e).replace(folder, "FOLDER"))
                a.close()
                a = self.open(infile=False)
                self.show(a, load.format("file.csv"))
                a.close()
            finally:
                os.chdir(here)

    def compression(self):
        a = self.open(compress=True)
        self.show(a, "SELECT REPEAT('compress me ', 100000), GET_LOCK('c', 0)")
        self.show(a, self.marks("SELECT LENGTH(?)"), ("x" * 3000000,))
        self.show(a, "SELECT RELEASE_LOCK('c')")
        a.close()

    def reconnect(self):
        a, other = self.open(), self.open()
        id = self.client.id(a)
        line("the same id", self.one(a, "SELECT CONNECTION_ID()") == id)
        line("lock", self.one(a, "SELECT GET_LOCK('killed', 0)"))
        self.do(other, f"KILL {id}")
        until("the end", lambda: self.one(other, show.GONE.format(id)) == 0)
        self.over(a)
        line("lock of the dead", self.one(other, "SELECT GET_LOCK('killed', 30)"))
        a = self.open()
        line("another id", self.client.id(a) != id)
        if hasattr(a, "ping"):
            attempt("ping", lambda: (a.ping(), "fine")[1])
        id = self.client.id(a)
        waiting = Aside(lambda: self.one(a, "SELECT GET_LOCK('killed', 60)"))
        until("the wait", lambda: self.one(other, show.WAITING.format(id)) == 1)
        self.do(other, f"KILL QUERY {id}")
        waiting.show("killed in a wait")
        self.show(a, "SELECT 'in step'")
        a.close()
        other.close()

    def reset(self):
        if hasattr(self.client, "reset"):
            self.reset_by(lambda a: self.client.reset(a))

    def change_user(self):
        if not hasattr(self.client, "change_user"):
            return
        self.reset_by(lambda a: self.client.change_user(a, show.USER, show.PASSWORD, show.SCHEMA))
        a = self.open()
        attempt("wrong password", self.client.change_user, a, show.USER, "wrong", show.SCHEMA)
        self.over(a)

    def reset_by(self, begin):
        a, b = self.open(), self.open()
        self.do(a, "SET @a = 1")
        self.do(a, "CREATE TEMPORARY TABLE mine (n INT)")
        # One of its own: that of a closed session is free a moment later.
        get = f"SELECT GET_LOCK('reset {show.running}', 0)"
        line("lock", self.one(a, get), self.one(b, get))
        attempt("reset", begin, a)
        self.show(a, "SELECT @a, DATABASE()")
        self.show(a, "SELECT * FROM mine")
        line("lock", self.one(b, get), self.one(a, "SELECT RELEASE_ALL_LOCKS()"))
        a.close()
        b.close()

    def lock(self):
        a, b, c = self.open(), self.open(), self.open()
        id = {each: self.client.id(each) for each in (a, b)}
        get = self.marks("SELECT GET_LOCK(?, ?)")
        line("a gets", self.one(a, get, ("job", 10)))
        line("b gets", self.one(b, get, ("job", 0)))
        line("b gets in 0.2 s", self.one(b, get, ("job", 0.2)))
        line("holder is a", self.one(b, "SELECT IS_USED_LOCK('job')") == id[a])
        line("b releases", self.one(b, "SELECT RELEASE_LOCK('job')"), self.one(b, "SELECT RELEASE_LOCK('none')"))
        waiting = Aside(lambda: self.one(b, get, ("job", 30)))
        until("the wait", lambda: self.one(c, show.WAITING.format(id[b])) == 1)
        line("a releases", self.one(a, "SELECT RELEASE_LOCK('job')"))
        waiting.show("b gets")
        waiting = Aside(lambda: self.one(a, get, ("job", 30)))
        until("the wait", lambda: self.one(c, show.WAITING.format(id[a])) == 1)
        b.close()
        waiting.show("a gets after a close")
        self.show(a, "SELECT IS_FREE_LOCK('job'), IS_FREE_LOCK('none'), RELEASE_ALL_LOCKS()")
        self.show(a, "SELECT GET_LOCK('x', 0), GET_LOCK('y', 0), RELEASE_LOCK('x')")
        line("percent", self.one(a, get, ("100%", 0)), self.one(a, "SELECT IS_FREE_LOCK('100%')"))
        a.close()
        c.close()

    def busy(self):
        a = self.open()
        self.do(a, "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)")
        self.do(a, "INSERT INTO busy (n) VALUES (0)")
        line("lock", self.one(a, "SELECT GET_LOCK('busy', 5)"))
        errors, over = 0, 0
        for _ in range(400):
            try:
                self.do(a, "UPDATE busy SET n = n + 1")
                over = self.one(a, "SELECT n > 510 FROM busy")
            except Exception:  # noqa: BLE001: one is allowed
                errors += 1
            if over == 1:
                break
            time.sleep(0.05)
        line("over", over == 1, "one error at most", errors < 2)
        line("mine", self.one(a, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"), "id", self.one(a, "SELECT id = LAST_INSERT_ID() FROM busy"))
        line("released", self.one(a, "SELECT RELEASE_LOCK('busy')"))
        self.do(a, "DROP TABLE busy")
        a.close()

    def pool(self):
        if not hasattr(self.client, "pool"):
            return
        take = self.client.pool(2)
        a, b = take(), take()
        attempt("a third", lambda: (take(), "given")[1])
        line("locks", self.one(a, "SELECT GET_LOCK('pool', 0)"), self.one(b, "SELECT GET_LOCK('pool', 0)"))
        a.close()
        a = take()
        # The pool resets a session that comes back: the lock is free.
        line("after its return", self.one(b, "SELECT GET_LOCK('pool', 0)"), self.one(a, "SELECT 'alive'"))
        a.close()
        b.close()


def cases(name):
    return Cases(CLIENTS[name]())
