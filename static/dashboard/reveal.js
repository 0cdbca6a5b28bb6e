// Where pages or tabs go off the side of a narrow screen, the one that the reader is at is scrolled into view.
function reveal(root) {
  for (const row of root.querySelectorAll(".bar-links, .tabs")) {
    const current = row.querySelector("[aria-current]");
    if (!current || row.scrollWidth <= row.clientWidth || row.dataset.revealed === current.href) continue;
    row.dataset.revealed = current.href;
    row.scrollLeft += current.getBoundingClientRect().left - row.getBoundingClientRect().left - (row.clientWidth - current.offsetWidth) / 2;
  }
}

document.addEventListener("taskq:updated", (event) => reveal(event.target));
reveal(document);
