// The command palette (Ctrl-K, Cmd-K): a combobox over pages, queues and what may be done with them. The server says which
// there are for what is typed. What changes something is sent as a form, with its CSRF token.
const DELAY_MS = 120;
const TIMEOUT_MS = 10_000;

const dialog = document.getElementById("palette");
const field = document.getElementById("palette-text");
const list = document.getElementById("palette-list");
const said = document.getElementById("palette-said");
const form = dialog?.querySelector("form");
const button = document.getElementById("palette-button");
let items = [];
let at = 0;
let asking;
let timer;
let underWay; // the latest question, which Enter waits for

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function show(found) {
  items = found;
  at = 0;
  const parts = [];
  let group;
  items.forEach((item, index) => {
    if (item.group !== group) {
      group = item.group;
      const head = element("div", "palette-group", group);
      head.setAttribute("role", "presentation");
      parts.push(head);
    }
    const option = element("div", "palette-option", "");
    option.id = `palette-${index}`;
    option.setAttribute("role", "option");
    option.append(element("bdi", "palette-title", item.title), element("bdi", "muted", item.detail));
    parts.push(option);
  });
  if (!items.length) parts.push(element("div", "palette-none muted", dialog.dataset.none));
  list.replaceChildren(...parts);
  said.textContent = dialog.dataset.results.replace("{count}", items.length);
  select(0);
}

function select(index) {
  at = items.length ? (index + items.length) % items.length : 0;
  for (const option of list.querySelectorAll("[role=option]")) {
    const isIt = option.id === `palette-${at}`;
    option.setAttribute("aria-selected", String(isIt));
    if (isIt) option.scrollIntoView({ block: "nearest" });
  }
  if (items.length) field.setAttribute("aria-activedescendant", `palette-${at}`);
  else field.removeAttribute("aria-activedescendant");
}

async function ask() {
  asking?.abort();
  const mine = (asking = new AbortController());
  try {
    const response = await fetch(`${dialog.dataset.url}?${new URLSearchParams({ q: field.value })}`, {
      headers: { Accept: "application/json" },
      signal: AbortSignal.any([mine.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (response.redirected) return location.reload(); // signed out: the page leads to the sign-in
    if (!response.ok) throw new Error();
    show((await response.json()).items);
  } catch {
    if (mine.signal.aborted) return;
    items = [];
    list.replaceChildren(element("div", "palette-none muted", dialog.dataset.away));
    said.textContent = dialog.dataset.away;
    field.removeAttribute("aria-activedescendant");
  }
}

function askNow() {
  clearTimeout(timer);
  timer = 0;
  underWay = ask();
}

function open(item) {
  if (!item) return;
  if (item.method !== "post") return location.assign(item.url);
  form.action = item.url;
  form.elements.next.value = location.pathname + location.search;
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "undo", value: "yes" })); // of a deletion
  form.submit();
}

function openPalette() {
  if (dialog.open || document.querySelector("dialog[open]")) return;
  field.value = "";
  list.replaceChildren();
  dialog.showModal();
  field.focus();
  askNow();
}

if (dialog) {
  button.hidden = false;
  button.addEventListener("click", openPalette);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else openPalette();
  });
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(askNow, DELAY_MS);
  });
  field.addEventListener("keydown", async (event) => {
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: Math.min(at + 8, items.length - 1), PageUp: Math.max(at - 8, 0) };
    if (event.key in moves) select(moves[event.key]);
    else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (timer) askNow();
      await underWay; // what was typed last counts, however quickly Enter came
      return open(items[at]);
    } else return;
    event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) open(items[Number(option.id.replace("palette-", ""))]);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}
