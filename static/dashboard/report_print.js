// The page for paper: its button prints. Charts have drawn themselves as wide as the paper by then.
const button = document.getElementById("print");
button.hidden = false;
button.addEventListener("click", () => window.print());
