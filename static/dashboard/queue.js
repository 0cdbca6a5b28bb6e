// The pages of a queue and of a job: a look at bodies, scans that go on, and acts on everything that matches.
import "./moments.js";
import "./ranges.js";
import { forgive, silence, tellStopped } from "./stopped.js";

const HEADERS = { "X-Live": "1", Accept: "text/html" };
const TIMEOUT_MS = 30_000;

async function fragment(url) {
  const response = await fetch(url, { headers: HEADERS, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.redirected || response.status === 401) location.reload(); // signed out: the page leads to the sign-in
  const fresh = document.createElement("template");
  fresh.innerHTML = await response.text(); // our own server's template, escaped there
  return { ok: response.ok, content: fresh.content };
}

function tell(root) {
  root.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
}

// Bodies are fetched when somebody opens one.
async function peek(box, url) {
  const shown = box.firstElementChild ?? box.appendChild(document.createElement("div"));
  shown.dataset.keep = ""; // the live section around it leaves it alone
  shown.setAttribute("aria-busy", "true");
  if (!shown.firstChild) shown.textContent = box.dataset.wait;
  try {
    shown.replaceChildren((await fragment(url)).content);
    shown.querySelectorAll("details.fold").forEach((fold) => (fold.open = true));
  } catch {
    shown.replaceChildren(document.createTextNode(document.getElementById("words")?.dataset.away ?? ""));
  }
  shown.removeAttribute("aria-busy");
}

document.addEventListener(
  "toggle",
  (event) => {
    const details = event.target;
    if (details.matches?.("details[data-peek]") && details.open) peek(details.querySelector(".peek-box"), details.dataset.peek);
  },
  true, // `toggle` does not bubble
);

document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".peek-box .body-forms a");
  if (link) {
    event.preventDefault();
    peek(link.closest(".peek-box"), link.href);
  }
  const on = event.target.closest?.("[data-scan-on]");
  if (on) {
    event.preventDefault();
    scanOn();
  }
});

// A scan goes on, stretch after stretch, until it finds something, comes to the end, or is stopped.
let scanning;
async function scanOn() {
  if (scanning) {
    scanning = undefined;
    return;
  }
  const mine = (scanning = {});
  const section = document.getElementById("jobs");
  let more = document.getElementById("jobs-more");
  let found = 0;
  let why = "";
  forgive(more);
  while (scanning === mine && more?.dataset.more && !found) {
    show(more, "stop");
    let part;
    try {
      part = await fragment(more.dataset.more);
    } catch {
      why = silence();
      break;
    }
    if (!part.ok) {
      why = part.content.querySelector(".banner")?.textContent.trim() ?? silence(); // the server says why
      break;
    }
    const rows = [...part.content.querySelectorAll("table.jobs tbody tr")];
    const body = section.querySelector("table.jobs tbody");
    if (body) body.append(...rows);
    found = rows.length;
    const next = part.content.getElementById("jobs-more");
    more.replaceWith(next);
    more = next;
  }
  show(more, "word");
  if (why) tellStopped(more, more.querySelector("[data-scan-on]"), why);
  scanning = undefined;
  tell(section);
}

function show(more, what) {
  const button = more?.querySelector("[data-scan-on]");
  if (button) button.textContent = button.dataset[what];
}

// An act on everything that matches: batch after batch, each a request of its own. Closing the page stops between two.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches?.("form[data-bulk]")) return;
  event.preventDefault();
  bulk(form, event.submitter);
});

class Refusal extends Error {} // in the server's words; a browser's own are in its language, not the page's

async function bulk(form, submitter) {
  const dialog = document.getElementById("bulk");
  const bar = document.getElementById("bulk-bar");
  const said = document.getElementById("bulk-said");
  const stop = document.getElementById("bulk-stop");
  const close = document.getElementById("bulk-close");
  const data = new FormData(form, submitter);
  data.set("run", crypto.randomUUID?.() ?? String(Date.now() + Math.random()));
  let stopped = false;
  let total;
  let done = 0;
  let lookedAt = 0;
  const show = (trouble = "") => {
    bar.max = Math.max(total ?? 1, 1);
    bar.value = Math.min(lookedAt, bar.max);
    const of = `${lookedAt.toLocaleString()} / ${(total ?? 0).toLocaleString()}`;
    said.textContent = `${trouble}${done.toLocaleString()} ${dialog.dataset.done} · ${of} ${dialog.dataset.looked}`;
  };
  document.getElementById("bulk-title").textContent = submitter.textContent;
  stop.hidden = false;
  close.hidden = true;
  stop.onclick = () => (stopped = true);
  close.onclick = () => location.reload();
  dialog.oncancel = (cancel) => {
    cancel.preventDefault();
    if (close.hidden) stopped = true;
    else location.reload();
  };
  show();
  dialog.showModal();
  let trouble = "";
  while (!stopped) {
    try {
      const response = await fetch(form.action, { method: "POST", body: data, headers: { Accept: "application/json" } });
      const batch = await response.json();
      if (!response.ok) throw new Refusal(batch.error);
      done += batch.done;
      lookedAt += batch.looked_at;
      total ??= batch.size;
      show();
      if (batch.cursor === null || lookedAt >= total) break; // what came meanwhile is not meant
      data.set("after", batch.cursor);
      if (batch.before_ms !== null) data.set("before_ms", batch.before_ms);
    } catch (error) {
      trouble = `${dialog.dataset.failed}${error instanceof Refusal ? error.message : silence()} `;
      break;
    }
  }
  if (!stopped && !trouble) bar.value = bar.max;
  show(trouble);
  stop.hidden = true;
  close.hidden = false;
  close.focus();
}
