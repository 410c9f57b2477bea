// The status page: shows each snapshot of /events, and rates and small charts made of them.
// In: snapshots as ops/look.rs describes them, statements for who may see them. Out: the page.
// Must never: make HTML of text, keep a token, or ask for anything but GETs of this server.
"use strict";

const KEPT = 120, LEAST = 30, NARROW = 720, STATEMENTS_MS = 5000, MACHINE_MS = 30000, SILENT_MS = 3500;
const LAG_WARN_MS = 1000, LAG_BAD_MS = 10000, FILL_WARN = 0.8, FILL_BAD = 0.92;
const by = id => document.getElementById(id);
const histories = new Map();
let denied = false, shown = null, machine = null, rates = new Map(), heard = 0, token = "";

// --- elements

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(name, value);
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const sub = text => text === "" || text === null ? null : el("span", { class: "sub" }, text);
const pill = (text, kind) => el("span", { class: "pill " + kind }, text);

function bar(share) {
  const kind = share >= FILL_BAD ? " bad" : share >= FILL_WARN ? " warn" : "";
  const inner = el("i");
  inner.style.width = Math.round(100 * Math.min(1, Math.max(0, share))) + "%";
  return el("span", { class: "bar" + kind }, inner);
}

function spark(key) {
  const values = histories.get(key) || [];
  const most = Math.max(...values, 1e-9), step = 100 / (Math.max(LEAST, values.length) - 1), start = 100 - step * (values.length - 1);
  const points = values.map((v, i) => (start + i * step).toFixed(1) + " " + (27 - 25 * v / most).toFixed(1));
  const chart = svg("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" });
  if (points.length > 1) {
    chart.append(svg("path", { class: "area", d: `M${start.toFixed(1)} 28L${points.join("L")}L100 28Z` }));
    chart.append(svg("path", { d: "M" + points.join("L") }));
  }
  return chart;
}

// --- numbers in words

const known = value => value !== null && value !== undefined && !Number.isNaN(value);
const NONE = "–";
function number(value) {
  if (!known(value)) return NONE;
  const digits = Math.abs(value) >= 99.95 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}
const rate = value => known(value) ? value > 0 && value < 10 ? value.toFixed(1) : number(Math.round(value)) : NONE;
const bytes = value => {
  if (!known(value)) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at++; }
  return (value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)) + " " + units[at];
};
const millis = value => !known(value) ? NONE : value >= 10000 ? number(value / 1000) + " s"
  : (value >= 100 || Number.isInteger(value) ? Math.round(value) : value >= 10 ? value.toFixed(1) : value.toFixed(2)) + " ms";
function span(seconds) {
  if (!known(seconds)) return NONE;
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = units.findIndex(([size]) => seconds >= size);
  if (at < 0) return "0 s";
  const [size, unit] = units[at], rest = units[at + 1], more = rest && Math.floor(seconds % size / rest[0]);
  return Math.floor(seconds / size) + " " + unit + (more ? " " + more + " " + rest[1] : "");
}
const total = counts => Object.values(counts || {}).reduce((a, b) => a + b, 0);
const lagKind = ms => ms >= LAG_BAD_MS ? "bad" : ms >= LAG_WARN_MS ? "warn" : "";
const isMaster = server => server.role === "master";

// --- rates: what rose, by the second; nothing if it began anew

function counters(snapshot) {
  const found = new Map(), gate = snapshot.gate;
  const put = (key, value) => { if (known(value)) found.set(key, value); };
  for (const [name, value] of Object.entries(gate)) if (typeof value === "number") put("gate." + name, value);
  for (const [level, value] of Object.entries(gate.reads_by_level)) put("level." + level, value);
  put("refused", refusals(gate));
  for (const server of snapshot.servers) {
    put("reads." + server.name, server.reads);
    for (const [name, value] of Object.entries(server.mysql || {})) put(`mysql.${name}.${server.name}`, value);
    if (server.host) put("cpu." + server.name, server.host.cpu_us);
  }
  if (snapshot.capture) {
    put("log.records", total(snapshot.capture.transactions));
    put("log.bytes", snapshot.capture.bytes);
    put("log.raw", total(snapshot.capture.raw));
  }
  return found;
}
const refusals = gate => total(gate.overloads) + total(gate.class_errors) + gate.fallback_rejections + gate.wait_errors;

// Numbers that are asked for stand still for a second now and then: their rate is taken when they move, or after three.
const moved = new Map();
function takeRates(snapshot) {
  const now = counters(snapshot), fresh = new Map();
  for (const [key, value] of now) {
    const last = moved.get(key), slow = /^(mysql|cpu|log)\./.test(key);
    if (!last || value < last.value) { moved.set(key, { value, at: snapshot.at }); continue; }
    const seconds = (snapshot.at - last.at) / 1000;
    if (seconds <= 0) continue;
    if (slow && value === last.value && seconds < 2.9) {
      if (rates.has(key)) fresh.set(key, rates.get(key));
      continue;
    }
    fresh.set(key, (value - last.value) / seconds);
    moved.set(key, { value, at: snapshot.at });
  }
  for (const key of moved.keys()) if (!now.has(key)) moved.delete(key);
  rates = fresh;
}
const r = key => rates.get(key);

function remember(key, value) {
  const values = histories.get(key) || [];
  values.push(known(value) ? value : 0);
  if (values.length > KEPT) values.shift();
  histories.set(key, values);
}

// --- what deserves a look

function worries(snapshot) {
  const found = [], say = (text, kind) => found.push({ text, kind: kind || "warn" });
  if (snapshot.servers.every(isMaster)) say("There is no satellite: all reads run on the master.");
  for (const server of snapshot.servers) {
    const failing = server.host && server.host.failing;
    if (failing) say(`${server.name} can't begin to serve: ${failing} (${number(server.host.failures)} attempts failed).`, "bad");
    else if (server.state === "down") say(isMaster(server) ? "The master does not answer: nothing can be written." : `${server.name} is down: it gets no reads until it has cloned itself.`, "bad");
    if (server.state !== "down" && !isMaster(server) && lagKind(server.lag_ms)) say(`${server.name} is ${millis(server.lag_ms)} behind the master.`, lagKind(server.lag_ms));
    if (server.state !== "down" && server.applier === null) say(`The applier of ${server.name} does not answer.`);
    const host = server.host;
    if (host && host.data_size && host.data / host.data_size >= FILL_WARN)
      say(`${server.name}: its ${host.data_kind === "tmpfs" ? "data in memory" : "disk"} is ${Math.round(100 * host.data / host.data_size)} % full.`, host.data / host.data_size >= FILL_BAD ? "bad" : "warn");
    if (host && host.memory_limit && host.memory / host.memory_limit >= FILL_BAD) say(`${server.name} has taken ${Math.round(100 * host.memory / host.memory_limit)} % of its memory.`);
  }
  if (snapshot.capture === null) say("Capture does not answer: satellites get nothing new.", "bad");
  if (snapshot.capture && snapshot.capture.lag_p50_ms >= LAG_WARN_MS) say(`Capture is ${millis(snapshot.capture.lag_p50_ms)} behind the master.`);
  if (snapshot.gate.table_stream === 0) say("The table stream is down: strong reads wait for all that the master has.");
  if (r("refused") > 0) say(`${rate(r("refused"))} statements a second are refused.`, "bad");
  if (snapshot.verify && snapshot.verify.status === 1) say("The last make verify found a difference.", "bad");
  if (snapshot.gate.stopping) say("The gate is stopping.");
  return found;
}

function showVerdict(snapshot) {
  const found = worries(snapshot), satellites = snapshot.servers.filter(s => !isMaster(s));
  const up = satellites.filter(s => s.state === "up").length, bad = found.some(w => w.kind === "bad");
  const verdict = by("verdict");
  verdict.className = "pill " + (bad ? "bad" : found.length ? "warn" : "good");
  verdict.textContent = !satellites.length ? "no satellite: reads run on the master" : up === satellites.length && !found.length ? `all well: ${up} of ${up} satellites serve` : `${up} of ${satellites.length} satellites serve`;
  document.title = (found.length ? "(" + found.length + ") " : "") + "Multimed";
  const list = by("worries");
  list.hidden = !found.length;
  list.replaceChildren(...found.map(w => el("li", { class: w.kind }, w.text)));
}

// --- the path

function box(x, y, w, h, name, lines, kind) {
  const group = svg("g", null, svg("rect", { class: "box " + (kind || ""), x, y, width: w, height: h, rx: 8 }), svg("text", { class: "name", x: x + 10, y: y + 18 }, name));
  lines.forEach(([text, style, end], at) => {
    const place = end === undefined ? { x: x + 10, y: y + 18 + 16 * (at + 1) } : { x: end ? x + w - 10 : x + 10, y: y + h - 9, "text-anchor": end ? "end" : "start" };
    group.append(svg("text", { class: style || "soft", ...place }, text));
  });
  return group;
}
const head = (x, y, side, style) => svg("path", { class: "head-" + style, d: side === "r" ? `M${x} ${y}l-7 -4v8z` : side === "l" ? `M${x} ${y}l7 -4v8z` : `M${x} ${y}l-4 -7h8z` });
const edge = (d, style, off) => svg("path", { class: `edge ${style}${off ? " off" : ""}`, d });

function satelliteBox(server, x, y, w, h) {
  const down = server.state === "down";
  const lines = [[down ? "no reads" : rate(r("reads." + server.name)) + " reads/s", down ? "bad" : "rate-read", false]];
  if (!down) lines.push(["lag " + millis(server.lag_ms), lagKind(server.lag_ms) || "rate-change", true]);
  const group = box(x, y, w, h, server.name, lines, down ? "bad" : server.state === "draining" ? "warn" : "");
  group.append(svg("text", { class: down ? "bad" : server.state === "up" ? "soft" : "warn", x: x + w - 10, y: y + 18, "text-anchor": "end" }, server.state));
  return group;
}

function drawPath(snapshot) {
  const place = by("path"), w = Math.max(280, place.clientWidth - 24), master = snapshot.servers.find(isMaster);
  const satellites = snapshot.servers.filter(s => !isMaster(s)), gate = snapshot.gate, capture = snapshot.capture;
  const masterDown = master.state === "down", commits = rate(r("mysql.transactions." + master.name));
  const toMaster = (r("gate.master_statements") || 0) + (r("reads." + master.name) || 0);
  const clients = ["Clients", [[number(gate.sessions) + " sessions"]]];
  const reads = satellites.reduce((sum, s) => sum + (r("reads." + s.name) || 0), 0);
  const gateText = ["Gate", [[rate(reads) + " reads/s", "rate-read"]], gate.stopping ? "warn" : ""];
  const logText = ["Log", [[capture === undefined ? "capture" : capture ? "captured in " + millis(capture.lag_p50_ms) : "no answer", capture === null ? "bad" : "soft"]], capture === null ? "bad" : ""];
  const masterText = [master.name, [[masterDown ? "down" : commits + " commits/s", masterDown ? "bad" : "rate-change"], [rate(toMaster) + " statements/s"]], masterDown ? "bad" : ""];
  const drawing = (w < NARROW - 40 ? narrow : wide)(w, satellites, { clients, gateText, logText, masterText, masterDown });
  place.replaceChildren(drawing);
}

function wide(w, satellites, t) {
  const h = 46, gap = 10, top = 44, sizes = [108, 128, Math.min(300, w * 0.24), 150, 150];
  const space = (w - sizes.reduce((a, b) => a + b)) / 4, x = [0];
  for (let at = 1; at < 5; at++) x[at] = x[at - 1] + sizes[at - 1] + space;
  const all = Math.max(1, satellites.length) * (h + gap) - gap, height = Math.max(all, 58), middle = top + height / 2;
  const root = svg("svg", { viewBox: `0 0 ${w} ${top + height + 4}`, height: top + height + 4, role: "img", "aria-label": "Clients to gate to servers, master to log to satellites" });
  const right = at => x[at] + sizes[at];
  root.append(edge(`M${right(0)} ${middle}H${x[1] - 6}`, ""), head(x[1], middle, "r", "read"));
  root.append(edge(`M${x[1] + 64} ${middle - 24}V22Q${x[1] + 64} 14 ${x[1] + 72} 14H${x[4] + 67}Q${x[4] + 75} 14 ${x[4] + 75} 22V${middle - 38}`, t.masterDown ? "" : "", t.masterDown), head(x[4] + 75, middle - 31, "d", "read"));
  root.append(svg("text", { class: "soft", x: x[2] + sizes[2] / 2, y: 32, "text-anchor": "middle" }, "writes, and what satellites can't answer"));
  satellites.forEach((server, at) => {
    const y = top + (height - all) / 2 + at * (h + gap), center = y + h / 2, off = server.state === "down", bend = space / 2;
    root.append(edge(`M${right(1)} ${middle}C${right(1) + bend} ${middle} ${x[2] - bend} ${center} ${x[2] - 6} ${center}`, "read", off));
    root.append(edge(`M${x[3]} ${middle}C${x[3] - bend} ${middle} ${right(2) + bend} ${center} ${right(2) + 6} ${center}`, "change", off));
    if (!off) root.append(head(x[2], center, "r", "read"), head(right(2), center, "l", "change"));
    root.append(satelliteBox(server, x[2], y, sizes[2], h));
  });
  root.append(edge(`M${x[4]} ${middle}H${right(3) + 6}`, "change", t.masterDown), head(right(3), middle, "l", "change"));
  root.append(box(x[0], middle - 22, sizes[0], 44, ...t.clients), box(x[1], middle - 22, sizes[1], 44, ...t.gateText));
  root.append(box(x[3], middle - 22, sizes[3], 44, ...t.logText), box(x[4], middle - 29, sizes[4], 58, ...t.masterText));
  return root;
}

function narrow(w, satellites, t) {
  const h = 46, gap = 8, first = 60, low = first + satellites.length * (h + gap) + 8, height = low + 62, half = w / 2 - 20;
  const root = svg("svg", { viewBox: `0 0 ${w} ${height}`, height, role: "img", "aria-label": "Clients to gate to servers, master to log to satellites" });
  root.append(edge(`M${half} 22H${w - half - 6}`, ""), head(w - half, 22, "r", "read"));
  // Reads come down on the left, changes up on the right.
  const gateX = w - half;
  root.append(edge(`M${gateX + 24} 44V52H3V${low + 20}H8`, "", t.masterDown), head(14, low + 20, "r", "read"));
  satellites.forEach((server, at) => {
    const y = first + at * (h + gap), center = y + h / 2, off = server.state === "down";
    root.append(edge(`M${gateX + 34} 44V56H12V${center}H20`, "read", off), edge(`M${w - 12} ${low}V${center}H${w - 20}`, "change", off));
    if (!off) root.append(head(26, center, "r", "read"), head(w - 26, center, "l", "change"));
    root.append(satelliteBox(server, 26, y, w - 52, h));
  });
  root.append(edge(`M${half} ${low + 30}H${w - half - 6}`, "change", t.masterDown), head(w - half, low + 30, "r", "change"));
  root.append(box(0, 0, half, 44, ...t.clients), box(gateX, 0, half, 44, ...t.gateText));
  root.append(box(14, low, half - 14, 58, ...t.masterText), box(gateX, low, half, 58, ...t.logText));
  return root;
}

// --- numbers with charts

function showTiles(snapshot) {
  const { servers } = snapshot, master = servers.find(isMaster), satellites = servers.filter(s => !isMaster(s));
  const reads = servers.reduce((sum, s) => sum + (r("reads." + s.name) || 0), 0);
  const lag = Math.max(0, ...satellites.map(s => s.lag_ms || 0)), p99 = satellites.map(s => s.p99_ms).filter(known);
  const tiles = [
    ["Reads/s", reads, rate(reads)],
    ["Statements on master/s", r("gate.master_statements"), rate(r("gate.master_statements"))],
    ["Commits/s", r("mysql.transactions." + master.name), rate(r("mysql.transactions." + master.name)), "change"],
    ["Worst lag", lag, millis(lag), "change", lagKind(lag)],
    ["Waits for freshness/s", r("gate.waits"), rate(r("gate.waits"))],
    ["Fallbacks to master/s", r("gate.fallbacks"), rate(r("gate.fallbacks"))],
    ["Refused/s", r("refused"), rate(r("refused")), "", r("refused") > 0 ? "bad" : ""],
  ];
  if (p99.length) tiles.splice(1, 0, ["Slowest p99 of satellites", Math.max(...p99), millis(Math.max(...p99))]);
  by("tiles").replaceChildren(...tiles.map(([label, value, text, kind, alarm]) => {
    remember("tile." + label, value);
    return el("div", { class: "card tile " + (kind || "") }, el("div", { class: "label" }, label), el("div", { class: "value " + (alarm || "") }, text), spark("tile." + label));
  }));
}

// --- tables

function table(id, headings, rows) {
  const cells = row => row.cells.map((cell, at) => fill(document.createElement("td"), { "data-label": headings[at], class: row.styles && row.styles[at] }, [cell]));
  const heading = headings.some(h => h) ? [el("thead", null, el("tr", null, headings.map(h => el("th", { scope: "col" }, h))))] : [];
  by(id).replaceChildren(...heading, el("tbody", null, rows.map(row => el("tr", { class: row.kind }, cells(row)))));
}

function showServers(snapshot) {
  const servers = snapshot.servers, has = test => servers.some(test);
  const columns = [
    ["Server", s => [el("b", null, s.name), " ", pill(s.state, { up: "good", draining: "warn", down: "bad" }[s.state] || ""), sub(isMaster(s) ? "master, MySQL " + s.version : s.applier && s.applier.live === 0 ? "replicates from the log" : s.applier ? "replicates live" : "")]],
    ["Reads/s", s => [rate(r("reads." + s.name)), spark("reads." + s.name)]],
    has(s => known(s.p50_ms)) && ["p50 / p99", s => [millis(s.p50_ms), sub(millis(s.p99_ms))]],
    ["Running", s => [number(s.load), sub(`of ${number(s.limits.running)}${s.limits.auto ? ", found" : ""}`)]],
    ["Open", s => [number(s.open)]],
    ["Queued", s => [el("span", { class: s.queued ? "warn" : "" }, number(s.queued)), s.heavy ? sub(s.heavy + " heavy") : null]],
    ["Connections", s => [number(s.sessions), s.mysql ? sub(number(s.mysql.threads_connected) + " in all") : null]],
    ["Lag", s => isMaster(s) || s.state === "down" ? [NONE] : [el("span", { class: lagKind(s.lag_ms) }, millis(s.lag_ms)), known(s.lag_transactions) ? sub(number(s.lag_transactions) + " trans.") : null]],
    has(s => s.host) && ["CPU", s => s.host ? [known(r("cpu." + s.name)) ? (r("cpu." + s.name) / 1e6).toFixed(2) : NONE, sub("cores " + s.host.cores)] : [NONE]],
    has(s => s.host) && ["Memory", s => !s.host ? [NONE] : [bytes(s.host.memory), s.host.memory_limit ? sub("of " + bytes(s.host.memory_limit)) : null, s.host.memory_limit ? bar(s.host.memory / s.host.memory_limit) : null]],
    has(s => s.host) && ["Data", s => !s.host ? [NONE] : [bytes(s.host.data), sub(`of ${bytes(s.host.data_size)} ${s.host.data_kind}`), bar(s.host.data / s.host.data_size)]],
    ["Up", s => [s.mysql ? span(s.mysql.uptime) : NONE, s.host && s.host.why ? el("span", { class: "sub", title: s.host.why }, "cloned: " + s.host.why) : null]],
  ].filter(Boolean);
  for (const server of servers) remember("reads." + server.name, r("reads." + server.name));
  table("servers", columns.map(c => c[0]), servers.map(s => ({ cells: columns.map(c => c[1](s)) })));
}

const line = (name, ...values) => ({ cells: [name, ...values] });

function showReads({ gate }) {
  const rows = Object.entries(gate.reads_by_level).filter(([, count]) => count > 0).map(([level, count]) => line(level, rate(r("level." + level)), number(count)));
  const counter = (name, key, always) => { if (always || gate[key]) rows.push(line(name, rate(r("gate." + key)), number(gate[key]))); };
  counter("waited until a satellite was fresh", "waits", true);
  counter("no satellite could be fresh in time", "hopeless_waits");
  counter("went by what wrote their tables", "table_reads");
  counter("fell back to the master", "fallbacks", true);
  counter("took what the master had to spare", "spare_reads");
  counter("moved: their server was lost", "moved_reads");
  counter("refused by a satellite, run on the master", "refused_as_write");
  rows.push(line("refused", el("span", { class: r("refused") > 0 ? "bad" : "" }, rate(r("refused"))), number(refusals(gate))));
  table("reads", ["Level, way", "/s", "since start"], rows);
}

function showMaster(snapshot) {
  const master = snapshot.servers.find(isMaster), mysql = master.mysql || {}, of = name => r(`mysql.${name}.${master.name}`);
  const hit = of("innodb_buffer_pool_read_requests") > 0 ? 100 * (1 - of("innodb_buffer_pool_reads") / of("innodb_buffer_pool_read_requests")) : null;
  const rows = [
    line("commits/s", rate(of("transactions"))),
    line("statements through the gate/s", rate(r("gate.master_statements"))),
    line("questions/s, all clients", rate(of("questions"))),
    line("running / connected", `${number(mysql.threads_running)} / ${number(mysql.threads_connected)}`),
    line("waiting for row locks", number(mysql.innodb_row_lock_current_waits)),
    line("written to disk/s", bytes(of("innodb_data_written"))),
    line("flushes to disk/s", rate(of("innodb_data_fsyncs"))),
    line("buffer pool", [known(hit) ? number(hit > 99.9 ? Math.round(hit) : hit) + " % hits" : NONE, sub(`${bytes(mysql.innodb_buffer_pool_bytes_data)} of ${bytes(mysql.buffer_pool)}`)]),
  ];
  if (master.host) rows.push(line("disk", [bytes(master.host.data), sub("of " + bytes(master.host.data_size)), bar(master.host.data / master.host.data_size)]));
  table("master", ["", ""], rows);
}

function showLog(snapshot) {
  const capture = snapshot.capture, rows = [];
  if (capture === undefined) rows.push({ kind: "none", cells: ["Capture has not answered yet, or the gate is not told where it is (GATE_CAPTURE_STATUS)."] });
  else if (capture === null) rows.push({ kind: "none", cells: ["Capture does not answer."] });
  else {
    const all = total(capture.transactions), raw = total(capture.raw);
    rows.push(line("transactions/s", rate(r("log.records"))), line("bytes/s", bytes(r("log.bytes"))));
    rows.push(line("commit to log, p50 / p99 of 10 s", `${millis(capture.lag_p50_ms)} / ${millis(capture.lag_p99_ms)}`));
    rows.push(line("mode", [r("log.raw") > 0 && r("log.raw") >= 0.9 * r("log.records") ? "binlog as it is" : "rows by Debezium", sub(raw ? `${number(100 * raw / all)} % raw since start: ` + Object.keys(capture.raw).join(", ").replaceAll("_", " ") : "")]));
    rows.push(line("appliers fed directly", number(capture.live_readers)));
    const behind = Math.max(0, ...snapshot.servers.filter(s => !isMaster(s)).map(s => s.lag_ms || 0)) / 1000;
    rows.push(line("kept for", [span(capture.retention_s), sub(known(capture.retention_s) ? span(capture.retention_s - behind) + " left for who is most behind" : "")]));
    rows.push(line("clones that the log asked for", number(capture.rebuild || 0)));
    if (known(capture.compared)) {
      const last = known(capture.compared_at) ? "the last pass was over " + span(snapshot.at / 1000 - capture.compared_at) + " ago" : "no pass is over yet";
      rows.push(line("comparison of all tables", [`${number(Math.floor(100 * capture.compared))} % of this pass`, sub(last + (capture.not_compared ? `; without ${number(capture.not_compared)} tables` : ""))]));
    }
    if (capture.broken_log) rows.push(line("broken places", el("span", { class: "bad" }, number(capture.broken_log))));
  }
  const rebuilds = snapshot.servers.flatMap(s => Object.entries(s.applier && s.applier.rebuilds || {}).map(([why, count]) => [s.name, why, count]));
  for (const [name, why, count] of rebuilds) if (count) rows.push(line(`${name} asked to clone: ${why}`, number(count)));
  const verify = snapshot.verify;
  if (verify) rows.push(line("last verify", [pill(["every check held", "differs", "not proven"][verify.status] || "failed", ["good", "bad", "warn"][verify.status] || "bad"), sub(span(snapshot.at / 1000 - verify.at) + " ago")]));
  else rows.push(line("last verify", NONE));
  table("log", ["", ""], rows);
}

// --- the machine: who runs on which core, as the layout drew it

async function askMachine() {
  if (document.hidden) return;
  try {
    const answer = await fetch("machine", { cache: "no-store" });
    machine = answer.ok ? await answer.json() : null;
    drawMachine();
  } catch { /* As above, or it is being written. */ }
}

// Master, log, gate; then satellites, each far from the one before.
const colour = place => `hsl(${place < 3 ? [158, 32, 280][place] : Math.round(212 + (place - 3) * 137.5) % 360} 55% 46%)`;
const signOf = place => place < 3 ? "MLG"[place] : String(place - 2);

function drawMachine() {
  by("machine").hidden = !machine;
  if (!machine) return;
  const place = by("nodes"), w = Math.max(240, place.clientWidth - 24), left = 62, gap = 2, line = 20;
  const longest = Math.max(...machine.nodes.flatMap(node => node.caches.map(cache => cache.cores.length)), 1);
  const size = Math.max(9, Math.min(24, Math.floor((w - left) / longest) - gap)), across = Math.max(1, Math.floor((w - left) / (size + gap)));
  const root = svg("svg", { role: "img", "aria-label": "Cores of the machine, and who runs on them" });
  let y = 14;
  for (const node of machine.nodes) {
    const count = node.caches.reduce((sum, cache) => sum + cache.cores.length, 0);
    const full = node.memory && node.taken > node.memory;
    const memory = node.memory ? `${bytes(node.memory)}, of which servers may take ${bytes(node.taken)}` : `servers may take ${bytes(node.taken)}`;
    root.append(svg("text", { x: 0, y, class: full ? "bad" : "" }, `Node ${node.node}: ${number(count)} cores; ${memory}`));
    y += 8;
    for (const cache of node.caches) {
      if (cache.cache >= 0) root.append(svg("text", { class: "soft", x: 0, y: y + size / 2 + 4 }, "L3 " + cache.cache));
      cache.cores.forEach((core, at) => root.append(drawCore(core, left + at % across * (size + gap), y + Math.floor(at / across) * (size + gap), size)));
      y += Math.ceil(cache.cores.length / across) * (size + gap) + 4;
    }
    y += line;
  }
  fill(root, { viewBox: `0 0 ${w} ${y}`, height: y }, []);
  place.replaceChildren(root);
  by("dealt").replaceChildren(...machine.servers.map((server, at) => el("li", null,
    svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { width: 10, height: 10, rx: 2, fill: colour(at) })),
    `${signOf(at)}: ${server.name}`, el("span", { class: "soft" }, ` cores ${server.cpus}, up to ${bytes(server.memory)}`))));
}

function drawCore(core, x, y, size) {
  const names = core.who.map(at => machine.servers[at].name).join(", ") || (core.left_out ? "left out" : "nobody");
  const group = svg("g", null, svg("title", null, `cores ${core.cpus}: ${names}`)), each = size / core.who.length;
  if (!core.who.length) group.append(svg("rect", { class: core.left_out ? "left" : "hole", x: x + .5, y: y + .5, width: size - 1, height: size - 1, rx: 2 }));
  core.who.forEach((server, at) => group.append(svg("rect", { x: x + at * each, y, width: each, height: size, rx: core.who.length > 1 ? 0 : 2, fill: colour(server) })));
  if (core.who.length === 1 && size >= 12) group.append(svg("text", { class: "sign", x: x + size / 2, y: y + size / 2 + 3.5 }, signOf(core.who[0])));
  return group;
}

// --- statements: for who may see their texts

async function askStatements() {
  if (document.hidden || !shown || denied && !token) return;
  try {
    const answer = await fetch("statements", { headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store" });
    denied = answer.status === 401 || answer.status === 403;
    const said = await answer.json();
    by("ask").hidden = !denied;
    by("refusal").textContent = denied && token ? said.error : "";
    by("token").hidden = by("ask").querySelector("button").hidden = answer.status === 403;
    if (answer.status === 403) by("ask").querySelector("label").textContent = "Texts of statements are for the gate's own host, or who has the token: set GATE_ADMIN_TOKEN_FILE.";
    if (denied) { token = ""; by("statements").replaceChildren(); }
    else if (answer.ok) showStatements(said.statements);
  } catch { /* The stream says that the gate is gone. */ }
}

function showStatements(rows) {
  const where = servers => Object.entries(servers).map(([name, count]) => `${name} ${number(count)}`).join(", ");
  const reason = w => el("div", null, `${w.reason} ${number(w.count)}`, sub(w.advice));
  const shownRows = rows.slice(0, 20).map(s => ({
    styles: ["text", null, null, null, "where", "why"],
    cells: [s.text, [number(s.count), s.errors ? sub(number(s.errors) + " failed") : null], millis(s.p50_ms), millis(s.p99_ms), where(s.servers), s.why.filter(w => w.on_master).slice(0, 3).map(reason)],
  }));
  if (!shownRows.length) return by("statements").replaceChildren(el("tbody", null, el("tr", null, el("td", { class: "soft" }, "No statements yet."))));
  table("statements", ["Statement", "Count", "p50", "p99", "Where", "Why on the master, what to change"], shownRows);
}

// --- life

function show() {
  if (!shown || document.hidden) return;
  showVerdict(shown);
  drawPath(shown);
  showTiles(shown);
  showServers(shown);
  showReads(shown);
  showMaster(shown);
  showLog(shown);
  by("footer").textContent = `gtid-gate ${shown.gate.version}, up ${span(shown.gate.up)}; charts show the last two minutes of this page. Also: /servers, /metrics`;
}

function isOn(on) {
  const live = by("live");
  live.className = on ? "on" : "off";
  live.textContent = on ? new Date(shown.at).toLocaleTimeString("en-GB") : "no connection" + (heard ? " since " + new Date(heard).toLocaleTimeString("en-GB") : "");
  document.body.classList.toggle("off", !on);
}

function follow() {
  const stream = new EventSource("events");
  stream.onmessage = event => {
    shown = JSON.parse(event.data);
    heard = Date.now();
    takeRates(shown);
    isOn(true);
    show();
  };
  // A browser gives up after an answer that is no stream.
  stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 3000); };
}

by("ask").addEventListener("submit", event => {
  event.preventDefault();
  token = by("token").value;
  by("token").value = "";
  askStatements();
});
addEventListener("resize", () => { if (shown) drawPath(shown); drawMachine(); });
setInterval(() => { if (Date.now() - heard > SILENT_MS) isOn(false); }, 1000);
setInterval(askStatements, STATEMENTS_MS);
setInterval(askMachine, MACHINE_MS);
askMachine();
setTimeout(askStatements, 1200);
follow();
