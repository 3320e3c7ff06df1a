"""The cases for asyncmy and aiomysql, which have one interface."""

import asyncio
import hashlib
import importlib
import os
import ssl
import tempfile

import show
from show import Shown, error, line, value


class Cases:
    def __init__(self, name):
        self.module = importlib.import_module(name)
        self.cursors = importlib.import_module(name + ".cursors")
        self.flags = importlib.import_module("asyncmy.constants.CLIENT" if name == "asyncmy" else "pymysql.constants.CLIENT")

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        if name in CASES:
            return lambda: asyncio.run(found())
        return found

    # --- tools --------------------------------------------------------------------

    def settings(self, multi=False, infile=False, **options):
        settings = dict(host=show.HOST, port=show.PORT, user=show.USER, password=show.PASSWORD, db=show.SCHEMA,
                        charset="utf8mb4", autocommit=True, local_infile=infile)
        if multi:
            settings["client_flag"] = self.flags.MULTI_STATEMENTS
        if show.TLS:
            settings["ssl"] = ssl.create_default_context(cafile=show.CA)
        return settings | options

    async def open(self, **options):
        return await self.module.connect(**self.settings(**options))

    async def run(self, connection, sql, values=None):
        async with connection.cursor() as cursor:
            await cursor.execute(sql, values)
            told = [f"rowcount {cursor.rowcount}", f"id {cursor.lastrowid}"]
            if cursor.description:
                told += ["columns " + value(cursor.description), "rows " + value(await cursor.fetchall())]
            return Shown("; ".join(told))

    async def attempt(self, what, coroutine):
        try:
            line(what, "->", value(await coroutine))
        except Exception as e:  # noqa: BLE001: whatever the client raises is the result
            line(what, "->", error(e))

    async def show(self, connection, sql, values=None):
        what = sql[:150] + ("" if values is None else " " + value(values))
        await self.attempt(what, self.run(connection, sql, values))

    async def one(self, connection, sql, values=None):
        async with connection.cursor() as cursor:
            await cursor.execute(sql, values)
            return (await cursor.fetchone())[0] if cursor.description else None

    async def until(self, what, connection, sql, wanted):
        for _ in range(2000):
            if await self.one(connection, sql) == wanted:
                return
            await asyncio.sleep(0.01)
        line(what, "has not happened")

    def id(self, connection):
        return connection.thread_id()

    # --- cases --------------------------------------------------------------------

    async def connect(self):
        a = await self.open()
        await self.show(a, "SELECT VERSION(), USER(), CURRENT_USER(), DATABASE(), @@character_set_client, @@autocommit")
        async with a.cursor() as cursor:
            await cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            line("TLS", bool((await cursor.fetchone())[1]))
        line(a.get_server_info(), a.get_host_info(), a.get_proto_info())
        a.close()
        for options in (dict(password="wrong"), dict(user="nobody"), dict(db="nosuch")):
            await self.attempt(value(options), self.open(**options))

    async def types(self):
        a = await self.open()
        await self.one(a, "SET time_zone = '+00:00', sql_mode = ''")
        for sql in show.TYPES:
            await self.one(a, sql)
        await self.show(a, "SELECT * FROM types ORDER BY id")
        await self.show(a, "SELECT %s, %s, %s, %s", (1, "é😀", None, 1.5))
        a.close()

    async def transactions(self):
        a, b = await self.open(autocommit=False), await self.open()
        await self.one(a, "CREATE TABLE tx (id INT PRIMARY KEY)")
        await a.begin()
        await self.one(a, "INSERT INTO tx VALUES (1)")
        line(await self.one(b, "SELECT COUNT(*) FROM tx"), await self.one(a, "SELECT GET_LOCK('tx', 0)"))
        await a.commit()
        line(await self.one(b, "SELECT COUNT(*) FROM tx"))
        await self.one(a, "DELETE FROM tx")
        await a.rollback()
        line(await self.one(a, "SELECT COUNT(*) FROM tx"), await self.one(b, "SELECT GET_LOCK('tx', 0)"))
        a.close()
        b.close()

    async def errors(self):
        a = await self.open()
        await self.one(a, "CREATE TABLE e (id INT PRIMARY KEY)")
        for sql in ("SELEC 1", "SELECT * FROM nosuch", "INSERT INTO e VALUES (1), (1)", "INSERT INTO e VALUES ('x')",
                    "SELECT GET_LOCK('', 1)", "SELECT GET_LOCK('x')", "KILL 4000000000", "SIGNAL SQLSTATE '45000'"):
            await self.show(a, sql)
        a.close()

    async def big_packet(self):
        a = await self.open()
        if self.module.__name__ == "asyncmy":  # aiomysql cannot send bytes
            await self.show(a, "SELECT SHA2(%s, 256)", (show.pattern(20 << 20),))
        await self.show(a, "SELECT %s", (show.pattern(10 << 20).hex(),))
        a.close()

    async def big_result(self):
        a = await self.open()
        total, digest = 0, hashlib.sha256()
        async with a.cursor(self.cursors.SSCursor) as cursor:
            await cursor.execute(show.BIG)
            while row := await cursor.fetchone():
                total += 1
                digest.update(f"{row[0]} {row[1]}".encode())
        line(total, "rows", digest.hexdigest())
        a.close()

    async def multi_results(self):
        a = await self.open(multi=True)
        await self.one(a, "CREATE PROCEDURE several(x INT) BEGIN SELECT x; SELECT x + 1, 'b'; END")
        for sql in ("SELECT 1; SELECT 2, 3; DO 1; SELECT 4", "SELECT 1; SELECT nosuch", "CALL several(1)",
                    "SELECT GET_LOCK('m', 0); SELECT IS_FREE_LOCK('m'); SELECT RELEASE_LOCK('m')"):
            await self.attempt(sql, self.all_results(a, sql))
        a.close()

    async def all_results(self, connection, sql):
        async with connection.cursor() as cursor:
            await cursor.execute(sql)
            found = []
            while True:
                found.append(await cursor.fetchall() if cursor.description else "no rows")
                if not await cursor.nextset():
                    return found

    async def warnings(self):
        a = await self.open()
        await self.one(a, "SET sql_mode = ''")
        await self.one(a, "CREATE TABLE w (n TINYINT)")
        await self.show(a, "INSERT INTO w VALUES (1000)")
        await self.show(a, "SHOW WARNINGS")
        a.close()

    async def infile(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
            file.writelines(f"{n},line {n}\n" for n in range(20000))
        a = await self.open(infile=True)
        await self.one(a, "CREATE TABLE loaded (id INT PRIMARY KEY, s VARCHAR(20))")
        try:
            await self.one(a, f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE loaded FIELDS TERMINATED BY ','")
            await self.show(a, "SELECT COUNT(*), SUM(id) FROM loaded")
        finally:
            os.unlink(file.name)
        a.close()

    async def reconnect(self):
        a, other = await self.open(), await self.open()
        line("the same id", await self.one(a, "SELECT CONNECTION_ID()") == self.id(a))
        line("lock", await self.one(a, "SELECT GET_LOCK('killed', 0)"))
        await self.one(other, f"KILL {self.id(a)}")
        await self.until("the end", other, show.GONE.format(self.id(a)), 0)
        try:
            line("still there", await self.one(a, "SELECT 1"))
        except Exception as e:  # noqa: BLE001: which one depends on what arrives first
            line("it is over:", type(e).__name__)
        line("lock of the dead", await self.one(other, "SELECT GET_LOCK('killed', 30)"))
        a = await self.open()
        waiting = asyncio.ensure_future(self.one(a, "SELECT GET_LOCK('killed', 60)"))
        await self.until("the wait", other, show.WAITING.format(self.id(a)), 1)
        await self.one(other, f"KILL QUERY {self.id(a)}")
        await self.attempt("killed in a wait", waiting)
        await self.show(a, "SELECT 'in step'")
        a.close()
        other.close()

    async def lock(self):
        a, b, c = await self.open(), await self.open(), await self.open()
        get = "SELECT GET_LOCK(%s, %s)"
        line(await self.one(a, get, ("job", 10)), await self.one(b, get, ("job", 0)))
        line("holder is a", await self.one(b, "SELECT IS_USED_LOCK('job')") == self.id(a))
        waiting = asyncio.ensure_future(self.one(b, get, ("job", 30)))
        await self.until("the wait", c, show.WAITING.format(self.id(b)), 1)
        line("a releases", await self.one(a, "SELECT RELEASE_LOCK('job')"))
        await self.attempt("b gets", waiting)
        waiting = asyncio.ensure_future(self.one(a, get, ("job", 30)))
        await self.until("the wait", c, show.WAITING.format(self.id(a)), 1)
        b.close()
        await self.attempt("a gets after a close", waiting)
        await self.show(a, "SELECT IS_FREE_LOCK('job'), RELEASE_LOCK('none'), RELEASE_ALL_LOCKS()")
        a.close()
        c.close()

    async def busy(self):
        a = await self.open()
        await self.run(a, "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)")
        await self.run(a, "INSERT INTO busy (n) VALUES (0)")
        line("lock", await self.one(a, "SELECT GET_LOCK('busy', 5)"))
        errors, over = 0, 0
        for _ in range(400):
            try:
                await self.run(a, "UPDATE busy SET n = n + 1")
                over = await self.one(a, "SELECT n > 510 FROM busy")
            except Exception:  # noqa: BLE001: one is allowed
                errors += 1
            if over == 1:
                break
            await asyncio.sleep(0.05)
        line("over", over == 1, "one error at most", errors < 2)
        line("mine", await self.one(a, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"), "id", await self.one(a, "SELECT id = LAST_INSERT_ID() FROM busy"))
        line("released", await self.one(a, "SELECT RELEASE_LOCK('busy')"))
        await self.run(a, "DROP TABLE busy")
        a.close()

    async def pool(self):
        pool = await self.module.create_pool(minsize=1, maxsize=3, **self.settings())

        async def turn(n):
            async with pool.acquire() as connection:
                got = await self.one(connection, "SELECT GET_LOCK('pool', 60)")
                return got, n, await self.one(connection, "SELECT RELEASE_LOCK('pool')")

        line(value(await asyncio.gather(*(turn(n) for n in range(20)))), pool.size)
        pool.close()
        await pool.wait_closed()


CASES = [name for name in vars(Cases) if asyncio.iscoroutinefunction(getattr(Cases, name))]
CASES = {name for name in CASES if name not in ("open", "run", "attempt", "show", "one", "until", "all_results")}


def cases(name):
    return Cases(name)
