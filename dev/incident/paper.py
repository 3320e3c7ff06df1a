"""What incident.sh writes: prose, what commands printed, and pictures of the page."""

import io
import os
import subprocess

from PIL import Image
from playwright.sync_api import sync_playwright

MOST = 150_000  # bytes of a picture


class Machine:
    """A proxy's machine: commands there, and its page."""

    def __init__(self, letter):
        self.letter = letter
        self.port, self.http, self.pid = (int(os.environ[f"{letter}_{name}"]) for name in ("PORT", "HTTP", "PID"))
        self.socket = f"{os.environ[f'{letter}_STATE']}/admin.sock"
        self.log = os.environ[f"{letter}_LOG"]

    def run(self, command):
        """What a command prints, with its exit status if that is not 0."""
        real = command.replace("/run/lockstead/admin.sock", self.socket).replace("/var/log/lockstead", self.log)
        there = os.environ | {"LOCKSTEAD_ADMIN": f"unix:{self.socket}"}
        done = subprocess.run(["bash", "-c", real], env=there, capture_output=True, text=True, timeout=120)
        said = (done.stdout + done.stderr).rstrip()
        return (said + (f"\n(exit status {done.returncode})" if done.returncode else "")).lstrip("\n")


class Paper:
    """docs/incident.md."""

    def __init__(self, docs):
        self.docs, self.parts, self.number = docs, [], 0
        os.makedirs(f"{docs}/incident", exist_ok=True)
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])

    def say(self, *lines):
        self.parts.append("\n".join(lines))

    def head(self, title):
        print(f"  {title}", flush=True)
        self.parts.append(f"## {title}")

    def show(self, machine, *commands, must=()):
        """Commands as they are typed at a machine, and what they print; all of `must` has to be there."""
        texts = []
        for command in commands:
            said = machine.run(command)
            texts.append("\n".join(line.rstrip() for line in f"{machine.letter.lower()}$ {command}\n{said}".splitlines()))
        text = "\n\n".join(texts)
        for wanted in must:
            assert wanted in text, f"{wanted!r} is not in\n{text}"
        self.parts.append(f"```text\n{text}\n```")

    def heard(self, who, error):
        self.parts.append(f"```text\n{who}: ERROR {error.args[0]}: {error.args[1]}\n```")

    def picture(self, machine, name, alt, until, *parts):
        """The page's parts from the first to the last, once `until` holds."""
        page = self.browser.new_page(viewport={"width": 1040, "height": 800}, color_scheme="light")
        page.goto(f"http://127.0.0.1:{machine.http}/")
        page.wait_for_function(f"() => {until}", timeout=60_000)
        # A sticky head would lie over what is shown.
        page.evaluate("document.querySelector('header').style.position = 'static'")
        boxes = [page.locator(part).bounding_box() for part in parts]
        top, bottom = min(b["y"] for b in boxes) - 12, max(b["y"] + b["height"] for b in boxes) + 12
        clip = {"x": 0, "y": max(top, 0), "width": 1040, "height": bottom - max(top, 0)}
        raw = page.screenshot(clip=clip, full_page=True, animations="disabled")
        page.close()
        path = f"{self.docs}/incident/{name}.png"
        Image.open(io.BytesIO(raw)).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
        size = os.path.getsize(path)
        assert size < MOST, f"{path} has {size} bytes"
        self.parts.append(f"![{alt}](incident/{name}.png)")

    def write(self):
        self.browser.close()
        self.playwright.stop()
        with open(f"{self.docs}/incident.md", "w", encoding="utf-8") as file:
            file.write("\n\n".join(self.parts) + "\n")
