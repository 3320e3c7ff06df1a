#!/usr/bin/env python3
"""Carries out a Dockerfile without a container engine, and runs what it makes:

    dockerfile.py build CONTEXT FOLDER       each stage is a folder in FOLDER
    dockerfile.py run FOLDER [NAME=VALUE]... becomes the image's process
    dockerfile.py health FOLDER [NAME=VALUE]...  its health check, once

Base images are not fetched: RUN has this machine's programs, and the process
its libraries. What this does not know of Dockerfiles is an error.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE",
         "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def fail(problem):
    sys.exit(f"dockerfile: {problem}")


def instructions(path):
    """The instructions, continued lines joined."""
    pending = ""
    for line in path.read_text().splitlines():
        if line.lstrip().startswith("#") or not (pending or line.strip()):
            continue
        pending += line.rstrip()
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        word, _, rest = pending.partition(" ")
        if word not in KNOWN:
            fail(f"unknown instruction: {pending}")
        yield word, rest.strip()
        pending = ""


def allowed(context):
    """What .dockerignore lets through: all is left out but `!name`."""
    lines = (context / ".dockerignore").read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines or lines[0] != "*" or not all(line.startswith("!") for line in lines[1:]):
        fail(".dockerignore is not `*`, followed by names with `!`")
    return {line[1:] for line in lines[1:]}


def inside(root, workdir, path):
    """A path of a stage as a path of this machine."""
    return root / os.path.join(workdir, path).lstrip("/")


def copy(source, target, into):
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
        return
    target = target / source.name if into else target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


class Stage:
    def __init__(self, folder, name):
        self.root, self.name = folder / name, name
        self.workdir, self.env, self.settings, self.owned = "/", {}, {}, []
        self.root.mkdir(parents=True)

    def copy(self, rest, context, folder):
        words = rest.split()
        options = dict(w[2:].split("=", 1) for w in words if w.startswith("--"))
        if unknown := set(options) - {"from", "chown"}:
            fail(f"COPY: unknown {unknown}")
        *sources, target = [w for w in words if not w.startswith("--")]
        into = target.endswith("/")
        if len(sources) > 1 and not into:
            fail(f"COPY {rest}: a target for several ends in /")
        place = inside(self.root, self.workdir, target)
        for source in sources:
            if stage := options.get("from"):
                copy(inside(folder / stage, "/", source), place, into)
            elif source in allowed(context):
                copy(context / source, place, into)
            else:
                fail(f"COPY {source}: .dockerignore leaves it out")
        if owner := options.get("chown"):
            self.owned.append((owner, place))

    def run(self, rest):
        place = inside(self.root, self.workdir, "")
        print(f"dockerfile: RUN {rest}", flush=True)
        done = subprocess.run(["sh", "-ec", rest], cwd=place, env={**os.environ, **self.env})
        if done.returncode:
            fail(f"RUN {rest}: status {done.returncode}")

    def give(self):
        """Only root can, and only root needs to: see run."""
        if os.geteuid() != 0:
            return
        for owner, place in self.owned:
            user, group = (int(n) for n in owner.split(":"))
            for path in [place, *place.rglob("*")]:
                os.chown(path, user, group)


def build(context, folder):
    if folder.exists():
        fail(f"{folder} is there already")
    stage = None
    for word, rest in instructions(context / "Dockerfile"):
        if word == "FROM":
            words = rest.split()
            stage = Stage(folder, words[2] if len(words) == 3 else "image")
        elif stage is None:
            fail(f"{word} in front of FROM")
        elif word == "WORKDIR":
            stage.workdir = os.path.join(stage.workdir, rest)
            inside(stage.root, stage.workdir, "").mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            stage.copy(rest, context, folder)
        elif word == "RUN":
            stage.run(rest)
        elif word == "ENV":
            name, _, value = rest.partition("=")
            stage.env[name] = value
        else:
            stage.settings[word] = rest
    if stage.name != "image":
        fail("the last stage has a name")
    stage.give()
    described = {"env": stage.env, **stage.settings}
    (folder / "image.json").write_text(json.dumps(described))


def environment(folder, image, given):
    """The image's variables, its paths as paths here; then those that were given."""
    root = folder / "image"
    env = {n: str(inside(root, "/", v)) if v.startswith("/") else v
           for n, v in image["env"].items()}
    env.update(item.split("=", 1) for item in given)
    return {"PATH": os.environ["PATH"], **env}


def health(image):
    _, marker, command = image["HEALTHCHECK"].partition(" CMD ")
    return json.loads(command) if marker else fail("HEALTHCHECK without CMD")


def run(folder, given, checking):
    image = json.loads((folder / "image.json").read_text())
    if checking:
        command = health(image)
    else:
        program, *arguments = json.loads(image["ENTRYPOINT"]) + json.loads(image["CMD"])
        command = [str(inside(folder / "image", "/", program)), *arguments]
    user, group = (int(n) for n in image["USER"].split(":"))
    if user == 0 or group == 0:
        fail("the image runs as root")
    env = environment(folder, image, given)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
    os.chdir("/")
    os.execvpe(command[0], command, env)


def main():
    match sys.argv[1:]:
        case ["build", context, folder]:
            build(Path(context), Path(folder))
        case ["run", folder, *given]:
            run(Path(folder), given, checking=False)
        case ["health", folder, *given]:
            run(Path(folder), given, checking=True)
        case _:
            sys.exit(__doc__)


main()
