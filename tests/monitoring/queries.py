#!/usr/bin/env python3
"""The queries of dashboards and alerts, run by a Prometheus that scrapes proxies:

  queries.py ADDRESS load     under load: all parse and have data within a minute, and only expected alerts fire
  queries.py ADDRESS fault    the alerts that the faults of dev/test-monitoring.sh must set off do
"""

import json
import math
import pathlib
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What Grafana puts in; All of flavour and cluster is .* there, that of instance a list.
VALUES = {
    "${datasource}": "prometheus", "$instance": ".*", "$cluster": ".*", "$flavour": ".*",
    "$__rate_interval": "10s", "$__range": "20s",
}
# Panels that have no data here, and why. Counters stand at 0 from the start.
NO_DATA = {"Failover candidates": "needs a replica; tests/it/witnesses.rs has some"}
# Alerts that may go off under load already, and why.
EXPECTED = {"LocksteadSecondHolder": "the proxy that observes takes locks beside the durable ones, which MySQL lists"}
# Alerts that no fault here sets off, and why. config/alerts_test.yml has them all.
NOT_PROVOKED = {
    "LocksteadSessionsSuspended": "needs a session with a lock at a primary that hangs; tests/it/suspended.rs has that",
    "LocksteadOtherServer": "needs a second server in place of the first; tests/it/adopt.rs has that",
    "LocksteadCommitsUnfenced": "needs an account without the right; tests/it/fenced_commit.rs has one",
    "LocksteadProtocolErrors": "needs a server that answers wrongly; tests/it/bad_responses.rs has one",
    "LocksteadTablesNotWritten": "needs a read lock; tests/it/backups.rs has one",
    "LocksteadPanics": "needs a fault of the program; tests/it/pooling/faults.rs has some",
    "LocksteadLocksStuck": "needs an account without a privilege; tests/it/stuck.rs has those",
    "LocksteadWaitsSlow": "needs ten minutes of waits",
    "LocksteadLockHeldTooLong": "needs an hour",
    "LocksteadVersionSkew": "needs two builds",
    "LocksteadCertificateEnds": "needs a certificate that ends soon; tests/it/starts.rs has one",
    "LocksteadLimitsMet": "needs a proxy with a low limit; tests/it/limits.rs has those",
}
problems = []


def ask(path, **params):
    url = f"http://{sys.argv[1]}/api/v1/{path}?{urllib.parse.urlencode(params)}"
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return json.load(reply)["data"]
    except urllib.error.HTTPError as error:
        raise ValueError(json.load(error).get("error", "?")) from error


def filled(text):
    for name, value in VALUES.items():
        text = text.replace(name, value)
    if "$" in text:
        raise ValueError(f"an unknown variable in: {text}")
    return text


def has_data(expr):
    end = time.time()
    result = ask("query_range", query=expr, start=end - 20, end=end, step=1)["result"]
    return any(math.isfinite(float(value)) for series in result for _, value in series["values"])


def try_query(where, expr, excused=False):
    try:
        if not has_data(filled(expr)) and not excused:
            problems.append(f"{where}: no data: {expr}")
    except ValueError as error:
        problems.append(f"{where}: {error}")


def try_variable(where, query):
    metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
    try:
        if not ask(f"label/{label}/values", **{"match[]": filled(metric)}):
            problems.append(f"{where}: no values: {query}")
    except ValueError as error:
        problems.append(f"{where}: {error}")


def dashboards():
    queries = 0
    for path in sorted((ROOT / "grafana/dashboards").glob("*.json")):
        board = json.loads(path.read_text())
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                try_variable(f"{path.name}: variable {variable['name']}", variable["query"]["query"])
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                queries += 1
                try_query(f"{path.name}: {panel['title']}", target["expr"], panel["title"] in NO_DATA)
    return queries


def rules():
    return [rule for group in ask("rules")["groups"] for rule in group["rules"]]


def alerts():
    all_rules = rules()
    for rule in all_rules:
        # With `bool`, a comparison returns every series, not only those for which it holds.
        # What is left out by `unless` is mostly not there.
        left = rule["query"].split(" unless ")[0]
        compared = re.sub(r"(==|<|>) (?=[\w.])", r"\1 bool ", left)
        if compared == left:
            problems.append(f"{rule['name']}: compares nothing: {rule['query']}")
        try_query(rule["name"], compared)
        if rule["state"] != "inactive" and rule["name"] not in EXPECTED:
            problems.append(f"{rule['name']}: is {rule['state']} under load: {rule['alerts']}")
    return len(all_rules)


def load():
    # Rates need some scrapes.
    for _ in range(20):
        problems.clear()
        counts = dashboards(), alerts()
        if not problems:
            print("  {} queries of dashboards and {} of alerts have data".format(*counts))
            return
        time.sleep(3)


def fault():
    missing = []
    for _ in range(60):
        states = {rule["name"]: (rule["state"], rule["duration"]) for rule in rules()}
        wanted = states.keys() - NOT_PROVOKED.keys() - EXPECTED.keys()
        # A minute is not waited for.
        missing = [name for name in wanted
                   if states[name][0] != "firing" and (states[name][0] != "pending" or states[name][1] < 60)]
        if not missing:
            print(f"  set off: {', '.join(sorted(wanted))}")
            return
        time.sleep(1)
    problems.extend(f"{name}: {states[name][0]} in the fault" for name in missing)


def until_ready():
    for _ in range(60):
        try:
            return ask("query", query="1")
        except (OSError, ValueError):
            time.sleep(0.5)
    sys.exit("Prometheus does not answer")


until_ready()
{"load": load, "fault": fault}[sys.argv[2]]()
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
