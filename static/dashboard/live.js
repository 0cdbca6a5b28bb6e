// <section data-live="URL" data-every="3000">: its content is fetched again and again (header X-Live: 1).
// While nothing changes the server answers 304 and the pauses double, up to half a minute; while nobody looks (hidden tab)
// or the reader said so (button "Live", key p) nothing is fetched. What cannot be fetched stays, marked as old.
// Of a row (<tr data-key>) that is shown already only its name comes: `X-Have` says which versions (data-version) are here.
// With data-once it is fetched once, also while updates are paused; data-once="done": it has been.
// Tells `taskq:updated` of each change; obeys `taskq:refresh`; both bubble.
// A section may bring another's content along (data-brings="NAME", <template data-for="NAME"> in its answers): the other one
// (data-part="NAME") then asks for itself only when it has heard nothing for longer than that takes.
import { morph } from "./morph.js";

const EVERY_MS = 3_000;
const SLOWEST_MS = 30_000;
const TIMEOUT_MS = 10_000;
const TIMES_AS_LONG = 400; // a pause is at least so many times (data-times) as long as the server took: a busy one is asked less often,
const BUSY_MS = 10_000; // but not less often than that
const HAVE_MAX = 200; // rows
const PAUSED = "taskq-paused";

const button = document.getElementById("live");
const sections = new Map();
const words = document.getElementById("words")?.dataset ?? {};
let paused = sessionStorage.getItem(PAUSED) === "1";

class Live {
  constructor(section) {
    this.section = section;
    this.every = Number(section.dataset.every) || EVERY_MS;
    this.wait = this.every;
    this.pace = 0;
    this.etag = "";
    this.stale = false;
    this.once = "once" in section.dataset;
    this.brings = section.dataset.brings;
    section.addEventListener("taskq:refresh", () => this.refresh());
    this.schedule();
  }

  schedule() {
    clearTimeout(this.timer);
    if (this.isOver() || (paused && !this.once) || document.hidden || !this.section.isConnected) return;
    this.timer = setTimeout(() => this.refresh(), this.pause() * (0.9 + Math.random() * 0.2)); // many pages keep out of step
  }

  isOver() {
    return this.section.dataset.once === "done";
  }

  pause() {
    return Math.max(this.wait, Math.min(this.pace, BUSY_MS));
  }

  async refresh() {
    clearTimeout(this.timer);
    if (this.isOver()) return;
    this.under_way?.abort();
    const mine = (this.under_way = new AbortController());
    try {
      const have = [...rowsOf(this.section).keys()].slice(0, HAVE_MAX).join();
      const response = await fetch(this.section.dataset.live, {
        headers: { "X-Live": "1", Accept: "text/html", ...(have && { "X-Have": have }), ...(this.etag && { "If-None-Match": this.etag }) },
        signal: AbortSignal.any([mine.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      if (response.redirected || response.status === 401) {
        location.reload(); // signed out: the page leads to the sign-in
        return;
      }
      this.pace = Number(response.headers.get("X-Took-Ms") ?? 0) * (Number(this.section.dataset.times) || TIMES_AS_LONG);
      const text = response.status === 304 ? "" : await response.text();
      if (mine.signal.aborted) return;
      if (response.status === 304) this.wait = Math.min(this.wait * 2, SLOWEST_MS);
      else if (response.ok) this.show(text, response.headers.get("ETag") ?? "");
      else this.trouble(text);
      if (response.ok || response.status === 304) {
        this.answered();
        find(this.brings)?.postpone(this.pause());
      }
    } catch {
      if (mine.signal.aborted) return;
      this.trouble("");
    }
    this.schedule();
  }

  show(text, etag) {
    this.wait = this.every;
    if (this.once) this.section.dataset.once = "done";
    const fresh = document.createElement("template");
    fresh.innerHTML = text; // our own server's template, escaped there
    const brought = fresh.content.querySelector("template[data-for]");
    brought?.remove();
    const rows = rowsOf(this.section);
    const same = [...fresh.content.querySelectorAll("[data-same]")];
    this.etag = same.every((row) => rows.has(row.dataset.version)) ? etag : ""; // a script took one away: all of it, next time
    for (const row of same) row.replaceWith(rows.get(row.dataset.version)?.cloneNode(true) ?? "");
    this.put(fresh.content);
    if (brought) find(brought.dataset.for)?.put(brought.content);
  }

  put(content) {
    morph(this.section, content);
    this.section.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
  }

  // What another section told, or that nothing changed, makes asking needless for a while.
  postpone(its_wait) {
    this.under_way?.abort();
    this.etag = "";
    this.wait = Math.max(this.every, its_wait * 1.3);
    this.answered();
    this.schedule();
  }

  answered() {
    this.stale = false;
    this.notice?.remove();
    this.notice = undefined;
    showState();
  }

  // answering.js finds out what it is: where it tells that of the whole page, what is said here is not shown.
  trouble(text) {
    this.stale = true;
    document.dispatchEvent(new CustomEvent("taskq:doubt"));
    this.wait = Math.min(Math.max(this.wait, this.every) * 2, SLOWEST_MS);
    if (!this.notice) {
      if ([...sections.values()].some((live) => live.notice)) return showState(); // once is enough for a page
      this.notice = document.createElement("div");
      this.notice.className = "live-trouble";
      this.notice.dataset.keep = "";
      this.section.prepend(this.notice);
    }
    if (text.includes('class="banner')) this.notice.innerHTML = text; // the fragment with which the server says why
    else if (!this.notice.firstChild) {
      const banner = document.createElement("p");
      banner.className = "banner warn";
      banner.setAttribute("role", "status");
      banner.textContent = words.away ?? "";
      this.notice.append(banner);
    }
    showState();
  }
}

const rowsOf = (root) => new Map([...root.querySelectorAll("[data-version]")].map((row) => [row.dataset.version, row]));

function find(part) {
  return part && [...sections.values()].find((live) => live.section.dataset.part === part);
}

function showState() {
  if (!button) return;
  button.dataset.live ??= button.textContent;
  button.hidden = sections.size === 0;
  const stale = document.documentElement.hasAttribute("data-away") || [...sections.values()].some((live) => live.stale);
  button.toggleAttribute("data-stale", stale && !paused);
  button.setAttribute("aria-pressed", String(paused));
  button.textContent = paused ? button.dataset.paused : stale ? button.dataset.staleWord : button.dataset.live;
}

function adopt(root) {
  for (const section of root.querySelectorAll("[data-live]:not(button)")) {
    if (!sections.has(section)) sections.set(section, new Live(section));
  }
  for (const section of sections.keys()) if (!section.isConnected) sections.delete(section);
  showState();
}

function goOn() {
  for (const live of sections.values()) {
    live.wait = live.every;
    if (paused || document.hidden) live.schedule();
    else live.refresh();
  }
}

button?.addEventListener("click", () => {
  paused = !paused;
  sessionStorage.setItem(PAUSED, paused ? "1" : "0");
  document.dispatchEvent(new CustomEvent("taskq:paused", { detail: paused }));
  goOn();
  showState();
});
document.addEventListener("visibilitychange", goOn);
document.addEventListener("taskq:back", goOn);
document.addEventListener("taskq:away", showState);
document.addEventListener("taskq:updated", (event) => adopt(event.target));
adopt(document);
