// <table data-ranges>: a click with the Shift key held sets all boxes of a column from the one clicked before to this one.
// Each box that changes tells it by `change`, as if it had been clicked.
let last; // the box that was clicked before

document.addEventListener("click", (event) => {
  const box = event.target;
  if (!box.matches?.("table[data-ranges] tbody input[type=checkbox]")) return;
  const boxes = [...box.closest("table").querySelectorAll("tbody input[type=checkbox]")].filter((one) => one.name === box.name && !one.disabled);
  const from = boxes.indexOf(last);
  const to = boxes.indexOf(box);
  if (event.shiftKey && from >= 0) {
    for (const one of boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) {
      if (one === box || one.checked === box.checked) continue;
      one.checked = box.checked;
      one.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }
  last = box;
});
