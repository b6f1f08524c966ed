"use strict";
const $ = id => document.getElementById(id);
const count = n => Math.round(n).toLocaleString("en");
const few = n => n >= 100 ? count(n) : n >= 10 ? n.toFixed(1) : n.toPrecision(2).replace(/\.0$/, "");
const bytes = n => { const sign = n < 0 ? "-" : ""; n = Math.abs(n); let i = 0; while (n >= 999.5 && i < 5) { n /= 1000; i++ } return sign + n.toFixed(i && n < 99.95 ? 1 : 0) + " " + ["B", "kB", "MB", "GB", "TB", "PB"][i] };
const share = x => (100 * x).toFixed(1) + "%";
const span = s => s < 120 ? s.toFixed(0) + " s" : s < 7200 ? (s / 60).toFixed(0) + " min" : s < 172800 ? (s / 3600).toFixed(1) + " h" : count(s / 86400) + " days";
const delay = s => s < 0.000001 ? "under 1 µs" : s < 0.001 ? few(s * 1e6) + " µs" : s < 1 ? few(s * 1e3) + " ms" : few(s) + " s";
const say = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text };
/* A style is set by script: the policy of the page allows none in its text. */
const dress = (e, attributes) => { for (const k in attributes) if (k === "style") e.style.cssText = attributes[k]; else e.setAttribute(k, attributes[k]); return e };
const make = (name, attributes, ...inside) => { const e = dress(document.createElement(name), attributes); e.append(...inside); return e };
const table = (id, rows) => $(id).replaceChildren(...rows.map(([name, value, why]) => { const th = make("th", { scope: "row" }, name); if (why) th.append(make("small", {}, why)); return make("tr", {}, th, make("td", {}, value)) }));

/* ---- numbers of now ---- */
let last, limits;
function show(s) {
  const d = s.disk, r = s.requests, a = s.admission, g = a.generation, o = s.origin, l = s.lifetime, top = Math.max(d.baseline_bytes, d.written_bytes, 1);
  document.title = s.node.name + " - twice";
  say("who", s.node.name + " - version " + s.version + " - listens on " + s.node.listen.join(", ") + " with " + s.node.workers + (s.node.workers === 1 ? " worker" : " workers") + " - up " + span(s.uptime_s));
  $("origins").replaceChildren(...s.origins.map(x => make("span", { style: "margin-right: 1.2rem" }, make("i", { class: x.state === "well" ? "dot" : "dot out" }), (x.group === "default" ? "" : x.group + ": ") + x.url + (x.state === "well" ? " is well" : " is " + x.state + " (" + x.why + ")" + (x.returns_in_s > 0 ? ", asked again in " + Math.ceil(x.returns_in_s) + " s" : "")))));
  const b = s.health, m = s.last_minute;
  tell(b.state, b.state + " since " + new Date(b.since_timestamp_s * 1000).toLocaleString() + " (" + span(b.for_s) + ")", b.why.map(x => x.says));
  say("failed", m ? share(m.failed_ratio) : "-");
  $("failedbox").classList.toggle("bad", b.why.some(x => x.says.includes("of the answers")));
  say("failedof", m ? few(m.failed_ratio * m.requests_per_s) + " of " + few(m.requests_per_s) + " per second" : "not known yet");
  say("failedall", count(s.status["5xx"]) + " of " + count(r.total) + " since the start.");
  say("minute", m ? few(m.requests_per_s) + " in the last minute, " + share(m.hit_ratio) + " of them from the cache." : "");
  say("ratio", share(d.saved_ratio)); say("saved", bytes(d.saved_bytes));
  say("lifetime", "Since " + new Date(l.since_s * 1000).toLocaleDateString() + ": " + bytes(l.baseline - l.written) + " of " + bytes(l.baseline) + ", in " + count(l.requests) + " requests.");
  say("hit", share(r.hit_ratio)); say("basehit", share(r.baseline_hit_ratio)); say("bytehit", share(s.bytes.hit_ratio)); say("basebytehit", share(s.bytes.baseline_hit_ratio));
  say("bill", "Requests to origins: " + count(o.extra_requests) + " more than it, " + count(o.avoided_requests) + " fewer.");
  const seconds = last ? s.uptime_s - last.uptime_s : 0;
  if (seconds > 0) say("rate", few((r.total - last.requests.total) / seconds));
  say("total", count(r.total) + " since the start, " + bytes(s.bytes.to_clients) + " sent; " + count(s.connections.open) + " connections are open");
  say("baseline", bytes(d.baseline_bytes)); $("bbar").style.width = 100 * d.baseline_bytes / top + "%";
  say("written", bytes(d.written_bytes)); $("wbar").style.width = 100 * d.written_bytes / top + "%";
  table("disk", [["disk in use", bytes(d.used_bytes) + " of " + bytes(d.limit_bytes)], ["objects on disk", count(d.objects)], ["evicted from disk", count(d.evicted_objects), "made room for others"], ["RAM in use", bytes(s.ram.used_bytes) + " of " + bytes(s.ram.limit_bytes)], ["objects in RAM", count(s.ram.objects)]]);
  table("verdicts", [["first-sight", count(a.first_sight), "asked for the first time: not written"], ["seen-current, seen-previous", count(a.seen_current + a.seen_previous), "asked for before, as the learning or the previous filter knows: written"], ["on-disk", count(a.on_disk), "there already"], ["not-storable", count(a.not_storable), "the answer may not be stored, or there was nothing to store"], ["others", count(a.always + a.never + a.filling + a.too_large + a.over_budget + a.reload + a.head + a.too_short + a.elsewhere), "rules of routes, too large, over the budget, HEAD, fresh for too short"], ["left off the disk", bytes(a.refused_bytes)]]);
  table("generation", [["URLs in the learning one", count(g.keys) + " of " + count(g.capacity), "number " + count(g.number) + ", begun " + span(g.age_s) + " ago"], ["URLs in the previous one", count(g.previous_keys)], ["the one before lasted", g.interval_s > 0 ? span(g.interval_s) : "not known yet", g.turns_fast ? "sooner than admission.turn_alarm: the disk or the capacity is small" : ""], ["bits set", share(g.fill_ratio) + ", " + share(g.previous_fill_ratio), "it rotates at half, or when it is full of URLs or old"], ["false positives now", (100 * g.estimated_fpr).toPrecision(2) + "%", "new URLs taken for known ones: written at first sight"], ["known from before", share(g.recurring_share), "of its URLs, how many the previous one knew too"], ["memory", bytes(g.memory_bytes)]]);
  $("routesbox").hidden = !s.routes.length;
  table("routes", s.routes.map(x => [x.name, count(x.requests), share(x.requests ? x.hits / x.requests : 0) + " from the cache, " + bytes(x.body_bytes) + ", " + count(x.status["5xx"]) + " of 5xx"]));
  table("requests", [["RAM hits", count(r.ram_hits)], ["disk hits", count(r.disk_hits)], ["coalesced", count(r.coalesced), "waited for a fetch that another request began"], ["revalidated", count(r.revalidated), "the origin said that the stored object is still good"], ["stale", count(r.stale_served), "a stored object past its time, as allowed"], ["misses", count(r.misses), "fetched from an origin"], ...(s.fleet.members ? [["other nodes", count(r.sibling), "put to the node of the fleet that owns the URL"]] : []), ["passed", count(r.passed), "not for sharing: other methods, routes that pass"], ["errors", count(r.errors), "no good answer from an origin"], ["all", count(r.total)]]);
  const w = s.what_if, more = (x, digits, unit) => (x < 0 ? "\u2212" : "+") + Math.abs(100 * x).toFixed(digits) + unit;
  const now = w.rows[0], enough = w.rows.length > 1 && w.known;
  /* What a smaller or larger disk would do shows once the smaller of the two has been written full. */
  const told = enough ? w.rows.slice(1).filter(x => x.disk_bytes === now.disk_bytes || d.baseline_bytes >= Math.min(x.disk_bytes, now.disk_bytes)) : [];
  say("whatifoff", w.rows.length < 2 ? "Needs a disk." : !enough ? "Not known yet: it takes 1,000 requests, half a minute, and a simulation that agrees with what happened." : "Of what is simulated, " + count(w.entries) + " objects are followed; with the settings of now it is " + more(w.off_hit_ratio, 1, " points") + " of hits and " + more(w.off_written, 0, "%") + " of writes off what really happened." + (told.length < w.rows.length - 1 ? " Other disks are told of once they would be full." : ""));
  table("whatif", told.map(x => ["with " + x.name, x.written_change === null ? bytes(x.more_written_bytes) + " written, where now none are" : more(x.written_change, 0, "%"), more(x.hit_ratio_change, 1, " points of hits") + (w.sample_share < 1 ? "; give or take " + (100 * (x.written_error || 0)).toFixed(0) + "% and " + (100 * x.hit_ratio_error).toFixed(1) + " points" : "")]));
  limits = { ram: s.ram.limit_bytes, disk: d.limit_bytes };
  last = s;
}
function tell(level, state, reasons) {
  $("banner").dataset.level = level;
  say("state", state);
  if ($("reasons").textContent !== reasons.join("")) $("reasons").replaceChildren(...reasons.map(x => make("li", {}, x)));
}

/* ---- the time axis ---- */
const SPAN = { 1: 600, 10: 7200, 300: 604800 }, NAMED = { 1: "The last 10 minutes", 10: "The last 2 hours", 300: "The last 7 days" };
let history = { step: 1, first: 0, rows: {}, n: 0 }, due = 0;
/* A share of the ten steps up to here: of a single second with few requests it would say little. */
const ratio = (part, whole) => (h, i) => { let p = 0, w = 0; for (let k = Math.max(0, i - 9); k <= i; k++) { const a = part(h, k), b = whole(h, k); if (a !== null && b !== null) { p += a; w += b } } return w > 0 && whole(h, i) !== null ? Math.min(1, Math.max(0, p / w)) : null };
const col = name => (h, i) => h.rows[name] ? h.rows[name][i] : null;
const sum = (...names) => (h, i) => names.reduce((n, x) => { const v = h.rows[x.replace("-", "")][i]; return n === null || v === null ? null : n + (x[0] === "-" ? -v : v) }, 0);
const CHARTS = [
  { title: "Written to disk, per second", about: "An ordinary cache with the same disk writes everything that it fetches.", format: bytes, series: [["an ordinary cache", "--base", col("baseline"), "dash"], ["twice", "--ours", col("written")]] },
  { title: "Answered from the cache", about: "The share of requests, and of bytes, for which no origin was asked; over ten steps each.", format: share, top: 1, series: [["requests", "--c1", ratio(col("hits"), col("requests"))], ["bytes", "--c2", ratio(col("from_cache"), sum("from_cache", "from_origin"))], ["requests, ordinary cache", "--base", ratio(sum("hits", "extra_requests", "-avoided_requests"), col("requests")), "dash"], ["bytes, ordinary cache", "--base", ratio(sum("from_cache", "extra_bytes", "-avoided_bytes"), sum("from_cache", "from_origin"))]] },
  { title: "Requests by outcome, per second", about: "Where the answers came from, one above the other.", format: few, stacked: true, series: [["RAM hits", "--c1", col("ram_hits")], ["disk hits", "--c2", col("disk_hits")], ["coalesced", "--c3", col("coalesced")], ["revalidated", "--c4", col("revalidated")], ["stale", "--c5", col("stale")], ["misses", "--c6", col("misses")], ["passed, others", "--c7", sum("passed", "other")], ["errors", "--c8", col("errors")]] },
  { title: "Verdicts, per second", about: "Asked for the first time: kept off the disk. Asked for again: written.", format: few, series: [["first sight, not written", "--base", col("first_sight")], ["admitted to the disk", "--ours", col("admitted")]] },
  { title: "Time to first byte", about: "From the head of a request to that of its answer: half of them, 99 of 100 are not above. Hits that are answered at once took no measurable time.", format: delay, log: true, series: [["fetched, half", "--c6", col("fetched_p50")], ["fetched, 99%", "--c8", col("fetched_p99")], ["hits, half", "--c1", col("hit_p50")], ["hits, 99%", "--c2", col("hit_p99")]] },
  { title: "Origins: time to first byte", about: "From the question to the head of the answer.", format: delay, log: true, series: [["half", "--c1", col("origin_p50")], ["90%", "--c5", col("origin_p90")], ["99%", "--c8", col("origin_p99")]] },
  { title: "The filter: bits set", about: "Of the generation that learns and of the one before it. Dotted lines: rotations.", format: share, marks: "generation", series: [["learning", "--ours", col("fill")], ["previous", "--base", col("previous_fill")]] },
  { title: "RAM and disk in use", about: "Of what they may take.", format: share, top: 1, series: [["RAM", "--c1", (h, i) => limits && h.rows.ram_used[i] !== null ? h.rows.ram_used[i] / limits.ram : null], ["disk", "--c2", (h, i) => limits && limits.disk && h.rows.disk_used[i] !== null ? h.rows.disk_used[i] / limits.disk : null]] },
  { title: "Origins: failures, per second", about: "Fetches that failed, answers of 5xx to clients, and how many origins are left alone.", format: few, series: [["failed fetches", "--c8", col("origin_errors")], ["5xx", "--c5", col("status_5xx")], ["origins out", "--c4", col("origins_out")]] },
  { title: "Sent to clients, fetched, per second", about: "Bytes, heads to clients included.", format: bytes, series: [["to clients", "--c1", col("to_clients")], ["bodies from origins", "--c6", col("from_origin")]] },
];

/* ---- an SVG writer ---- */
const svg = (name, attributes, text) => { const e = dress(document.createElementNS("http://www.w3.org/2000/svg", name), attributes); if (text !== undefined) e.textContent = text; return e };
const LEFT = 58, RIGHT = 8, TOP = 8, BOTTOM = 20;
function clock(s, step) { const t = new Date(s * 1000), two = n => String(n).padStart(2, "0"); return step === 300 ? t.toLocaleDateString("en", { weekday: "short", day: "numeric" }) : two(t.getHours()) + ":" + two(t.getMinutes()) + (step === 1 ? ":" + two(t.getSeconds()) : "") }
function nice(max) { const p = Math.pow(10, Math.floor(Math.log10(max))); for (const k of [1, 2, 2.5, 5, 10]) if (max <= k * p * 1.0001) return k * p }
function ticks(c, top, low) {
  if (c.log) { const out = []; for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(top)); e++) out.push(Math.pow(10, e)); return out.filter((_, i) => out.length < 6 || i % 2 === 0) }
  return [0, .25, .5, .75, 1].map(k => k * top);
}
/* The time shown: from the first step that is known, if that is not too short. */
function frame(h) {
  const end = h.first + h.n * h.step, known = (h.rows.requests || []).findIndex(v => v !== null);
  return { end, begin: known < 0 ? end - SPAN[h.step] : Math.max(end - SPAN[h.step], Math.min(h.first + known * h.step, end - 60 * h.step)) };
}
function draw(c) {
  const h = history, { begin, end } = frame(h), width = Math.max(240, c.svg.clientWidth), height = 184;
  const x = i => LEFT + (width - LEFT - RIGHT) * (h.first + (i + .5) * h.step - begin) / (end - begin);
  c.x = x; c.width = width; c.height = height;
  const values = c.series.map(([, , of]) => Array.from({ length: h.n }, (_, i) => of(h, i)));
  let top = 0, low = Infinity;
  const piles = c.stacked ? values.reduce((all, v) => { const below = all.length ? all[all.length - 1] : null; all.push(v.map((y, i) => y === null ? null : y + (below && below[i] || 0))); return all }, []) : values;
  for (const v of piles) for (const y of v) if (y !== null) { top = Math.max(top, y); if (y > 0) low = Math.min(low, y) }
  if (c.log) { low = Math.max(1e-6, Math.min(low, 1e-3)); top = Math.max(top, low * 100) } else top = c.top || (top > 0 ? nice(top) : 1);
  if (!c.log && c.format === share && !c.top) top = Math.min(1, top);
  const [lo, hi] = c.log ? [Math.floor(Math.log10(low)), Math.ceil(Math.log10(top))] : [0, top];
  const y = v => TOP + (height - TOP - BOTTOM) * (1 - ((c.log ? Math.max(lo, Math.log10(Math.max(v, 1e-9))) : v) - lo) / (hi - lo));
  const parts = [];
  for (const t of ticks(c, top, low)) parts.push(svg("line", { class: "gridline", x1: LEFT, x2: width - RIGHT, y1: y(t), y2: y(t) }), svg("text", { x: LEFT - 7, y: y(t) + 4, "text-anchor": "end" }, c.log ? delay(t) : c.format(t)));
  const steps = width < 420 ? 2 : 4;
  for (let i = 0; i <= steps; i++) { const t = begin + (end - begin) * i / steps; parts.push(svg("text", { x: LEFT + (width - LEFT - RIGHT) * i / steps, y: height - 5, "text-anchor": i === 0 ? "start" : i === steps ? "end" : "middle" }, clock(t, h.step))) }
  if (c.marks) for (let i = 1; i < h.n; i++) { const [a, b] = [h.rows[c.marks][i - 1], h.rows[c.marks][i]]; if (a !== null && b !== null && b > a) parts.push(svg("line", { class: "mark", x1: x(i), x2: x(i), y1: TOP, y2: height - BOTTOM })) }
  c.series.forEach(([, colour, , dash], s) => {
    const v = piles[s], below = s && c.stacked ? piles[s - 1] : null;
    for (let i = 0; i < h.n;) {
      if (v[i] === null) { i++; continue }
      let j = i; while (j < h.n && v[j] !== null) j++;
      const up = []; for (let k = i; k < j; k++) up.push(x(k).toFixed(1) + "," + y(v[k]).toFixed(1));
      if (c.stacked) { const down = []; for (let k = j - 1; k >= i; k--) down.push(x(k).toFixed(1) + "," + y(below && below[k] || 0).toFixed(1)); parts.push(svg("path", { d: "M" + up.concat(down).join("L") + "Z", style: "fill: var(" + colour + "); fill-opacity: .8" })) }
      else if (j - i === 1) parts.push(svg("circle", { cx: x(i), cy: y(v[i]), r: 1.6, style: "fill: var(" + colour + ")" }));
      else parts.push(svg("path", { class: "line", d: "M" + up.join("L"), style: "stroke: var(" + colour + ")" + (dash ? "; stroke-dasharray: 5 4" : "") }));
      i = j;
    }
  });
  c.cursor = svg("line", { class: "cursor", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
  c.svg.setAttribute("viewBox", "0 0 " + width + " " + height);
  c.svg.setAttribute("preserveAspectRatio", "none");
  c.svg.replaceChildren(...parts, c.cursor);
  c.values = values;
  point(c);
}
/* What the cursor points to, or the latest. */
function point(c) {
  const h = history;
  let i = c.at === undefined ? h.n - 1 : Math.round((c.at - h.first) / h.step);
  if (c.at === undefined) while (i > 0 && i > h.n - 4 && c.values.every(v => v[i] === null)) i--;
  const there = i >= 0 && i < h.n;
  if (c.at !== undefined && there) { c.cursor.setAttribute("x1", c.x(i)); c.cursor.setAttribute("x2", c.x(i)); c.cursor.setAttribute("visibility", "visible") } else c.cursor.setAttribute("visibility", "hidden");
  c.series.forEach((s, k) => { const v = there ? c.values[k][i] : null; c.numbers[k].textContent = v === null || v === undefined ? "-" : c.format(v) });
  c.time.textContent = c.at !== undefined && there ? "at " + new Date((h.first + i * h.step) * 1000).toLocaleTimeString("en", { hour12: false, weekday: h.step === 300 ? "short" : undefined }) : "";
  c.svg.setAttribute("aria-label", c.title + ": " + c.series.map((s, k) => s[0] + " " + c.numbers[k].textContent).join(", ") + " " + c.time.textContent);
}
function build(c) {
  c.svg = svg("svg", { role: "img", tabindex: 0 });
  c.time = make("span", {});
  c.numbers = c.series.map(() => make("b", {}, "-"));
  const legend = make("div", { class: "legend" }, ...c.series.map(([name, colour, , dash], k) => make("span", {}, make("i", { class: dash || "", style: "background: var(" + colour + ")" }), name + " ", c.numbers[k])), c.time);
  const at = event => { const box = c.svg.getBoundingClientRect(), h = history, px = (event.clientX - box.left) * c.width / box.width, { begin, end } = frame(h); return h.first + Math.floor((begin + (px - LEFT) / (c.width - LEFT - RIGHT) * (end - begin) - h.first) / h.step) * h.step };
  c.svg.addEventListener("pointermove", e => { for (const x of CHARTS) { x.at = at(e); point(x) } });
  c.svg.addEventListener("pointerleave", () => { for (const x of CHARTS) { x.at = undefined; point(x) } });
  c.svg.addEventListener("keydown", e => {
    const h = history, by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[e.key];
    if (e.key === "Escape") { for (const x of CHARTS) { x.at = undefined; point(x) } return }
    if (!by || !h.n) return;
    e.preventDefault();
    const now = c.at === undefined ? h.first + h.n * h.step : c.at, to = Math.min(h.first + (h.n - 1) * h.step, Math.max(h.first, now + by * h.step));
    for (const x of CHARTS) { x.at = to; point(x) }
  });
  $("charts").append(make("section", { class: "card" }, make("h3", {}, c.title), make("div", { class: "soft" }, c.about), c.svg, legend));
}
function drive() {
  const mean = name => { let n = 0, k = 0; for (const v of history.rows[name] || []) if (v !== null) { n += v; k++ } return k ? n / k : 0 };
  const days = rate => { const d = $("tbw").value * 1e12 / (rate * 86400); return d > 36500 ? "over 100 years" : d > 730 ? (d / 365.25).toFixed(1) + " years" : count(d) + " days" };
  const ours = mean("written"), base = mean("baseline");
  say("life", ours > 0 ? days(ours) : "no writes");
  say("lifebase", base > 0 ? "With an ordinary cache: " + days(base) + "." : "An ordinary cache would write nothing either.");
}
function redraw() { for (const c of CHARTS) draw(c); drive() }
function take(got) {
  const h = history, keep = SPAN[got.step_s] / got.step_s;
  if (got.step_s !== h.step) return;
  const follows = h.n && got.first_s === h.first + h.n * h.step;
  if (!follows) { if (h.n && !got.count) return; history = { step: h.step, first: got.first_s, rows: got.columns, n: got.count } }
  else if (got.count) {
    const drop = Math.max(0, h.n + got.count - keep);
    for (const k in got.columns) h.rows[k] = h.rows[k].concat(got.columns[k]).slice(drop);
    h.first += drop * h.step; h.n += got.count - drop;
  } else return;
  redraw();
}
async function ask(path) { const a = await fetch(path, { cache: "no-store" }); if (!a.ok) throw new Error(a.status); return a.json() }
async function look(all) {
  const h = history, now = Date.now();
  if (!all && now < due) return;
  due = now + Math.min(h.step * 1000, 30000) - 20;
  const since = all || !h.n ? "" : "&since=" + (h.first + (h.n - 1) * h.step);
  take(await ask("history?step=" + h.step + since));
}
for (const b of document.querySelectorAll("[data-step]")) b.addEventListener("click", async () => {
  for (const x of document.querySelectorAll("[data-step]")) x.setAttribute("aria-pressed", x === b);
  history = { step: +b.dataset.step, first: 0, rows: {}, n: 0 };
  for (const c of CHARTS) c.at = undefined;
  say("when", NAMED[history.step]);
  try { await look(true) } catch (e) { due = 0 }
});
try { $("tbw").value = localStorage.getItem("tbw") || 600 } catch (e) { /* no storage: the default stays */ }
$("tbw").addEventListener("input", () => { try { localStorage.setItem("tbw", $("tbw").value) } catch (e) { /* as above */ } drive() });
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw() } });

/* ---- why ---- */
function explained(e) {
  if (e.refused) return [["refused", ["with status " + e.refused.status + ": " + e.refused.rule]]];
  const s = e.stored, l = e.last, at = x => new Date(x * 1000).toLocaleString(), r = e.route;
  return [
    ["now", ["A request would: " + e.now.does + (e.now.verdict ? ". Verdict: " + e.now.verdict + "." : "."), ...e.why]],
    ["key", [e.key]],
    ["route", [r.number === null ? "none: the defaults" : "number " + r.number + " (" + (r.host || "any host") + ", " + (r.path || "any path") + ")" + (r.pass ? ", passes" : "") + ", admits " + r.admit]],
    ["origin", e.origin ? ["group " + e.origin.group + " is asked for " + e.origin.target + ", Host: " + e.origin.host] : ["none is asked"]],
    ...(e.fleet ? [["owner", [...e.fleet.owners.map((x, i) => (i ? "then " : "") + x.node + " at " + x.address + (x.self ? ", this node" : "") + (x.well ? "" : ", which does not answer")), ...(e.fleet.settled_owner ? ["before the last changes: " + e.fleet.settled_owner.node] : [])]]] : []),
    ["stored", s ? [s.where + ": status " + s.status + ", " + bytes(s.body_bytes) + ", " + span(s.age_s) + " old, " + (s.fresh_for_s >= 0 ? "fresh until " : "stale since ") + at(s.fresh_until) + ({ guessed: " (guessed)", default_ttl: " (cache.default_ttl)" }[s.lifetime_by] || ""), ...s.headers.map(h => h.name + ": " + h.value + ". " + h.does)] : ["nothing"]],
    ["varies on", [e.varies_on || "nothing known"]],
    ["seen", ["known to: " + e.seen.generation + " generation"]],
    ["last request", [l ? at(l.at) + ": status " + l.status + ", " + l.verdict + " (" + l.answer + ")" + (l.not_stored ? ". It was not stored (" + l.not_stored + "). " + l.because : "") : "none is remembered"]],
  ];
}
$("ask").addEventListener("submit", async event => {
  event.preventDefault();
  try {
    const a = await fetch("explain?url=" + encodeURIComponent($("url").value.trim()), { cache: "no-store" });
    if (!a.ok) { $("answer").replaceChildren(make("p", {}, await a.text())); return }
    $("answer").replaceChildren(make("table", {}, ...explained(await a.json()).map(([name, lines]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, ...lines.map(x => make("p", {}, x)))))));
  } catch (e) { $("answer").replaceChildren(make("p", {}, "twice does not answer.")) }
});
CHARTS.forEach(build);
let named = 0;
async function names() {
  if (Date.now() < named) return;
  named = Date.now() + 4900;
  const top = await ask("top"), list = (id, of) => table(id, of.length ? of.slice(0, 8).map(x => [x.name, share(x.share)]) : [["nothing lately", ""]]);
  list("urls", top.urls); list("first", top.first_sight_bytes); list("admitted", top.admitted_bytes);
}

/* ---- the fleet ---- */
let fleetDue = 0;
function showFleet(f) {
  const s = f.sum, r = s.requests, d = s.disk, o = s.origin, box = (value, words) => make("div", {}, make("div", { class: "big" }, value), make("div", { class: "soft" }, words));
  say("fleetnote", f.silent.length ? "Left out, for they do not answer: " + f.silent.join(", ") + "." : "");
  $("fleetsum").replaceChildren(
    box(share(r.hit_ratio), "of " + count(r.total) + " requests were answered from a cache; with an ordinary one " + share(r.baseline_hit_ratio)),
    box(share(d.saved_ratio), "of the disk writes saved: " + bytes(d.saved_bytes) + "; written: " + bytes(d.written_bytes)),
    box(count(o.requests), "requests to origins; " + count(o.extra_requests) + " more, " + count(o.avoided_requests) + " fewer than ordinary caches"),
    box(count(s.hops.sent), "requests from node to node, " + bytes(s.bytes.to_siblings)));
  const row = n => { const x = n.numbers, cells = x ? [count(x.requests.total), share(x.requests.hit_ratio), count(x.hops.sent), count(x.hops.taken), bytes(x.disk.written_bytes), share(x.disk.saved_ratio), span(x.uptime_s)] : ["-", "-", "-", "-", "-", "-", "-"];
    const state = make("td", {}, make("i", { class: n.answers ? "dot" : "dot out" }), ...(n.answers ? [n.state] : ["silent", make("small", {}, n.why)]));
    return make("tr", {}, make("th", { scope: "row" }, n.node + (n.self ? " (this node)" : "")), state, ...[share(n.share), count(n.purges_behind), ...cells].map(c => make("td", {}, c))) };
  const head = make("thead", {}, make("tr", {}, ...["node", "state", "share of keys", "purges behind", "requests", "hits", "hops out", "hops in", "written", "saved", "up"].map(c => make("th", { scope: "col" }, c))));
  $("fleet").replaceChildren(head, make("tbody", {}, ...f.nodes.map(row)));
}
async function fleet() {
  $("fleetbox").hidden = !last.fleet.members;
  if (!last.fleet.members || Date.now() < fleetDue) return;
  fleetDue = Date.now() + 4900;
  try { showFleet(await ask("fleet?stats=1")) } catch (e) { say("fleetnote", "This node cannot ask the others now; these numbers are old.") }
}
async function tick() {
  try { show(await ask("stats")); await look(false); await names(); await fleet() }
  catch (e) { tell("failing", "twice does not answer; the numbers are old.", []) }
  setTimeout(tick, 1000);
}
tick();
