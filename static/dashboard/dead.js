// The page of the dead letters. Without scripts it works too: one stretch, one batch at a time.
import { Run } from "./dead_batches.js";
import { Look } from "./dead_look.js";
import { number } from "./dead_words.js";

const form = document.getElementById("dead-form");
const boxes = () => [...form.querySelectorAll('input[name="letter"]:not(:disabled)')];

function showChosen() {
  const chosen = boxes().filter((box) => box.checked).length;
  for (const place of form.querySelectorAll(".dead-chosen")) place.textContent = chosen ? `(${number(chosen)})` : "";
  for (const button of form.querySelectorAll("[data-needs-some]")) button.disabled = !chosen;
  const every = document.getElementById("dead-every");
  if (!every) return;
  every.checked = chosen > 0 && chosen === boxes().length;
  every.indeterminate = chosen > 0 && !every.checked;
}

if (document.getElementById("dead")) new Look();
if (form) {
  form.addEventListener("change", (event) => {
    if (event.target.id === "dead-every") for (const box of boxes()) box.checked = event.target.checked;
    showChosen();
  });
  form.addEventListener("taskq:updated", showChosen);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    new Run(form, event.submitter).begin();
  });
  const every = document.getElementById("dead-every");
  if (every) every.hidden = false;
  showChosen();
}
