// <form data-act>: sent without leaving the page. What was done is said above the form, and the sections named by data-shows
// (ids) are fetched anew. What failed is said there, too: the selection stays, and a button tries again.
import { morph } from "./morph.js";
import { silence } from "./stopped.js";

const TIMEOUT_MS = 30_000;
const words = document.getElementById("words")?.dataset ?? {};

function notice(form, kind, text) {
  const box = document.createElement("div");
  box.className = `banner ${kind} outcome`;
  box.setAttribute("role", kind === "ok" ? "status" : "alert");
  box.dataset.keep = ""; // the live section around it leaves it alone
  box.textContent = text;
  form.parentElement.querySelector(".outcome")?.remove();
  form.before(box);
  return box;
}

async function showNow(section) {
  const url = section.dataset.source ?? section.dataset.live;
  if (!url) return;
  const response = await fetch(url, { headers: { "X-Live": "1", Accept: "text/html" }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok || response.redirected) return;
  const fresh = document.createElement("template");
  fresh.innerHTML = await response.text(); // our own server's template, escaped there
  morph(section, fresh.content);
  section.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
}

async function send(form, submitter, data = new FormData(form, submitter)) {
  const buttons = [...form.querySelectorAll("button:not(:disabled)")];
  buttons.forEach((button) => (button.disabled = true));
  let why;
  try {
    const url = submitter?.hasAttribute("formaction") ? submitter.formAction : form.action;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method: "POST", body: data, headers: { Accept: "application/json" }, signal });
    if (response.status === 401) return location.reload(); // signed out: the page leads to the sign-in
    const answer = await response.json();
    if (response.ok) return await finish(form, answer);
    why = answer.error;
  } catch {
    why = silence();
  } finally {
    buttons.forEach((button) => (button.disabled = false));
  }
  const box = notice(form, "bad", `${words.failed} ${why} `);
  const again = document.createElement("button");
  Object.assign(again, { type: "button", className: "small", textContent: words.again });
  again.addEventListener("click", () => send(form, submitter, data)); // the same rows, whatever was selected since
  box.append(again);
  again.focus();
}

async function finish(form, answer) {
  if (answer.url) return location.assign(answer.url);
  form.parentElement.querySelector(".outcome")?.remove();
  if (!answer.deletion) notice(form, "ok", answer.message); // a deletion is shown where it can be undone
  for (const box of form.querySelectorAll('input[type="checkbox"]:checked')) box.checked = false;
  for (const menu of form.querySelectorAll("details.menu[open]")) menu.open = false;
  const shown = (form.dataset.shows ?? "").split(" ").filter(Boolean);
  await Promise.allSettled(shown.map((id) => document.getElementById(id)).filter(Boolean).map(showNow));
  form.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
  if (answer.deletion) document.querySelector(`[data-key="deletion-${answer.deletion}"] [data-undo]`)?.focus();
}

// Seconds in which a deletion can be undone.
setInterval(() => {
  for (const place of document.querySelectorAll("[data-left-ms]")) {
    place.dataset.leftMs = Math.max(0, place.dataset.leftMs - 1000);
    place.textContent = `${Math.ceil(place.dataset.leftMs / 1000)} s`;
  }
}, 1000);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches?.("form[data-act]") || event.defaultPrevented) return;
  event.preventDefault();
  send(form, event.submitter);
});
