// <time datetime="2026-01-31T12:00:00.000Z" data-local="datetime|time|date">: shown in the reader's own zone and language;
// the server wrote UTC into text and title.
const language = document.documentElement.lang || undefined;
const day = { year: "numeric", month: "2-digit", day: "2-digit" };
const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
const forms = {
  date: new Intl.DateTimeFormat(language, day),
  time: new Intl.DateTimeFormat(language, clock),
  datetime: new Intl.DateTimeFormat(language, { ...day, ...clock }),
};

function localise(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const text = (forms[time.dataset.local] || forms.datetime).format(moment);
    if (time.textContent !== text) time.textContent = text;
  }
}

document.addEventListener("taskq:updated", (event) => localise(event.target));
localise(document);
