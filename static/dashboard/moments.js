// <input type="datetime-local" data-moment>, with a .help beside it that says "in UTC", as which the server reads it: here people
// type their own time; the .help says which moment of UTC that is, and UTC is what is sent.
const yours = document.getElementById("words")?.dataset.yourTime ?? "";

// "2026-03-29T01:30:00.000Z" of what was typed; "" of nothing.
function utc(input) {
  const moment = new Date(input.value);
  return input.value && !Number.isNaN(moment.getTime()) ? moment.toISOString() : "";
}

function explain(input) {
  const help = input.closest("label, .field")?.querySelector(".help");
  const moment = utc(input);
  const text = moment ? `= ${moment.slice(0, 19).replace("T", " ")} UTC` : yours;
  if (help && help.textContent !== text) help.textContent = text;
}

// A form that comes back with something wrong in it has what was sent, which is UTC.
function makeLocal(input) {
  const sent = new Date(`${input.defaultValue}Z`);
  const isUntouched = new Date(input.value).getTime() === new Date(input.defaultValue).getTime();
  if (!isUntouched || Number.isNaN(sent.getTime())) return;
  const local = new Date(sent.getTime() - sent.getTimezoneOffset() * 60_000);
  input.value = local.toISOString().slice(0, 19);
}

function explainAll(root) {
  root.querySelectorAll("input[data-moment]").forEach(explain);
}

document.addEventListener("input", (event) => {
  if (event.target.matches?.("input[data-moment]")) explain(event.target);
});
// Of every way in which a form goes off, those of scripts included.
document.addEventListener("formdata", (event) => {
  for (const input of event.target.querySelectorAll("input[data-moment][name]")) {
    if (!input.disabled) event.formData.set(input.name, utc(input).slice(0, 19));
  }
});
document.addEventListener("taskq:updated", (event) => explainAll(event.target));
document.querySelectorAll("input[data-moment]").forEach(makeLocal);
explainAll(document);
