// The names of a chart's series. Where they can be told apart in the picture, each is a button that hides and shows its own.
import { styleOf } from "./draw.js";
import { html, svg, swatch } from "./svg.js";

const KINDS = ["lines", "area", "bars"];

// {element, fill(data), shown(data)}: `changed` is called when a series was hidden or shown. What is hidden is remembered by `name`.
export function legendOf({ kind, name, changed }) {
  const element = html("ul", { className: "chart-legend" });
  const key = `taskq-hidden-${name}`;
  const hidden = new Set(JSON.parse(sessionStorage.getItem(key) ?? "[]"));
  let told;

  function toggle(button, one) {
    if (!hidden.delete(one.name)) hidden.add(one.name);
    button.setAttribute("aria-pressed", String(!hidden.has(one.name)));
    sessionStorage.setItem(key, JSON.stringify([...hidden]));
    changed();
  }

  function entry(data, one) {
    const sign = swatch(one, styleOf(data, kind, one));
    if (!KINDS.includes(kind)) return html("li", {}, sign, one.name);
    const button = html("button", { type: "button", onclick: () => toggle(button, one) }, sign, one.name);
    button.setAttribute("aria-pressed", String(!hidden.has(one.name)));
    return html("li", {}, button);
  }

  function fill(data, ...others) {
    const names = JSON.stringify([data.series.map((one) => one.name), data.lines ?? [], others.length]);
    if (names === told) return; // what has the focus stays
    told = names;
    const entries = kind !== "heat" && data.series.length > 1 ? data.series.map((one) => entry(data, one)) : [];
    const levels = (data.lines ?? []).map((one) => html("li", { className: "chart-level-name" }, levelSign(), one.name));
    element.replaceChildren(...entries, ...levels, ...others);
  }

  const shown = (data) => ({ ...data, series: KINDS.includes(kind) ? data.series.filter((one) => !hidden.has(one.name)) : data.series });
  return { element, fill, shown };
}

const levelSign = () => svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" }, svg("line", { class: "chart-level", x1: 0, y1: 5, x2: 22, y2: 5 }));
