// <form data-selection>: rows are selected by checkboxes in its <tbody>. [data-selected] shows how many ("2 selected"), and
// what needs some ([data-needs-selection]) is disabled while there are none. <details data-needs-selection> stay shut. The checkbox
// [data-select-all] selects all rows, and shows whether all of them or some are.
export const language = document.documentElement.lang || undefined;

export const selectedIn = (form) => form.querySelectorAll('tbody input[type="checkbox"]:checked').length;
const boxesIn = (form) => form.querySelectorAll('tbody input[type="checkbox"]:not(:disabled)');

function show(form) {
  const count = selectedIn(form);
  for (const place of form.querySelectorAll("[data-selected]")) {
    place.textContent = place.dataset.selected.replace("{count}", count.toLocaleString(language));
  }
  for (const part of form.querySelectorAll("[data-needs-selection]")) {
    if (part.nodeName === "DETAILS") {
      part.querySelector("summary").setAttribute("aria-disabled", String(!count));
      if (!count) part.open = false;
    } else part.disabled = !count;
  }
  const all = form.querySelector("[data-select-all]");
  if (!all) return;
  all.hidden = false;
  all.checked = count > 0 && count === boxesIn(form).length;
  all.indeterminate = count > 0 && !all.checked;
}

const showAll = () => document.querySelectorAll("form[data-selection]").forEach(show);

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-selection]");
  if (!form) return;
  if (event.target.matches("[data-select-all]")) for (const box of boxesIn(form)) box.checked = event.target.checked;
  setTimeout(show, 0, form); // after whoever selects more rows because of this one
});
document.addEventListener("click", (event) => {
  if (event.target.closest?.('[data-needs-selection] > summary[aria-disabled="true"]')) event.preventDefault();
});
document.addEventListener("taskq:updated", showAll);
showAll();
