// Fetches the tables again every 3 seconds; not while the page is hidden, and less often while the server is away.
(() => {
  "use strict";
  const INTERVAL_MS = 3000;
  const AWAY_INTERVAL_MS = 10000;
  const TIMEOUT_MS = 10000;
  const queues = document.getElementById("queues");
  const stale = document.getElementById("stale");
  let timer;

  async function refresh() {
    let wait = INTERVAL_MS;
    try {
      const response = await fetch(queues.dataset.url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.redirected) {
        location.reload(); // signed out: the page leads to the sign-in
        return;
      }
      if (!response.ok) throw new Error(String(response.status));
      queues.innerHTML = await response.text(); // our own server's template, escaped there
      stale.hidden = true;
    } catch {
      stale.hidden = false;
      wait = AWAY_INTERVAL_MS;
    }
    schedule(wait);
  }

  function schedule(wait) {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, wait);
  }

  document.addEventListener("visibilitychange", () => schedule(0));
  schedule(INTERVAL_MS);
})();
