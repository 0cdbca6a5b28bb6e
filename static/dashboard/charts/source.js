// Where charts get their numbers: an address that is asked again and again while somebody looks. Charts of one address share
// its answer.
const EVERY_MS = 10_000;
const SLOWEST_MS = 60_000;
const TIMEOUT_MS = 10_000;
const sources = new Map();
let paused = sessionStorage.getItem("taskq-paused") === "1";

class Source {
  constructor(url) {
    this.url = url;
    this.takers = new Map(); // who takes the answers → how often it wants them, ms; 0: once
  }

  get every() {
    const wishes = [...this.takers.values()].filter((every) => every > 0);
    return wishes.length ? Math.min(...wishes) : 0;
  }

  async fetch() {
    clearTimeout(this.timer);
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      const headers = { "X-Live": "1", Accept: "application/json", ...(this.etag && { "If-None-Match": this.etag }) };
      const response = await fetch(this.url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.redirected || response.status === 401) return; // signed out; live.js, or the next click, tells
      if (response.ok) {
        const text = await response.text();
        this.etag = response.headers.get("ETag") ?? "";
        const isNew = text !== this.text;
        this.wait = isNew ? this.every : this.slower();
        this.text = text;
        if (isNew) for (const taker of this.takers.keys()) this.give(taker);
      } else {
        this.wait = this.slower();
        if (response.status !== 304) this.miss(await whatWasWrong(response));
      }
    } catch {
      this.wait = this.slower();
      this.miss();
    } finally {
      this.isAsking = false;
    }
    this.schedule();
  }

  slower() {
    return Math.min((this.wait || this.every || EVERY_MS) * 2, SLOWEST_MS);
  }

  give(taker) {
    taker.take(JSON.parse(this.text)); // each its own: what draws may write into it
  }

  miss(why) {
    for (const taker of this.takers.keys()) taker.miss(why);
  }

  schedule() {
    clearTimeout(this.timer);
    if (!this.every || paused || document.hidden || !this.takers.size) return;
    this.timer = setTimeout(() => this.fetch(), Math.max(this.wait ?? 0, this.every) * (0.9 + Math.random() * 0.2));
  }
}

// What the server says of an error; undefined: what came is not of ours.
async function whatWasWrong(response) {
  try {
    return (await response.json()).error;
  } catch {
    return undefined;
  }
}

// `taker`: an object with take(data) and miss(why). `every`: ms; 0: once is enough.
export function subscribe(taker, url, every = EVERY_MS) {
  let source = sources.get(url);
  if (!source) sources.set(url, (source = new Source(url)));
  source.takers.set(taker, every);
  if (source.text) {
    source.give(taker);
    source.schedule();
  } else source.fetch();
}

export function unsubscribe(taker, url) {
  const source = sources.get(url);
  if (!source?.takers.delete(taker) || source.takers.size) return;
  clearTimeout(source.timer);
  sources.delete(url);
}

function goOn() {
  for (const source of sources.values()) {
    if (!source.every) continue;
    if (paused || document.hidden) source.schedule();
    else source.fetch();
  }
}

document.addEventListener("taskq:paused", (event) => ((paused = event.detail), goOn()));
document.addEventListener("visibilitychange", goOn);
document.addEventListener("taskq:back", goOn);
