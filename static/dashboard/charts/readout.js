// The values under the pointer, or under the arrow keys; and all of them as a table.
import { isStacked, rowHeight, styleOf } from "./draw.js";
import { eventsAt } from "./events.js";
import { place, unitName, value, word } from "./format.js";
import { colourOf, html, svg, swatch } from "./svg.js";

// Makes a plot tell its values; of a heat map those of one cell, for there up and down lead from row to row. Returns a function that takes the latest {data, kind, at, picture}.
export function readable(plot) {
  const box = html("div", { className: "chart-read", hidden: true });
  box.setAttribute("role", "status");
  plot.append(box);
  let now;
  let index = -1;
  let row = 0;

  function show(i, j = row) {
    const { series } = now.data;
    index = Math.max(0, Math.min(i, now.data.x.values.length - 1));
    row = Math.max(0, Math.min(j, series.length - 1));
    mark(now, index, row);
    const entries = now.kind === "heat" ? [entry(now, series[row], index)] : series.map((one) => entry(now, one, index));
    const events = now.kind === "heat" ? [] : eventsAt(now.data, index).map((event) => html("em", {}, event.title));
    box.replaceChildren(html("strong", {}, heading(now, index)), ...entries, ...events);
    box.hidden = false;
    const x = now.at.x(index);
    const beyond = x + 14 + box.offsetWidth > now.at.width;
    if (now.kind === "heat") box.style.top = `${Math.max(0, now.at.top + (row + 1) * rowHeight(now.data, now.at))}px`;
    box.style.left = `${Math.max(0, beyond ? x - 14 - box.offsetWidth : x + 14)}px`;
  }

  function hide() {
    index = -1;
    box.hidden = true;
    now?.picture.querySelector(".chart-mark")?.remove();
  }

  plot.addEventListener("pointermove", (event) => {
    if (!now) return;
    const corner = now.picture.getBoundingClientRect();
    show(nearest(now, event.clientX - corner.left), Math.floor((event.clientY - corner.top - now.at.top) / rowHeight(now.data, now.at)));
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    if (!now) return;
    const last = now.data.x.values.length - 1;
    const to = { ArrowLeft: index < 0 ? last : index - 1, ArrowRight: index + 1, Home: 0, End: last }[event.key];
    const down = now.kind === "heat" ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : undefined;
    if (to !== undefined || down !== undefined) {
      event.preventDefault();
      show(to ?? Math.max(index, 0), row + (down ?? 0));
    } else if (event.key === "Escape") hide();
  });
  return (latest) => {
    now = latest;
    if (!now) hide();
    else if (index >= 0) show(index);
  };
}

function heading({ data, kind }, i) {
  const text = place(data.x.values[i], data.x.unit);
  return kind === "histogram" ? `${word("upTo")} ${text}` : text;
}

function entry({ data, kind }, series, i) {
  const name = html("span", {}, ...(kind === "heat" ? [] : [swatch(series, styleOf(data, kind, series))]), series.name);
  return html("div", {}, name, html("span", {}, value(series.values[i], data.y.unit)));
}

function nearest({ data, at }, px) {
  let best = 0;
  data.x.values.forEach((_, i) => {
    if (Math.abs(at.x(i) - px) < Math.abs(at.x(best) - px)) best = i;
  });
  return best;
}

function mark({ data, kind, at, picture }, i, row) {
  picture.querySelector(".chart-mark")?.remove();
  const group = svg("g", { class: "chart-mark", "aria-hidden": "true" });
  if (kind === "heat") {
    const height = rowHeight(data, at);
    group.append(svg("rect", { class: "chart-frame", x: at.x(i) - at.step / 2, y: at.top + row * height, width: at.step, height }));
  } else group.append(svg("line", { class: "chart-cursor", x1: at.x(i), x2: at.x(i), y1: at.top, y2: at.bottom }));
  let base = 0;
  data.series.forEach((series) => {
    if (series.values[i] === null || kind === "heat") return;
    const height = isStacked(data, kind, series) ? (base += series.values[i]) : series.values[i];
    if (styleOf(data, kind, series) === "bar") return;
    group.append(svg("circle", { class: `chart-dot ${colourOf(series)}`, cx: at.x(i), cy: at.y(height), r: 4 }));
  });
  picture.append(group);
}

// <details>: the same numbers as a table, made when it is opened.
export function numbers() {
  const details = html("details", { className: "chart-numbers" }, html("summary", {}, word("numbers")));
  let latest;
  function fill() {
    if (!details.open || !latest) return;
    const { data } = latest;
    const unit = data.y.unit === "ms" ? "" : ` (${unitName(data.y.unit)})`;
    const head = html("tr", {}, cell("th", ["time", "day", "hour"].includes(data.x.unit) ? word("time") : word("value"), "col"));
    data.series.forEach((one) => head.append(cell("th", one.name + unit, "col", "number")));
    if (data.events?.length) head.append(cell("th", word("events"), "col"));
    const body = html("tbody");
    data.x.values.forEach((_, i) => {
      const row = html("tr", {}, cell("th", heading(latest, i), "row"));
      data.series.forEach((one) => row.append(cell("td", value(one.values[i], data.y.unit), undefined, "number")));
      if (data.events?.length) row.append(cell("td", eventsAt(data, i).map((event) => event.title).join("; ")));
      body.append(row);
    });
    const scroll = html("div", { className: "scroll", tabIndex: 0 }, html("table", { className: "table" }, html("thead", {}, head), body));
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", data.title ?? "");
    details.querySelector(".scroll")?.remove();
    details.append(scroll);
  }
  details.addEventListener("toggle", fill);
  return [details, (given) => ((latest = given), fill())];
}

function cell(name, text, scope, className = "") {
  const element = html(name, { className }, text);
  if (scope) element.setAttribute("scope", scope);
  return element;
}
