// Shows what the server says once per second. The stream comes back by itself when it breaks; until then the figures are dimmed.
"use strict";

const element = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const STALE_MS = 5000;
const RETRY_MS = 3000;
const TITLE = document.title;
let paused = false;
let lastTick = 0;

function text(id, words) {
  const target = element(id);
  if (target.textContent !== words) target.textContent = words;
}

function badge(id, ok, words) {
  element(id).dataset.ok = ok ? "yes" : "no";
  text(id, words);
}

function state(name) {
  if (element("state").dataset.state === name) return;
  element("state").dataset.state = name;
  text("state", { connecting: "connecting", live: "live", paused: "paused", lost: "no connection, trying again" }[name]);
  element("figures").toggleAttribute("data-stale", name === "lost");
}

function duration(microseconds) {
  return microseconds < 1000 ? `${microseconds} µs` : `${short.format(microseconds / 1000)} ms`;
}

function bytes(count) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(count) / Math.log(1024)));
  return `${short.format(count / 1024 ** power)} ${units[power]}`;
}

function showRate(rate, seconds) {
  text("rate", rate < 100 ? short.format(rate) : whole.format(Math.round(rate)));
  document.title = `${short.format(rate)}/s · ${TITLE}`;
  const peak = Math.max(1, ...seconds);
  text("peak", `peak ${whole.format(Math.max(0, ...seconds))}`);
  const points = seconds.map((events, index) => `${index * 119 / (seconds.length - 1)} ${40 - 38 * events / peak}`);
  element("line").setAttribute("d", `M${points.join("L")}`);
  element("area").setAttribute("d", `M0 40L${points.join("L")}L119 40Z`);
}

// The upper end of the bucket in which the share of all requests is reached.
function percentile(buckets, share) {
  const all = buckets.reduce((sum, bucket) => sum + bucket[1], 0);
  let left = all * share;
  for (const [index, [upper, count]] of buckets.entries()) {
    left -= count;
    if (left <= 0) return upper === "more" ? `> ${duration(Number(buckets[index - 1][0]))}` : `≤ ${duration(Number(upper))}`;
  }
  return "–";
}

function showLatency(latency) {
  const buckets = Object.entries(latency).sort(([a], [b]) => (a === "more") - (b === "more") || a - b);
  const all = buckets.reduce((sum, bucket) => sum + bucket[1], 0);
  for (const share of [50, 95, 99]) text(`p${share}`, all === 0 ? "–" : percentile(buckets, share / 100));
  text("latency-words", all === 0 ? "no request was timed in the last minute" : `of ${whole.format(all)} requests that were timed in the last minute`);
  const most = Math.max(1, ...buckets.map((bucket) => bucket[1]));
  const width = 110 / buckets.length;
  element("latency").replaceChildren(...buckets.map(([upper, count], index) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const height = count === 0 ? 0 : Math.max(0.5, 29 * count / most);
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = `${upper === "more" ? "longer" : `up to ${duration(Number(upper))}`}: ${whole.format(count)}`;
    for (const [name, value] of [["x", index * width + 0.5], ["y", 30 - height], ["width", width - 1], ["height", height]]) bar.setAttribute(name, value);
    bar.append(title);
    return bar;
  }));
}

function showPaths(paths) {
  const rows = Object.entries(paths).map(([path, count]) => {
    const row = document.createElement("tr");
    const name = document.createElement("td");
    const number = document.createElement("td");
    name.textContent = name.title = path;
    number.textContent = whole.format(count);
    number.className = "number";
    row.append(name, number);
    return row;
  });
  if (rows.length > 0) element("paths").replaceChildren(...rows);
}

function showSink(sink) {
  for (const name of ["accepted", "delivered", "queued", "dead"]) text(name, whole.format(sink.total[name]));
  badge("holds", sink.holds, sink.holds ? "holds" : "does not hold");
  const { ok, failures, failing_seconds: seconds, error } = sink.destination;
  badge("sink", ok, ok ? "delivering" : "waiting");
  text("sink-words", ok ? "It takes what it is sent." : `${failures} attempts failed in ${short.format(seconds)} s. ${error}`);
  element("journal").value = sink.journal_bytes / sink.journal_bytes_max;
  text("journal-words", `${bytes(sink.journal_bytes)} of ${bytes(sink.journal_bytes_max)} on disk`);
}

function show(tick) {
  lastTick = performance.now();
  if (paused) return;
  state("live");
  text("workers", tick.workers === 1 ? "1 worker" : `${tick.workers} workers`);
  showRate(tick.rate, tick.per_second);
  showLatency(tick.latency_us);
  showPaths(tick.paths);
  if (tick.sink) showSink(tick.sink);
}

// A browser tries again by itself, but not after a response that is no stream, such as a proxy's while the server starts.
function listen() {
  const events = new EventSource("live/events");
  events.addEventListener("tick", (event) => show(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    if (!paused) state("lost");
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_MS);
  });
}

element("pause").addEventListener("click", () => {
  paused = !paused;
  element("pause").setAttribute("aria-pressed", paused);
  text("pause", paused ? "Go on" : "Pause");
  state(paused ? "paused" : "connecting");
});

setInterval(() => {
  if (!paused && lastTick > 0 && performance.now() - lastTick > STALE_MS) state("lost");
}, 1000);

listen();
