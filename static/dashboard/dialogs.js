// <form data-confirm="Delete 3 jobs?" data-confirm-yes="Delete 3 jobs" data-confirm-word="queue-name" data-confirm-safe>: asks
// before it is sent, by a button that says what it does; a word has to be typed if there is one. Then the form is sent with
// confirmed=yes (and the word), which the server insists upon. A button's own data-confirm comes before the form's.
// data-confirm-yes: else the button says what the one pressed said. data-confirm-no: what the button that does nothing says.
// {count} in either text: data-count of the row with the button, else the number of rows that are selected in the form; data-confirm-from: fewer rows are not asked about.
// Also: a menu closes when one clicks elsewhere or presses Escape.
import { language, selectedIn } from "./selection.js";

const dialog = document.getElementById("confirm");
const word = document.getElementById("confirm-word");
const yes = document.getElementById("confirm-yes");
const no = document.getElementById("confirm-no");
const usualNo = no?.textContent ?? "";
const usualYes = yes?.textContent ?? "";
let asked; // {form, submitter, expected}

const sourceOf = (form, submitter) => (submitter?.dataset.confirm ? submitter : form);

function ask(form, submitter) {
  const source = sourceOf(form, submitter);
  const expected = source.dataset.confirmWord ?? "";
  const count = Number(submitter?.closest("[data-count]")?.dataset.count ?? selectedIn(form));
  const fill = (text) => text.replaceAll("{count}", count.toLocaleString(language));
  asked = { form, submitter, expected };
  document.getElementById("confirm-question").textContent = fill(source.dataset.confirm);
  yes.textContent = fill(source.dataset.confirmYes ?? submitter?.textContent.trim().replace(/…$/, "") ?? usualYes);
  document.getElementById("confirm-typed").hidden = !expected;
  document.getElementById("confirm-expected").textContent = expected;
  word.value = "";
  yes.disabled = Boolean(expected);
  no.textContent = source.dataset.confirmNo ?? usualNo;
  yes.className = "confirmSafe" in source.dataset ? "primary" : "danger";
  dialog.returnValue = "";
  dialog.showModal();
  (expected ? word : no).focus();
}

function add(form, name, value) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  form.append(field);
  return field;
}

// The capture phase: before any script of a page that sends the form itself.
document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (!form.dataset.confirm && !event.submitter?.dataset.confirm) return;
    if (form.dataset.answered) return;
    const { confirmFrom } = sourceOf(form, event.submitter).dataset;
    if (confirmFrom && selectedIn(form) < Number(confirmFrom)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    ask(form, event.submitter);
  },
  true,
);

word?.addEventListener("input", () => {
  yes.disabled = word.value.trim() !== asked.expected;
});
no?.addEventListener("click", () => dialog.close(""));
dialog?.addEventListener("close", () => {
  if (dialog.returnValue !== "yes" || !asked) return;
  const { form, submitter, expected } = asked;
  const fields = [add(form, "confirmed", "yes"), ...(expected ? [add(form, "word", expected)] : [])];
  form.dataset.answered = "yes";
  form.requestSubmit(submitter?.isConnected ? submitter : null);
  delete form.dataset.answered;
  setTimeout(() => fields.forEach((field) => field.remove())); // a script that sent the form has read it by now
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
