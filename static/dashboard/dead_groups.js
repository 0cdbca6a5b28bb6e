// Adds groups and rows of one more stretch to those that the page of the dead letters has.
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
      Object.assign(row.dataset, { key: group.key, count: 0, firstMs: group.first_ms, lastMs: group.last_ms });
      const link = row.querySelector("a");
      link.href = group.url;
      link.innerHTML = group.html; // made and escaped by our own server
      if (group.example) link.title = group.example.slice(0, 300);
      body.append(row);
    }
    row.dataset.count = Number(row.dataset.count) + group.count;
    row.dataset.firstMs = Math.min(Number(row.dataset.firstMs), group.first_ms);
    row.dataset.lastMs = Math.max(Number(row.dataset.lastMs), group.last_ms);
    row.cells[1].textContent = number(row.dataset.count);
    if (kind === "errors") [row.dataset.firstMs, row.dataset.lastMs].forEach((ms, i) => showTime(row.cells[i + 2], ms));
  }
  const order = kind === "days" ? (a, b) => (a.dataset.key < b.dataset.key ? 1 : -1) : (a, b) => b.dataset.count - a.dataset.count;
  body.append(...[...body.rows].sort(order));
  const most = Math.max(...[...body.rows].map((row) => Number(row.dataset.count)));
  for (const row of body.rows) Object.assign(row.querySelector("progress"), { max: most, value: Number(row.dataset.count) });
  box.dispatchEvent(new CustomEvent("taskq:updated", { bubbles: true }));
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
