// A look at very many jobs that stopped for want of an answer: it is said where its progress is, and the button that goes on
// from there is one to try again.
const words = document.getElementById("words")?.dataset ?? {};

export const silence = () => words.silent ?? "";

export function tellStopped(place, button, why) {
  const notice = document.createElement("p");
  notice.className = "banner warn stopped";
  notice.setAttribute("role", "alert");
  notice.textContent = `${words.stopped} ${why}`;
  forgive(place);
  place.append(notice);
  button.textContent = words.again;
}

export function forgive(place) {
  place.querySelector(".stopped")?.remove();
}
