// <button data-copy="ID" hidden>: copies the text of the element with that id. <template data-copy-words> has what the button
// says afterwards. Where the clipboard is closed to scripts (plain http but for localhost), the text is selected instead.
const words = document.querySelector("template[data-copy-words]")?.dataset ?? {};
const SAID_MS = 1_500;

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  let done = true;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    getSelection().selectAllChildren(source);
    done = document.execCommand("copy");
  }
  button.dataset.usual ??= button.textContent;
  button.textContent = (done ? words.copied : words.failed) ?? button.dataset.usual;
  setTimeout(() => (button.textContent = button.dataset.usual), SAID_MS);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (button) copy(button);
});
for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
