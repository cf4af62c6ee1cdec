// Controls the page: chooses series by columns, draws them, and describes the point under the pointer or the keyboard's
// cursor.
(() => {
  const MOST = 8;
  const get = (id) => document.getElementById(id);
  const form = get("controls");
  const chart = get("chart");
  const numeric = parts.filter((part) => part.number && part.values.filter((v) => v !== null).length > 1);
  const start = numeric.includes(parts.at(-1)) ? parts.at(-1) : numeric[0] ?? parts.at(-1);
  const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [12, 4], [2, 6], [6, 2, 2, 2], [1, 3], [14, 2]];
  let plot = null;
  let lines = [];
  let page = 0;
  let hidden = new Set();
  let at = null;
  const make = (name, props = {}, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const tint = (line) => colour(line.colour) + (sides[line.side].kind === "peer" ? "90" : "");
  const dash = (pattern, width) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    svg.classList.add("dash");
    svg.setAttribute("aria-hidden", "true");
    const set = { x1: 0, x2: 40, y1: 6, y2: 6, stroke: "currentColor", "stroke-width": width, "stroke-dasharray": pattern.join(" ") };
    for (const [name, of] of Object.entries(set)) line.setAttribute(name, of);
    svg.append(line);
    return svg;
  };

  for (const part of numeric) form.elements.axis.append(make("option", { value: parts.indexOf(part), textContent: part.name }));
  if (bound) form.elements.measure.append(make("option", { value: "ratio", textContent: "times its speed-of-light bound" }));
  sides.forEach((side, n) => {
    if (n > 0) form.elements.measure.append(make("option", { value: `side${n}`, textContent: `times ${side.name}` }));
  });
  parts.forEach((part, i) => {
    if (!part.codes) return;
    const select = make("select", { name: `part${i}` }, make("option", { value: "", textContent: "all" }));
    part.values.forEach((v, n) => select.append(make("option", { value: n, textContent: shown(v) })));
    get("filters").append(make("label", {}, part.name, select));
  });
  const check = (name, text, pattern, width) => {
    const box = make("input", { type: "checkbox", name, defaultChecked: true });
    get("sides").append(make("label", { className: "check" }, box, dash(pattern, width), text));
  };
  sides.forEach((side, n) => check(`side${n}`, side.kind === "head" ? `${side.name} (this table)` : side.name, DASHES[n % DASHES.length], side.kind === "head" ? 3 : 2));
  if (bound) check("bound", "speed-of-light bound", [], 1);
  if (rings.size) {
    const box = make("input", { type: "checkbox", name: "rings", defaultChecked: true });
    get("sides").append(make("label", { className: "check" }, box, "○ rings: findings"));
  }

  const axisOf = () => parts[Number(form.elements.axis.value)] ?? start;
  const wantedOf = () => {
    const wanted = new Map();
    parts.forEach((part, i) => {
      const field = form.elements[`part${i}`];
      if (field && field.value !== "") wanted.set(part, Number(field.value));
    });
    return wanted;
  };
  const isOn = (name) => form.elements[name]?.checked ?? false;

  // Chooses the slice of a row: its names, and any values of its numbers.
  const showRow = (row) => {
    form.reset();
    form.elements.axis.value = parts.indexOf(start);
    parts.forEach((part, i) => {
      const field = form.elements[`part${i}`];
      if (field && !part.number) field.value = code(part, row);
    });
  };
  const showSlice = (slice) => {
    form.reset();
    form.elements.axis.value = parts.indexOf(start);
    for (const [name, text] of slice) {
      const i = parts.findIndex((part) => part.name === name);
      const n = i < 0 ? -1 : parts[i].values.findIndex((v) => shown(v) === text);
      if (n >= 0 && form.elements[`part${i}`]) form.elements[`part${i}`].value = n;
    }
  };

  // Returns the lines of the series that are drawn.
  const linesOf = (series, names, axis) => {
    const measure = form.elements.measure.value;
    const log = { x: isOn("logx"), y: isOn("logy") };
    const found = [];
    series.forEach((s, i) => {
      if (hidden.has(s.key)) return;
      const served = (n) => s.sides[n].filter((row) => uses[row] === SERVED);
      const other = Number(/^side(\d+)$/.exec(measure)?.[1] ?? 0);
      const reference = other ? new Map(served(other).map((row) => [value(axis, row), latency[row]])) : null;
      const add = (rows, what, side, style) => {
        const points = pointsOf(axis, rows, style.measure ?? measure, log, reference);
        if (points.length) found.push({ name: names[i], what, side, points, colour: `--c${i % MOST}`, ...style });
      };
      if (bound && isOn("bound") && measure === "time") add(served(0), "speed-of-light bound", 0, { width: 1, dash: [], measure: "bound", plain: true });
      for (let n = sides.length - 1; n >= 0; n -= 1) {
        if (!isOn(`side${n}`)) continue;
        add(served(n), sides[n].name, n, { width: n === 0 ? 2 : 1.4, dash: DASHES[n % DASHES.length] });
        if (n === 0) add(s.sides[0].filter((row) => uses[row] !== SERVED), `${sides[0].name}, not served`, 0, { loose: true });
      }
    });
    return found;
  };

  // Draws rings, and points of rows that are not served, which have no line.
  const overlay = (u) => {
    const { ctx } = u;
    const dpr = window.devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    for (const line of lines) {
      for (const point of line.points) {
        const [x, y] = [u.valToPos(point.x, "x", true), u.valToPos(point.y, "y", true)];
        if (line.loose) {
          ctx.strokeStyle = colour(line.colour);
          ctx.lineWidth = 1.5 * dpr;
          ctx.strokeRect(x - 3 * dpr, y - 3 * dpr, 6 * dpr, 6 * dpr);
        }
        if (line.side === 0 && !line.plain && rings.has(point.row) && isOn("rings")) {
          ctx.strokeStyle = colour(`--${data.rings[rings.get(point.row)[0]].severity}`);
          ctx.lineWidth = 2 * dpr;
          ctx.beginPath();
          ctx.arc(x, y, 7 * dpr, 0, 2 * Math.PI);
          ctx.stroke();
        }
      }
    }
    ctx.restore();
  };

  const describe = ({ line, i }) => {
    const point = line.points[i];
    const axis = axisOf();
    const measure = form.elements.measure.value;
    const unit = { time: " ms", ratio: " × its bound" }[measure] ?? ` × ${sides[Number(measure.slice(4))].name}`;
    const said = [`${line.name}: ${axis.name} ${shown(point.x)} → ${short(point.y)}${unit} (${line.what})`];
    const limit = bound?.[point.row];
    if (limit > 0 && !line.plain && unit === " ms") said.push(`${short(latency[point.row] / limit)} × its bound`);
    if (line.side === 0 && rings.has(point.row)) {
      said.push(`row ${numbers.get(point.row)}: ${rings.get(point.row).map((r) => data.rings[r].rule).join(", ")}`);
    }
    return said.join("; ");
  };
  const select = (found) => {
    at = found;
    chart.querySelector(".mark")?.remove();
    get("readout").textContent = found ? describe(found) : "";
    if (!found) return;
    const point = found.line.points[found.i];
    const mark = make("div", { className: "mark" });
    mark.style.left = `${plot.valToPos(point.x, "x")}px`;
    mark.style.top = `${plot.valToPos(point.y, "y")}px`;
    plot.over.append(mark);
  };
  const nearest = (left, top) => {
    let best = null;
    let far = 40 ** 2;
    for (const line of lines) {
      line.points.forEach((point, i) => {
        const away = (plot.valToPos(point.x, "x") - left) ** 2 + (plot.valToPos(point.y, "y") - top) ** 2;
        if (away < far) [best, far] = [{ line, i }, away];
      });
    }
    return best;
  };

  const draw = () => {
    const axis = axisOf();
    parts.forEach((part, i) => {
      const field = form.elements[`part${i}`];
      if (field) field.closest("label").hidden = part === axis;
    });
    const { fixed, list } = seriesOf(axis, wantedOf());
    const pages = Math.max(1, Math.ceil(list.length / MOST));
    page = Math.min(page, pages - 1);
    const series = list.slice(page * MOST, (page + 1) * MOST);
    const names = nameSeries(fixed, series);
    lines = series.length ? linesOf(series, names, axis) : [];
    get("previous").disabled = page === 0;
    get("next").disabled = page + 1 >= pages;
    const from = page * MOST + 1;
    get("alike").textContent = series.length ? alike(axis, series) : "";
    get("status").textContent = series.length ? `${from} to ${from + series.length - 1} of ${list.length} series, those that findings name first, then the longest` : "No series has these values.";
    get("series").replaceChildren(...series.map((s, i) => {
      const box = make("input", { type: "checkbox", checked: !hidden.has(s.key) });
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(s.key);
        else hidden.add(s.key);
        paint(axis);
        box.focus();
      });
      const swatch = make("span", { className: "swatch" });
      swatch.style.background = `var(--c${i})`;
      const told = s.rings ? ` (${s.rings} ringed)` : "";
      return make("li", {}, make("label", { className: "check" }, box, swatch, names[i] + told));
    }));
    const paint = (along) => {
      lines = linesOf(series, names, along);
      render(along);
    };
    if (series.length && !lines.length) get("status").textContent += "; none of them has a point to draw";
    render(axis);
  };

  const render = (axis) => {
    plot?.destroy();
    plot = null;
    select(null);
    list();
    if (!lines.length) return;
    const drawn = lines.filter((line) => !line.loose);
    const xs = [...new Set(lines.flatMap((line) => line.points.map((p) => p.x)))].sort((a, b) => a - b);
    const place = new Map(xs.map((x, i) => [x, i]));
    const columns = drawn.map((line) => {
      const column = new Array(xs.length).fill(null);
      line.points.forEach((p) => { column[place.get(p.x)] = p.y; });
      return column;
    });
    const log = { x: isOn("logx"), y: isOn("logy") };
    // The measured points set the range of the y axis. A bound far below them may be outside of it.
    const measured = lines.filter((line) => !line.plain);
    const all = (measured.length ? measured : lines).flatMap((line) => line.points.map((p) => p.y));
    const [least, most] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
    const padded = (by) => (u, min, max, key) => {
      // Unless the reader zooms, the whole range is shown, with the points of rows that are not served.
      if (key === "y" && !u.zoomed) [min, max] = [least, most];
      if (log[key]) return [min / by, max * by];
      const room = (max - min || Math.abs(max) || 1) * 0.04;
      return [min - room, max + room];
    };
    const text = colour("--text");
    const side = { stroke: text, font: "12px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const width = chart.clientWidth;
    const ticks = (key, base, most) => ({
      values: (u, splits) => splits.map(short),
      ...(log[key] ? { splits: (u, i, min, max) => logSplits(base, min, max, most), filter: (u, splits) => splits } : {}),
    });
    plot = new uPlot({
      width,
      height: Math.max(340, Math.min(560, Math.round(width * 0.55))),
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, distr: log.x ? 3 : 1, log: 2, range: padded(1.15) },
        y: { distr: log.y ? 3 : 1, log: 10, range: padded(1.25) },
      },
      axes: [
        { ...side, label: axis.name, labelSize: 24, ...ticks("x", 2, width / 60), space: 55 },
        { ...side, label: form.elements.measure.selectedOptions[0].textContent, labelSize: 24, size: 58, ...ticks("y", 10, 8) },
      ],
      series: [{}, ...drawn.map((line) => ({
        stroke: tint(line), width: line.width, dash: line.dash, spanGaps: true,
        points: { show: !line.plain, size: line.side === 0 ? 5 : 4, fill: line.side === 0 ? tint(line) : colour("--page") },
      }))],
      hooks: {
        draw: [overlay],
        setCursor: [(u) => { if (u.cursor.left >= 0 && document.activeElement !== chart) select(nearest(u.cursor.left, u.cursor.top)); }],
        setSelect: [(u) => { u.zoomed = u.select.width > 0; }],
      },
    }, [xs, ...columns], chart);
  };

  // Lists the drawn points in a table.
  const list = () => {
    const details = get("values");
    const table = details.querySelector("table");
    const ROWS = 1000;
    table.tHead.replaceChildren();
    table.tBodies[0].replaceChildren();
    if (!details.open) return;
    const heads = ["series", "line", axisOf().name, form.elements.measure.selectedOptions[0].textContent, "findings"];
    table.tHead.append(make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text }))));
    const all = lines.flatMap((line) => line.points.map((point) => ({ line, point })));
    for (const { line, point } of all.slice(0, ROWS)) {
      const found = line.side === 0 && !line.plain ? (rings.get(point.row) ?? []).map((r) => data.rings[r].rule).join(", ") : "";
      const cells = [line.name, line.what, shown(point.x), point.y.toPrecision(5), found];
      table.tBodies[0].append(make("tr", {}, ...cells.map((text, i) => make("td", { textContent: text, className: i === 2 || i === 3 ? "number" : "" }))));
    }
    if (all.length > ROWS) table.tBodies[0].append(make("tr", {}, make("td", { colSpan: heads.length, textContent: `and ${all.length - ROWS} more` })));
  };

  const showFinding = (n) => {
    const finding = data.findings[n];
    if (!finding) return;
    if (finding.at !== undefined) showRow(finding.at);
    else showSlice(finding.slice ?? []);
    [page, hidden] = [0, new Set()];
    draw();
    if (finding.at === undefined) return;
    // Shows the page of series that contains the row.
    const axis = axisOf();
    const { list: all } = seriesOf(axis, wantedOf());
    const place = all.findIndex((s) => s.sides[0].includes(finding.at));
    page = Math.max(0, Math.floor(place / MOST));
    // Hides all other series; the boxes below the chart show them again.
    hidden = new Set(all.filter((_, i) => i !== place).map((s) => s.key));
    if (bound?.[finding.at] > 0) form.elements.measure.value = "ratio";
    draw();
    for (const line of lines) {
      const i = line.side === 0 && !line.plain ? line.points.findIndex((p) => p.row === finding.at) : -1;
      if (i >= 0) select({ line, i });
    }
  };

  // The address of the page stores the state of the form, by the names of columns and sides. Fields with their first
  // value are left out.
  const FIRST = { along: start.name, show: "time", linear: "", without: "" };
  const measureName = (text) => (text.startsWith("side") ? sides[Number(text.slice(4))].name : text);
  const boxes = () => [...get("sides").querySelectorAll("input")];
  const stateOf = () => {
    const state = [
      ["along", axisOf().name],
      ["show", measureName(form.elements.measure.value)],
      ["linear", ["x", "y"].filter((name) => !isOn(`log${name}`)).join("")],
      ["without", boxes().filter((box) => !box.checked).map((box) => box.name).join(" ")],
    ].filter(([name, text]) => text !== FIRST[name]);
    for (const [part, n] of wantedOf()) state.push([part.name, shown(part.values[n])]);
    if (page) state.push(["page", String(page + 1)]);
    return state;
  };
  const keep = () => {
    get("wrong").textContent = "";
    history.replaceState(null, "", `#${new URLSearchParams([...stateOf(), ...(stateOf().length ? [] : [["along", start.name]])])}`);
  };
  const clear = () => {
    form.reset();
    form.elements.axis.value = parts.indexOf(start);
    [page, hidden] = [0, new Set()];
  };
  // Sets a field of the form by its name in the address. Returns false if the name or the value does not exist.
  const set = (name, text) => {
    if (name === "linear") {
      for (const letter of text) if (form.elements[`log${letter}`]) form.elements[`log${letter}`].checked = false;
      return /^[xy]*$/.test(text);
    }
    if (name === "page") {
      page = Number(text) - 1;
      return Number.isInteger(page) && page >= 0 && page * MOST < seriesOf(axisOf(), wantedOf()).list.length;
    }
    if (name === "without") {
      const names = text.split(" ").filter(Boolean);
      for (const box of boxes()) box.checked = !names.includes(box.name);
      return names.every((wanted) => boxes().some((box) => box.name === wanted));
    }
    const options = { along: form.elements.axis, show: form.elements.measure };
    const field = options[name] ?? form.elements[`part${parts.findIndex((part) => part.name === name)}`];
    const said = (option) => (name === "show" ? measureName(option.value) : option.textContent);
    const option = [...(field?.options ?? [])].find((o) => said(o) === text);
    if (option) field.value = option.value;
    return Boolean(option);
  };
  // Restores the state in the address, and lists the parts of it that do not exist.
  const open = () => {
    const hash = location.hash;
    get("wrong").textContent = "";
    if (hash.startsWith("#finding-")) {
      const named = data.findings.findIndex((f) => hash === `#finding-${f.fingerprint}`);
      if (named >= 0) { showFinding(named); return; }
      get("wrong").textContent = "The address names a finding that this page does not have.";
    }
    clear();
    if (hash.includes("=")) {
      const wrong = [...new URLSearchParams(hash.slice(1))].filter(([name, text]) => !set(name, text));
      if (wrong.some(([name]) => name === "page")) page = 0;
      if (wrong.length) get("wrong").textContent = `The address names what this page does not have: ${wrong.map((pair) => pair.join(" ")).join(", ")}.`;
    } else if (data.first !== null) showRow(data.first);
    draw();
  };
  const fresh = () => {
    [page, hidden] = [0, new Set()];
    draw();
    keep();
  };
  const turn = (by) => {
    page += by;
    draw();
    keep();
  };
  form.addEventListener("input", fresh);
  get("again").addEventListener("click", () => { clear(); fresh(); });
  addEventListener("hashchange", open);
  form.addEventListener("submit", (event) => event.preventDefault());
  get("zoom").addEventListener("click", draw);
  get("previous").addEventListener("click", () => turn(-1));
  get("next").addEventListener("click", () => turn(1));
  get("values").addEventListener("toggle", list);
  chart.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key === "Escape") { select(null); return; }
    const step = steps[event.key];
    if (!step || !plot) return;
    event.preventDefault();
    if (!at) {
      select({ line: lines.find((line) => line.side === 0 && !line.plain && !line.loose) ?? lines.at(-1), i: 0 });
      return;
    }
    const n = (lines.indexOf(at.line) + step[0] + lines.length) % lines.length;
    const line = lines[n];
    const x = at.line.points[at.i].x;
    const same = line === at.line ? at.i + step[1] : Math.max(0, line.points.findIndex((p) => p.x >= x));
    select({ line, i: Math.min(Math.max(same, 0), line.points.length - 1) });
  });
  for (const button of document.querySelectorAll("button[data-finding]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const n = Number(button.dataset.finding);
      showFinding(n);
      get("wrong").textContent = "";
      history.replaceState(null, "", `#finding-${data.findings[n].fingerprint}`);
      chart.focus();
      chart.scrollIntoView({ block: "center" });
    });
  }
  let last = 0;
  new ResizeObserver(() => {
    if (chart.clientWidth === last) return;
    last = chart.clientWidth;
    render(axisOf());
  }).observe(chart);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render(axisOf()));

  form.hidden = false;
  get("drawing").hidden = false;
  open();
})();
