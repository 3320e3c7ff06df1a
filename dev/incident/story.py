"""An incident, played: two proxies, two applications, three things that go wrong. Run by incident.sh."""

import json
import os
import signal
import time

import pymysql

from paper import Machine, Paper
from sessions import Session

LEASE = os.environ["LEASE"]
SOCKET = "/run/lockstead/admin.sock"


def eventually(what, look, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.1)
    return found


def waits(machine, name):
    eventually(f"somebody waits for {name}", lambda: name in machine.run("lockstead waiters --json"))


def metrics(machine, pattern):
    return f"curl -s 127.0.0.1:{machine.http}/metrics | grep -E '^lockstead_({pattern})'"


def refused(session):
    error = session.answer()
    assert isinstance(error, pymysql.Error), f"no error, but {error}"
    return error


def before(paper, a, b):
    paper.say("# An incident, step by step")
    server = os.environ["SERVER_VERSION"]
    paper.say(
        "This page shows a deadlock, a proxy that hangs and a lock that is stuck: what an administrator sees, and what to do. It is the output of",
        f"one run of `make incident`, with {'MariaDB' if 'MariaDB' in server else 'MySQL'} {server}: two proxies in mode `durable`, a and b, with a lease of {LEASE} s. Both run on one machine, but",
        "the page shows them as if each had its own: `a$` is a shell on the machine of proxy a. Paths of sockets and logs are those of the",
        "systemd unit. Two applications take locks: `orders` and `billing`.",
    )
    nightly = Session(b.port, "billing")
    nightly.lock("nightly:report")
    paper.head("Before")
    paper.show(a, "lockstead proxies", "lockstead locks", "lockstead lease",
               metrics(a, "lease_seconds|lease_age|store_up|live_peers"),
               must=["live", "nightly:report", "billing@127.0.0.1", "yes", "live_peers 1"])  # fmt: skip
    return nightly


def deadlock(paper, a):
    paper.head("A deadlock")
    orders, billing = Session(a.port, "orders"), Session(a.port, "billing")
    orders.lock("stock:17")
    billing.lock("invoice:88")
    paper.say("`orders` holds `stock:17` and asks for `invoice:88`; `billing` holds `invoice:88` and asks for `stock:17`. One of them gets an error at once:")
    orders.ask_for("invoice:88")
    waits(a, "invoice:88")
    billing.ask_for("stock:17")
    victim, name = (billing, "billing")
    error = eventually("one is refused", lambda: victim.answers.queue and victim.answers.get())
    assert isinstance(error, pymysql.Error), error
    paper.heard(name, error)
    paper.say("That is the server's own error, which applications can handle. The other session waits until the first one releases its lock. Afterwards:")
    victim.value("SELECT RELEASE_ALL_LOCKS()")
    assert orders.answer() == 1
    paper.show(a, "lockstead deadlocks", f"mysql -S {SOCKET} -e 'SHOW DEADLOCKS'", metrics(a, "deadlocks_total"),
               must=["invoice:88", "stock:17", "yes"])  # fmt: skip
    paper.picture(a, "deadlock", "the page's table of deadlocks, with both waits and the one that failed",
                  "document.querySelectorAll('#deadlocks tbody tr').length === 2", "section:has(#deadlocks)")  # fmt: skip
    paper.say("The administrator need not act: the applications should take locks in one order. No alert fires.")
    orders.value("SELECT RELEASE_ALL_LOCKS()")


def hanging(paper, a, b, nightly):
    paper.head("A proxy hangs")
    orders = Session(a.port, "orders")
    os.kill(b.pid, signal.SIGSTOP)
    try:
        orders.ask_for("nightly:report")
        waits(a, "nightly:report")
        paper.say(
            "Proxy b stops (here by SIGSTOP; a suspended machine looks the same) while `billing` holds `nightly:report`",
            "through it. `orders` waits for this lock at proxy a:",
        )
        paper.show(a, "lockstead waiters", f"mysql -S {SOCKET} -t -e \"SHOW LOCKS LIKE 'nightly:%'\"", "lockstead proxies",
                   metrics(a, "locks_waiting|lease_age|store_up"), must=["nightly:report", "billing@127.0.0.1"])  # fmt: skip
        paper.picture(a, "hanging", "the page of proxy a: the lock, its holder at proxy b, and its waiter",
                      "document.querySelectorAll('#graph rect.waiter').length === 1", "#contended")  # fmt: skip
        paper.say("The tables do not show yet that b has failed: its lease is good for some more seconds. An administrator who tries to release the lock sees it:")
        paper.show(a, "lockstead release nightly:report", must=["owner silent", "status 1"])
        paper.say(
            "The forced release frees nothing: only b may free the row, and b does not answer. It is not needed either, since b's lease",
            "runs out.",
        )
        paper.say(f"Prometheus gets no answer from b, and the alert `LocksteadDown` fires ([runbook](runbook.md#locksteaddown)).")
        paper.show(b, f"curl -s --max-time 2 127.0.0.1:{b.http}/metrics", must=["status 28"])
        got = orders.answer()
        assert got == 1, got
        paper.say("When the lease has run out, a ends b's sessions at the server. Then `orders` gets the lock, with a greater token:")
        paper.show(a, "lockstead locks", "lockstead proxies", metrics(a, "takeovers_total|live_peers"),
                   must=["orders@127.0.0.1", "takeovers_total 1"])  # fmt: skip
    finally:
        os.kill(b.pid, signal.SIGCONT)
    nightly.ask("SELECT 1")
    error = refused(nightly)
    paper.say("Then b continues. It finds that its lease is over, and closes the session that held the lock before the session can do anything. `billing` gets:")
    paper.heard("billing", error)
    eventually("b is ready again", lambda: "200 OK" in b.run(f"curl -si 127.0.0.1:{b.http}/readyz"))
    paper.show(b, metrics(b, "fenced_sessions_total|lease_good"), "grep ERROR /var/log/lockstead",
               must=["fenced_sessions_total"])  # fmt: skip
    paper.say(
        "`LocksteadSessionsFenced` fires when Prometheus scrapes b again ([runbook](runbook.md#locksteadsessionsfenced)). The database has rolled",
        "back the transaction of `billing`. Check what `billing` did outside the database.",
    )
    orders.value("SELECT RELEASE_ALL_LOCKS()")


def stuck(paper, a):
    paper.head("A lock that is stuck")
    holder = Session(a.port, "billing")
    holder.lock("import")
    holder.ask("SELECT SLEEP(3600)")
    waiters = [Session(a.port, "orders") for _ in range(3)]
    for number, waiter in enumerate(waiters, 1):
        waiter.ask_for("import")
        eventually(f"{number} wait", lambda n=number: a.run("lockstead waiters").count("import") == n)
    paper.say(
        "`billing` holds `import` and runs a statement that does not end. Three sessions of `orders` wait. After a while the alerts",
        "`LocksteadLockHeldTooLong` and `LocksteadWaitsSlow` fire ([runbook](runbook.md#locksteadlockheldtoolong)). They watch these metrics:",
    )
    paper.show(a, metrics(a, "lock_longest_hold|lock_longest_wait|locks_waiting"), must=["locks_waiting 3"])
    paper.say("Which session holds it, and which ones wait?")
    paper.show(a, "lockstead locks --like import", f"mysql -S {SOCKET} -t -e 'SHOW WAITERS'", must=["billing@127.0.0.1", "orders@127.0.0.1"])
    paper.picture(a, "stuck", "the page: the lock in the middle, its holder to the left, three that wait to the right",
                  "document.querySelectorAll('#graph rect.waiter').length === 3 && document.querySelectorAll('#waits tbody tr').length === 3",
                  "header", "section:has(#waits)")  # fmt: skip
    paper.say("The owner of `billing` agrees that the session may end. The token makes sure that the command releases this grant and not a later one:")
    token = json.loads(a.run("lockstead locks --like import --json"))[0]["token"]
    paper.show(a, f"lockstead release import --token {token}", must=["released"])
    paper.heard("billing", refused(holder))
    assert waiters[0].answer() == 1
    paper.show(a, "lockstead locks --like import", "grep lockstead::audit /var/log/lockstead", must=["orders@127.0.0.1", "RELEASE LOCK 'import'"])
    waiters[0].value("SELECT RELEASE_ALL_LOCKS()")
    for waiter in waiters[1:]:
        assert waiter.answer() == 1
        waiter.value("SELECT RELEASE_ALL_LOCKS()")


def after(paper, a):
    paper.head("Afterwards")
    paper.show(a, "lockstead locks", "lockstead proxies", must=["live"])
    paper.say("[Administration](administration.md) explains the columns, [monitoring](monitoring.md) the metrics.")


def main():
    a, b = Machine("A"), Machine("B")
    paper = Paper(os.environ["DOCS"])
    nightly = before(paper, a, b)
    deadlock(paper, a)
    hanging(paper, a, b, nightly)
    stuck(paper, a)
    after(paper, a)
    paper.write()


main()
