// Looks at the rest of the dead letters stretch by stretch, and adds what is found to the groups and rows of the page.
import { addGroups, addRows } from "./dead_groups.js";
import { number } from "./dead_words.js";
import { forgive, silence, tellStopped } from "./stopped.js";

const TIMEOUT_MS = 20_000;
const page = () => document.getElementById("dead");
const part = (name) => document.getElementById(`dead-${name}`);

export class Look {
  constructor() {
    this.begin();
  }

  // From what the page has now on.
  begin() {
    const { at, matched, lookedAt } = page()?.dataset ?? {};
    Object.assign(this, { at, matched: Number(matched), lookedAt: Number(lookedAt), isOn: false, isUnderWay: false, wentOn: false });
    if (!at || !part("go-on")) return;
    part("go-on").hidden = false;
    if ("eager" in page().dataset) this.goOn(); // who looks for an error wants to see it
  }

  // Who stops while an answer is under way, and at once goes on, has not stopped.
  toggle() {
    if (this.isUnderWay) this.showOn(!this.isOn);
    else this.goOn();
  }

  async goOn() {
    this.isUnderWay = this.wentOn = true;
    this.showOn(true);
    forgive(part("rest"));
    let why;
    while (this.isOn && this.at && !why) why = await this.step();
    this.isUnderWay = false;
    this.showOn(false);
    if (why) tellStopped(part("rest"), part("go-on"), why);
  }

  showOn(isOn) {
    const button = part("go-on");
    this.isOn = isOn;
    button.textContent = isOn ? button.dataset.stop : button.dataset.goOn;
  }

  // The next stretch. Answers why it could not be had.
  async step() {
    const query = new URLSearchParams(location.search);
    query.set("at", this.at);
    query.set("before_ms", page().dataset.beforeMs);
    try {
      const headers = { Accept: "application/json" };
      const response = await fetch(`${page().dataset.more}?${query}`, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.redirected) {
        location.reload(); // signed out: the page leads to the sign-in
        return silence();
      }
      const answer = await response.json();
      if (!response.ok) return answer.error;
      this.add(answer);
    } catch {
      return silence();
    }
  }

  add(found) {
    this.at = found.at;
    this.matched += found.matched;
    this.lookedAt += found.looked_at;
    for (const kind of ["errors", "queues", "days"]) addGroups(kind, found[kind]);
    addRows(found.rows);
    const matched = part("matched");
    if (matched) matched.textContent = number(this.matched);
    part("looked-at").textContent = number(this.lookedAt);
    part("all").textContent = number(this.lookedAt + found.left);
    const bar = part("looking");
    bar.max = this.lookedAt + found.left;
    bar.value = this.lookedAt;
    if (this.at) return;
    part("rest").hidden = true;
    part("unsure")?.remove();
  }
}
