// Units of time in the reader's language, as the server writes them (dashboard/formatting.py): "{n} d|{n} h|{n} min|{n} s|{n} ms".
const SIZES = [86_400_000, 3_600_000, 60_000, 1_000, 1];
const forms = (document.getElementById("time-words")?.dataset.units ?? "{n} d|{n} h|{n} min|{n} s|{n} ms").split("|");

// In the largest unit that fits. `write` makes text of the number.
export function inUnits(ms, write) {
  const i = Math.max(SIZES.findIndex((size) => Math.abs(ms) >= size), 0);
  const index = Math.abs(ms) < 1 ? SIZES.length - 1 : i;
  return forms[index].replace("{n}", write(ms / SIZES[index]));
}
