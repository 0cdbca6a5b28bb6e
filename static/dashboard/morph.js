// Makes the children of an element equal to those of a new tree, by changing only what differs: what the reader has
// focused, scrolled, opened, ticked or typed stays. Elements find each other by id or data-key, else by their place.
// Left alone: what scripts added and marked data-keep, whether <details> and <dialog> are open, and fields.

const OWN = new Set(["DETAILS:open", "DIALOG:open", "INPUT:checked", "INPUT:value", "OPTION:selected"]);

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "");
const isKept = (node) => node.nodeType === Node.ELEMENT_NODE && node.hasAttribute("data-keep");
const isSame = (old, fresh) => old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);

// What times.js made of it goes on.
const isSameTime = (old, fresh) => old.nodeName === "TIME" && old.dateTime === fresh.dateTime && old.dataset.local === fresh.dataset.local;

export function morph(old, fresh) {
  const keyed = new Map();
  for (const child of old.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
  let place = next(old.firstChild);
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted);
    let found = key ? keyed.get(key) : place;
    if (found && !isSame(found, wanted)) found = undefined;
    if (!found) {
      old.insertBefore(wanted.cloneNode(true), place);
      continue;
    }
    if (found === place) place = next(place.nextSibling);
    else old.insertBefore(found, place);
    change(found, wanted);
  }
  while (place) {
    const gone = place;
    place = next(place.nextSibling);
    gone.remove();
  }
}

function next(node) {
  while (node && isKept(node)) node = node.nextSibling;
  return node;
}

function change(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.isEqualNode(fresh) || isSameTime(old, fresh)) return;
  for (const { name, value } of fresh.attributes) {
    if (!OWN.has(`${old.nodeName}:${name}`) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!OWN.has(`${old.nodeName}:${name}`) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  if (old.nodeName !== "TEXTAREA") morph(old, fresh);
}
