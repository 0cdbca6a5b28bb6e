// <figure class="chart" data-chart="lines|area|bars|band|histogram|heat|sparkline" data-height="200">
// The numbers come from data-url (asked again every data-every ms), or from a <script type="application/json"> in the figure,
// which a live section may replace:
//   {"title": "...", "x": {"unit": "time|day|hour|attempt|ms|...", "values": [...]}, "y": {"unit": "jobs|jobs/min|jobs/s|ms|bytes", "scale": "log" (of ms)},
//    "series": [{"name": "...", "values": [number|null, ...], "style": "line|area|bar"}], "empty": "text", "stacked": true}
// `area` and `bars` stack unless "stacked" is false; `band` fills what lies between the first and the last series; the x
// values of a `histogram` are the upper ends of its buckets; the series of `heat` are its rows. `time` is the reader's,
// `day` (ms of its midnight) and `hour` (0 to 23) are UTC's.
import { drawAxes, drawSeries, highestOf, layOut, strength, styleOf } from "./charts/draw.js";
import { unitName, value, word } from "./charts/format.js";
import { numbers, readable } from "./charts/readout.js";
import { html, svg, swatch } from "./charts/svg.js";

const HEIGHT = 200;
const EVERY_MS = 10_000;
const SLOWEST_MS = 60_000;
const TIMEOUT_MS = 10_000;
const charts = new Map();
let paused = sessionStorage.getItem("taskq-paused") === "1";

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.kind = figure.dataset.chart;
    this.small = this.kind === "sparkline";
    this.caption = html("figcaption");
    this.plot = html("div", { className: "chart-plot" });
    this.body = html("div", { className: "chart-body" }, ...(this.small ? [] : [this.caption]), this.plot);
    this.body.dataset.keep = "";
    if (!this.small) {
      this.plot.setAttribute("role", "group");
      this.read = readable(this.plot);
      const [details, fill] = numbers();
      this.body.append(details);
      this.details = details;
      this.details.hidden = true;
      this.fill = fill;
    }
    this.height = Number(figure.dataset.height) || (this.small ? 28 : HEIGHT);
    this.plot.style.minHeight = `${this.height}px`; // so that nothing jumps when the numbers come
    figure.append(this.body);
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.wait = Number(figure.dataset.every) || EVERY_MS;
    this.begin();
  }

  begin() {
    if (this.figure.dataset.url) this.fetch();
    else this.readInline();
  }

  readInline() {
    const text = this.figure.querySelector('script[type="application/json"]')?.textContent ?? "";
    if (text && text !== this.text) this.take(text);
  }

  async fetch() {
    clearTimeout(this.timer);
    const every = Number(this.figure.dataset.every) || EVERY_MS;
    try {
      const headers = { "X-Live": "1", Accept: "application/json", ...(this.etag && { "If-None-Match": this.etag }) };
      const response = await fetch(this.figure.dataset.url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.redirected || response.status === 401) return; // signed out; live.js, or the next click, tells
      if (response.ok) {
        const text = await response.text();
        this.etag = response.headers.get("ETag") ?? "";
        this.wait = text === this.text ? Math.min(this.wait * 2, SLOWEST_MS) : every;
        if (text !== this.text) this.take(text);
      } else {
        this.wait = Math.min(this.wait * 2, SLOWEST_MS);
        if (response.status !== 304) this.miss();
      }
    } catch {
      this.wait = Math.min(this.wait * 2, SLOWEST_MS);
      this.miss();
    }
    this.schedule();
  }

  schedule() {
    clearTimeout(this.timer);
    if (!this.figure.dataset.url || this.figure.dataset.every === "0" || paused || document.hidden) return;
    if (this.figure.isConnected) this.timer = setTimeout(() => this.fetch(), this.wait * (0.9 + Math.random() * 0.2));
  }

  miss() {
    if (!this.data) this.plot.replaceChildren(html("p", { className: "chart-none" }, word("away")));
  }

  take(text) {
    this.text = text;
    this.data = JSON.parse(text);
    this.drawn = "";
    this.draw();
  }

  draw() {
    const width = Math.floor(this.plot.clientWidth);
    if (!this.data || !width || this.drawn === `${width}`) return;
    this.drawn = `${width}`;
    const { data, kind } = this;
    const known = data.series.some((one) => one.values.some((value) => value !== null));
    if (!this.small) this.title(known);
    this.plot.querySelector(":scope > svg, :scope > .chart-none")?.remove();
    if (!known || !data.x.values.length) {
      this.read?.(undefined);
      this.plot.prepend(html("p", { className: "chart-none" }, data.empty || word("none")));
      return;
    }
    const { height } = this;
    const at = layOut(data, kind, width, height);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": data.title ?? "" });
    if (this.small) Object.assign(at, { left: 0, right: width, top: 2, bottom: height - 2 });
    else picture.append(drawAxes(data, kind, at));
    picture.append(drawSeries(data, kind, this.small ? flat(data, at) : at));
    this.plot.prepend(picture);
    this.read?.({ data, kind, at, picture });
    this.fill?.({ data, kind });
  }

  title(known) {
    const { data, kind } = this;
    this.details.hidden = !known;
    this.plot.tabIndex = known ? 0 : -1;
    this.plot.setAttribute("aria-label", `${data.title ?? ""}. ${word("read")}`);
    const legend = html("ul", { className: "chart-legend" });
    if (kind !== "heat" && data.series.length > 1) {
      data.series.forEach((one, i) => legend.append(html("li", {}, swatch(i, styleOf(data, kind, one)), one.name)));
    }
    if (kind === "heat" && known) legend.append(scale(data));
    const title = html("span", { className: "chart-title" }, data.title ?? "");
    this.caption.replaceChildren(title, html("span", { className: "chart-unit" }, `${unitName(data.y.unit)}${data.y.scale === "log" ? `, ${word("log")}` : ""}`), legend);
  }
}

// From nothing to the greatest value, in five steps of colour.
function scale(data) {
  const highest = highestOf(data);
  const cells = [0, 1, 2, 3, 4].map((i) => svg("rect", { class: "chart-cell c1", x: i * 14, width: 14, height: 10, "fill-opacity": strength((i / 4) ** 2) }));
  const bar = svg("svg", { class: "chart-scale", viewBox: "0 0 70 10", "aria-hidden": "true" }, ...cells);
  return html("li", {}, `${value(0, data.y.unit)} `, bar, ` ${value(highest, data.y.unit)}`);
}

// The same scales over the whole box, for a picture without axes.
function flat(data, at) {
  const highest = Math.max(1, ...data.series.flatMap((one) => one.values.map((value) => value ?? 0)));
  const last = Math.max(data.x.values.length - 1, 1);
  return { ...at, x: (i) => (i / last) * at.right, y: (value) => at.bottom - (value / highest) * (at.bottom - at.top) };
}

function adopt(root) {
  const figures = [...root.querySelectorAll("figure.chart[data-chart]")];
  if (root.matches?.("figure.chart[data-chart]")) figures.push(root);
  for (const figure of figures) {
    if (!charts.has(figure)) charts.set(figure, new Chart(figure));
    else if (!figure.dataset.url) charts.get(figure).readInline();
  }
  for (const figure of charts.keys()) if (!figure.isConnected) charts.delete(figure);
}

function goOn() {
  for (const chart of charts.values()) {
    if (!chart.figure.dataset.url || chart.figure.dataset.every === "0") continue;
    if (paused || document.hidden) chart.schedule();
    else chart.fetch();
  }
}

document.addEventListener("taskq:updated", (event) => adopt(event.target));
document.addEventListener("taskq:paused", (event) => ((paused = event.detail), goOn()));
document.addEventListener("visibilitychange", goOn);
document.addEventListener("taskq:back", goOn);
adopt(document);
