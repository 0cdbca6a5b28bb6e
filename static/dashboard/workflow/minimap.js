// The whole picture in the corner, a dot or more for each node, in the colour of its state.
const WIDEST = 200;
const HIGHEST = 130;

export function drawMap(canvas, graph, links) {
  const [width, height] = graph.size;
  const scale = Math.min(WIDEST / width, HIGHEST / height);
  const sharp = window.devicePixelRatio || 1;
  const [across, down] = [Math.max(24, Math.round(width * scale)), Math.max(16, Math.round(height * scale))];
  canvas.style.width = `${across}px`;
  canvas.style.height = `${down}px`;
  canvas.width = across * sharp;
  canvas.height = down * sharp;
  const pen = canvas.getContext("2d");
  const [scaleX, scaleY] = [(across * sharp) / width, (down * sharp) / height];
  const colours = new Map();
  const kinds = links.map((link) => link.getAttribute("class").split(" ")[1]);
  const order = [...links.keys()].sort((one, other) => (kinds[one] === "bad") - (kinds[other] === "bad")); // failures on top
  for (const number of order) {
    const [, , , , x, y] = graph.nodes[number];
    const kind = kinds[number];
    if (!colours.has(kind)) colours.set(kind, getComputedStyle(links[number].firstChild).stroke);
    pen.fillStyle = colours.get(kind);
    const least = (kind === "bad" ? 3 : 1) * sharp; // is seen however small the map is
    pen.fillRect(x * scaleX, y * scaleY, Math.max(least, graph.node[0] * scaleX - 0.5), Math.max(least, graph.node[1] * scaleY - 0.5));
  }
}
