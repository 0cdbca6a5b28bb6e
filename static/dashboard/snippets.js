// Code to copy: tabs of languages; and on the page of the first day the token that was just made, or that the reader pastes,
// stands in the code. It is kept nowhere but in this page.
import "./copying.js";
import "./tabs.js";

const PLACEHOLDER = "YOUR_TOKEN";
const HARMLESS = /^[\w.~:-]+$/; // needs no quoting in any of the languages, as no random token does
const TIMEOUT_MS = 10_000;
const originals = new Map();

function fill(token) {
  const text = HARMLESS.test(token) ? token : PLACEHOLDER;
  for (const code of document.querySelectorAll("[data-code]")) {
    if (!originals.has(code)) originals.set(code, code.textContent);
    code.textContent = originals.get(code).replaceAll(PLACEHOLDER, text);
  }
}

// Steps tick within seconds of what was done in a terminal: live.js alone asks less and less often while nothing changes.
const ASK_EVERY_MS = 2_000;
const ASK_FOR_MS = 1_800_000;
const steps = document.querySelector("[data-steps]");
if (steps) {
  const asking = setInterval(() => {
    const isPaused = document.getElementById("live")?.getAttribute("aria-pressed") === "true";
    if (!document.hidden && !isPaused) steps.dispatchEvent(new CustomEvent("taskq:refresh"));
    if (!steps.querySelector("li:not(.done)") || performance.now() > ASK_FOR_MS) clearInterval(asking);
  }, ASK_EVERY_MS);
}

document.getElementById("your-token")?.addEventListener("input", (event) => fill(event.target.value.trim()));

// <form data-make-token>: makes a token without leaving the page.
const form = document.querySelector("form[data-make-token]");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  const outcome = form.querySelector("[data-outcome]");
  button.disabled = true;
  outcome.textContent = "";
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    const secret = document.getElementById("token-secret");
    secret.textContent = answer.token;
    secret.closest("[data-made]").hidden = false;
    fill(answer.token);
    const field = document.getElementById("your-token");
    if (field) field.value = answer.token;
    for (const live of document.querySelectorAll("[data-live]")) live.dispatchEvent(new CustomEvent("taskq:refresh"));
  } catch (error) {
    outcome.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});
