// From numbers to a picture: axes, and the series as lines, bands, stacked areas, bars or cells.
import { decades, placeTick, tick, ticks, timeTicks } from "./format.js";
import { colourOf, dashesOf, svg } from "./svg.js";

const LABEL_PX = 7; // about the width of a digit
const HOUR_PX = 48; // a label such as 06:00, and room beside it

// Which way a series is drawn, by its own word or by the kind of the chart.
export function styleOf(data, kind, series) {
  if (kind === "bars" || kind === "histogram") return series.style ?? "bar";
  if (kind === "area") return series.style ?? "area";
  return series.style ?? "line";
}

const isDiscrete = (kind) => kind === "bars" || kind === "histogram" || kind === "heat";

// {x(index), y(value), left, right, top, bottom, step}: where things lie in a plot of `width` × `height` px.
export function layOut(data, kind, width, height) {
  const xs = data.x.values;
  const stacked = xs.map((_, i) => data.series.reduce((sum, one) => (isStacked(data, kind, one) ? sum + (one.values[i] ?? 0) : sum), 0));
  const levels = (data.lines ?? []).map((one) => one.value);
  const singles = [...data.series.flatMap((one) => one.values.filter((value) => value !== null)), ...levels];
  const highest = Math.max(0, ...singles, ...stacked);
  const isLog = data.y.scale === "log";
  const least = Math.min(highest, ...singles.filter((value) => value > 0));
  const marks = isLog ? decades(least, highest) : ticks(highest, data.y.unit, Math.max(2, Math.min(5, Math.floor(height / 40))));
  const names = kind === "heat" ? data.series.map((one) => one.name) : marks.map((one) => tick(one, data.y.unit));
  const left = Math.min(Math.max(...names.map((one) => one.length * LABEL_PX), 16) + 8, width / 3);
  const [right, top, bottom] = [width - 8, data.events?.length ? 14 : 8, height - 22]; // above are the signs of events
  const first = xs[0];
  const span = (xs.at(-1) ?? 0) - first || 1;
  const step = (right - left) / Math.max(xs.length, 1);
  const x = isDiscrete(kind)
    ? (i) => left + (i + 0.5) * step
    : (i) => (xs.length === 1 ? (left + right) / 2 : left + ((xs[i] - first) / span) * (right - left));
  const y = isLog ? (value) => bottom - logShare(value, marks) * (bottom - top) : (value) => bottom - (value / marks.at(-1)) * (bottom - top);
  return { x, y, left, right, top, bottom, step, marks, span, first, width, height };
}

// Zero has no place on such a scale: what is below its first mark lies on it.
const logShare = (value, marks) => Math.log(Math.max(value, marks[0]) / marks[0]) / Math.log(marks.at(-1) / marks[0]);

export function isStacked(data, kind, series) {
  return ["area", "bars"].includes(kind) && styleOf(data, kind, series) !== "line" && data.stacked !== false;
}

export function drawAxes(data, kind, at) {
  const group = svg("g", { "aria-hidden": "true" });
  if (kind !== "heat") {
    for (const mark of at.marks) {
      const y = Math.round(at.y(mark));
      group.append(svg("line", { class: mark === at.marks[0] ? "chart-axis" : "chart-grid", x1: at.left, x2: at.right, y1: y, y2: y }));
      group.append(svg("text", { x: at.left - 6, y: y + 4, "text-anchor": "end" }, tick(mark, data.y.unit)));
    }
  }
  for (const [x, text] of xLabels(data, kind, at)) {
    group.append(svg("text", { x, y: at.height - 5, "text-anchor": anchor(x, text, at) }, text));
  }
  return group;
}

function xLabels(data, kind, at) {
  const xs = data.x.values;
  const most = Math.max(2, Math.floor((at.right - at.left) / 80));
  if (data.x.unit === "time" && !isDiscrete(kind) && xs.length > 1) {
    const place = (moment) => at.left + ((moment - at.first) / at.span) * (at.right - at.left);
    return timeTicks(at.first, xs.at(-1), most).map((moment) => [place(moment), placeTick(moment, "time", at.span)]);
  }
  if (data.x.unit === "hour") {
    const step = [1, 2, 3, 4, 6, 12].find((one) => (xs.length / one) * HOUR_PX <= at.right - at.left) ?? 12;
    return xs.filter((x) => x % step === 0).map((x) => [at.x(xs.indexOf(x)), placeTick(x, "hour", at.span)]);
  }
  const every = Math.ceil(xs.length / most);
  const edge = kind === "histogram" ? at.step / 2 : 0; // a bucket's value is its upper end
  return xs.map((x, i) => [at.x(i) + edge, placeTick(x, data.x.unit, at.span)]).filter((_, i) => i % every === every - 1 || every === 1);
}

function anchor(x, text, at) {
  const half = (text.length * LABEL_PX) / 2;
  return x + half > at.width ? "end" : x - half < 0 ? "start" : "middle";
}

export function drawSeries(data, kind, at) {
  if (kind === "heat") return drawHeat(data, at);
  const group = svg("g", { "aria-hidden": "true" });
  if (kind === "band") group.append(svg("path", { class: `chart-area ${colourOf(data.series[0])}`, d: between(data.series[0], data.series.at(-1), at) }));
  const base = data.x.values.map(() => 0);
  const bars = data.series.filter((one) => styleOf(data, kind, one) === "bar").length;
  let bar = 0;
  data.series.forEach((series) => {
    const style = styleOf(data, kind, series);
    const lower = isStacked(data, kind, series) ? [...base] : base.map(() => 0);
    const upper = series.values.map((value, i) => (value === null ? null : lower[i] + value));
    if (style === "bar") group.append(...drawBars(colourOf(series), lower, upper, at, isStacked(data, kind, series) ? [0, 1] : [bar++, bars]));
    if (style === "area") group.append(svg("path", { class: `chart-area ${colourOf(series)}`, d: area(upper, lower, at) }));
    if (style !== "bar") {
      group.append(svg("path", { class: `chart-line ${colourOf(series)} ${dashesOf(series)}`, d: line(upper, at) }));
      for (const i of lone(upper)) {
        group.append(svg("circle", { class: `chart-dot ${colourOf(series)}`, cx: at.x(i), cy: at.y(upper[i]), r: 3.5 }));
      }
    }
    if (isStacked(data, kind, series)) upper.forEach((value, i) => (base[i] = value ?? base[i]));
  });
  return group;
}

// Levels that the values are held against, such as objectives; their names are in the legend.
export function drawLevels(lines, at) {
  const group = svg("g", { "aria-hidden": "true" });
  for (const one of lines) {
    const y = at.y(one.value);
    group.append(svg("line", { class: "chart-level", x1: at.left, x2: at.right, y1: y, y2: y }));
  }
  return group;
}

function* runs(values) {
  let run = [];
  for (let i = 0; i <= values.length; i += 1) {
    if (values[i] !== null && values[i] !== undefined) run.push(i);
    else if (run.length) {
      yield run;
      run = [];
    }
  }
}

const point = (i, value, at) => `${at.x(i).toFixed(1)} ${at.y(value).toFixed(1)}`;

function line(values, at) {
  return [...runs(values)].map((run) => `M${run.map((i) => point(i, values[i], at)).join("L")}`).join("");
}

// A value without neighbours is no line, but must be seen.
function lone(values) {
  return [...runs(values)].filter((run) => run.length === 1).flat();
}

function area(upper, lower, at) {
  const parts = [...runs(upper)].map((run) => {
    const back = run.toReversed().map((i) => point(i, lower[i] ?? 0, at));
    return `M${[...run.map((i) => point(i, upper[i], at)), ...back].join("L")}Z`;
  });
  return parts.join("");
}

function between(low, high, at) {
  const both = high.values.map((value, i) => (low.values[i] === null ? null : value));
  return area(both, low.values, at);
}

function drawBars(colour, lower, upper, at, [nth, of]) {
  const room = Math.max(at.step * 0.8, 1);
  const width = Math.max(room / of, 1);
  return upper.flatMap((value, i) => {
    if (!value || value === lower[i]) return [];
    const height = Math.max(at.y(lower[i]) - at.y(value), 1);
    const box = { x: at.x(i) - room / 2 + nth * width, y: at.y(lower[i]) - height, width, height };
    return [svg("rect", { class: `chart-bar ${colour}`, ...box })];
  });
}

// Rows are the series, columns the places of x; the more, the stronger the colour: by the square root, so that what is a
// hundredth of the greatest is still seen. What is not known is left empty.
function drawHeat(data, at) {
  const group = svg("g", { "aria-hidden": "true" });
  const highest = highestOf(data);
  const height = rowHeight(data, at);
  const room = Math.floor((at.left - 8) / LABEL_PX);
  data.series.forEach((series, row) => {
    const y = at.top + row * height;
    const name = series.name.length > room ? `${series.name.slice(0, room - 1)}…` : series.name;
    group.append(svg("text", { x: at.left - 6, y: y + height / 2 + 4, "text-anchor": "end" }, name));
    series.values.forEach((value, i) => {
      if (value === null) return;
      const cell = { x: at.x(i) - at.step / 2, y, width: at.step, height, "fill-opacity": strength(value / highest) };
      group.append(svg("rect", { class: `chart-cell ${colourOf(data.series[0])}`, ...cell }));
    });
  });
  return group;
}

export const highestOf = (data) => Math.max(1, ...data.series.flatMap((one) => one.values.map((value) => value ?? 0)));
export const rowHeight = (data, at) => (at.bottom - at.top) / Math.max(data.series.length, 1);
export const strength = (part) => (part > 0 ? 0.1 + 0.9 * Math.sqrt(part) : 0.03).toFixed(2);
