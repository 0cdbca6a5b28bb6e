// The form of a policy: the picker writes the text of the backoff, and its picture follows. The server reads the times, composes
// the text and draws; without scripts the text is typed, and the picture shows what was saved.
const WAIT_MS = 250;
const TIMEOUT_MS = 10_000;
const form = document.querySelector("form[data-backoff-preview]");
const box = document.getElementById("backoff-picture");
const picker = form.querySelector("[data-picker]");
const text = form.elements.namedItem("backoff");
const tries = form.elements.namedItem("tries");
const picks = [...picker.querySelectorAll("[data-pick]")];
const kind = picks.find((one) => one.dataset.pick === "kind");
let waiting = 0;
let asked = 0;

function showKind() {
  for (const one of picker.querySelectorAll("[data-for]")) one.hidden = !one.dataset.for.split(" ").includes(kind.value);
}

// What was typed or saved goes into the picker as far as it is plain.
function readText() {
  const [name, base, cap] = text.value.trim().toLowerCase().replace("@failures", "").split(":");
  kind.value = [...kind.options].some((option) => option.value === name) ? name : "";
  for (const one of picks) {
    if (one.dataset.pick === "base" && base) one.value = `${base}s`;
    if (one.dataset.pick === "cap") one.value = cap ? `${cap}s` : "";
    if (one.dataset.pick === "failures_only") one.checked = text.value.includes("@failures");
  }
  showKind();
}

async function preview(picked) {
  const mine = ++asked;
  const url = new URL(form.dataset.backoffPreview, location.href);
  url.searchParams.set("tries", tries.value);
  if (picked) {
    for (const one of picks) {
      const shown = !one.closest("[data-for]")?.hidden;
      if (shown && (one.type !== "checkbox" || one.checked)) url.searchParams.set(one.dataset.pick, one.value);
    }
  } else url.searchParams.set("backoff", text.value);
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.redirected) location.reload(); // signed out
    const html = await response.text();
    if (mine !== asked) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = html; // our own server's template, escaped there
    box.replaceChildren(fresh.content);
    const composed = box.querySelector("[data-backoff]")?.dataset.backoff;
    if (picked && composed !== undefined) text.value = composed;
  } catch {
    // The server is away: the picture stays, and the next letter asks again.
  }
}

function soon(picked) {
  clearTimeout(waiting);
  waiting = setTimeout(() => preview(picked), WAIT_MS);
}

picker.hidden = false;
readText();
picker.addEventListener("input", () => {
  showKind();
  soon(true);
});
text.addEventListener("input", () => {
  readText();
  soon(false);
});
tries.addEventListener("input", () => soon(false));
