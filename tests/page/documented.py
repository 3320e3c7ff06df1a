#!/usr/bin/env python3
"""Pictures of the status page for docs/monitoring.md: docs/page/*.png, of what runs at two proxies.

`make test-page ARGS=pictures` runs this; dev/test-page.sh says what is what in the environment.
"""

import io
import os
import threading

from PIL import Image
from playwright.sync_api import sync_playwright

from sessions import Session, deadlock

A, B = int(os.environ["A_PORT"]), int(os.environ["B_PORT"])
PAGE = f"http://127.0.0.1:{os.environ['A_HTTP']}/"
# Of a picture.
MOST = 150_000
WIDE = {"viewport": {"width": 1160, "height": 800}}
# Of each: the browser, the part of the page that is the last in it (none: all), and how many colours it keeps.
PICTURES = {
    "light": (WIDE | {"color_scheme": "light"}, None, 64),
    "dark": (WIDE | {"color_scheme": "dark"}, "#contended", 64),
    "phone": (
        {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "color_scheme": "light"},
        "#contended", 48,
    ),
}  # fmt: skip


class Busy:
    """Short locks, for ever: grants, and now and then one that is not free."""

    def __init__(self, number):
        self.session, self.number, self.ends = Session(A, "orders"), number, threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self):
        turn = 0
        while not self.ends.is_set():
            turn += 1
            name = "orders:nightly" if turn % 7 == 0 else f"basket:{self.number}"
            self.session.value("SELECT GET_LOCK(%s, 0)", name)
            self.session.value("SELECT SLEEP(%s)", 0.02 + turn % 40 / 400)
            self.session.value("SELECT RELEASE_ALL_LOCKS()")

    def end(self):
        self.ends.set()
        self.thread.join()


def load():
    """Who holds and waits; returns all, so that they live on."""
    nightly, cache, billing, mail = Session(A, "orders"), Session(A), Session(B, "billing"), Session(B)
    nightly.lock("orders:nightly")
    nightly.lock("orders:export")
    cache.lock("cache:front page")
    billing.lock("billing:month")
    mail.lock("cron:mail")
    circle = deadlock(A, "accounts:17", "accounts:42")
    for session in circle[:2]:
        session.value("SELECT RELEASE_ALL_LOCKS()")
    wanted = [("orders:nightly", "orders")] * 3 + [("cache:front page", "app")] * 5 + [("billing:month", "billing")]
    waiters = []
    for name, user in wanted:
        waiters.append(Session(A, user))
        waiters[-1].ask_for(name)
    return nightly, cache, billing, mail, circle, waiters


def picture(browser, name, docs):
    view, last, colours = PICTURES[name]
    context = browser.new_context(**view)
    page = context.new_page()
    page.goto(PAGE)
    ready = """() => document.getElementById('state').textContent === 'good'
      && document.getElementById('waiting').textContent === '9'
      && document.querySelectorAll('#deadlocks tbody tr').length === 2
      && document.querySelectorAll('#proxies tbody tr').length === 2
      && document.querySelectorAll('#graph rect.waiter').length === 9
      && +document.getElementById('refused').textContent > 0
      && document.querySelector('.spark[data-series=grants] path:not(.area)').getAttribute('d').split('L').length > 20"""
    page.wait_for_function(ready, timeout=120_000)
    # A sticky head would lie over what is shown.
    page.evaluate("document.querySelector('header').style.position = 'static'")
    height = page.evaluate("document.documentElement.scrollHeight")
    if last:
        box = page.locator(last).bounding_box()
        height = box["y"] + box["height"] + 12
    clip = {"x": 0, "y": 0, "width": view["viewport"]["width"], "height": height}
    raw = page.screenshot(clip=clip, full_page=True, animations="disabled")
    context.close()
    path = f"{docs}/page/{name}.png"
    made = Image.open(io.BytesIO(raw)).convert("RGB")
    assert len(made.getcolors(1 << 24)) > 100, f"{path} is blank"
    made.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
    size = os.path.getsize(path)
    assert size < MOST, f"{path} has {size} bytes"
    print(f"  docs/page/{name}.png: {made.width} x {made.height}, {size} bytes", flush=True)


def main():
    docs = os.environ["DOCS"]
    os.makedirs(f"{docs}/page", exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        alive, busy = load(), [Busy(number) for number in range(3)]
        for name in PICTURES:
            picture(browser, name, docs)
        for one in busy:
            one.end()
        del alive
        browser.close()


main()
