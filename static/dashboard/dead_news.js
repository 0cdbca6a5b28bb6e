// Jobs died, or dead letters left, since the page was made: a live line (#dead-news), which only counts, says so. The page
// itself, which looks at up to 2,000 of them, is made anew only then.
import { morph } from "./morph.js";

const TIMEOUT_MS = 20_000;

// Shows how it is now, unless the page is in use by then. Answers whether it did.
export async function bringUpToDate(isInUse) {
  try {
    const headers = { "X-Live": "1", Accept: "text/html" };
    const response = await fetch(location.href, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok || response.redirected) return false;
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
