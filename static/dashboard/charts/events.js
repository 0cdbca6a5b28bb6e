// What happened at a moment: deploys, pauses, incidents. Drawn into charts of a time, and listed beneath them.
// {"kind": "deploy|pause|incident", "severity": "critical|warning|", "at": ms, "until": ms|null, "title": "...", "url": "..."}
import { moment, word } from "./format.js";
import { html, svg } from "./svg.js";
import { subscribe, unsubscribe } from "./source.js";

const classOf = (event) => `chart-event k-${event.kind} ${event.severity}`;

// What is drawn below the series: from when to when, and a sign above where it began. The worst lies on top;
// what many events shade is no darker than what one does (.chart-spans), so that the series stay legible.
export function drawEvents(events, at) {
  const end = at.first + at.span;
  const place = (ms) => at.left + ((Math.max(at.first, Math.min(ms, end)) - at.first) / at.span) * (at.right - at.left);
  const spans = svg("g", { class: "chart-spans" });
  const group = svg("g", { "aria-hidden": "true" }, spans);
  for (const event of [...events].sort((one, other) => (one.severity === "critical") - (other.severity === "critical"))) {
    const [from, to] = [place(event.at), place(event.until ?? (event.kind === "deploy" ? event.at : end))];
    const part = svg("g", { class: classOf(event) });
    if (to - from > 1) spans.append(svg("rect", { class: classOf(event), x: from, y: at.top, width: to - from, height: at.bottom - at.top }));
    if (event.at >= at.first) {
      part.append(svg("line", { x1: from, x2: from, y1: at.top, y2: at.bottom }), svg("path", { d: signOf(event.kind, from, at.top) }));
    }
    group.append(part);
  }
  return group;
}

function signOf(kind, x, y) {
  if (kind === "deploy") return `M${x - 5} ${y - 7}h10l-5 8z`;
  if (kind === "pause") return `M${x - 4} ${y - 7}h3v8h-3zM${x + 1} ${y - 7}h3v8h-3z`;
  return `M${x} ${y - 8}l5 5-5 5-5-5z`;
}

// Those that began between the point before `i` and that one.
export function eventsAt(data, i) {
  const xs = data.x.values;
  const from = i > 0 ? xs[i - 1] : -Infinity;
  return (data.events ?? []).filter((event) => event.at > from && (event.at <= xs[i] || i === xs.length - 1));
}

// <section data-events data-url=...>: a list of them.
class EventList {
  constructor(box) {
    this.box = box;
    this.list = html("ol", { className: "chart-events" });
    this.summary = html("summary");
    this.details = html("details", { hidden: true }, this.summary, this.list);
    this.details.dataset.keep = "";
    box.append(this.details);
    this.begin();
  }

  begin() {
    if (this.url === this.box.dataset.url) return;
    if (this.url) unsubscribe(this, this.url);
    this.url = this.box.dataset.url;
    subscribe(this, this.url, 0);
  }

  take(data) {
    const events = data.events ?? [];
    this.details.hidden = !events.length;
    this.summary.textContent = `${word("events")} (${events.length}${data.events_left_out ? "+" : ""})`;
    this.list.replaceChildren(...events.map((event) => this.line(event)));
  }

  line(event) {
    const sign = svg("svg", { class: classOf(event), viewBox: "-8 -9 16 12", "aria-hidden": "true" }, svg("path", { d: signOf(event.kind, 0, 0) }));
    const title = event.url ? html("a", { href: event.url }, event.title) : event.title;
    const time = html("time", { dateTime: new Date(event.at).toISOString() }, moment(event.at));
    return html("li", {}, time, sign, html("span", {}, title));
  }

  miss() {}
}

const lists = new Map();

export function adoptLists(root) {
  for (const box of root.querySelectorAll("[data-events][data-url]")) {
    if (lists.has(box)) lists.get(box).begin();
    else lists.set(box, new EventList(box));
  }
  for (const [box, list] of lists) {
    if (box.isConnected) continue;
    unsubscribe(list, list.url);
    lists.delete(box);
  }
}
