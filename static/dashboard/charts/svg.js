// SVG elements, made with attributes only: the pages' policy forbids inline styles.
const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function html(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// The classes of a series: its colour by what it means, else by its place; its dashes by its place.
export const colourOf = (series) => (series.meaning ? `m-${series.meaning}` : `c${(series.index % 6) + 1}`);
export const dashesOf = (series) => `d${(series.index % 6) + 1}`;

// The sign of a series in legend and read-out: its line with its dashes, or its box.
export function swatch(series, style) {
  const colour = colourOf(series);
  const mark =
    style === "line"
      ? svg("line", { class: `chart-line ${colour} ${dashesOf(series)}`, x1: 0, y1: 5, x2: 22, y2: 5 })
      : svg("rect", { class: `chart-bar ${colour}`, x: 4, y: 0, width: 12, height: 10, rx: 2 });
  return svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" }, mark);
}
