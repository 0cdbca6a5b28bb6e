// <figure class="chart" data-chart="lines|area|bars|band|histogram|heat" data-height="200">
// The numbers come from data-url (asked again every data-every ms, 0: once), or from a <script type="application/json"> in the figure,
// which a live section may replace:
//   {"title": "...", "x": {"unit": "time|day|hour|attempt|ms|...", "values": [...]}, "y": {"unit": "jobs|jobs/min|jobs/s|ms|bytes", "scale": "log" (of ms)},
//    "series": [{"name": "...", "meaning": "acked|ready|p95|...", "values": [number|null, ...], "style": "line|area|bar"}],
//    "lines": [{"value": number, "name": "..."}], "events": [as charts/events.js says], "empty": "text", "stacked": true}
// With data-part, an answer is for several charts: {"x": ..., "events": ..., "charts": {"PART": what else there is}}.
// `meaning` decides the colour (charts.css). `area` and `bars` stack unless "stacked" is false; `band` fills what lies between the
// first and the last series; the x values of a `histogram` are the upper ends of its buckets; the series of `heat` are its rows.
// `time` is the reader's, `day` (ms of its midnight) and `hour` (0 to 23) are UTC's. With data-zoom, dragging asks for a shorter time.
import { drawAxes, drawLevels, drawSeries, highestOf, layOut, strength } from "./charts/draw.js";
import { adoptLists, drawEvents } from "./charts/events.js";
import { unitName, value, word } from "./charts/format.js";
import { legendOf } from "./charts/legend.js";
import { numbers, readable } from "./charts/readout.js";
import { subscribe, unsubscribe } from "./charts/source.js";
import { colourOf, html, svg } from "./charts/svg.js";
import { zoomable } from "./charts/zoom.js";

const HEIGHT = 200;
const charts = new Map();

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.kind = figure.dataset.chart;
    this.caption = html("figcaption");
    this.plot = html("div", { className: "chart-plot" });
    this.body = html("div", { className: "chart-body" }, this.caption, this.plot);
    this.body.dataset.keep = "";
    this.furnish();
    this.height = Number(figure.dataset.height) || HEIGHT;
    this.plot.style.minHeight = `${this.height}px`; // so that nothing jumps when the numbers come
    figure.append(this.body);
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.begin();
  }

  // What tells of the picture, beside it.
  furnish() {
    const { figure, kind, plot } = this;
    plot.setAttribute("role", "group");
    this.read = readable(plot);
    if ("zoom" in figure.dataset) {
      this.zoom = zoomable(plot);
      plot.classList.add("zoomable");
    }
    const [details, fill] = numbers();
    this.body.append(details);
    this.details = details;
    this.details.hidden = true;
    this.fill = fill;
    this.name = html("span", { className: "chart-title" });
    this.unit = html("span", { className: "chart-unit" });
    this.legend = legendOf({ kind, name: figure.dataset.part ?? figure.dataset.url ?? "", changed: () => this.redraw() });
    this.caption.append(this.name, this.unit, this.legend.element);
  }

  begin() {
    const { url, every } = this.figure.dataset;
    if (!url) return this.readInline();
    if (url === this.url) return;
    this.leave();
    this.url = url;
    this.body.toggleAttribute("data-old", Boolean(this.data)); // until the numbers of the other address come
    subscribe(this, url, every === undefined ? undefined : Number(every));
  }

  leave() {
    if (this.url) unsubscribe(this, this.url);
  }

  readInline() {
    const text = this.figure.querySelector('script[type="application/json"]')?.textContent ?? "";
    if (!text || text === this.text) return;
    this.text = text;
    this.take(JSON.parse(text));
  }

  miss(why) {
    if (!this.data) this.plot.replaceChildren(html("p", { className: "chart-none" }, why || word("noAnswer")));
  }

  take(told) {
    const { part } = this.figure.dataset;
    this.data = part ? { x: told.x, events: told.events, ...told.charts[part] } : told;
    this.data.series.forEach((one, index) => (one.index = index));
    this.body.removeAttribute("data-old");
    this.redraw();
  }

  redraw() {
    this.drawn = "";
    this.draw();
  }

  draw() {
    const width = Math.floor(this.plot.clientWidth);
    if (!this.data || !width || this.drawn === `${width}`) return;
    this.drawn = `${width}`;
    const { kind } = this;
    const known = this.data.series.some((one) => one.values.some((value) => value !== null));
    this.title(known);
    const data = this.legend.shown(this.data);
    this.plot.querySelector(":scope > svg, :scope > .chart-none")?.remove();
    if (!known || !data.x.values.length) {
      this.read(undefined);
      this.zoom?.(undefined);
      this.plot.prepend(html("p", { className: "chart-none" }, data.empty || word("none")));
      return;
    }
    const { height } = this;
    const at = layOut(data, kind, width, height);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": data.title ?? "" });
    picture.append(drawAxes(data, kind, at));
    if (data.events?.length) picture.append(drawEvents(data.events, at));
    picture.append(drawSeries(data, kind, at));
    if (data.lines?.length) picture.append(drawLevels(data.lines, at));
    this.plot.prepend(picture);
    this.read({ data, kind, at, picture });
    this.zoom?.({ at, picture });
    this.fill({ data, kind });
  }

  title(known) {
    const { data, kind } = this;
    this.details.hidden = !known;
    this.plot.tabIndex = known ? 0 : -1;
    this.plot.setAttribute("aria-label", `${data.title ?? ""}. ${word("read")}`);
    this.name.textContent = data.title ?? "";
    this.unit.textContent = `${unitName(data.y.unit)}${data.y.scale === "log" ? `, ${word("log")}` : ""}`;
    this.legend.fill(data, ...(kind === "heat" && known ? [scale(data)] : []));
  }
}

// From nothing to the greatest value, in five steps of colour.
function scale(data) {
  const highest = highestOf(data);
  const cells = [0, 1, 2, 3, 4].map((i) => svg("rect", { class: `chart-cell ${colourOf(data.series[0])}`, x: i * 14, width: 14, height: 10, "fill-opacity": strength((i / 4) ** 2) }));
  const bar = svg("svg", { class: "chart-scale", viewBox: "0 0 70 10", "aria-hidden": "true" }, ...cells);
  return html("li", {}, `${value(0, data.y.unit)} `, bar, ` ${value(highest, data.y.unit)}`);
}

function adopt(root) {
  const figures = [...root.querySelectorAll("figure.chart[data-chart]")];
  if (root.matches?.("figure.chart[data-chart]")) figures.push(root);
  for (const figure of figures) {
    if (!charts.has(figure)) charts.set(figure, new Chart(figure));
    else charts.get(figure).begin();
  }
  for (const [figure, chart] of charts) {
    if (figure.isConnected) continue;
    chart.leave();
    charts.delete(figure);
  }
  adoptLists(root);
}

document.addEventListener("taskq:updated", (event) => adopt(event.target));
adopt(document);
