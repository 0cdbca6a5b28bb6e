// Adds groups and rows of one more stretch to those that the page of the dead letters has.
import { svg } from "./charts/svg.js";
import { number } from "./dead_words.js";

const ROWS_MAX = 50; // as many as a page has

export function addGroups(kind, groups) {
  const box = document.querySelector(`#dead [data-kind="${kind}"]`);
  if (!box || !groups.length) return;
  const body = box.querySelector("tbody");
  body.querySelector(".dead-none")?.remove();
  const rows = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  for (const group of groups) {
    let row = rows.get(group.key);
    if (!row) {
      row = box.querySelector("template").content.querySelector("tr").cloneNode(true);
      Object.assign(row.dataset, { key: group.key, count: 0, firstMs: group.first_ms, lastMs: group.last_ms, trend: "" });
      const link = row.querySelector("a");
      link.href = group.url;
      link.innerHTML = group.html; // made and escaped by our own server
      for (const button of row.querySelectorAll("[data-do]")) button.value = `${button.dataset.do}:${encodeURIComponent(group.key)}`;
      for (const one of row.querySelectorAll("[data-link]")) one.href = one.dataset.link + group.url + (one.dataset.hash ?? "");
      if (group.example) link.title = group.example.slice(0, 300);
      body.append(row);
    }
    row.dataset.count = Number(row.dataset.count) + group.count;
    row.dataset.firstMs = Math.min(Number(row.dataset.firstMs), group.first_ms);
    row.dataset.lastMs = Math.max(Number(row.dataset.lastMs), group.last_ms);
    row.cells[1].textContent = number(row.dataset.count);
    if (kind === "errors") showTrend(row, group.trend);
    if (kind === "errors") [row.dataset.firstMs, row.dataset.lastMs].forEach((ms, i) => showTime(row.cells[i + 2], ms));
  }
  const order = kind === "days" ? (a, b) => (a.dataset.key < b.dataset.key ? 1 : -1) : (a, b) => b.dataset.count - a.dataset.count;
  body.append(...[...body.rows].sort(order));
  const most = Math.max(...[...body.rows].map((row) => Number(row.dataset.count)));
  for (const row of body.rows) Object.assign(row.querySelector("progress"), { max: most, value: Number(row.dataset.count) });
  box.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
}

// Deaths by hour, added to those that the row has, as a line; and the last hour as a share of what was delivered.
function showTrend(row, more) {
  const before = row.dataset.trend ? row.dataset.trend.split(",").map(Number) : more.map(() => 0);
  const hours = more.map((count, i) => count + before[i]);
  row.dataset.trend = hours.join(",");
  const top = Math.max(1, ...hours);
  const points = hours.map((count, i) => `${((i * 84) / (hours.length - 1)).toFixed(1)},${(19 - (count / top) * 18).toFixed(1)}`).join(" ");
  const shape = { class: "sparkline", viewBox: "0 0 84 20", preserveAspectRatio: "none", "aria-hidden": "true" };
  const line = svg("svg", shape, svg("polygon", { points: `0,20 ${points} 84,20` }), svg("polyline", { points }));
  row.querySelector(".dead-trend").replaceChildren(line);
  const share = (100 * hours.at(-1)) / Number(document.getElementById("dead").dataset.deliveries || 0);
  if (Number.isFinite(share) && share) row.querySelector(".dead-share").textContent = share < 0.1 ? "< 0.1 %" : `${Math.min(100, share).toFixed(1)} %`;
}

function showTime(cell, ms) {
  const moment = new Date(Number(ms));
  const time = document.createElement("time");
  time.dateTime = moment.toISOString();
  time.dataset.local = "ago";
  time.title = `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  time.textContent = time.title;
  cell.replaceChildren(time);
}

export function addRows(html) {
  const body = document.getElementById("dead-rows");
  const fresh = document.createElement("template");
  fresh.innerHTML = html; // our own server's template, escaped there
  const rows = [...fresh.content.querySelectorAll("tr")].slice(0, Math.max(0, ROWS_MAX - body.rows.length));
  if (!rows.length) return;
  body.append(...rows);
  document.getElementById("dead-no-rows").hidden = true;
  body.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
}
