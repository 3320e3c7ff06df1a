"""Sessions of an application, each in a thread of its own."""

import queue
import ssl
import threading

import pymysql


class Session:
    """A client at one port; what it is asked is answered in order."""

    def __init__(self, port, user="app"):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.connection = pymysql.connect(
            host="127.0.0.1", port=port, user=user, password="app", database="app", charset="utf8mb4", ssl=context
        )
        self.id = self.connection.thread_id()
        self.asked, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while (call := self.asked.get()) is not None:
            try:
                with self.connection.cursor() as cursor:
                    cursor.execute(*call)
                    row = cursor.fetchone()
                self.answers.put(row and row[0])
            except (pymysql.Error, OSError) as error:
                self.answers.put(error)

    def ask(self, sql, *values):
        """Sends a statement and goes on."""
        self.asked.put((sql, values))

    def answer(self, seconds=60):
        """What came of the first statement that was not looked at yet: a value, or an error."""
        return self.answers.get(timeout=seconds)

    def value(self, sql, *values):
        self.ask(sql, *values)
        answer = self.answer()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def lock(self, name):
        got = self.value("SELECT GET_LOCK(%s, 0)", name)
        assert got == 1, f"{name!r} is not free: {got}"

    def unlock(self, name):
        got = self.value("SELECT RELEASE_LOCK(%s)", name)
        assert got == 1, f"{name!r} is not held: {got}"

    def ask_for(self, name):
        self.ask("SELECT GET_LOCK(%s, 600)", name)


def deadlock(port, first, second):
    """Two sessions that want what the other one has; returns both, and the one of them that was refused."""
    one, two = Session(port), Session(port)
    one.lock(first)
    two.lock(second)
    one.ask_for(second)
    two.ask_for(first)
    both = queue.Queue()
    for session in (one, two):
        threading.Thread(target=lambda s=session: both.put((s, s.answer())), daemon=True).start()
    victim, error = both.get(timeout=60)
    assert isinstance(error, pymysql.Error), f"nobody is refused, but answered {error}"
    victim.value("SELECT RELEASE_ALL_LOCKS()")
    other, got = both.get(timeout=60)
    assert got == 1, f"the other one does not get its lock: {got}"
    return one, two, victim
