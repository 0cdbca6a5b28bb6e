"""Rows that need no look at their colours, because rows before them have the same: axe takes a millisecond for each."""

from __future__ import annotations

from typing import Final

ALIKE: Final = 3
"""So many of each are looked at, and the last one of a list."""

FIND_REPETITIONS: Final = """(alike) => {
  const styled = new Set(["class", "style", "type", "role", "lang", "disabled", "open", "hidden", "inert"]);
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      for (const [, name] of rule.cssText.matchAll(/\\[([a-z-]+)/g)) styled.add(name);
  const numbers = new Map();  // of a structure, which keeps those of ancestors short
  const structures = new Map();
  const describe = (element) => {
    const names = element.getAttributeNames().filter((name) => styled.has(name));
    const children = [...element.childNodes].map((node) => node.nodeType === Node.ELEMENT_NODE ? describe(node)
      : `text of ${Math.min(node.nodeValue.trim().length, 2)}`);
    const whole = [element.tagName, ...names.map((name) => `${name}=${element.getAttribute(name)}`), ...children];
    const structure = whole.join("\\n");
    if (!numbers.has(structure)) numbers.set(structure, numbers.size);
    structures.set(element, numbers.get(structure));
    return numbers.get(structure);
  };
  const main = document.querySelector("main");
  if (main) describe(main);
  const repetitions = [];
  for (const parent of structures.keys()) {
    const counts = new Map();
    for (const child of [...parent.children].slice(0, -1)) {
      const count = (counts.get(structures.get(child)) ?? 0) + 1;
      counts.set(structures.get(child), count);
      if (count > alike) repetitions.push(child);
    }
  }
  return repetitions;
}"""
"""Elements of `main` of which so many siblings before have the same structure: the same tags, texts where they have
texts, and the same values of all attributes that the style sheets know. So their colours are the same, too."""
