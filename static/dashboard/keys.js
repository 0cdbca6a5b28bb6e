// Keyboard: `/` finds, `?` explains, `g` and a page's own key goes there, `j` and `k` walk the rows of a table, `p` pauses.
// Which keys there are is said by the page (data-go); single keys can be turned off in the help.
const OFF = "taskq-keys-off";
const CHORD_MS = 1_500;

const help = document.getElementById("help");
const on = document.getElementById("keys-on"); // the admin has keys, but no help
const areOff = () => localStorage.getItem(OFF) === "1";
const find = document.getElementById("find");
let chordUntil = 0;

function isTyping(target) {
  return target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") !== null;
}

function walk(step) {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector("a, button") && row.offsetParent);
  if (!rows.length) return;
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[here < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(here + step, 0), rows.length - 1)];
  row.querySelector("a, button").focus();
}

function press(key) {
  if (performance.now() < chordUntil) {
    chordUntil = 0;
    const link = [...document.querySelectorAll("[data-go]")].find((one) => one.dataset.go === key);
    link?.click();
    return Boolean(link);
  }
  const acts = {
    "/": () => (find?.focus(), find?.select()),
    "?": () => help?.showModal(),
    g: () => (chordUntil = performance.now() + CHORD_MS),
    j: () => walk(1),
    k: () => walk(-1),
    p: () => document.querySelector("#live:not([hidden])")?.click(),
  };
  acts[key]?.();
  return key in acts;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") || areOff()) return;
  if (find && press(event.key)) event.preventDefault();
});

if (on) {
  on.checked = !areOff();
  on.addEventListener("change", () => localStorage.setItem(OFF, on.checked ? "0" : "1"));
}
document.getElementById("help-button")?.addEventListener("click", () => help.showModal());
