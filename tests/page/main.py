#!/usr/bin/env python3
"""The status page in a real browser, at proxies under load; dev/test-page.sh says what is what in the environment."""

import json
import os
import re
import signal
import subprocess
import urllib.request

from playwright.sync_api import TimeoutError, expect, sync_playwright

import colours
import pictures
from sessions import Session, deadlock

A, B, C = (int(os.environ[name]) for name in ("A_PORT", "B_PORT", "C_PORT"))
HTTP_A, HTTP_B, HTTP_C = (f"http://127.0.0.1:{os.environ[name]}/" for name in ("A_HTTP", "B_HTTP", "C_HTTP"))
PID_A = int(os.environ["A_PID"])
SHOTS = os.environ["PICTURES"]
PATIENCE = 60_000

HOSTILE = [
    "'); DROP TABLE locks; --",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred",
    "two\nlines",
    "=cmd()|' /C calc'!A0",
    "left\u202etfel",
    "back\\slash, 'quote' and \"quote\"",
]

if os.environ["FLAVOUR"] == "mariadb":
    HOSTILE.append("\U0001f512" * 48)  # MySQL refuses it

LIGHT = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
DARK = LIGHT | {"color_scheme": "dark"}
PHONE = {
    "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
    "color_scheme": "light",
}  # fmt: skip
VIEWS = {"light": LIGHT, "dark": DARK, "phone": PHONE, "phone-dark": PHONE | {"color_scheme": "dark"}}


def say(text):
    print(f"  {text}", flush=True)


def api(base, name):
    with urllib.request.urlopen(f"{base}api/v1/{name}", timeout=30) as answer:
        return json.load(answer)


def shown(name):
    """As page.js shows a name: what moves the cursor or turns the line around by its number."""
    hidden = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
    return re.sub(hidden, lambda c: f"\\u{ord(c[0]):04x}", name)


class Load:
    """What goes on at the proxies."""

    def __init__(self):
        self.holder, self.other, self.hostile = Session(A), Session(B), Session(A)
        self.holder.lock("orders:nightly")
        self.holder.lock("hot")
        self.other.lock("billing")
        for name in HOSTILE:
            self.hostile.lock(name)
        self.waiters = [Session(A) for _ in range(12)]
        for waiter, name in zip(self.waiters, ["orders:nightly"] * 3 + ["hot"] * 8 + ["billing"]):
            waiter.ask_for(name)
        self.deadlocked = [s.id for s in deadlock(A, "first", "second")]  # both, and who gave up


class Watched:
    """A page in a browser of its own, which must log nothing and send requests only to the proxy."""

    def __init__(self, browser, base, view):
        self.base, self.said, self.foreign = base, [], []
        self.context = browser.new_context(**view)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(f"error: {e}"))
        self.page.on("dialog", lambda d: (self.said.append(f"dialog: {d.message}"), d.dismiss()))
        self.context.on("request", self._request)
        self.page.goto(base)
        self.page.wait_for_selector("body[data-shown]", state="attached")
        self.page.evaluate("window.loadedOnce = true")

    def _request(self, request):
        if not request.url.startswith((self.base, "data:")):
            self.foreign.append(request.url)

    def rows(self, table):
        return [row.locator("td").all_inner_texts() for row in self.page.locator(f"#{table} tbody tr").all()]

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def until(self, what, function, argument=None):
        try:
            self.page.wait_for_function(function, arg=argument, timeout=PATIENCE)
        except TimeoutError as error:
            raise AssertionError(f"not in time: {what}") from error

    def until_row(self, table, text, there=True):
        look = "([id, text, there]) => [...document.querySelectorAll(`#${id} td`)].some(c => c.textContent === text) === there"
        self.until(f"{text!r} in {table}: {there}", look, [table, text, there])

    def until_state(self, state):
        self.until(f"the state is {state}", "(s) => document.getElementById('state').textContent === s", state)

    def shot(self, name):
        path = f"{SHOTS}/{name}.png"
        self.page.screenshot(path=path, full_page=True, animations="disabled")
        return path

    def check_silent(self):
        assert not self.said, f"the browser says: {self.said}"
        assert not self.foreign, f"others are asked: {self.foreign}"
        assert self.page.evaluate("window.loadedOnce") is True, "the page was loaded again"

    def close(self):
        self.context.close()


def check_cards(watched):
    lease = api(watched.base, "lease")[0]
    # It slides to where it belongs.
    watched.until("the bar is as long as its name says", """() => {
      const bar = document.getElementById("lease-bar"), all = bar.parentElement;
      const share = bar.getBoundingClientRect().width / all.getBoundingClientRect().width;
      const said = /^lease: (\\d+) percent left$/.exec(all.getAttribute("aria-label"));
      return said && share > 0 && Math.abs(100 * share - said[1]) < 1.5;
    }""")
    text = watched.text("#lease-text")
    assert f"of {lease['lease_seconds']:.1f} s" in text and "renewed" in text, text
    held = len(api(watched.base, "locks"))
    watched.until("the count of held locks", "(n) => document.getElementById('held').textContent === n", str(held))
    watched.until("the count of waits", "() => document.getElementById('waiting').textContent === '12'")
    watched.until("the count of sessions", "() => +document.getElementById('sessions').textContent >= 16")
    for rate in ("grants", "refused"):
        assert re.fullmatch(r"[\d,]+(\.\d)?", watched.text(f"#{rate}")), watched.text(f"#{rate}")
    lines = "() => [...document.querySelectorAll('.spark')].every(s => s.querySelectorAll('path').length === 2)"
    watched.until("each card has its line", lines)
    assert watched.page.locator(".spark").count() == 5
    d = watched.page.locator(".spark[data-series=held] path:not(.area)").get_attribute("d")
    assert d.startswith("M0.00 ") and f"L100.00 {29 - 27:.2f}" in d and "NaN" not in d, d


def check_tables(watched, load):
    rows = watched.rows("locks")
    facts = {row["name"]: row for row in api(watched.base, "locks")}
    assert len(rows) == len(facts), f"{len(rows)} rows, {len(facts)} locks"
    by_name = {row[0]: row for row in rows}
    for name, fact in facts.items():
        row = by_name[shown(name)]
        assert re.fullmatch(r"(\d+(\.\d)?) (s|min)", row[1]), row
        assert row[2:6] == [str(fact["connection_id"]), fact["owner"], fact["proxy"], fact["token"]], (row, fact)
    assert by_name["hot"][2] == str(load.holder.id) and by_name["hot"][6] == "8"
    assert by_name["billing"][4] == f"127.0.0.1:{B}" and by_name["billing"][3] == "app@127.0.0.1"
    waits = watched.rows("waits")
    assert len(waits) == 12, waits
    assert {(w[0], w[5]) for w in waits} == {
        ("hot", str(load.holder.id)), ("orders:nightly", str(load.holder.id)), ("billing", str(facts["billing"]["connection_id"])),
    }, waits  # fmt: skip
    assert sorted(int(w[4]) for w in waits if w[0] == "hot") == list(range(1, 9)), waits
    assert {int(w[2]) for w in waits} == {w.id for w in load.waiters}
    circle = watched.rows("deadlocks")
    one, two, victim = map(str, load.deadlocked)
    gave_up = {id: "yes" if id == victim else "no" for id in (one, two)}
    assert sorted((r[1], r[2], r[3], r[4], r[5]) for r in circle) == sorted([
        (one, "second", two, gave_up[one], "this proxy"), (two, "first", one, gave_up[two], "this proxy"),
    ]), circle  # fmt: skip
    proxies = watched.rows("proxies")
    assert {(p[0], p[1]) for p in proxies} == {
        (f"127.0.0.1:{A} (this one)", "live"), (f"127.0.0.1:{B}", "live"), (f"127.0.0.1:{C}", "live"),
    }, proxies  # fmt: skip
    backends = watched.rows("backends")
    # An only server is not asked whether it takes writes, so it has no state.
    server, *said, answers, _, store_answers = backends[0]
    assert len(backends) == 1 and server == os.environ["BACKEND"] and said == ["writer", "–"], backends
    assert answers == store_answers == "yes", backends
    assert "secret" not in watched.page.content(), "a password is shown"


def check_graph(watched, load):
    graph = watched.page.locator("#graph")
    expect(graph).to_be_visible()
    kinds = {kind: graph.locator(f"rect.{kind}").count() for kind in ("holder", "lock", "waiter")}
    assert kinds == {"holder": 3, "lock": 3, "waiter": 10}, kinds
    assert graph.locator("path").count() == 13
    texts = graph.evaluate("g => [...g.querySelectorAll('text')].map(t => t.firstChild.data)")
    for text in ("hot", "orders:nightly", "billing", "and 2 more"):
        assert text in texts, texts
    assert any(t.startswith(f"{load.other.id}  app@") for t in texts), texts


def check_hostile(watched):
    # Nothing of a name is an element: scripts and pictures are those of the page itself.
    assert watched.page.locator("script").count() == 1 and watched.page.locator("img").count() == 0
    names = watched.page.locator("#locks td.name").evaluate_all("cells => cells.map(c => c.textContent)")
    for name in ("'); DROP TABLE locks; --", "<script>alert(1)</script>", "=cmd()|' /C calc'!A0", "\\u001b[31mred",
                 "two\\u000alines", "left\\u202etfel", "back\\slash, 'quote' and \"quote\""):  # fmt: skip
        assert name in names, (name, names)


def check_accessible(watched):
    """Whatever is a picture, can be operated, or is a landmark has a name for those who do not see it."""
    tree = watched.context.new_cdp_session(watched.page).send("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in tree:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in ("image", "img", "combobox", "link", "button", "region", "table"):
            continue
        name = node.get("name", {}).get("value", "").strip()
        assert name, f"a {role} without a name: {node}"
        roles.setdefault(role, []).append(name)
    pictures_named = roles.get("image", []) + roles.get("img", [])
    assert len(pictures_named) == 7 and len(roles.get("table", [])) == 6, roles
    # Areas that scroll can be reached by the keyboard.
    unreached = watched.page.evaluate("[...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0).length")
    assert unreached == 0, f"{unreached} parts cannot be reached by the keyboard"


def check_width(watched, where):
    wide, seen = watched.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= seen, f"{where}: the document is {wide} wide, {seen} are seen"
    over = watched.page.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') &&"
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert not over, f"{where}: stands out: {over}"


def check_picture(watched, name, view):
    page = watched.page
    value = lambda variable: pictures.rgb(page.evaluate(colours.VARIABLE, variable))
    # The bar that is green while more than half is left.
    page.wait_for_selector("#lease .bar:not(.warn):not(.bad)")
    path = watched.shot(name)
    box = page.evaluate(
        "() => { const r = document.getElementById('lease-bar').getBoundingClientRect();"
        "return [r.x, r.y + scrollY, r.width, r.height] }"
    )
    scale = view.get("device_scale_factor", 1)
    # The left third: it may be shorter by now.
    box = [n * scale for n in (box[0], box[1], box[2] / 3, box[3])]
    return pictures.check(path, view["viewport"]["width"] * scale, value("ground"), (box, value("good")))


def views(browser, load):
    brightness = {}
    for name, view in VIEWS.items():
        watched = Watched(browser, HTTP_A, view)
        watched.until_state("good")
        check_cards(watched)
        check_tables(watched, load)
        check_graph(watched, load)
        check_hostile(watched)
        check_accessible(watched)
        check_width(watched, name)
        colours.check(watched.page, name)
        brightness[name] = check_picture(watched, name, view)
        watched.check_silent()
        watched.close()
        say(f"{name}: content, names, contrast and picture are right")
    for light, dark in (("light", "dark"), ("phone", "phone-dark")):
        assert brightness[light] > 200 and brightness[dark] < 70, brightness
    say("dark is dark, light is light")


def refreshing(browser, load):
    watched = Watched(browser, HTTP_A, LIGHT)
    extra = Session(A)
    watched.until_row("locks", "hot")
    extra.lock("a new one")
    watched.until_row("locks", "a new one")
    extra.unlock("a new one")
    watched.until_row("locks", "a new one", there=False)
    load.holder.lock("a wanted one")
    extra.ask_for("a wanted one")
    watched.until_row("waits", "a wanted one")
    waiting, rows = watched.page.evaluate(
        "[+document.getElementById('waiting').textContent, document.querySelectorAll('#waits tbody tr').length]"
    )
    assert waiting == rows == 13, f"{waiting} wait by the card, {rows} by the table"
    load.holder.unlock("orders:nightly")
    watched.until(
        "the lock is one of those that waited", "(ids) => [...document.querySelectorAll('#locks tr')].some("
        "r => r.cells[0].textContent === 'orders:nightly' && ids.includes(r.cells[2].textContent))",
        [str(waiter.id) for waiter in load.waiters[:3]],
    )  # fmt: skip
    for order, state in (("drain", "draining"), ("resume", "good")):
        command = [os.environ["LOCKSTEAD"], order, f"--admin={os.environ['A_ADMIN']}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        watched.until_state(state)
    watched.check_silent()
    watched.close()
    say("it refreshes by itself")


def clusters(browser):
    """A proxy of two clusters: one that keeps locks, one that observes."""
    watched = Watched(browser, HTTP_C, LIGHT)
    select = watched.page.get_by_label("cluster")
    assert select.locator("option").all_inner_texts() == ["shop", "watched"]
    watched.until_row("locks", "hot")
    select.select_option("watched")
    expect(watched.page.locator("#lease")).to_be_hidden()
    watched.until_row("locks", "hot", there=False)
    for table in ("locks", "waits"):
        assert watched.rows(table)[0][0].endswith("through this proxy."), watched.rows(table)
    assert watched.text("#held") == watched.text("#waiting") == "0"
    assert watched.rows("backends")[0][1:] == ["writer", "–", "yes", "none", "–"], watched.rows("backends")
    select.select_option("shop")
    watched.until_row("locks", "hot")
    watched.check_silent()
    watched.close()
    say("clusters are chosen")


def without_rows(route):
    answer = route.fetch()
    status = answer.json() | {"locks": [], "proxies": [], "contended": []}
    for cluster in status["clusters"]:
        cluster["held"] = 0
    route.fulfill(response=answer, json=status)


def faults(browser):
    watched, other = Watched(browser, HTTP_A, LIGHT), Watched(browser, HTTP_B, DARK)
    os.kill(PID_A, signal.SIGSTOP)
    try:
        watched.until_state("no answer")
        assert "No answer from this proxy" in watched.text("#notice")
        watched.shot("frozen")
    finally:
        os.kill(PID_A, signal.SIGCONT)
    watched.until_state("good")
    expect(watched.page.locator("#notice")).to_be_hidden()
    say("a proxy that hangs is told, and that it is back")
    other.until_state("good")
    other.check_silent()
    subprocess.run([os.environ["SERVER"], "kill", os.environ["SERVER_DIR"]], check=True)
    other.until_state("no grants")
    other.until_row("backends", "no")
    other.until_row("locks", "billing")
    other.until(
        "what was read before has its age", "() => ['locks', 'proxies'].every(id => "
        "[...document.querySelectorAll(`#${id} tbody tr`)].every(r => / ago$/.test(r.lastChild.textContent)))",
    )  # fmt: skip
    assert other.text("#held").isdigit(), other.text("#held")
    notice = other.text("#notice")
    assert "lease" in notice or "not registered" in notice, notice
    assert "the lock tables do not answer" in notice and "are shown as they were" in notice, notice
    other.page.wait_for_selector(".bar.bad", state="attached")
    check_width(other, "without a store")
    colours.check(other.page, "without a store")
    other.shot("store")
    other.check_silent()
    say("a store that does not answer is told")
    # As if nothing had been there when the tables were read for the last time.
    other.page.route("**/api/v1/status", without_rows)
    other.until("no lock is denied that is not known", "() => document.getElementById('held').textContent === '–'")
    for table in ("locks", "proxies"):
        assert other.rows(table) == [["Not known: the lock tables do not answer."]], other.rows(table)
    other.check_silent()
    say("rows that are not known are not denied")
    os.kill(PID_A, signal.SIGKILL)
    watched.until_state("no answer")
    assert "What is shown is old" in watched.text("#notice")
    watched.shot("stopped")
    assert not watched.foreign
    assert all("ERR_CONNECTION_REFUSED" in m or "ERR_EMPTY_RESPONSE" in m or "ERR_CONNECTION_RESET" in m or "503" in m
               for m in watched.said), watched.said  # fmt: skip
    say("a proxy that is gone is told")


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        say(f"Chromium {browser.version}")
        load = Load()
        views(browser, load)
        refreshing(browser, load)
        clusters(browser)
        faults(browser)
        browser.close()


main()
