// layout.js - where the steps of a graph are drawn: layers by the longest way, few crossings, edges around what lies between. Pure.
//
//   layout(steps, edges, { across })    steps: how many; edges: [{ from, to }]; across: from left to right, else from top to bottom
//   -> { width, height, nodes: [{ x, y }], edges: [{ from, to, points: [[x, y], ...] }] }      x, y: upper left corners
//
// An edge over several layers has a place of its own in each between, so that it does not run through a step.

export const NODE = { width: 176, height: 50, between: 18, along: 56, lane: 14, margin: 12 };

function layersOf(count, edges) {
  const into = Array.from({ length: count }, () => []);
  const out = Array.from({ length: count }, () => []);
  const missing = new Array(count).fill(0);
  for (const { from, to } of edges) { out[from].push(to); into[to].push(from); missing[to]++; }
  const layer = new Array(count).fill(0);
  const ready = [];
  for (let i = 0; i < count; i++) if (!missing[i]) ready.push(i);
  while (ready.length) {
    const step = ready.shift();
    for (const to of out[step]) {
      layer[to] = Math.max(layer[to], layer[step] + 1);
      if (--missing[to] === 0) ready.push(to);
    }
  }
  return layer;
}

// Places of the layers: steps, and for long edges one in each layer between.
function places(count, edges, layer) {
  const rows = Array.from({ length: Math.max(0, ...layer) + 1 }, () => []);
  const all = [];
  const add = (row, step) => { const place = { row, step, before: [], after: [], at: rows[row].length }; all.push(place); rows[row].push(place); return place; };
  for (let i = 0; i < count; i++) add(layer[i], i);
  const chains = edges.map(({ from, to }) => {
    const chain = [all[from]];
    for (let row = layer[from] + 1; row < layer[to]; row++) chain.push(add(row, null));
    chain.push(all[to]);
    for (let i = 1; i < chain.length; i++) { chain[i].before.push(chain[i - 1]); chain[i - 1].after.push(chain[i]); }
    return chain;
  });
  return { rows, chains };
}

function sweep(rows, side) {
  for (const row of rows) {
    const mean = (place) => place[side].length ? place[side].reduce((sum, other) => sum + other.at, 0) / place[side].length : place.at;
    const order = row.map((place, index) => [mean(place), index, place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    order.forEach(([, , place], index) => { row[index] = place; place.at = index; });
  }
}

export function layout(count, edges, { across = true } = {}) {
  const unique = [...new Map(edges.map((edge) => [edge.from + ">" + edge.to, { from: edge.from, to: edge.to }])).values()];
  const layer = layersOf(count, unique);
  const { rows, chains } = places(count, unique, layer);
  for (let round = 0; round < 4; round++) {
    sweep(rows, "before");
    sweep([...rows].reverse(), "after");
  }
  sweep(rows, "before");
  const thick = (place) => place.step === null ? NODE.lane : across ? NODE.height : NODE.width;
  const long = across ? NODE.width : NODE.height;
  const sizes = rows.map((row) => row.reduce((sum, place) => sum + thick(place) + NODE.between, -NODE.between));
  const widest = Math.max(0, ...sizes);
  rows.forEach((row, index) => {
    let at = (widest - sizes[index]) / 2 + NODE.margin;
    for (const place of row) {
      place.side = at;
      place.front = index * (long + NODE.along) + NODE.margin;
      at += thick(place) + NODE.between;
    }
  });
  const point = (place, end) => {
    const side = place.side + thick(place) / 2;
    const front = place.front + (end === "out" ? long : end === "in" ? 0 : long / 2);
    return across ? [front, side] : [side, front];
  };
  const nodes = new Array(count);
  for (const row of rows) for (const place of row) if (place.step !== null)
    nodes[place.step] = across ? { x: place.front, y: place.side } : { x: place.side, y: place.front };
  const lines = chains.map((chain) => ({
    from: chain[0].step, to: chain[chain.length - 1].step,
    points: [point(chain[0], "out"), ...chain.slice(1, -1).flatMap((place) => [point(place, "in"), point(place, "out")]), point(chain[chain.length - 1], "in")],
  }));
  const length = rows.length * (long + NODE.along) - NODE.along + 2 * NODE.margin;
  const breadth = widest + 2 * NODE.margin;
  return { width: across ? length : breadth, height: across ? breadth : length, nodes, edges: lines };
}

// A line through its points that leaves and arrives straight.
export function path(points, across) {
  let text = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1];
    const [x1, y1] = points[i];
    if ((across ? y0 === y1 : x0 === x1)) text += `L${x1} ${y1}`;
    else if (across) text += `C${(x0 + x1) / 2} ${y0} ${(x0 + x1) / 2} ${y1} ${x1} ${y1}`;
    else text += `C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1}`;
  }
  return text;
}
