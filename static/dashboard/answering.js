// Asks the server every few seconds whether Redis answers it, which also tells whether the server answers the page. What is
// wrong stands below the bar, in #away, and `data-away` on <html>; then live sections keep what they show. When all is well
// again they are told (`taskq:back`), and a page that could not be shown (<body data-failed>) is loaded again.
// `taskq:doubt`: a section got no answer; it is asked at once.
const EVERY_MS = 4_000;
const TIMEOUT_MS = 5_000;

const root = document.documentElement;
const place = document.getElementById("away");
const bar = document.querySelector(".bar");
let timer = 0;
let underWay = false;
let answeredAt = Date.now();

async function ask() {
  if (underWay) return;
  clearTimeout(timer);
  underWay = true;
  try {
    const response = await fetch(place.dataset.url, { headers: { "X-Live": "1", Accept: "text/html" }, signal: AbortSignal.timeout(TIMEOUT_MS) });
    answeredAt = Date.now();
    const clock = Date.parse(response.headers.get("Date") ?? "");
    if (clock) document.dispatchEvent(new CustomEvent("taskq:clock", { detail: clock - answeredAt }));
    if (response.status === 204) tell("");
    else if (response.status === 200 && !response.redirected) tell(await response.text()); // else: signed out, or an error that sections tell of
  } catch {
    tell(silence());
  }
  underWay = false;
  schedule();
}

function schedule() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(ask, EVERY_MS * (0.9 + Math.random() * 0.1));
}

// What the server cannot say itself. Its text has a <time> for when it last answered.
function silence() {
  const words = document.getElementById("server-away").content.cloneNode(true);
  const time = words.querySelector("time");
  time.dateTime = time.textContent = new Date(answeredAt).toISOString();
  const box = document.createElement("div");
  box.append(words);
  return box.innerHTML;
}

function tell(html) {
  const was = root.hasAttribute("data-away");
  root.toggleAttribute("data-away", Boolean(html));
  if (place.dataset.told !== html) {
    place.dataset.told = html;
    place.innerHTML = html; // our own server's template, escaped there
    place.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
  }
  place.style.top = getComputedStyle(bar).position === "sticky" ? `${bar.offsetHeight}px` : "0";
  if (was !== Boolean(html)) document.dispatchEvent(new CustomEvent(html ? "taskq:away" : "taskq:back"));
  if (was && !html && document.body.hasAttribute("data-failed")) location.reload();
}

if (place) {
  place.dataset.told = place.innerHTML.trim();
  if (place.dataset.told) {
    root.setAttribute("data-away", "");
    document.dispatchEvent(new CustomEvent("taskq:away"));
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  document.addEventListener("taskq:doubt", ask);
  schedule();
}
