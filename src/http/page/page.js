"use strict";
// Shows api/v1/status, every two seconds. Names are clients' own: they only ever become text.

const EVERY = 2000;
const PATIENCE = 10000;
const by = (id) => document.getElementById(id);
// Text that stays is left alone: it would be read aloud again.
const put = (id, text) => {
  if (by(id).textContent !== text) by(id).textContent = text;
};
const svg = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

// Characters that move the cursor or reverse a line are shown by their number.
const plain = (text) =>
  String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g,
    (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

const short = (text, most) => {
  const letters = Array.from(plain(text));
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
};

const duration = (seconds) => {
  if (seconds === null) return "–";
  if (seconds < 10) return seconds.toFixed(1) + " s";
  if (seconds < 120) return Math.round(seconds) + " s";
  if (seconds < 7200) return Math.round(seconds / 60) + " min";
  if (seconds < 172800) return Math.round(seconds / 3600) + " h";
  return Math.round(seconds / 86400) + " d";
};

const count = (n) => n.toLocaleString("en");
const rate = (n) => (n >= 100 ? count(Math.round(n)) : n.toFixed(1));

// Columns: title, text, and how it is set.
const number = (row, key) => (row[key] === null ? "–" : count(row[key]));
const seen = (row) => (row.seen_seconds_ago === null ? "now" : duration(row.seen_seconds_ago) + " ago");
// Of a lock without a row only this proxy's own sessions are known.
const via = (row) =>
  row.held_by === "server" ? row.proxy ?? "not through this one"
  : (row.proxy ?? "not known") + (row.proxy_state === "live" ? "" : " (" + (row.proxy_state ?? "gone") + ")");
const COLUMNS = {
  locks: [
    ["lock", (r) => r.name, "name"],
    ["held for", (r) => duration(r.held_seconds), (r) => (r.held_seconds > 600 ? "number long" : "number")],
    ["connection", (r) => String(r.connection_id), "number"],
    ["holder", (r) => r.owner ?? "–", ""],
    ["proxy", via, (r) => (r.proxy_state === "live" || r.held_by === "server" ? "" : "bad")],
    ["token", (r) => r.token ?? "–", "number"],
    ["wait here", (r) => number(r, "waiters_here"), "number"],
    ["held by", (r) => (r.held_by === "server" ? "the server alone" : "a row"), ""],
    ["seen", seen, (r) => (r.seen_seconds_ago === null ? "" : "bad")],
  ],
  waits: [
    ["lock", (r) => r.name, "name"],
    ["waits for", (r) => duration(r.waited_seconds), (r) => (r.waited_seconds > 60 ? "number long" : "number")],
    ["connection", (r) => String(r.connection_id), "number"],
    ["who", (r) => r.owner, ""],
    ["place", (r) => number(r, "place"), "number"],
    ["held by", (r) => (r.holder === null ? "not known" : String(r.holder)), "number"],
    ["holder", (r) => r.holder_owner ?? "–", ""],
    ["certain", (r) => r.certain, ""],
  ],
  history: [
    ["lock", (r) => r.name, "name"],
    ["ended at (UTC)", (r) => r.ended_utc.replace("T", " ").replace("Z", ""), ""],
    ["held for", (r) => duration(r.held_seconds), "number"],
    ["connection", (r) => String(r.connection_id), "number"],
    ["holder", (r) => r.owner ?? "–", ""],
    ["ended by", (r) => r.ended_by, (r) => (r.ended_by === "fenced" || r.ended_by === "lost" ? "bad" : "")],
    ["token", (r) => r.token ?? "–", "number"],
  ],
  deadlocks: [
    ["at (UTC)", (r) => r.at_utc.replace("T", " ").replace("Z", ""), ""],
    ["connection", (r) => String(r.connection_id), "number"],
    ["waited for", (r) => r.waited_for, "name"],
    ["held by", (r) => String(r.held_by), "number"],
    ["gave up", (r) => r.gave_up, ""],
    ["over", (r) => r.over, ""],
  ],
  proxies: [
    ["address", (r) => r.address + (r.this_one === "yes" ? " (this one)" : ""), ""],
    ["state", (r) => r.state, (r) => (r.state === "dead" ? "bad" : "")],
    ["mode", (r) => r.mode, ""],
    ["lease", (r) => duration(r.lease_seconds), "number"],
    ["id", (r) => r.proxy, ""],
    ["seen", seen, (r) => (r.seen_seconds_ago === null ? "" : "bad")],
  ],
  backends: [
    ["server", (r) => r.backend, ""],
    ["role", (r) => r.role, ""],
    ["state", (r) => r.state ?? "–", ""],
    ["answers", (r) => r.backend_answers, (r) => (r.backend_answers === "no" ? "bad" : "")],
    ["lock tables", (r) => r.lock_tables ?? "none", ""],
    ["answer", (r) => r.store_answers ?? "–", (r) => (r.store_answers === "no" ? "bad" : "")],
  ],
};

const fill = (id, rows, empty) => {
  const table = by(id);
  const kind = (column, row) => (typeof column[2] === "function" ? (row ? column[2](row) : "") : column[2]);
  const head = document.createElement("tr");
  for (const column of COLUMNS[id]) {
    const cell = document.createElement("th");
    cell.textContent = column[0];
    cell.scope = "col";
    cell.className = String(kind(column, rows[0])).split(" ")[0].replace("bad", "");
    head.append(cell);
  }
  const body = document.createElement("tbody");
  for (const row of rows) {
    const line = document.createElement("tr");
    for (const column of COLUMNS[id]) {
      const cell = document.createElement("td");
      cell.textContent = plain(column[1](row));
      cell.className = kind(column, row);
      if (cell.className === "name") cell.title = cell.textContent;
      line.append(cell);
    }
    body.append(line);
  }
  if (rows.length === 0) {
    const cell = document.createElement("td");
    cell.textContent = empty;
    cell.className = "none";
    cell.colSpan = COLUMNS[id].length;
    const line = document.createElement("tr");
    line.append(cell);
    body.append(line);
  }
  const top = document.createElement("thead");
  top.append(head);
  table.replaceChildren(top, body);
};

const spark = (element, values) => {
  const most = Math.max(1, ...values);
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.map((v, n) => (n * step).toFixed(2) + " " + (29 - (27 * v) / most).toFixed(2));
  element.setAttribute("viewBox", "0 0 100 30");
  element.setAttribute("preserveAspectRatio", "none");
  const line = "M" + points.join("L");
  const title = element.parentElement.querySelector("h2").textContent;
  element.setAttribute("aria-label", `${title}, the last minutes: now ${rate(values.at(-1) ?? 0)}, at most ${rate(Math.max(0, ...values))}`);
  const area = svg("path", { class: "area", d: line + "L100 30L0 30Z" });
  element.replaceChildren(...(points.length > 1 ? [area, svg("path", { d: line })] : []));
};

// Contended locks: the holder to the left, the lock in the middle, who waits to the right.
const graph = (contended, waiters) => {
  by("contended").hidden = contended.length === 0;
  const HEIGHT = 30, WIDTH = 220, LEFT = 14, MIDDLE = 270, RIGHT = 526, MOST = 6;
  const parts = [];
  const box = (x, y, kind, text, more) => {
    parts.push(svg("rect", { x, y, width: WIDTH, height: 24, rx: 6, class: kind }));
    const label = svg("text", { x: x + 9, y: y + 16 });
    label.textContent = short(text, 32);
    const title = svg("title", {});
    title.textContent = plain(more);
    label.append(title);
    parts.push(label);
  };
  const edge = (x, from, to) =>
    parts.unshift(svg("path", { d: `M${x} ${from + 12}C${x + 18} ${from + 12} ${x + 18} ${to + 12} ${x + 36} ${to + 12}` }));
  let y = 14;
  for (const lock of contended) {
    const all = waiters.filter((w) => w.name === lock.name && w.cluster === lock.cluster);
    const shown = all.slice(0, MOST);
    const rows = Math.max(1, shown.length + (lock.waiters_here > shown.length ? 1 : 0));
    const centre = y + ((rows - 1) * HEIGHT) / 2;
    box(LEFT, centre, "holder", `${lock.connection_id}  ${lock.owner ?? ""}`, `${lock.owner ?? "–"} at ${via(lock)}`);
    box(MIDDLE, centre, "lock", lock.name, lock.name);
    edge(LEFT + WIDTH, centre, centre);
    shown.forEach((w, n) => {
      const at = y + n * HEIGHT;
      box(RIGHT, at, "waiter", `${w.connection_id}  ${duration(w.waited_seconds)}  ${w.owner}`, w.owner);
      edge(MIDDLE + WIDTH, centre, at);
    });
    if (lock.waiters_here > shown.length) {
      const more = svg("text", { x: RIGHT + 9, y: y + shown.length * HEIGHT + 16, class: "soft" });
      more.textContent = `and ${count(lock.waiters_here - shown.length)} more`;
      parts.push(more);
    }
    y += rows * HEIGHT + 14;
  }
  const drawing = by("graph");
  drawing.setAttribute("viewBox", `0 0 760 ${y}`);
  drawing.replaceChildren(...parts);
};

const lease = (row) => {
  by("lease").hidden = !row;
  if (!row) return;
  const share = Math.max(0, Math.min(1, row.certain_for_seconds / row.lease_seconds));
  const bar = by("lease-bar");
  bar.style.width = (100 * share).toFixed(1) + "%";
  bar.parentElement.className = "bar" + (share <= 0.2 ? " bad" : share <= 0.5 ? " warn" : "");
  bar.parentElement.setAttribute("aria-label", `lease: ${Math.round(100 * share)} percent left`);
  by("lease-text").textContent =
    `renewed ${duration(row.renewed_seconds_ago)} ago; for ${duration(row.certain_for_seconds)} of ${duration(row.lease_seconds)} ` +
    `the locks of this proxy are certain without another renewal`;
};

let chosen = null;
const choose = (names) => {
  const select = by("cluster");
  select.hidden = names.length < 2;
  if (select.options.length !== names.length) {
    select.replaceChildren(...names.map((name) => new Option(name ?? "", name ?? "")));
    select.onchange = () => { chosen = select.value; refresh(); };
  }
  if (chosen === null || !names.includes(chosen)) chosen = names[0];
};

const show = (status) => {
  choose(status.clusters.map((c) => c.cluster));
  const mine = (rows) => rows.filter((r) => status.clusters.length < 2 || r.cluster === chosen);
  const cluster = mine(status.clusters)[0];
  const state = by("state");
  const good = cluster.problem === null && !status.draining;
  state.className = "pill " + (cluster.problem !== null ? "bad" : good ? "good" : "warn");
  put("state", cluster.problem !== null ? "no grants" : status.draining ? "draining" : "good");
  // Rows that were read before have their age, too.
  const old = status.seen_seconds_ago !== null;
  const age = old ? `Locks of other proxies are shown as they were ${duration(status.seen_seconds_ago)} ago.` : null;
  const told = [cluster.problem, status.failed, age, cluster.unfenced, ...cluster.stuck].filter((text) => text !== null);
  by("notice").hidden = told.length === 0;
  put("notice", plain(told.join(" — ")));
  const servers = mine(status.backends);
  put("about", `${status.version} · ${(servers.find((r) => r.role === "writer") ?? servers[0]).backend}`);
  lease(mine(status.lease)[0]);
  const last = (name) => cluster.rates[name].at(-1) ?? 0;
  // Without the lock tables nobody knows what is held; that there was nothing before does not say that there is nothing now.
  const none = (text) => (status.failed === null ? text : "Not known: the lock tables do not answer.");
  const known = status.failed === null || cluster.held > 0;
  by("held").textContent = known ? count(cluster.held) : "–";
  by("waiting").textContent = count(cluster.waiting);
  by("grants").textContent = rate(last("grants"));
  by("refused").textContent = rate(last("not_free"));
  by("sessions").textContent = count(last("sessions"));
  for (const element of document.querySelectorAll(".spark")) spark(element, cluster.rates[element.dataset.series]);
  const locks = mine(status.locks), waits = mine(status.waiters);
  graph(mine(status.contended), waits);
  // A proxy that observes knows what its own sessions do.
  const here = (text) => (cluster.observes ? text.replace(/\.$/, " through this proxy.") : text);
  fill("locks", locks, here(none("No lock is held.")));
  by("locks-more").textContent = cluster.held > locks.length ? `the ${locks.length} held longest, of ${count(cluster.held)}` : "";
  fill("waits", waits.slice(0, 25), here("Nobody waits."));
  by("waits-more").textContent = cluster.waiting > 25 ? `25 of ${count(cluster.waiting)}` : "";
  fill("history", mine(status.history), "None.");
  fill("deadlocks", mine(status.deadlocks), "None.");
  fill("proxies", mine(status.proxies), none("None that keeps locks."));
  fill("backends", servers, "");
  by("when").textContent = "as of " + new Date().toLocaleTimeString();
};

let asking = false;
const refresh = async () => {
  if (asking) return;
  asking = true;
  try {
    // A proxy that is stopped takes connections and says nothing.
    const answer = await fetch("api/v1/status", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) throw new Error(`the proxy answers ${answer.status}`);
    show(await answer.json());
    document.body.dataset.shown = "yes";
  } catch (e) {
    by("state").className = "pill bad";
    put("state", "no answer");
    by("notice").hidden = false;
    put("notice", `No answer from this proxy: ${e.message}. What is shown is old.`);
  } finally {
    asking = false;
  }
};

refresh();
setInterval(refresh, EVERY);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
