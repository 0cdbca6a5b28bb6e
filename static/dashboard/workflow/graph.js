// <section data-graph="URL" data-jobs="PREFIX">: the graph of a workflow. It is fetched once; when the part of the page that is live
// (live.js) shows another version (data-version), what has changed since is fetched, and nothing moves.
import { draw, showState, squeeze } from "./drawing.js";
import { drawMap } from "./minimap.js";
import { nearest, Relations } from "./relations.js";
import { Viewport } from "./viewport.js";

const TIMEOUT_MS = 20_000;
const HOVER_MS = 60;
const STATE = 6; // where the state of a node begins; before it: name, label, queue, job id, x, y
const ATTENTION = ["dead", "deleted", "expired", "retry", "working"];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const section = document.querySelector("[data-graph]");
const part = (name) => section.querySelector(`[data-part-of-graph="${name}"]`);
const box = part("box");
const tip = part("tip");
const find = part("find");
const found = part("found");
const words = part("words").dataset;
const view = new Viewport(box, part("map"), part("frame"));
let graph;
let drawn;
let relations;
let current = 0;
let under_way;
let matches = [];

const jobUrl = ([, , queue, job]) => `${section.dataset.jobs}${encodeURIComponent(queue)}/jobs/${encodeURIComponent(job)}/`;
const stateWord = (state) => words[state] ?? state;
const describe = (node) => `${node[0]}, ${stateWord(node[STATE])}`;

async function load(since) {
  under_way?.abort();
  const mine = (under_way = new AbortController());
  try {
    const response = await fetch(`${section.dataset.graph}${since ? `?since=${encodeURIComponent(since)}` : ""}`, {
      headers: { Accept: "application/json" },
      signal: AbortSignal.any([mine.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (response.redirected || response.status === 401) return location.reload(); // signed out
    if (!response.ok) return; // the live part of the page says why
    const answer = await response.json();
    if (mine.signal.aborted) return;
    if (answer.changed) change(answer);
    else show(answer);
  } catch {
    // fetched again with the next change
  }
}

function show(answer) {
  const isFirst = !graph;
  graph = answer;
  relations = new Relations(graph);
  section.hidden = false;
  drawn = draw(graph, { jobUrl, describe, title: words.title });
  current = Math.min(current, graph.nodes.length - 1);
  drawn.nodes[current]?.setAttribute("tabindex", 0);
  if (isFirst) view.show(drawn.root, graph.size, start());
  else view.replace(drawn.root, graph.size);
  drawn.root.classList.remove("far"); // what is not drawn has no width
  squeeze(drawn.nodes, graph.node);
  drawn.root.classList.toggle("far", view.isFar);
  drawMap(view.map, graph, drawn.nodes);
  section.dataset.shown = graph.version;
  search();
}

function start() {
  const places = ATTENTION.map((state) => graph.nodes.find((node) => node[STATE] === state));
  const [, , , , x, y] = places.find(Boolean) ?? graph.nodes[0];
  return [x + graph.node[0] / 2, y + graph.node[1] / 2];
}

function change(answer) {
  for (const [number, ...state] of answer.changed) {
    graph.nodes[number].splice(STATE, state.length, ...state);
    showState(drawn.nodes[number], graph.nodes[number], { jobUrl, describe });
  }
  graph.version = answer.version;
  drawMap(view.map, graph, drawn.nodes);
  if (!tip.hidden) fillTip(Number(tip.dataset.of));
  section.dataset.shown = graph.version;
}

// What is related to a node stands out.
function light(number) {
  for (const one of [...drawn.nodes, ...drawn.edges]) one.classList.remove("lit");
  drawn.root.classList.toggle("lighting", number !== undefined);
  if (number === undefined) return;
  const { nodes, edges } = relations.around(number);
  for (const one of nodes) drawn.nodes[one].classList.add("lit");
  for (const one of edges) drawn.edges[one].classList.add("lit");
}

function numberOf(target) {
  const link = target.closest?.(".node");
  return link && drawn.root.contains(link) ? Number(link.dataset.node) : undefined;
}

let pending;
function point(number, atOnce) {
  clearTimeout(pending);
  const act = () => {
    light(number);
    tip.hidden = number === undefined;
    if (number !== undefined) fillTip(number);
  };
  if (atOnce) act();
  else pending = setTimeout(act, HOVER_MS);
}

function fillTip(number) {
  const [name, , queue, , , , state, attempts, began, ended, error] = graph.nodes[number];
  const lines = [
    ["strong", name],
    ["span", [stateWord(state), attempts > 1 ? `${words.attempts} ${attempts}` : "", began && ended ? lasted(ended - began) : ""].filter(Boolean).join(" · ")],
    ["span", `${words.queue} ${queue}`],
    ["em", error],
  ];
  tip.dataset.of = number;
  tip.replaceChildren(...lines.filter(([, text]) => text).map(([tag, text]) => Object.assign(document.createElement(tag), { textContent: text })));
  const outer = tip.offsetParent.getBoundingClientRect();
  const node = drawn.nodes[number].getBoundingClientRect();
  const left = Math.max(8, Math.min(node.left - outer.left, outer.width - tip.offsetWidth - 8));
  const below = node.bottom - outer.top + 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${below + tip.offsetHeight < outer.height ? below : Math.max(8, node.top - outer.top - tip.offsetHeight - 8)}px`;
}

function lasted(ms) {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

function focus(number) {
  if (number < 0 || number >= drawn.nodes.length) return;
  drawn.nodes[current].setAttribute("tabindex", -1);
  current = number;
  drawn.nodes[current].setAttribute("tabindex", 0);
  drawn.nodes[current].focus({ preventScroll: true });
  bring(number);
}

function bring(number) {
  const [, , , , x, y] = graph.nodes[number];
  view.centre(x + graph.node[0] / 2, y + graph.node[1] / 2);
}

function search() {
  const wanted = find.value.trim().toLowerCase();
  matches = [];
  drawn.nodes.forEach((link, number) => {
    const is = wanted !== "" && link.dataset.name.includes(wanted);
    link.classList.toggle("found", is);
    if (is) matches.push(number);
  });
  drawn.root.classList.toggle("searching", wanted !== "");
  found.textContent = wanted ? words.found.replace("#", matches.length) : "";
}

function goToMatch(step) {
  if (!matches.length) return;
  const at = matches.indexOf(Number(find.dataset.at ?? -1));
  const next = matches[at < 0 ? 0 : (at + step + matches.length) % matches.length];
  find.dataset.at = next;
  if (view.zoom < 0.5) view.setZoom(0.8);
  bring(next);
  point(next, true);
  found.textContent = `${matches.indexOf(next) + 1} / ${matches.length}`;
}

box.addEventListener("pointerover", (event) => event.pointerType === "mouse" && !view.dragged && point(numberOf(event.target)));
box.addEventListener("pointerleave", () => point(undefined));
box.addEventListener("scroll", () => (tip.hidden = true), { passive: true });
box.addEventListener("focusin", (event) => {
  const number = numberOf(event.target);
  if (number === undefined) return;
  if (number !== current) focus(number);
  if (event.target.matches(":focus-visible")) setTimeout(() => point(number, true), 30); // after the scrolling that hides it
});
box.addEventListener("focusout", () => point(undefined));
box.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !drawn) return;
  const arrow = ARROWS[event.key];
  const isInNode = numberOf(event.target) !== undefined;
  if (arrow && isInNode && !event.shiftKey) focus(nearest(graph, current, ...arrow));
  else if (isInNode && event.key === "Home") focus(0);
  else if (isInNode && event.key === "End") focus(graph.nodes.length - 1);
  else if (!view.press(event.key)) return;
  event.preventDefault();
});
find.addEventListener("input", () => {
  delete find.dataset.at;
  search();
});
find.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  goToMatch(event.shiftKey ? -1 : 1);
});
section.addEventListener("click", (event) => {
  const key = event.target.closest("[data-zoom]")?.dataset.zoom;
  if (key) view.press(key);
});
const repaint = () => graph && drawMap(view.map, graph, drawn.nodes);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
document.addEventListener("taskq:theme", repaint);
document.addEventListener("taskq:updated", () => {
  const version = document.querySelector("[data-version]")?.dataset.version;
  if (graph && version && version !== graph.version) load(graph.version);
  else if (!graph) load();
});
load();
