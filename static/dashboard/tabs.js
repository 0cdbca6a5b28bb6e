// <div role="tablist" hidden> of <button role="tab" aria-controls="ID">: one panel at a time, arrow keys, and the choice is
// remembered by its word for the next page (data-remember). Without scripts all panels are there, one below the other.
const REMEMBERED = "taskq-language";

export function select(tab, { focus = false } = {}) {
  for (const one of tab.parentElement.querySelectorAll('[role="tab"]')) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    document.getElementById(one.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
}

function choose(tab) {
  select(tab, { focus: true });
  localStorage.setItem(REMEMBERED, tab.textContent);
  tab.dispatchEvent(new CustomEvent("taskq:tab", { bubbles: true, detail: tab.textContent }));
}

const remembered = localStorage.getItem(REMEMBERED);
for (const list of document.querySelectorAll('[role="tablist"]')) {
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  list.hidden = false;
  select(tabs.find((tab) => tab.textContent === remembered) ?? tabs[0]);
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.indexOf(document.activeElement);
    if (step && at >= 0) choose(tabs.at((at + step) % tabs.length));
  });
}
