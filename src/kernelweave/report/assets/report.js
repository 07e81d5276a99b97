"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const shapes = ["circle", "rect", "triangle", "rectRot", "cross"];
  const shown = new Set(data.names.map((_, k) => k));
  document.querySelectorAll("[data-needs-script]").forEach((part) => { part.hidden = false; });

  const sources = ["undecided", "predicted", "given"];
  const source = (i) => (data.undecided?.[i] ? "undecided" : data.labelled[i] ? "given" : "predicted");
  const describe = (i) => {
    const parts = [`${data.kind} ${data.names[data.codes[i]]}`];
    if (data.confidence) parts.push(`confidence ${data.confidence[i].toFixed(2)}`);
    if (data.truth) parts.push(`true class ${data.truth[i]}`);
    if (data.labelled || data.undecided?.[i]) parts.push(data.undecided?.[i] ? "undecided" : `label ${source(i)}`);
    return parts;
  };

  // ---- the map ----
  let chart = null;
  const canvas = find("scatter");
  const drawn = data.drawn;
  const place = new Map();  // sample -> [dataset, index], to reach a point from the table
  let home = null;
  const across = { x: 0, y: 1 };  // which directions of the embedding the axes show
  let map = data.maps[0];
  for (const each of data.maps) each.wheel?.forEach((spoke, k) => { spoke[0] = data.names[k]; });
  const spot = (i) => ({ x: map.places[across.x][i], y: map.places[across.y][i] });

  function members() {
    place.clear();
    return data.names.map((name, k) => {
      const points = drawn.filter((i) => data.codes[i] === k).map((i) => ({ ...spot(i), i }));
      points.forEach((point, at) => place.set(point.i, [k, at]));
      return { label: name, data: points, pointStyle: shapes[k % 5], hidden: !shown.has(k) };
    });
  }

  function paint() {
    chart.data.datasets.forEach((set, k) => {
      const tone = colour(`--g${k % 7}`);
      set.backgroundColor = set.pointStyle === "cross" ? tone : tone + "c8";
      set.borderColor = set.pointStyle === "cross" ? tone : colour("--card");
      set.borderWidth = set.pointStyle === "cross" ? 2 : 0.6;
      set.pointRadius = drawn.length > 800 ? 3.6 : 4.6;
      set.pointHoverRadius = 8;
      set.pointHoverBorderColor = colour("--ink");
      set.pointHoverBorderWidth = 2;
    });
    for (const axis of ["x", "y"]) {
      const options = chart.options.scales[axis];
      options.title.color = colour("--soft");
      options.border.color = colour("--line");
    }
    chart.update("none");
  }

  function frame() {
    const xs = drawn.map((i) => spot(i).x);
    const ys = drawn.map((i) => spot(i).y);
    let [left, right] = [Math.min(...xs), Math.max(...xs)];
    let [low, high] = [Math.min(...ys), Math.max(...ys)];
    if (map.wheel) [left, right, low, high] = [-1.16, 1.16, -1.16, 1.16];
    const pad = (a, b) => { const m = 0.05 * (b - a) || 1; return [a - m, b + m]; };
    [left, right] = pad(left, right);
    [low, high] = pad(low, high);
    if (map.wheel && chart && chart.chartArea) {  // a wheel stays round
      const { width, height } = chart.chartArea;
      const unit = Math.max((right - left) / width, (high - low) / height);
      [left, right] = [-unit * width / 2, unit * width / 2];
      [low, high] = [-unit * height / 2, unit * height / 2];
    }
    return { left, right, low, high };
  }

  function view(to) {
    Object.assign(chart.options.scales.x, { min: to.left, max: to.right });
    Object.assign(chart.options.scales.y, { min: to.low, max: to.high });
    chart.update("none");
  }

  function seen() {
    const { x, y } = chart.scales;
    return { left: x.min, right: x.max, low: y.min, high: y.max };
  }

  function zoom(factor, at) {
    const now = seen();
    const centre = at || { x: (now.left + now.right) / 2, y: (now.low + now.high) / 2 };
    const width = home.right - home.left;
    const next = (now.right - now.left) * factor;
    if (next > 4 * width || next < width / 400) return;
    view({
      left: centre.x + (now.left - centre.x) * factor, right: centre.x + (now.right - centre.x) * factor,
      low: centre.y + (now.low - centre.y) * factor, high: centre.y + (now.high - centre.y) * factor,
    });
  }

  function move(dx, dy) {
    const now = seen();
    const [w, h] = [(now.right - now.left) * dx, (now.high - now.low) * dy];
    view({ left: now.left + w, right: now.right + w, low: now.low + h, high: now.high + h });
  }

  function choose(i, announce = true) {
    const at = place.get(i);
    if (chart && at && chart.isDatasetVisible(at[0])) {
      const active = [{ datasetIndex: at[0], index: at[1] }];
      const point = { x: chart.scales.x.getPixelForValue(spot(i).x), y: chart.scales.y.getPixelForValue(spot(i).y) };
      const area = chart.chartArea;
      if (point.x < area.left || point.x > area.right || point.y < area.top || point.y > area.bottom) view(home);
      chart.setActiveElements(active);
      chart.tooltip.setActiveElements(active, point);
      chart.update("none");
    }
    if (announce && find("told")) find("told").textContent = `${data.ids[i]}: ${describe(i).join(", ")}`;
  }

  const wheel = {
    id: "wheel",
    beforeDatasetsDraw({ ctx, scales: { x, y } }) {
      if (!map.wheel) return;
      const [cx, cy] = [x.getPixelForValue(0), y.getPixelForValue(0)];
      ctx.save();
      ctx.strokeStyle = colour("--line");
      ctx.fillStyle = colour("--soft");
      ctx.font = "13px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      ctx.beginPath();
      ctx.arc(cx, cy, Math.abs(x.getPixelForValue(1) - cx), 0, 2 * Math.PI);
      ctx.stroke();
      for (const [name, sx, sy] of map.wheel) {
        ctx.beginPath();
        ctx.moveTo(cx, cy);
        ctx.lineTo(x.getPixelForValue(sx), y.getPixelForValue(sy));
        ctx.stroke();
        if (map.wheel.length > 36) continue;
        ctx.textAlign = Math.abs(sx) < 0.1 ? "center" : sx > 0 ? "left" : "right";
        ctx.fillText(name.length > 18 ? `${name.slice(0, 9)}…${name.slice(-8)}` : name, x.getPixelForValue(1.06 * sx), y.getPixelForValue(1.06 * sy));
      }
      ctx.restore();
    },
  };

  function axis(text) {
    return {
      type: "linear", grid: { display: false }, ticks: { display: false }, border: { display: !map.wheel },
      title: { display: Boolean(text), text: text || "" },
    };
  }

  if (canvas) {
    chart = new Chart(canvas, {
      type: "scatter",
      data: { datasets: members() },
      plugins: [wheel],
      options: {
        animation: false, maintainAspectRatio: false, responsive: true,
        interaction: { mode: "nearest", intersect: true },
        onResize: () => { if (home && map.wheel) requestAnimationFrame(() => { home = frame(); view(home); }); },
        onClick: (_, active) => { if (active.length) choose(chart.data.datasets[active[0].datasetIndex].data[active[0].index].i); },
        scales: { x: axis(map.axes[0]), y: axis(map.axes[1]) },
        plugins: {
          legend: { display: false },
          tooltip: {
            displayColors: false,
            callbacks: {
              title: (items) => items.slice(0, 1).map((item) => data.ids[item.raw.i]),
              label: (item) => describe(item.raw.i),
            },
            filter: (item, index) => index < 3,  // identical samples overlap
          },
        },
      },
    });
    home = frame();
    view(home);
    paint();
    if (map.wheel) { home = frame(); view(home); }

    find("zoom-in").addEventListener("click", () => zoom(0.7));
    find("zoom-out").addEventListener("click", () => zoom(1 / 0.7));
    find("zoom-reset").addEventListener("click", () => view(home));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 0.85 : 1 / 0.85, {
        x: chart.scales.x.getValueForPixel(event.clientX - box.left), y: chart.scales.y.getValueForPixel(event.clientY - box.top),
      });
    }, { passive: false });
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { if (event.pointerType !== "touch") drag = [event.clientX, event.clientY]; });
    window.addEventListener("pointerup", () => { drag = null; });
    window.addEventListener("pointermove", (event) => {
      if (!drag) return;
      move((drag[0] - event.clientX) / chart.chartArea.width, (event.clientY - drag[1]) / chart.chartArea.height);
      drag = [event.clientX, event.clientY];
    });
    let at = -1;
    const step = (by) => {
      const visible = drawn.filter((i) => shown.has(data.codes[i]));
      if (!visible.length) return;
      at = (at + by + visible.length) % visible.length;
      choose(visible[at]);
    };
    const keys = {
      "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), "0": () => view(home),
      ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0), ArrowUp: () => move(0, 0.15), ArrowDown: () => move(0, -0.15),
      n: () => step(1), p: () => step(-1),
    };
    canvas.addEventListener("keydown", (event) => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key] || keys[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      act();
    });
    const sides = [["across", "x"], ["up", "y"]];
    const lay = () => {
      for (const [, side] of sides) {
        const text = map.axes[across[side]];
        Object.assign(chart.options.scales[side].title, { display: Boolean(text), text: text || "" });
        chart.options.scales[side].border.display = !map.wheel;
      }
      chart.data.datasets.forEach((set) => set.data.forEach((point) => Object.assign(point, spot(point.i))));
      chart.update("none");
      home = frame();
      view(home);
    };
    const offer = () => {
      find("directions").hidden = map.places.length < 3;
      for (const [id, side] of sides) {
        find(id).replaceChildren(...map.axes.slice(0, map.places.length).map((text, k) => new Option(text, k)));
        find(id).value = String(across[side]);
      }
    };
    for (const [id, side] of sides) find(id).addEventListener("change", () => { across[side] = Number(find(id).value); lay(); });
    find("kind")?.addEventListener("change", () => {
      map = data.maps[find("kind").value];
      Object.assign(across, { x: 0, y: 1 });
      document.querySelectorAll("[data-map]").forEach((note) => { note.hidden = note.dataset.map !== find("kind").value; });
      offer();
      lay();
    });
    offer();
    const boxes = [...document.querySelectorAll("input[name=group]")];
    const refresh = () => {
      boxes.forEach((box) => { const k = Number(box.value); box.checked ? shown.add(k) : shown.delete(k); chart.setDatasetVisibility(k, box.checked); });
      chart.update("none");
      list();
    };
    boxes.forEach((box) => box.addEventListener("change", refresh));
    find("all").addEventListener("click", () => { boxes.forEach((box) => { box.checked = true; }); refresh(); });
    find("none").addEventListener("click", () => { boxes.forEach((box) => { box.checked = false; }); refresh(); });
  }

  // ---- the table ----
  const PAGE = 25;
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  const columns = [
    { name: "sample", text: (i) => data.ids[i], order: (a, b) => compare(data.ids[a], data.ids[b]) },
    { name: data.kind, text: (i) => data.names[data.codes[i]], order: (a, b) => data.codes[a] - data.codes[b] },
  ];
  if (data.confidence) columns.push({ name: "confidence", number: true, text: (i) => data.confidence[i].toFixed(3), order: (a, b) => data.confidence[a] - data.confidence[b] });
  if (data.truth) columns.push({ name: "true class", text: (i) => data.truth[i], order: (a, b) => compare(data.truth[a], data.truth[b]) });
  if (data.labelled) columns.push({ name: "label", text: source, order: (a, b) => sources.indexOf(source(a)) - sources.indexOf(source(b)) });
  if (data.labelled) columns[columns.length - 1].name = "label is";
  let sorted = { column: data.confidence ? 2 : 0, down: false };
  let page = 0;
  const head = find("table").querySelector("thead tr");
  const body = find("table").querySelector("tbody");
  const swatches = [...document.querySelectorAll("#groups .who .swatch")];

  columns.forEach((column, k) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    if (column.number) cell.className = "number";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = column.name;
    button.addEventListener("click", () => {
      sorted = { column: k, down: sorted.column === k && !sorted.down };
      page = 0;
      list();
    });
    cell.append(button);
    head.append(cell);
  });

  function row(i) {
    const line = document.createElement("tr");
    columns.forEach((column, k) => {
      const cell = document.createElement(k ? "td" : "th");
      if (column.number) cell.className = "number";
      if (k === 0) {
        cell.scope = "row";
        if (place.has(i)) {
          const button = document.createElement("button");
          button.type = "button";
          button.title = "Show on the map";
          button.textContent = column.text(i);
          cell.append(button);
        } else cell.textContent = column.text(i);
      } else {
        if (k === 1 && swatches[data.codes[i]]) cell.append(swatches[data.codes[i]].cloneNode(true), " ");
        cell.append(column.text(i));
      }
      line.append(cell);
    });
    line.addEventListener("click", () => {
      body.querySelectorAll(".chosen").forEach((other) => other.classList.remove("chosen"));
      line.classList.add("chosen");
      choose(i);
    });
    return line;
  }

  function list() {
    const text = find("find").value.toLowerCase();
    const group = find("group").value;
    const rows = data.listed.filter((i) =>
      shown.has(data.codes[i]) && (group === "" || data.codes[i] === Number(group)) && (!text || data.ids[i].toLowerCase().includes(text)));
    const { order } = columns[sorted.column];
    rows.sort((a, b) => (sorted.down ? order(b, a) : order(a, b)) || a - b);
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    page = Math.min(page, pages - 1);
    body.replaceChildren(...rows.slice(page * PAGE, (page + 1) * PAGE).map(row));
    [...head.children].forEach((cell, k) => cell.setAttribute("aria-sort", k !== sorted.column ? "none" : sorted.down ? "descending" : "ascending"));
    find("count").textContent = `${rows.length.toLocaleString("en")} of ${data.listed.length.toLocaleString("en")} sample${data.listed.length === 1 ? "" : "s"}, page ${page + 1} of ${pages}`;
    find("back").disabled = page === 0;
    find("next").disabled = page === pages - 1;
  }
  find("find").addEventListener("input", () => { page = 0; list(); });
  find("group").addEventListener("change", () => { page = 0; list(); });
  find("back").addEventListener("click", () => { page -= 1; list(); });
  find("next").addEventListener("click", () => { page += 1; list(); });
  list();

  // ---- names of the groups ----
  const given = data.numbers;
  const key = `kernelweave ${data.page}`;
  function keep() {
    const typed = Object.fromEntries(data.names.map((name, k) => [k, name]).filter(([k, name]) => name !== began[k]));
    try {
      if (Object.keys(typed).length) localStorage.setItem(key, JSON.stringify(typed));
      else localStorage.removeItem(key);
    } catch { /* the browser keeps nothing for files: names can still be saved as CSV */ }
  }
  function kept() {
    try { return Object.entries(JSON.parse(localStorage.getItem(key)) ?? {}); } catch { return []; }
  }
  const began = [...data.names];  // as written into the page
  function rename(k, text) {
    data.names[k] = text.trim() || given[k];
    const number = document.querySelector(`[data-number="${k}"]`);
    if (number) number.hidden = data.names[k] === given[k];
    document.querySelectorAll(`[data-name="${k}"]`).forEach((part) => { part.textContent = data.names[k]; });
    if (chart) {
      chart.data.datasets[k].label = data.names[k];
      for (const each of data.maps) if (each.wheel) each.wheel[k][0] = data.names[k];
      chart.update("none");
    }
    list();
  }
  document.querySelectorAll("[data-edit]").forEach((label) => {
    const k = Number(label.dataset.edit);
    const box = document.createElement("input");
    box.value = data.names[k];
    box.maxLength = 60;
    const fit = () => { box.size = Math.min(60, Math.max(12, box.value.length)); };
    fit();
    box.id = `name-${k}`;
    box.setAttribute("aria-label", `Name of ${data.kind} ${given[k]}`);
    box.addEventListener("input", () => { fit(); rename(k, box.value); keep(); });
    label.replaceWith(box);
  });
  for (const [k, name] of kept()) {
    if (!(k in given) || typeof name !== "string") continue;
    rename(Number(k), name);
    const box = find(`name-${k}`);
    if (box) Object.assign(box, { value: data.names[k], size: Math.min(60, Math.max(12, data.names[k].length)) });
  }

  // ---- tables as CSV ----
  const formula = /^'*[=+\-@\t\r\n]/;
  const number = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
  function cell(value) {
    let text = String(value ?? "");
    if (formula.test(text) && !number.test(text)) text = `'${text}`;  // a spreadsheet would run it
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  const named = (number) => data.names[given.indexOf(number)];
  const makers = {
    samples: () => {
      const head = ["id", data.kind, "label", "name"];
      for (const extra of ["confidence", "truth", "labelled", "undecided"]) if (data[extra]) head.push(extra);
      const of = (i) => [data.ids[i], given[data.codes[i]], data.labels[data.codes[i]], data.names[data.codes[i]],
        ...head.slice(4).map((extra) => (extra === "confidence" ? data[extra][i].toFixed(4) : data[extra][i]))];
      return [head, ...data.listed.map(of)];
    },
    groups: () => [[data.kind, "label", "name", "samples", "share", ...(data.medians ? ["confidence"] : [])],
      ...given.map((number, k) => [number, data.labels[k], data.names[k], data.sizes[k], (data.sizes[k] / data.n).toFixed(4), ...(data.medians ? [data.medians[k]] : [])])],
    names: () => [["label", "name"], ...data.labels.map((label, k) => [label, data.names[k] === given[k] ? "" : data.names[k]])],
    features: () => [[...data.tables.features.head, "name"], ...data.tables.features.rows.map((row) => [...row, named(row[0])])],
    weights: () => [data.tables.weights.head, ...data.tables.weights.rows],
    metadata: () => [data.tables.metadata.head, ...data.tables.metadata.rows],
  };
  document.querySelectorAll("[data-save]").forEach((save) => save.addEventListener("click", () => {
    const text = makers[save.dataset.save]().map((row) => row.map(cell).join(",")).join("\n") + "\n";
    const link = document.createElement("a");
    link.download = `${save.dataset.save}.csv`;
    link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`;
    link.click();
  }));

  // ---- light and dark ----
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = find("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const redraw = () => {
    button.textContent = dark() ? "Light colours" : "Dark colours";
    if (chart) paint();
  };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; redraw(); });
  system.addEventListener("change", redraw);
  let before;
  const folded = document.querySelector("details.more");
  let open = false;
  window.addEventListener("beforeprint", () => { if (folded) { open = folded.open; folded.open = true; } });
  window.addEventListener("afterprint", () => { if (folded) folded.open = open; });
  window.addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; redraw(); });
  window.addEventListener("afterprint", () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; redraw(); });
  redraw();
})();
