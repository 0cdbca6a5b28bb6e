// What a node depends on and what depends on it, near and far. All nodes of a unit have the same neighbours outside it.
export class Relations {
  constructor(graph) {
    this.graph = graph;
    this.unitOf = [];
    this.placeIn = [];
    graph.units.forEach((unit, number) => unit.nodes.forEach((node, place) => ((this.unitOf[node] = number), (this.placeIn[node] = place))));
    this.before = graph.units.map(() => []);
    this.after = graph.units.map(() => []);
    graph.edges.forEach(([source, target], edge) => {
      this.after[source].push([target, edge]);
      this.before[target].push([source, edge]);
    });
  }

  // {nodes: Set, edges: Set}
  around(node) {
    const nodes = new Set(this.chainOf(node));
    const edges = new Set();
    for (const next of [this.before, this.after]) {
      const seen = new Set([this.unitOf[node]]);
      const ahead = [...seen];
      while (ahead.length) {
        for (const [unit, edge] of next[ahead.pop()]) {
          edges.add(edge);
          if (seen.has(unit)) continue;
          seen.add(unit);
          ahead.push(unit);
          this.graph.units[unit].nodes.forEach((one) => nodes.add(one));
        }
      }
    }
    return { nodes, edges };
  }

  // The nodes of its own chain: one, but for blocks of chains.
  chainOf(node) {
    const { nodes, chain } = this.graph.units[this.unitOf[node]];
    const first = Math.floor(this.placeIn[node] / chain) * chain;
    return nodes.slice(first, first + chain);
  }
}

// The nearest node in a direction (dx, dy); what lies aside counts double.
export function nearest(graph, from, dx, dy) {
  const [, , , , x, y] = graph.nodes[from];
  let best = -1;
  let least = Infinity;
  graph.nodes.forEach(([, , , , itsX, itsY], number) => {
    const along = dx * (itsX - x) + dy * (itsY - y);
    if (along <= 0) return;
    const aside = Math.abs(dx ? itsY - y : itsX - x);
    if (along + 2 * aside < least) [best, least] = [number, along + 2 * aside];
  });
  return best;
}
