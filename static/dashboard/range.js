// One time for all charts of a page: its buttons, its fields, and what was marked in a chart. The address says which, and the
// page's live part is asked for again with it.
const picker = () => document.querySelector("[data-range]");

function show(query, { isNew = true } = {}) {
  const section = picker()?.closest("[data-live]");
  if (!section) return;
  if (isNew) history.pushState(null, "", `${location.pathname}${query}`);
  section.dataset.live = `${location.pathname}${location.search}`;
  section.dispatchEvent(new Event("taskq:refresh"));
}

const MINUTE_MS = 60_000;
const between = (from, to) =>
  `?${new URLSearchParams({ from: Math.floor(from / MINUTE_MS) * MINUTE_MS, to: Math.ceil(to / MINUTE_MS) * MINUTE_MS })}`;

// ms → what a field of local time takes
function localTime(ms) {
  const moment = new Date(ms);
  return new Date(ms - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-range] > a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  show(link.search);
});
document.addEventListener("taskq:zoom", ({ detail }) => show(between(detail.from, detail.to)));
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-range] form")) return;
  event.preventDefault();
  const [from, to] = ["from", "to"].map((name) => new Date(form.elements[name].value).getTime());
  form.elements.to.setCustomValidity(from < to ? "" : form.dataset.order);
  if (!form.reportValidity()) return;
  form.closest("details").open = false;
  show(between(from, to));
});
document.addEventListener("input", (event) => event.target.closest?.("[data-range] form")?.elements.to.setCustomValidity(""));
document.addEventListener(
  "toggle",
  (event) => {
    const box = event.target.closest?.("[data-range]");
    const form = box?.querySelector("form");
    if (!form || !event.target.open) return;
    form.elements.from.value = localTime(Number(box.dataset.from));
    form.elements.to.value = localTime(Number(box.dataset.to));
  },
  true,
);
addEventListener("popstate", () => show(location.search, { isNew: false }));
