"""What all clients share: the settings, printing, and waiting without sleeping blindly."""

import hashlib
import os
import threading
import time

HOST = os.environ["DB_HOST"]
PORT = int(os.environ["DB_PORT"])
USER = os.environ["DB_USER"]
PASSWORD = os.environ["DB_PASSWORD"]
SCHEMA = os.environ["DB_SCHEMA"]
TLS = os.environ["DB_TLS"] == "on"
CA = os.environ.get("DB_CA") or None
MARIADB = os.environ["DB_FLAVOUR"] == "mariadb"

running = "?"  # the case


def line(*things):
    text = " ".join(str(thing) for thing in things).replace("\n", "\\n")
    print(f"{running}: {text}", flush=True)


class Shown(str):
    """A text that is printed as it is."""


def value(v):
    """A value so that all of it can be seen."""
    if isinstance(v, (set, frozenset)):
        return "{" + ", ".join(sorted(map(value, v))) + "}"
    if isinstance(v, Shown):
        return str(v)
    if isinstance(v, (bytes, bytearray, str)) and len(v) > 200:
        data = v.encode() if isinstance(v, str) else bytes(v)
        return f"{type(v).__name__} of {len(v)}, {hashlib.sha256(data).hexdigest()[:16]}"
    if isinstance(v, (list, tuple)):
        return "(" + ", ".join(map(value, v)) + ")"
    if isinstance(v, dict):
        return "{" + ", ".join(f"{value(k)}: {value(w)}" for k, w in v.items()) + "}"
    return repr(v)


def error(e):
    fields = [f"{name}={value(getattr(e, name))}" for name in ("errno", "sqlstate") if hasattr(e, name)]
    return " ".join([type(e).__name__, value(e.args), *fields])


def attempt(what, call, *arguments):
    """Runs it and prints what it returns, or the error."""
    try:
        line(what, "->", value(call(*arguments)))
    except Exception as e:  # noqa: BLE001: whatever the client raises is the result
        line(what, "->", error(e))


def until(what, happened):
    for _ in range(2000):
        if happened():
            return
        time.sleep(0.01)
    line(what, "has not happened")


class Aside(threading.Thread):
    """A call in a thread of its own; its result is shown when it is joined."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.answer = call, "no answer"
        self.start()

    def run(self):
        try:
            self.answer = value(self.call())
        except Exception as e:  # noqa: BLE001
            self.answer = error(e)

    def show(self, what):
        self.join(60)
        line(what, "->", self.answer)


if os.environ.get("DB_LISTS_SESSIONS") == "no":
    WAITING, GONE = "SELECT 1 + SLEEP(0.3)", "SELECT SLEEP(0.3)"
else:
    WAITING = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {} AND state = 'User lock'"
    GONE = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {}"

DIGITS = "(" + " UNION ALL ".join(f"SELECT {n}{' n' if n == 0 else ''}" for n in range(10)) + ")"
BIG = (
    "SELECT a.n * 100000 + b.n * 10000 + c.n * 1000 + d.n * 100 + e.n * 10 + f.n AS i, REPEAT('x', b.n * 7) "
    f"FROM {DIGITS} a, {DIGITS} b, {DIGITS} c, {DIGITS} d, {DIGITS} e, {DIGITS} f WHERE a.n < 2 ORDER BY i"
)

TYPES = [
    """CREATE TABLE types (id INT PRIMARY KEY, a TINYINT, b BIGINT, c BIGINT UNSIGNED, d FLOAT, e DOUBLE,
       f DECIMAL(30,10), g BIT(12), h BOOL, i DATE, j TIME(6), k DATETIME(6), l TIMESTAMP NULL, m YEAR, n CHAR(8),
       o VARCHAR(20), p BINARY(4), q VARBINARY(8), r TEXT, s BLOB, t ENUM('a','bé'), u SET('x','y','z'), v JSON,
       w VARCHAR(20) CHARACTER SET latin1)""",
    """INSERT INTO types VALUES (1, -128, -9223372036854775808, 18446744073709551615, 1.5, -2.25e100,
       '-12345678901234567890.0123456789', b'101010101010', TRUE, '2024-02-29', '-838:59:58.999999',
       '9999-12-31 23:59:59.999999', '2024-06-01 12:00:00', 2155, 'abc', '😀 é', 'ab', x'00ff00', 'text', x'0001',
       'bé', 'x,z', '{"a": [1, null, "é"]}', 'é')""",
    """INSERT INTO types VALUES (2, 0, 0, 0, 0, 0, 0, b'0', FALSE, '1000-01-01', '00:00:00', '1000-01-01 00:00:00',
       '1970-01-02 00:00:01', 1901, '', '', '', '', '', '', 'a', '', 'null', '')""",
    "INSERT INTO types (id) VALUES (3)",
]


def pattern(size):
    """Bytes that do not compress into nothing, and are the same everywhere."""
    block = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(2048))
    return (block * (size // len(block) + 1))[:size]
