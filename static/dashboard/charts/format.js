// How values are written, and where round ones lie on an axis.
import { inUnits } from "../durations.js";

const language = document.documentElement.lang || undefined;
const words = document.getElementById("words")?.dataset ?? {};
const plain = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hour12: false });
const seconds = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
const utcDay = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" });
const wholeDay = new Intl.DateTimeFormat(language, { dateStyle: "full", timeZone: "UTC" });
const wholeMoment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hour12: false });
const utcMoment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hour12: false, timeZone: "UTC" });
const utcClock = new Intl.DateTimeFormat(language, { timeStyle: "medium", hour12: false, timeZone: "UTC" });
const DAY_MS = 86_400_000;

// A moment in the reader's time, to the minute.
export const moment = (ms) => `${day.format(ms)} ${clock.format(ms)}`;

export const word = (name) => words[name] ?? "";

const duration = (ms) => inUnits(ms, plain.format);

export function unitName(unit) {
  const name = `unit${unit.replaceAll("/", "-per-").replace(/(^|-)(\w)/g, (_, __, letter) => letter.toUpperCase())}`;
  return words[name] ?? unit;
}

// A value with what it is counted in, for reading; null is a dash.
export function value(number, unit) {
  if (number === null || number === undefined) return "–";
  if (unit === "ms") return duration(number);
  return plain.format(number);
}

export function tick(number, unit) {
  return unit === "ms" ? duration(number) : short.format(number);
}

const hour = (number) => `${String(number).padStart(2, "0")}:00`;

// The reader's time and, where it is another one, UTC's; with its day if that differs too.
function both(x) {
  const [here, there] = [wholeMoment.format(x), utcMoment.format(x)];
  if (here === there) return `${here} UTC`;
  const isSameDay = day.format(x) === utcDay.format(x);
  return `${here} (${isSameDay ? utcClock.format(x) : there} UTC)`;
}

// A place on the x axis: a time, a day or an hour of UTC, or whatever the chart counts there.
export function place(x, unit) {
  if (unit === "time") return both(x);
  if (unit === "day") return wholeDay.format(x);
  if (unit === "hour") return `${hour(x)}–${hour(x + 1)} UTC`;
  if (unit === "attempt") return `${word("attempt")} ${x}`;
  return typeof x === "number" ? value(x, unit) : String(x);
}

export function placeTick(x, unit, span) {
  if (unit === "day") return utcDay.format(x);
  if (unit === "hour") return hour(x);
  if (unit !== "time") return typeof x === "number" ? tick(x, unit) : String(x);
  if (span > 2 * DAY_MS) return day.format(x);
  return span < 300_000 ? seconds.format(x) : clock.format(x);
}

// At most `most` round values from 0 to at least `top`; in time, steps of seconds, minutes and hours. Jobs are whole.
const TIME_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, DAY_MS];

export function ticks(top, unit, most) {
  const least = (top || 1) / most;
  let step = unit === "ms" ? TIME_STEPS.find((one) => one >= least) : undefined;
  if (!step) {
    const size = 10 ** Math.floor(Math.log10(least));
    step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= least * 0.9999);
    if (unit !== "ms") step = Math.max(step, 1);
  }
  const count = Math.max(Math.ceil((top || 1) / step - 1e-9), 1);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

const DECADES = [1, 10, 100, 1e3, 1e4, 6e4, 6e5, 36e5, 36e6, DAY_MS, 10 * DAY_MS, 100 * DAY_MS, 1e3 * DAY_MS];

// Round durations, each about ten times the one before, from at most `least` to at least `most`.
export function decades(least, most) {
  const first = Math.max(DECADES.findLastIndex((one) => one <= least), 0);
  const last = DECADES.findIndex((one) => one >= most);
  return DECADES.slice(first, Math.max(last < 0 ? DECADES.length : last + 1, first + 2));
}

const CLOCK_STEPS = [1e4, 3e4, 6e4, 3e5, 6e5, 9e5, 18e5, 36e5, 108e5, 216e5, 432e5, DAY_MS, 2 * DAY_MS, 7 * DAY_MS];

// Round moments between two, in the reader's zone.
export function timeTicks(from, to, most) {
  const step = CLOCK_STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / most / DAY_MS) * DAY_MS;
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  const first = Math.ceil((from - zone) / step) * step + zone;
  const found = [];
  for (let at = first; at <= to; at += step) found.push(at);
  return found;
}
