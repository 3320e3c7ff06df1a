"""Panels and dashboards as Grafana's JSON has them; what is on them is in generate.py."""

# One dashboard links to all others by this tag.
TAG = "lockstead"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GOOD, WARN, BAD = "green", "orange", "red"


def said(no, yes):
    """0 and 1 as words, in these colours."""
    return [{"type": "value", "options": {"0": {"text": "no", "color": no}, "1": {"text": "yes", "color": yes}}}]


YES_NO, NO_YES = said(BAD, GOOD), said(GOOD, BAD)


def steps(warn=None, bad=None, base=GOOD):
    """Thresholds: `base` below all of them."""
    limits = [(base, None), (WARN, warn), (BAD, bad)]
    return [{"color": c, "value": v} for c, v in limits if v is not None or c == base]


def panel(kind, title, queries, unit, about, limits, mappings, options, custom):
    targets = [
        {
            "refId": chr(ord("A") + n),
            "datasource": SOURCE,
            "expr": " ".join(expr.split()),
            "legendFormat": legend,
            "editorMode": "code",
            "range": kind != "table",
            "instant": kind == "table",
            "format": "table" if kind == "table" else "time_series",
        }
        for n, (expr, legend) in enumerate(queries)
    ]
    defaults = {
        "unit": unit,
        "color": {"mode": "palette-classic" if kind == "timeseries" else "thresholds"},
        "thresholds": {"mode": "absolute", "steps": limits},
        "mappings": mappings or [],
        "custom": custom,
    }
    if unit in ("s", "short", "ops", "reqps", "Bps", "percentunit"):
        defaults["min"] = 0
    return {
        "type": kind,
        "title": title,
        "description": " ".join(about.split()),
        "datasource": SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
    }


def stat(title, expr, unit, about, limits, mappings=None):
    options = {
        "colorMode": "background",
        "graphMode": "area",
        "justifyMode": "auto",
        "percentChangeColorMode": "standard",
        "showPercentChange": False,
        "textMode": "auto",
        "wideLayout": True,
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return panel("stat", title, [(expr, "")], unit, about, limits, mappings, options, {})


def graph(title, queries, unit, about, limits=None, stacked=False):
    custom = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 20 if stacked else 5,
        "showPoints": "never",
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        # A limit that says something is drawn.
        "thresholdsStyle": {"mode": "dashed" if limits else "off"},
    }
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel("timeseries", title, queries, unit, about, limits or steps(), None, options, custom)


def states(title, queries, about, mappings=None):
    """Yes or no over time, a line for each proxy."""
    custom = {"fillOpacity": 70, "lineWidth": 0}
    options = {
        "mergeValues": True,
        "rowHeight": 0.9,
        "showValue": "never",
        "alignValue": "left",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False, "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"},
    }
    limits = [{"color": BAD, "value": None}, {"color": GOOD, "value": 1}]
    return panel("state-timeline", title, queries, "bool_yes_no", about, limits, mappings or YES_NO, options, custom)


def table(title, expr, about, hidden=()):
    options = {"frameIndex": 0, "showHeader": True, "cellHeight": "sm"}
    made = panel("table", title, [(expr, "")], "none", about, steps(), None, options,
                 {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False})
    made["transformations"] = [
        {"id": "organize", "options": {"excludeByName": {name: True for name in ("Time", "Value", *hidden)}}}
    ]
    return made


def variable(name, label, query, **more):
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": SOURCE,
        "query": {"query": query, "refId": f"variable-{name}"},
        # When the time range changes: who was there then is listed.
        "refresh": 2,
        "sort": 1,
        "includeAll": True,
        "multi": True,
        "hide": 0,
        "current": {"text": ["All"], "value": ["$__all"], "selected": True},
        **more,
    }


def dashboard(uid, title, about, rows):
    """`rows`: a title, a height and the panels that share its width; a title alone needs no row."""
    panels, y = [], 0
    for heading, height, row in rows:
        if heading:
            panels.append({"type": "row", "title": heading, "collapsed": False, "panels": [],
                           "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
            y += 1
        width = 24 // len(row)
        for n, made in enumerate(row):
            panels.append({**made, "gridPos": {"x": n * width, "y": y, "w": width, "h": height}})
        y += height
    for n, made in enumerate(panels, 1):
        made["id"] = n
    info = "lockstead_server_info"
    return {
        "uid": uid,
        "title": title,
        "description": " ".join(about.split()),
        "tags": [TAG],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "title": "Lockstead",
                "type": "dashboards",
                "tags": [TAG],
                "icon": "external link",
                "tooltip": "The other dashboards, with the same choice and time",
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
                "targetBlank": False,
            }
        ],
        "templating": {
            "list": [
                {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus",
                 "includeAll": False, "multi": False, "hide": 0, "refresh": 1},
                variable("flavour", "Flavour", f"label_values({info}, flavour)", allValue=".*"),
                # Without tables [[cluster]] there is no such label: what matches all matches that too.
                variable("cluster", "Cluster", f'label_values({info}{{flavour=~"$flavour"}}, cluster)', allValue=".*"),
                # Without allValue: All is those of the chosen flavours and clusters.
                variable("instance", "Instance",
                         f'label_values({info}{{flavour=~"$flavour", cluster=~"$cluster"}}, instance)'),
            ]
        },
        "annotations": {"list": []},
        "panels": panels,
    }
