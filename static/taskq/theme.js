// Light, dark, or as the system has it: chosen in the menu of the bar, kept in this browser. It is no module and not deferred, so that it
// runs before anything is painted, and no page flashes in the other colours. Without scripts the system decides, and the menu has no switch.
// `taskq:theme` is told to pictures that are painted, not styled.
(() => {
  const KEY = "taskq-theme";
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem(KEY) ?? "";
    } catch {
      return ""; // a browser that keeps nothing for pages
    }
  };

  function apply(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
    for (const button of document.querySelectorAll("button[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === (root.dataset.theme ?? "")));
    }
    document.dispatchEvent(new CustomEvent("taskq:theme"));
  }

  apply(read());
  addEventListener("storage", (event) => event.key === KEY && apply(read())); // chosen in another tab
  document.addEventListener("DOMContentLoaded", () => {
    for (const choice of document.querySelectorAll("[data-theme-choices]")) choice.hidden = false;
    apply(read());
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-theme-choice]");
    if (!button) return;
    try {
      localStorage.setItem(KEY, button.dataset.themeChoice);
    } catch {
      // then it holds for this page
    }
    apply(button.dataset.themeChoice);
  });
})();
