// The window onto the picture: it scrolls as any box does, so the browser does that without a script. Drag with the mouse; Ctrl and
// the wheel, two fingers, + - 0 and the buttons zoom. A small map shows where one is, as soon as not everything is seen.
// Zooming transforms the picture as a whole: another size would lay out each of its texts again.
const SMALLEST = 0.2;
const GREATEST = 2;
const STEP = 1.25;
const LEGIBLE = 0.8;
const ENOUGH = 0.65; // the whole is shown at first if it is not smaller than so
const FAR = 0.5; // smaller than so, labels are not drawn: nobody could read them
const DRAG_PX = 4;
const MAP_FROM = 260;
const ROOM = 0.72; // of the height of the window

export class Viewport {
  constructor(box, map, frame) {
    Object.assign(this, { box, map, frame, zoom: 1, fingers: new Map(), factor: 1 });
    this.pane = box.appendChild(document.createElement("div"));
    this.pane.className = "graph-pane";
    box.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    box.addEventListener("pointerdown", (event) => this.onDown(event));
    box.addEventListener("pointermove", (event) => this.onMove(event));
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, (event) => this.onUp(event));
    box.addEventListener("dragstart", (event) => event.preventDefault());
    box.addEventListener("click", (event) => this.dragged && event.preventDefault(), true);
    box.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(box);
    for (const kind of ["pointerdown", "pointermove"]) map.addEventListener(kind, (event) => event.buttons && this.goOnMap(event));
  }

  // Another picture. `start`: the place [x, y] that is seen first if the whole is not legible at once.
  show(root, [width, height], start) {
    Object.assign(this, { root, width, height });
    this.pane.replaceChildren(root);
    const fits = Math.min(1, this.box.clientWidth / width);
    const seen = Math.max(fits, LEGIBLE);
    this.box.style.height = `min(${Math.ceil(height * Math.min(seen, 1)) + 2}px, ${ROOM * 100}vh)`;
    if (this.fitting() >= ENOUGH) this.fit();
    else {
      this.setZoom(LEGIBLE);
      this.centre(...start);
    }
  }

  // The same place of another version of it.
  replace(root, size) {
    const middle = this.middle();
    Object.assign(this, { root, width: size[0], height: size[1] });
    this.pane.replaceChildren(root);
    this.setZoom(this.zoom);
    this.centre(...middle);
  }

  get isFar() {
    return this.zoom < FAR;
  }

  fitting() {
    return Math.min(1, this.box.clientWidth / this.width, this.box.clientHeight / this.height);
  }

  fit() {
    this.setZoom(this.fitting());
  }

  // However many events there are: one step for each frame of the screen.
  by(factor, at) {
    this.factor *= factor;
    this.at = at;
    this.step ??= requestAnimationFrame(() => {
      const wanted = this.zoom * this.factor;
      this.step = undefined;
      this.factor = 1;
      this.setZoom(wanted, this.at);
    });
  }

  // `at`: the point of the box that stays where it is; the middle if there is none.
  setZoom(zoom, at = [this.box.clientWidth / 2, this.box.clientHeight / 2]) {
    const { box, pane, root } = this;
    const x = (box.scrollLeft + at[0] - pane.offsetLeft) / this.zoom;
    const y = (box.scrollTop + at[1] - pane.offsetTop) / this.zoom;
    this.zoom = Math.min(GREATEST, Math.max(Math.min(SMALLEST, this.fitting()), zoom));
    root.classList.toggle("far", this.isFar);
    root.style.transform = `scale(${this.zoom})`;
    pane.style.width = `${Math.floor(this.width * this.zoom)}px`;
    pane.style.height = `${Math.floor(this.height * this.zoom)}px`;
    box.scrollTo(x * this.zoom - at[0] + pane.offsetLeft, y * this.zoom - at[1] + pane.offsetTop);
    this.later();
  }

  centre(x, y) {
    this.box.scrollTo({ left: x * this.zoom - this.box.clientWidth / 2, top: y * this.zoom - this.box.clientHeight / 2 });
  }

  middle() {
    const { box, zoom } = this;
    return [(box.scrollLeft + box.clientWidth / 2) / zoom, (box.scrollTop + box.clientHeight / 2) / zoom];
  }

  press(key) {
    const acts = { "+": () => this.by(STEP), "=": () => this.by(STEP), "-": () => this.by(1 / STEP), 0: () => this.fit() };
    acts[key]?.();
    return key in acts;
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // scrolls
    event.preventDefault();
    const box = this.box.getBoundingClientRect();
    this.by(Math.exp(-Math.max(-50, Math.min(50, event.deltaY)) / 200), [event.clientX - box.left, event.clientY - box.top]);
  }

  onDown(event) {
    this.dragged = false;
    this.fingers.set(event.pointerId, event);
    if (event.pointerType === "mouse" && event.button === 0) this.from = [event.clientX, event.clientY, this.box.scrollLeft, this.box.scrollTop];
  }

  onMove(event) {
    if (event.pointerType === "touch") return this.pinch(event);
    if (!this.from || !(event.buttons & 1)) return (this.from = undefined);
    const [x, y, left, top] = this.from;
    if (!this.dragged && Math.hypot(event.clientX - x, event.clientY - y) < DRAG_PX) return;
    if (!this.dragged) this.box.setPointerCapture(event.pointerId);
    this.dragged = true;
    this.box.classList.add("dragging");
    this.box.scrollTo(left - event.clientX + x, top - event.clientY + y);
  }

  pinch(event) {
    if (!this.fingers.has(event.pointerId)) return;
    const spread = () => {
      const [one, other] = [...this.fingers.values()];
      return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    };
    const before = this.fingers.size === 2 ? spread() : 0;
    this.fingers.set(event.pointerId, event);
    if (this.fingers.size !== 2 || !before) return;
    const [one, other] = [...this.fingers.values()];
    const box = this.box.getBoundingClientRect();
    this.by(spread() / before, [(one.clientX + other.clientX) / 2 - box.left, (one.clientY + other.clientY) / 2 - box.top]);
  }

  onUp(event) {
    this.from = undefined;
    this.fingers.delete(event.pointerId);
    this.box.classList.remove("dragging");
    setTimeout(() => (this.dragged = false)); // after the click that ends a drag
  }

  // The map and its frame, once a frame of the screen at the most.
  later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.showPlace();
    });
  }

  showPlace() {
    const { box, frame } = this;
    const all = box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1;
    const isSmall = box.clientHeight < MAP_FROM || box.clientWidth < MAP_FROM; // the map would hide what it is of
    this.map.parentElement.hidden = all || isSmall;
    if (this.map.parentElement.hidden) return;
    const scale = this.map.clientWidth / this.width / this.zoom;
    frame.style.transform = `translate(${box.scrollLeft * scale}px, ${box.scrollTop * scale}px)`;
    frame.style.width = `${Math.min(this.map.clientWidth, box.clientWidth * scale)}px`;
    frame.style.height = `${Math.min(this.map.clientHeight, box.clientHeight * scale)}px`;
  }

  goOnMap(event) {
    const map = this.map.getBoundingClientRect();
    this.centre(((event.clientX - map.left) / map.width) * this.width, ((event.clientY - map.top) / map.height) * this.height);
  }
}
