// Django's choosers of several have icons with a label but without a role, which no screen reader reads out. They are made when the
// page has loaded.
function giveRoles() {
  for (const icon of document.querySelectorAll(".search-label-icon[aria-label]:not([role])")) icon.setAttribute("role", "img");
}

new MutationObserver(giveRoles).observe(document.documentElement, { childList: true, subtree: true });
giveRoles();
