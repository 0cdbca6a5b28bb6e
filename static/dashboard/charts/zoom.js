// Dragging over a chart of a time asks for what was marked: `taskq:zoom` with {from, to} in ms, which bubbles.
import { svg } from "./svg.js";

const LEAST_PX = 8; // less is a click

export function zoomable(plot) {
  let now;
  let began;
  let mark;

  const placeOf = (event) => {
    const { at, picture } = now;
    return Math.max(at.left, Math.min(event.clientX - picture.getBoundingClientRect().left, at.right));
  };
  const momentAt = ({ at }, px) => Math.round(at.first + ((px - at.left) / (at.right - at.left)) * at.span);

  function end() {
    began = undefined;
    mark?.remove();
    mark = undefined;
  }

  plot.addEventListener("pointerdown", (event) => {
    if (!now || event.button !== 0) return;
    const x = placeOf(event);
    began = { x, now };
  });
  plot.addEventListener("pointermove", (event) => {
    if (!began || !now) return;
    const x = placeOf(event);
    if (!mark) {
      if (Math.abs(x - began.x) < LEAST_PX) return;
      plot.setPointerCapture(event.pointerId);
      mark = svg("rect", { class: "chart-zoom", y: now.at.top, height: now.at.bottom - now.at.top });
    }
    if (!mark.isConnected) now.picture.append(mark);
    mark.setAttribute("x", Math.min(x, began.x));
    mark.setAttribute("width", Math.abs(x - began.x));
  });
  plot.addEventListener("pointerup", (event) => {
    if (mark && now) {
      const ends = [momentAt(began.now, began.x), momentAt(now, placeOf(event))].sort((one, other) => one - other);
      plot.dispatchEvent(new CustomEvent("taskq:zoom", { bubbles: true, detail: { from: ends[0], to: ends[1] } }));
    }
    end();
  });
  plot.addEventListener("pointercancel", end);
  plot.addEventListener("keydown", (event) => event.key === "Escape" && end());
  return (latest) => (now = latest);
}
