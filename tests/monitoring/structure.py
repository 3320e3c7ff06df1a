#!/usr/bin/env python3
"""What can be said of dashboards, alerts and documents without Prometheus: structure.py PAGE...

Each PAGE is the text of a proxy's /metrics: docs/monitoring.md must name all metrics there, with their kinds,
and no others, and a dashboard must show each.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIABLES = ["datasource", "flavour", "cluster", "instance"]
SOURCE = "${datasource}"
# Grafana's names of those in use: another may be a slip.
UNITS = ["s", "short", "ops", "reqps", "Bps", "percentunit", "bool_yes_no", "none"]
problems = []


def check(fine, where, what):
    if not fine:
        problems.append(f"{where}: {what}")


def overlap(a, b):
    return (a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
            and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


def check_panel(where, panel):
    check(panel.get("description", "").endswith("."), where, "no description that is a sentence")
    check(panel["datasource"]["uid"] == SOURCE, where, "its data source is not the variable")
    defaults = panel["fieldConfig"]["defaults"]
    check(defaults.get("unit") in UNITS, where, f"no unit, or one that is not in use: {defaults.get('unit')}")
    limits = [step["value"] for step in defaults["thresholds"]["steps"]]
    check(limits and limits[0] is None, where, "no threshold to begin with")
    check(limits[1:] == sorted(limits[1:]), where, "thresholds do not rise")
    check(panel["targets"], where, "no query")
    for target in panel["targets"]:
        check(target["datasource"]["uid"] == SOURCE, where, "a query's data source is not the variable")
        check("$instance" in target["expr"], where, f"not limited to the chosen proxies: {target['expr']}")
        matchers = re.findall(r"(lockstead_\w+)(\{[^}]*\})?", target["expr"])
        for name, labels in matchers:
            check("$instance" in labels and "$cluster" in labels, where, f"{name} is not limited to the choice")


def check_dashboard(name, board):
    check([v["name"] for v in board["templating"]["list"]] == VARIABLES, name, f"its variables are not {VARIABLES}")
    for variable in board["templating"]["list"]:
        if variable["type"] != "datasource":
            check(variable["datasource"]["uid"] == SOURCE, name, f"variable {variable['name']}: another data source")
    tags = [tag for link in board["links"] if link["type"] == "dashboards" for tag in link["tags"]]
    check(tags and set(tags) <= set(board["tags"]), name, "its links do not lead to dashboards of its kind")
    check(all(link["includeVars"] and link["keepTime"] for link in board["links"]), name, "links lose the choice")
    panels = board["panels"]
    ids = [panel["id"] for panel in panels]
    check(len(ids) == len(set(ids)), name, "ids of panels are not unique")
    titles = [panel["title"] for panel in panels]
    check(len(titles) == len(set(titles)), name, "titles of panels are not unique")
    for n, panel in enumerate(panels):
        where = f"{name}: {panel['title']}"
        place = panel["gridPos"]
        check(place["x"] >= 0 and place["x"] + place["w"] <= 24, where, "stands outside the grid")
        for other in panels[:n]:
            check(not overlap(place, other["gridPos"]), where, f"overlaps {other['title']}")
        if panel["type"] != "row":
            check_panel(where, panel)


def check_dashboards():
    boards = {path.name: json.loads(path.read_text()) for path in (ROOT / "grafana/dashboards").glob("*.json")}
    check(len(boards) == 4, "grafana/dashboards", f"{len(boards)} dashboards")
    for key in ("uid", "title"):
        values = [board[key] for board in boards.values()]
        check(len(values) == len(set(values)), "grafana/dashboards", f"not unique: {key}")
    for name, board in boards.items():
        check_dashboard(name, board)


def check_alerts():
    rules = (ROOT / "config/alerts.yml").read_text()
    tests = (ROOT / "config/alerts_test.yml").read_text()
    headings = re.findall(r"^## (\w+)$", (ROOT / "docs/runbook.md").read_text(), re.M)
    # One block a rule, as far as the next.
    blocks = {block.split("\n")[0].strip(): block for block in rules.split("- alert:")[1:]}
    check(headings == list(blocks), "docs/runbook.md", f"its headings are {headings}, the alerts {list(blocks)}")
    for name, block in blocks.items():
        for key in ("severity: (critical|warning)", "summary: ", "description: ",
                    f"runbook_url: .*docs/runbook.md#{name.lower()}\n"):
            check(re.search(key, block), name, f"lacks {key}")
        for what, outcome in (("firing", r"exp_alerts:\n"), ("not firing", r"exp_alerts: \[\]\n")):
            check(re.search(rf"alertname: {name}\n +eval_time: \w+\n +{outcome}", tests), name, f"no test of it {what}")


# Of a gauge for each failover candidate: it needs a replica, and tests/it/witnesses.rs reads it there.
ELSEWHERE = {"lockstead_witness_up": "gauge"}


def check_metrics(pages):
    there = dict(ELSEWHERE)
    for page in pages:
        there |= dict(re.findall(r"^# TYPE (\S+) (\S+)$", pathlib.Path(page).read_text(), re.M))
    text = (ROOT / "docs/monitoring.md").read_text()
    named = dict(re.findall(r"^\| `(lockstead_\w+)(?:\{[\w,]+\})?` \| (\w+) \|", text, re.M))
    for name in sorted(there.keys() | named.keys()):
        check(there.get(name) == named.get(name), "docs/monitoring.md",
              f"{name} is {named.get(name, 'not there')}, and {there.get(name, 'not there')} in /metrics")
    shown = "".join(path.read_text() for path in (ROOT / "grafana/dashboards").glob("*.json"))
    for name in sorted(there):
        check(re.search(rf"{name}(_bucket|_sum|_count)?\b", shown), "grafana/dashboards", f"{name} is on none")
    # Names in other documents. Those with one of these endings must be metrics.
    ends = "total|seconds|info|held|waiting|good|up|foreign|rights|gates"
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "config").glob("*.toml")]:
        for name in set(re.findall(rf"\blockstead_(?:[a-z_]+_)?(?:{ends})\b", path.read_text())):
            check(name in there, path.name, f"names {name}, which is no metric")


check_dashboards()
check_alerts()
check_metrics(sys.argv[1:])
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
