"use strict";
// The rows of the page and their series. This script reads nothing of the document except its data.
const data = JSON.parse(document.getElementById("data").textContent);

const buffer = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
const CODES = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };
const parts = data.parts.map((part) => ({ ...part, codes: part.width ? new CODES[part.width](buffer(part.codes)) : null }));
const latency = new Float32Array(buffer(data.latency));
const bound = data.bound ? new Float32Array(buffer(data.bound)) : null;
const uses = new Uint8Array(buffer(data.uses));
const SERVED = 0;

// The sides, each with the range of its rows.
const sides = [];
for (const side of data.sides) {
  const start = sides.length ? sides.at(-1).end : 0;
  sides.push({ ...side, start, end: start + side.rows });
}

// The rings around each row, and the number of each ringed row in the table, by the row's index on the page.
const rings = new Map();
const numbers = new Map();
data.rings.forEach((ring, i) => {
  const rows = new Uint32Array(buffer(ring.rows));
  new Uint32Array(buffer(ring.at)).forEach((at, n) => {
    rings.set(at, [...(rings.get(at) ?? []), i]);
    numbers.set(at, rows[n]);
  });
});

const code = (part, row) => (part.codes ? part.codes[row] : 0);
const value = (part, row) => part.values[code(part, row)];
const shown = (v) => (v === null ? "none" : String(v));

// Formats a number with three significant digits, and a letter for thousands, millions and so on.
const short = (v) => {
  if (v === null || !Number.isFinite(v)) return "";
  if (Number.isInteger(v) && Math.abs(v) < 1e4) return String(v);
  if (Math.abs(v) < 1e-3) return Number(v.toPrecision(3)).toExponential();
  const units = [[1e9, "G"], [1e6, "M"], [1e4, "k"]];
  const [scale, unit] = units.find(([least]) => Math.abs(v) >= least) ?? [1, ""];
  return `${Number((v / (unit === "k" ? 1e3 : scale)).toPrecision(3))}${unit}`;
};

// Groups rows by series along `axis`: the rows of a series agree in all other parts. `wanted` maps each part with a
// chosen value to the code of that value.
const seriesOf = (axis, wanted) => {
  const fixed = parts.filter((part) => part !== axis && part.codes);
  const tests = [...wanted].filter(([part]) => part !== axis && part.codes);
  const found = new Map();
  sides.forEach((side, n) => {
    for (let row = side.start; row < side.end; row += 1) {
      if (tests.some(([part, wants]) => part.codes[row] !== wants)) continue;
      let key = "";
      for (const part of fixed) key += `${part.codes[row]},`;
      let series = found.get(key);
      if (!series) {
        series = { key, row, codes: fixed.map((part) => part.codes[row]), sides: sides.map(() => []), rings: 0 };
        found.set(key, series);
      }
      series.sides[n].push(row);
      if (rings.has(row)) series.rings += 1;
    }
  });
  for (const series of found.values()) {
    series.places = new Set(series.sides.flat().map((row) => code(axis, row))).size;
  }
  // Series with most ringed rows come first, then series with most points, then in the order of the columns.
  const order = (a, b) => {
    if (a.rings !== b.rings) return b.rings - a.rings;
    if (a.places !== b.places) return b.places - a.places;
    const at = a.codes.findIndex((c, i) => c !== b.codes[i]);
    return at < 0 ? 0 : a.codes[at] - b.codes[at];
  };
  const list = [...found.values()].sort(order);
  // A line needs two points. If no series has two, single points are shown.
  const lines = list.filter((series) => series.rings || series.places > 1);
  return { fixed, list: lines.length ? lines : list };
};

// The positions of labels on a logarithmic axis, at most `most`: powers of two on the x axis, powers of ten on the y
// axis, with 2 and 5 between them if there are few.
const logSplits = (base, min, max, most) => {
  const powers = [];
  const log = (v) => Math.log(v) / Math.log(base);
  for (let p = Math.ceil(log(min) - 1e-9); p <= log(max) + 1e-9; p += 1) powers.push(base ** p);
  if (base === 10 && powers.length < 3) {
    const fine = [];
    for (let p = Math.floor(log(min)); p <= log(max); p += 1) fine.push(...[1, 2, 5].map((n) => n * base ** p));
    return fine.filter((v) => v >= min && v <= max);
  }
  const step = Math.ceil(powers.length / most);
  return powers.filter((_, i) => i % step === 0);
};

// The names of series, by the parts in which they differ.
const nameSeries = (fixed, list) => {
  const differ = fixed.filter((part) => list.some((s) => code(part, s.row) !== code(part, list[0].row)));
  const told = differ.length ? differ : fixed.filter((part) => part.number);
  return list.map((s) => told.map((part) => `${part.name} ${shown(value(part, s.row))}`).join(", ") || "all rows");
};

// A sentence with the columns in which all series agree, and their values.
const alike = (axis, list) => {
  const same = parts.filter((part) => part !== axis && list.every((s) => code(part, s.row) === code(part, list[0].row)));
  return same.length ? `All with ${same.map((part) => `${part.name} ${shown(value(part, list[0].row))}`).join(", ")}.` : "";
};

// The points of rows that can be drawn, sorted by x. `reference` maps x to the latency of another side, if the measure
// is the ratio to that side.
const pointsOf = (axis, rows, measure, log, reference) => {
  const points = [];
  const measured = { time: (row) => latency[row], bound: (row) => bound[row], ratio: (row) => latency[row] / bound[row] };
  for (const row of rows) {
    const x = value(axis, row);
    const y = reference ? latency[row] / reference.get(x) : measured[measure](row);
    if (x === null || !Number.isFinite(y) || (log.x && x <= 0) || (log.y && y <= 0)) continue;
    points.push({ x, y, row });
  }
  return points.sort((a, b) => a.x - b.x);
};
