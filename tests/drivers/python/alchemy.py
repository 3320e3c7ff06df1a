"""The cases for SQLAlchemy, over mysqlclient."""

import datetime
import decimal
import hashlib
import time

import show
from show import Aside, attempt, line, until, value
from sqlalchemy import (
    Boolean, Column, Date, DateTime, Float, ForeignKey, Integer, JSON, LargeBinary, Numeric, String, Text, Time, create_engine,
    func, inspect, select, text,
)
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import DeclarativeBase, Session, relationship
from sqlalchemy.pool import QueuePool


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "authors"
    id = Column(Integer, primary_key=True)
    name = Column(String(30), nullable=False, unique=True)
    books = relationship("Book", back_populates="author", order_by="Book.id")


class Book(Base):
    __tablename__ = "books"
    id = Column(Integer, primary_key=True)
    author_id = Column(ForeignKey("authors.id"))
    title = Column(String(100))
    text = Column(Text)
    price = Column(Numeric(10, 2))
    weight = Column(Float)
    sold = Column(Boolean)
    day = Column(Date)
    at = Column(DateTime)
    opens = Column(Time)
    data = Column(LargeBinary)
    more = Column(JSON)
    author = relationship("Author", back_populates="books")


def engine(**options):
    connect = dict(charset="utf8mb4")
    if show.TLS:
        connect |= dict(ssl_mode="VERIFY_IDENTITY", ssl=dict(ca=show.CA))
    else:
        connect["ssl_mode"] = "DISABLED"
    url = f"mysql+mysqldb://{show.USER}:{show.PASSWORD}@{show.HOST}:{show.PORT}/{show.SCHEMA}"
    return create_engine(url, connect_args=connect, **options)


class Cases:
    def __init__(self):
        self.engine = engine()

    def rows(self, connection, sql, **values):
        result = connection.execute(text(sql), values)
        return (list(result.keys()), [tuple(row) for row in result]) if result.returns_rows else result.rowcount

    def one(self, connection, sql, **values):
        return connection.execute(text(sql), values).scalar()

    def connect(self):
        with self.engine.connect() as a:
            line(a.dialect.name, a.dialect.server_version_info, a.dialect.is_mariadb)
            attempt("who", self.rows, a, "SELECT VERSION(), USER(), DATABASE()")
            line("isolation", a.get_isolation_level())
            line("TLS", bool(a.execute(text("SHOW STATUS LIKE 'Ssl_cipher'")).one()[1]))

    def types(self):
        Base.metadata.create_all(self.engine)
        with Session(self.engine) as session:
            session.add(Author(name="é", books=[
                Book(title="😀", text="long " * 100, price=decimal.Decimal("1.50"), weight=1.25, sold=True,
                     day=datetime.date(2024, 2, 29), at=datetime.datetime(2024, 1, 2, 3, 4, 5), opens=datetime.time(6, 7),
                     data=b"\x00\xff", more={"a": [1, None]}),
                Book(title=None),
            ]))
            session.commit()
        with Session(self.engine) as session:
            for book in session.scalars(select(Book).order_by(Book.id)):
                line(value([getattr(book, c.name) for c in Book.__table__.columns]), book.author.name)
            line(session.scalar(select(func.count()).select_from(Book)))
        found = inspect(self.engine)
        for table in sorted(found.get_table_names()):
            line(table, value([(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)]))
            line(value(found.get_foreign_keys(table)), value(found.get_indexes(table)))

    def transactions(self):
        with Session(self.engine) as session, self.engine.connect() as other:
            session.add(Author(name="first"))
            session.flush()
            line("before", self.one(other, "SELECT COUNT(*) FROM authors"))
            with session.begin_nested() as inner:
                session.add(Author(name="inner"))
                session.flush()
                inner.rollback()
            session.commit()
            other.rollback()
            line("after", self.one(other, "SELECT COUNT(*) FROM authors"))

    def errors(self):
        with self.engine.connect() as a:
            for sql in ("SELEC 1", "SELECT * FROM nosuch", "INSERT INTO authors (name) VALUES ('é')", "SELECT GET_LOCK('', 1)"):
                attempt(sql, self.rows, a, sql)

    def big_packet(self):
        with self.engine.connect() as a:
            line(self.one(a, "SELECT SHA2(:x, 256)", x=show.pattern(20 << 20)))
            line(value(self.one(a, "SELECT :x", x=show.pattern(10 << 20).hex())))

    def big_result(self):
        with self.engine.connect().execution_options(stream_results=True, yield_per=1000) as a:
            total, digest = 0, hashlib.sha256()
            for row in a.execute(text(show.BIG)):
                total += 1
                digest.update(f"{row[0]} {row[1]}".encode())
            line(total, digest.hexdigest())

    def multi_results(self):
        with self.engine.connect() as a:
            a.exec_driver_sql("CREATE PROCEDURE several() BEGIN SELECT 1; SELECT 2, 3; END")
            raw = self.engine.raw_connection()
            cursor = raw.cursor()
            cursor.callproc("several")
            line(value(cursor.fetchall()), cursor.nextset(), value(cursor.fetchall()), cursor.nextset(), cursor.nextset())
            raw.close()

    def reconnect(self):
        with self.engine.connect() as other:
            for checked in (False, True):
                pool = engine(pool_size=1, max_overflow=0, pool_pre_ping=checked)
                with pool.connect() as a:
                    id = self.one(a, "SELECT CONNECTION_ID()")
                other.exec_driver_sql(f"KILL {id}")
                until("the end", lambda: self.one(other, show.GONE.format(id)) == 0)
                # How it is noticed, and so whether the check understands it, depends on what arrives first.
                try:
                    self.alive(pool)
                except OperationalError:
                    pass
                attempt(f"checked {checked}, then", self.alive, pool)
                pool.dispose()

    def alive(self, pool):
        with pool.connect() as a:
            return self.one(a, "SELECT 'alive'")

    def lock(self):
        with self.engine.connect() as a, self.engine.connect() as b, self.engine.connect() as c:
            get, release = select(func.get_lock("job", 30)), select(func.release_lock("job"))
            id = {each: self.one(each, "SELECT CONNECTION_ID()") for each in (a, b)}
            line("a gets", a.scalar(get))
            line("b gets", b.scalar(select(func.get_lock("job", 0))))
            line("holder is a", b.scalar(select(func.is_used_lock("job"))) == id[a])
            waiting = Aside(lambda: b.scalar(get))
            until("the wait", lambda: self.one(c, show.WAITING.format(id[b])) == 1)
            line("a releases", a.scalar(release))
            waiting.show("b gets")
            # The pool rolls back and keeps the session: its locks stay, as at the server.
            waiting = Aside(lambda: a.scalar(get))
            until("the wait", lambda: self.one(c, show.WAITING.format(id[a])) == 1)
            b.invalidate()
            waiting.show("a gets after a close")
            line("a releases", a.scalar(release), a.scalar(release), a.scalar(select(func.is_free_lock("job"))))

    def busy(self):
        a = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        a.execute(text("CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)"))
        a.execute(text("INSERT INTO busy (n) VALUES (0)"))
        line("lock", self.one(a, "SELECT GET_LOCK('busy', 5)"))
        errors, over = 0, 0
        for _ in range(400):
            try:
                a.execute(text("UPDATE busy SET n = n + 1"))
                over = self.one(a, "SELECT n > 510 FROM busy")
            except Exception:  # noqa: BLE001: one is allowed
                errors += 1
            if over == 1:
                break
            time.sleep(0.05)
        line("over", over == 1, "one error at most", errors < 2)
        line("mine", self.one(a, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"), "id", self.one(a, "SELECT id = LAST_INSERT_ID() FROM busy"))
        line("released", self.one(a, "SELECT RELEASE_LOCK('busy')"))
        a.execute(text("DROP TABLE busy"))
        a.close()

    def pool(self):
        pool = engine(poolclass=QueuePool, pool_size=2, max_overflow=0, pool_timeout=30)

        def turn():
            with pool.connect() as a:
                return self.one(a, "SELECT GET_LOCK('pool', 60)"), self.one(a, "SELECT RELEASE_LOCK('pool')")

        turns = [Aside(turn) for _ in range(10)]
        for each in turns:
            each.show("turn")
        line(pool.pool.checkedout())
        pool.dispose()


def cases(_):
    return Cases()
