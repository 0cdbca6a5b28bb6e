// The page of the dead letters. Without scripts it works too: one stretch, one batch at a time.
import { Run } from "./dead_batches.js";
import { Look } from "./dead_look.js";
import { bringUpToDate, restMs } from "./dead_news.js";
import { number } from "./dead_words.js";

const form = () => document.getElementById("dead-form");
const every = () => document.getElementById("dead-every");
const boxes = () => [...(form()?.querySelectorAll('input[name="letter"]:not(:disabled)') ?? [])];
const chosen = () => boxes().filter((box) => box.checked).length;

function showChosen() {
  if (!form()) return;
  const count = chosen();
  for (const place of form().querySelectorAll(".dead-chosen")) place.textContent = count ? `(${number(count)})` : "";
  for (const button of form().querySelectorAll("[data-needs-some]")) button.disabled = !count;
  if (!every()) return;
  every().hidden = false;
  every().checked = count > 0 && count === boxes().length;
  every().indeterminate = count > 0 && !every().checked;
}

const look = new Look();
showChosen();

// Who selected something, looked on, leafed through, is being asked or wants no new numbers has it as it was.
const isInUse = () =>
  chosen() > 0 ||
  look.wentOn ||
  document.querySelector("dialog[open], #live[aria-pressed=true]") ||
  "later" in (document.getElementById("dead")?.dataset ?? {});

let soon;
async function hear() {
  clearTimeout(soon);
  if (!document.getElementById("dead-new")) return;
  if (!isInUse() && restMs()) {
    soon = setTimeout(hear, restMs());
  } else if (!isInUse() && (await bringUpToDate(isInUse))) {
    look.begin();
    showChosen();
  } else document.getElementById("dead-new")?.toggleAttribute("hidden", false);
}

document.addEventListener("change", (event) => {
  if (!form()?.contains(event.target)) return;
  if (event.target === every()) for (const box of boxes()) box.checked = event.target.checked;
  showChosen();
});
document.addEventListener("click", (event) => {
  if (event.target.id === "dead-go-on") look.toggle();
});
document.addEventListener("submit", (event) => {
  const isOfGroup = event.target.id === "dead-group-form";
  if ((event.target !== form() && !isOfGroup) || event.defaultPrevented) return;
  event.preventDefault();
  new Run(event.target, event.submitter).begin();
});
document.addEventListener("taskq:updated", (event) => {
  if (form()?.contains(event.target)) showChosen();
  if (event.target.id === "dead-news") hear();
});
