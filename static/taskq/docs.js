// The API docs page: search; and of each route that is opened a form that sends a request to this server, with its code in
// several languages. The token is kept in its field only: nothing here stores it or puts it into an address.
import "../dashboard/copying.js";
import { LANGUAGES } from "./request_code.js";

const SHOWN_MAX = 64 * 1024; // characters of an answer
const LANGUAGE = "taskq-language";
const byId = (id) => document.getElementById(id);
const routes = [...document.querySelectorAll(".route")];
const forms = new Map(); // route → its form's parts
const language = byId("language");

// Search: what a route says anywhere, all words of it.
const texts = new Map(routes.map((route) => [route, route.textContent.toLowerCase()]));

function search() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const route of routes) {
    const fits = words.every((word) => texts.get(route).includes(word));
    route.hidden = !fits;
    document.querySelector(`[data-route="${route.id}"]`).parentElement.hidden = !fits;
    found += fits;
  }
  for (const group of document.querySelectorAll("[data-group]")) {
    group.hidden = !group.querySelector(".route:not([hidden]), li:not([hidden])");
  }
  byId("found").textContent = words.length ? `${found} of ${routes.length}` : "";
  byId("nothing").hidden = found > 0;
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function field(name, { wide = false, hint = "", area = false } = {}) {
  const input = element(area ? "textarea" : "input", { name, autocomplete: "off", spellcheck: false, placeholder: hint });
  const label = element("label", { className: wide ? "wide" : "" }, name, input);
  return { input, label };
}

// A form for the route: names of its path that the head of the page has not, parameters, body.
function build(route) {
  const { method, path, auth, names, bodyType } = route.dataset;
  const box = element("form", { className: "try" });
  const parts = { route, box, path: new Map(), query: new Map(), body: undefined };
  box.append(element("h3", { textContent: "Try it" }));
  const named = element("div", { className: "fields" });
  for (const name of names.split(" ").filter((one) => one && one !== "namespace" && one !== "queue")) {
    const { input, label } = field(name);
    parts.path.set(name, input);
    named.append(label);
  }
  if ("body" in route.dataset) {
    const { input, label } = field("body", { wide: true, area: true });
    input.value = path === "/api/{namespace}/{queue}" ? "hello" : bodyType === "application/json" ? "{}" : "";
    parts.body = input;
    named.append(label);
  }
  if (named.childElementCount) box.append(named);
  const rows = [...route.querySelectorAll(".parameters [data-name]")];
  if (rows.length) {
    const fields = element("div", { className: "fields" });
    for (const row of rows) {
      const { input, label } = field(row.dataset.name, { hint: row.dataset.hint });
      parts.query.set(row.dataset.name, input);
      fields.append(label);
    }
    box.append(element("details", { className: "optional", open: rows.length <= 4 }, element("summary", { textContent: "Parameters" }), fields));
  }
  parts.button = element("button", { type: "submit", className: method === "DELETE" ? "danger" : "primary", textContent: "Send" });
  parts.status = element("span", { role: "status" });
  box.append(element("div", { className: "actions" }, parts.button, parts.status));
  parts.answer = element("pre", { className: "answer", hidden: true, tabIndex: 0, ariaLabel: "Answer" });
  parts.code = element("pre", { id: `code-of-${route.id}`, tabIndex: 0, ariaLabel: "Code" });
  const copy = element("button", { type: "button", className: "small", textContent: "Copy" });
  copy.dataset.copy = parts.code.id;
  box.append(parts.answer, element("div", { className: "code" }, parts.code, copy));
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    send(parts, auth);
  });
  box.addEventListener("input", () => showCode(parts));
  route.querySelector(".columns").append(box);
  forms.set(route, parts);
  showCode(parts);
}

function requestOf({ route, path, query, body }) {
  const value = (name) => (path.get(name) ?? byId(name))?.value.trim() ?? "";
  const filled = route.dataset.path.replace(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(value(name)) || name.toUpperCase());
  const url = new URL(location.origin + filled);
  for (const [name, input] of query) if (input.value.trim()) url.searchParams.set(name, input.value.trim());
  const headers = {};
  if (route.dataset.auth === "token") headers["X-Token"] = byId("token").value.trim() || "YOUR_TOKEN";
  if (route.dataset.bodyType) headers["Content-Type"] = route.dataset.bodyType;
  return { method: route.dataset.method, url: url.href, headers, body: body?.value ? body.value : undefined };
}

function showCode(parts) {
  parts.code.textContent = LANGUAGES[language.value](requestOf(parts), parts.route.dataset.auth === "staff");
}

function showAllCode() {
  for (const [route, parts] of forms) if (route.open) showCode(parts);
}

async function send(parts, auth) {
  if (parts.under_way) return parts.under_way.abort();
  const { method, url, headers, body } = requestOf(parts);
  const missing = [...parts.path].find(([, input]) => !input.value.trim());
  if (missing) {
    missing[1].focus();
    parts.status.textContent = `${missing[0]} is missing`;
    return;
  }
  if (auth === "token" && !byId("token").value.trim()) {
    byId("token").focus();
    parts.status.textContent = "Type a token first";
    return;
  }
  const csrf = document.querySelector("#csrf [name=csrfmiddlewaretoken]")?.value;
  if (auth === "staff" && csrf) headers["X-CSRFToken"] = csrf;
  parts.under_way = new AbortController();
  parts.button.textContent = "Cancel";
  parts.status.textContent = "…";
  const began = performance.now();
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      credentials: auth === "staff" ? "same-origin" : "omit",
      cache: "no-store",
      signal: parts.under_way.signal,
    });
    const text = await response.text();
    parts.status.textContent = `${response.status} ${response.statusText} · ${Math.round(performance.now() - began)} ms`;
    parts.status.className = `status status-${String(response.status)[0]}`;
    parts.answer.textContent = pretty(text).slice(0, SHOWN_MAX);
    parts.answer.hidden = !text;
  } catch (error) {
    parts.status.className = "status status-5";
    parts.status.textContent = error.name === "AbortError" ? "Cancelled" : "The server does not answer";
  } finally {
    parts.under_way = undefined;
    parts.button.textContent = "Send";
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// The address may name a route: it is opened and marked in the list.
function goThere() {
  const route = byId(decodeURIComponent(location.hash.slice(1)));
  for (const link of document.querySelectorAll("[data-route]")) link.toggleAttribute("aria-current", link.dataset.route === route?.id);
  if (!route?.classList.contains("route")) return;
  route.hidden = false;
  route.open = true;
  route.scrollIntoView();
}

const remembered = localStorage.getItem(LANGUAGE);
if (remembered in LANGUAGES) language.value = remembered;
language.addEventListener("change", () => {
  localStorage.setItem(LANGUAGE, language.value);
  showAllCode();
});
for (const id of ["token", "namespace", "queue"]) byId(id).addEventListener("input", showAllCode);
for (const route of routes) {
  route.addEventListener("toggle", () => {
    if (!route.open) return;
    if (!forms.has(route)) build(route);
    else showCode(forms.get(route));
  });
}
byId("search").addEventListener("input", search);
byId("clear").addEventListener("click", () => {
  byId("search").value = "";
  search();
  byId("search").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  byId("search").focus();
});
window.addEventListener("hashchange", goThere);
if (window.matchMedia("(max-width: 900px)").matches) byId("side-list").open = false;
byId("settings").hidden = false;
goThere();
