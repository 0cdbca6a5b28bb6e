// <div data-live="URL" data-follows-version>: the table of a workflow's jobs. It is asked for at once when the head of the page, which is
// asked for each second, shows another version (data-version); else it would pause for longer and longer, as live.js has it.
const table = document.querySelector("[data-follows-version]");
const version = () => document.querySelector("[data-version]")?.dataset.version;
let shown = version();

document.addEventListener("taskq:updated", (event) => {
  if (event.target === table || version() === shown) return;
  shown = version();
  table.dispatchEvent(new CustomEvent("taskq:refresh"));
});
