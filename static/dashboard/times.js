// <time datetime="2026-01-31T12:00:00.000Z" data-local="ago|datetime|time|date">: shown in the reader's own zone and language; the
// server wrote UTC into text and title. `ago` is how long ago that was, or in how long it will be, and goes on with the clock; what is
// more than a week away is shown as it is. The exact time, in the reader's zone and in UTC, is a tooltip: under the pointer, on focus, and
// of a table's row as soon as something in it has the focus.
import { inUnits } from "./durations.js";

const language = document.documentElement.lang || undefined;
const words = document.getElementById("time-words")?.dataset ?? {};
const day = { year: "numeric", month: "2-digit", day: "2-digit" };
const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
const forms = {
  date: new Intl.DateTimeFormat(language, day),
  time: new Intl.DateTimeFormat(language, clock),
  datetime: new Intl.DateTimeFormat(language, { ...day, ...clock }),
  exact: new Intl.DateTimeFormat(language, { ...day, ...clock, timeZoneName: "short" }),
};
const WEEK_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;
const SKEW_MS = 5_000;
const EVERY_MS = 1_000;
const OLD_EVERY = 15; // what is older than a minute changes less often

// How far the reader's clock is off, if it is by more than an answer takes to come: the server's is in what answering.js is answered.
let skew = 0;
const now = () => Date.now() + skew;
document.addEventListener("taskq:clock", (event) => {
  const found = Math.abs(event.detail) > SKEW_MS ? event.detail : 0;
  if (Math.abs(found - skew) <= SKEW_MS) return;
  skew = found;
  localise(document);
});

function relative(moment) {
  const past = now() - moment.getTime();
  if (Math.abs(past) >= WEEK_MS) return forms.datetime.format(moment);
  if (past > -SKEW_MS && past < 1_000) return words.moment ?? "";
  return (past > 0 ? words.ago : words.in)?.replace("{time}", inUnits(Math.abs(past), (n) => String(Math.floor(n)))) ?? "";
}

function localise(root) {
  for (const time of root.querySelectorAll("time[data-local]")) write(time);
}

function write(time) {
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.getTime())) return;
  const isRelative = time.dataset.local === "ago";
  const text = (isRelative && relative(moment)) || (forms[time.dataset.local] ?? forms.datetime).format(moment);
  if (time.textContent !== text) time.textContent = text;
  if (!isRelative) return;
  time.removeAttribute("title"); // the tooltip says more
  if (!time.closest("tr, a, button, summary, label") && time.tabIndex < 0) time.tabIndex = 0;
}

let looks = 0;
setInterval(() => {
  if (document.hidden) return;
  looks += 1;
  for (const time of document.querySelectorAll('time[data-local="ago"]')) {
    if (looks % OLD_EVERY === 0 || Math.abs(now() - new Date(time.dateTime)) < 2 * MINUTE_MS) write(time);
  }
}, EVERY_MS);

// One tooltip for all: it is where it is seen, whatever scrolls or hides what is outside of it.
const tip = document.createElement("div");
tip.className = "time-tip";
tip.id = "time-tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
tip.dataset.keep = "";

const RELATIVE = 'time[data-local="ago"]';
let shown; // the time whose tooltip is seen
let focused; // what has the focus: if it has a time, its tooltip stays until the focus leaves or Escape is pressed
let pointer = ""; // where it was: what moves, or is written anew, under one that rests tells of it as if it had moved

const relativeIn = (target) => target.closest?.(RELATIVE);
const rowsTime = (target) => [...(target.closest?.("tbody tr, li")?.querySelectorAll(RELATIVE) ?? [])].find((time) => time.offsetParent);
const focusedTime = () => focused && (relativeIn(focused) ?? rowsTime(focused));

function show(time) {
  const at = time?.getBoundingClientRect();
  if (!at?.height || at.bottom < 0 || at.top > document.documentElement.clientHeight) return hide();
  if (shown !== time) shown?.removeAttribute("aria-describedby");
  shown = time;
  const moment = new Date(time.dateTime);
  const text = `${forms.exact.format(moment)} · ${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  if (tip.textContent !== text) tip.textContent = text;
  if (!tip.isConnected) document.body.append(tip);
  tip.hidden = false;
  time.setAttribute("aria-describedby", tip.id);
  const above = at.top - tip.offsetHeight - 6;
  tip.style.top = `${above > 0 ? above : at.bottom + 6}px`;
  tip.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
}

function hide() {
  if (!shown) return;
  tip.hidden = true;
  shown.removeAttribute("aria-describedby");
  shown = undefined;
}

// The pointer's own scrolling tells of what is under it afterwards; a page that scrolls by itself does not.
const follow = () => show(focusedTime() ?? shown);

document.addEventListener("pointerover", (event) => {
  const before = pointer;
  pointer = `${event.clientX} ${event.clientY}`;
  const under = relativeIn(event.target);
  const kept = focusedTime();
  show(pointer === before ? (kept ?? under) : (under ?? kept));
});
document.addEventListener("pointermove", (event) => (pointer = `${event.clientX} ${event.clientY}`), { passive: true });
document.addEventListener("focusin", (event) => {
  focused = event.target.matches(":focus-visible") ? event.target : undefined;
  show(focusedTime());
});
document.addEventListener("focusout", () => {
  focused = undefined;
  hide();
});
document.addEventListener("scroll", follow, { capture: true, passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  focused = undefined;
  hide();
});

document.addEventListener("taskq:updated", (event) => {
  localise(event.target);
  follow();
});
localise(document);
