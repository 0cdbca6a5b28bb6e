// Jobs died, or dead letters left, since the page was made: a live line (#dead-news), which only counts, says so. The page
// itself, which looks at up to 2,000 of them, is made anew only then.
import { morph } from "./morph.js";

const TIMEOUT_MS = 20_000;
const TIMES_AS_LONG = 400; // between two times lies at least so many times as long as the server took,
const REST_MAX_MS = 30_000; // but no more than that
let restUntil = 0;

// How long the server is to be left alone.
export const restMs = () => Math.max(0, restUntil - performance.now());

// Shows how it is now, unless the page is in use by then. Answers whether it did.
export async function bringUpToDate(isInUse) {
  try {
    const headers = { "X-Live": "1", Accept: "text/html" };
    const response = await fetch(location.href, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok || response.redirected) return false;
    restUntil = performance.now() + Math.min(Number(response.headers.get("X-Took-Ms") ?? 0) * TIMES_AS_LONG, REST_MAX_MS);
    const fresh = document.createElement("template");
    fresh.innerHTML = await response.text(); // our own server's template, escaped there
    if (isInUse()) return false;
    const page = document.getElementById("dead-page");
    morph(page, fresh.content);
    page.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
    return true;
  } catch {
    return false;
  }
}
