// The form of a schedule: only the fields of its kind are shown, and the next fires are listed while it is typed.
import "./moments.js";

const WAIT_MS = 250;
const TIMEOUT_MS = 10_000;
const form = document.querySelector("form[data-preview]");
const box = document.getElementById("preview");
const kind = form.elements.namedItem("kind");
const TIMING = ["kind", "cron", "zone", "every", "unit", "at", "jitter_s"];
let waiting = 0;
let asked = 0;

function showKind() {
  form.dataset.kind = kind.value;
}

async function preview() {
  const mine = ++asked;
  const sent = new FormData(form); // moments.js makes UTC of the time that was typed
  const parameters = new URLSearchParams(TIMING.map((name) => [name, sent.get(name) ?? ""]));
  box.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(`${form.dataset.preview}?${parameters}`, {
      headers: { Accept: "text/html" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.redirected) location.reload(); // signed out
    const text = await response.text();
    if (mine !== asked) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = text; // our own server's template, escaped there
    box.replaceChildren(fresh.content);
    box.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
  } catch {
    // The server is away: what was listed stays, and the button asks again.
  } finally {
    if (mine === asked) box.removeAttribute("aria-busy");
  }
}

form.addEventListener("input", (event) => {
  if (!TIMING.includes(event.target.name)) return;
  showKind();
  clearTimeout(waiting);
  waiting = setTimeout(preview, WAIT_MS);
});
form.querySelector("[data-preview-button]").hidden = true;
showKind();
