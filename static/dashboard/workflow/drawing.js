// The picture as SVG: frames of blocks, edges, then nodes, which are links to their jobs.
import { svg } from "../charts/svg.js";
import { hasJob, look } from "./states.js";

const SIGN = 16;
const PAD = 10;

// {nodes: [element], edges: [element], root}
export function draw(graph, { jobUrl, describe, title }) {
  const [width, height] = graph.size;
  const [nodeWidth, nodeHeight] = graph.node;
  const edges = graph.edges.map(([, , points]) => svg("path", { class: "edge", d: course(points), "marker-end": "url(#graph-arrow)" }));
  const chains = graph.units.filter((unit) => unit.chain > 1).map((unit) => svg("path", { class: "edge", d: links(graph, unit) }));
  const frames = graph.blocks.map(([x, y, w, h]) => svg("rect", { class: "frame", x, y, width: w, height: h, rx: 10 }));
  const nodes = graph.nodes.map((node, number) => {
    const [name, label, , , x, y] = node;
    const link = svg(
      "a",
      { class: "node", tabindex: -1, "data-node": number, draggable: "false" },
      svg("rect", { x, y, width: nodeWidth, height: nodeHeight, rx: 6 }),
      svg("path", { class: "sign", transform: `translate(${x + PAD} ${y + (nodeHeight - SIGN) / 2})` }),
      svg("text", { x: x + PAD + SIGN + 6, y: y + nodeHeight / 2 }, label),
    );
    link.dataset.name = name.toLowerCase();
    return link;
  });
  const root = svg(
    "svg",
    { class: "graph", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title },
    svg("defs", {}, svg("marker", { id: "graph-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { class: "arrow", d: "M0 0.5L8 4L0 7.5z" }))),
    svg("g", { class: "frames" }, ...frames),
    svg("g", { class: "edges" }, ...chains, ...edges),
    svg("g", { class: "nodes" }, ...nodes),
  );
  nodes.forEach((link, number) => showState(link, graph.nodes[number], { jobUrl, describe }));
  return { root, nodes, edges };
}

export function showState(link, node, { jobUrl, describe }) {
  const state = node[6];
  const [kind, path] = look(state);
  const marks = ["lit", "found"].filter((mark) => link.classList.contains(mark));
  link.setAttribute("class", ["node", kind, ...marks].join(" "));
  link.children[1].setAttribute("d", path);
  link.dataset.state = state;
  link.setAttribute("aria-label", describe(node));
  if (hasJob(state)) link.setAttribute("href", jobUrl(node));
  else link.removeAttribute("href");
  link.setAttribute("role", hasJob(state) ? "link" : "img");
}

// The server reckons with letters of a usual width; what is wider after all is squeezed into its node.
export function squeeze(nodes, [nodeWidth]) {
  const room = nodeWidth - 2 * PAD - SIGN - 6;
  const texts = nodes.map((link) => link.lastChild);
  const wide = texts.filter((text) => text.getComputedTextLength() > room); // all are measured before any is changed
  for (const text of wide) {
    text.setAttribute("textLength", room);
    text.setAttribute("lengthAdjust", "spacingAndGlyphs");
  }
}

// Straight through columns, in curves between them.
function course(points) {
  let d = `M${points[0]} ${points[1]}`;
  for (let at = 2; at < points.length; at += 2) {
    const [fromX, fromY, x, y] = points.slice(at - 2, at + 2);
    if (at % 4 === 2 || fromY === y) d += `H${x}`;
    else d += `C${(fromX + x) / 2} ${fromY} ${(fromX + x) / 2} ${y} ${x} ${y}`;
  }
  return d;
}

// Short lines between the nodes of each chain of a block.
function links(graph, { nodes, chain }) {
  const [width, height] = graph.node;
  let d = "";
  nodes.forEach((number, place) => {
    if (place % chain === chain - 1) return;
    const [, , , , x, y] = graph.nodes[number];
    d += `M${x + width} ${y + height / 2}H${graph.nodes[nodes[place + 1]][4]}`;
  });
  return d;
}
