// Sends what is to be done with very many dead letters in batches, with progress and a way to cancel.
import { fill } from "./dead_words.js";

const dialog = document.getElementById("dead-progress");

export class Run {
  constructor(form, submitter) {
    this.action = form.action;
    this.fields = new FormData(form, submitter);
    this.fields.set("run", `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`);
    this.done = this.lookedAt = this.forbidden = 0;
    this.words = dialog.dataset;
    this.bar = dialog.querySelector("progress");
    this.says = dialog.querySelector("[role=status]");
    this.cancel = dialog.querySelector("[data-cancel]");
    this.close = dialog.querySelector("[data-close]");
    this.again = dialog.querySelector("[data-again]");
  }

  async begin() {
    const verb = (this.fields.get("do") ?? this.fields.get("group")).split("-")[0];
    document.getElementById("dead-progress-title").textContent = this.words[verb];
    this.bar.removeAttribute("value");
    this.says.textContent = "";
    this.cancel.hidden = false;
    this.close.hidden = this.again.hidden = true;
    this.hasFailed = false;
    this.again.onclick = () => (dialog.close(), this.begin()); // from where it stopped
    this.cancel.onclick = () => (this.isCancelled = true);
    // What failed before it did anything leaves the page with its selection.
    this.close.onclick = () => (this.hasFailed && !this.done ? dialog.close() : location.assign(location.pathname + withoutPlace()));
    dialog.oncancel = (event) => event.preventDefault(); // Escape cancels the run, and leaves its outcome to be read
    dialog.onkeydown = (event) => {
      if (event.key === "Escape") this.isCancelled = true;
    };
    dialog.showModal();
    this.end(await this.batches());
  }

  async batches() {
    for (;;) {
      if (this.isCancelled) return fill(this.words.cancelled, this);
      let answer;
      try {
        const response = await fetch(this.action, {
          method: "POST",
          headers: { Accept: "application/json" },
          body: new URLSearchParams(this.fields),
        });
        answer = await response.json();
        if (!response.ok) return this.fail(answer.error);
      } catch {
        return this.fail(this.words.away);
      }
      if (answer.deletion) return location.reload(); // it waits, and the page says so, with a button to undo it
      this.show(answer);
      if (!answer.at) return fill(this.words.finished, this);
      this.fields.set("at", answer.at);
      this.fields.set("before_ms", answer.before_ms);
    }
  }

  fail(why) {
    this.hasFailed = true;
    return `${fill(this.words.failed, this)} ${why}`;
  }

  show(answer) {
    this.done += answer.done;
    this.lookedAt += answer.looked_at ?? 0;
    this.forbidden ||= answer.forbidden ?? 0;
    this.bar.max = Math.max(1, this.lookedAt + (answer.left ?? 0));
    this.bar.value = answer.at ? this.lookedAt : this.bar.max;
    this.says.textContent = fill(this.words.running, { done: this.done, left: answer.left ?? 0 });
  }

  end(outcome) {
    const left = this.forbidden ? ` ${fill(this.words.forbidden, { count: this.forbidden })}` : "";
    this.says.textContent = outcome + left;
    this.cancel.hidden = true;
    this.close.hidden = false;
    this.again.hidden = !this.hasFailed;
    (this.hasFailed ? this.again : this.close).focus();
  }
}

function withoutPlace() {
  const query = new URLSearchParams(location.search);
  for (const name of ["at", "before_ms"]) query.delete(name);
  return query.size ? `?${query}` : "";
}
