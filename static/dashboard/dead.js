// The page of the dead letters. Without scripts it works too: one stretch, one batch at a time.
import { Run } from "./dead_batches.js";
import { Look } from "./dead_look.js";
import { bringUpToDate, restMs } from "./dead_news.js";
import "./ranges.js";
import { selectedIn } from "./selection.js";

const form = () => document.getElementById("dead-form");
const selected = () => (form() ? selectedIn(form()) : 0);

const look = new Look();

// Who selected something, looked on, leafed through, is being asked or wants no new numbers has it as it was.
const isInUse = () =>
  selected() > 0 ||
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
  } else document.getElementById("dead-new")?.toggleAttribute("hidden", false);
}

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
  if (event.target.id === "dead-news") hear();
});
