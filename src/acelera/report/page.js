(() => {
  const root = document.documentElement;
  const began = performance.now();
  root.dataset.errors = "0";
  addEventListener("error", () => { root.dataset.errors = String(Number(root.dataset.errors) + 1); });

  const data = JSON.parse(document.getElementById("data").textContent);
  const { events, matches, variables, counts, buckets } = data;
  const total = events.x.length;
  const first = total ? events.x[0] : 0, last = total ? events.x[total - 1] : 1;
  const $ = (id) => document.getElementById(id);
  const { put, many, plain, short, shortened, DAY, axisText, stepOf, cutText } = parts(data);

  // --- values as texts ------------------------------------------------------------------------------------------

  const cell = (kind, value, type) => {
    const held = type === "events" && value !== null && typeof value === "object";
    const listed = held && (Array.isArray(value) ? value : [value]);
    const last = held && listed[listed.length - 1];
    const more = typeof last === "string" ? Number(/\d+/.exec(last)) - 1 : 0;  // a long list ends with how many more there are
    const text = held ? many(listed.length + more, "event") : short(value);
    const made = put(kind, {}, text.length > 160 ? text.slice(0, 160) + "…" : text);
    const full = held ? listed.map(plain).join("\n") : plain(value);
    if (full !== made.textContent) made.title = full.slice(0, 1500);
    if (value === null) made.className = "null";
    if (type === "number") made.classList.add("number");
    return made;
  };

  const sameDay = data.timed && total > 0 && events.time[0].slice(0, 10) === events.time[total - 1].slice(0, 10);
  const when = (event) => data.timed ? events.time[event].slice(sameDay ? 11 : 0) : `#${events.place[event].toLocaleString("en")}`;
  // The same for lists: no fractions of seconds if the stream is long, no year, and no day that was told before.
  const coarse = last - first > 600000;
  const brief = (event, after = null) => {
    if (!data.timed) return when(event);
    const full = coarse ? events.time[event].replace(/\.\d+/, "") : events.time[event];
    const known = sameDay || (after !== null && events.time[after].slice(0, 10) === full.slice(0, 10));
    return full.slice(known ? 11 : 5);
  };
  const typeName = (event) => data.types[events.type[event]] ?? "NULL";

  // --- variables: a colour and a letter for each that tells events apart -------------------------------------------

  // An event may be held by several variables; it is shown by the one that holds the fewest events over all.
  const sizes = variables.map(() => 0);
  for (const match of matches) {
    for (const [variable, held] of match.held) sizes[variable] += held.length;
    for (const [variable] of match.made) sizes[variable] += 1;
  }
  const specific = (one, other) =>
    sizes[one] - sizes[other] || variables[one].implied - variables[other].implied || one - other;
  const heldBy = matches.map((match) => {
    const by = new Map();
    for (const [variable, held] of match.held) {
      for (const event of held) {
        if (!by.has(event)) by.set(event, []);
        if (!by.get(event).includes(variable)) by.get(event).push(variable);
      }
    }
    for (const list of by.values()) list.sort(specific);
    return new Map([...by].sort((a, b) => a[0] - b[0]));
  });
  const primary = new Set();
  for (const by of heldBy) for (const list of by.values()) primary.add(list[0]);
  for (const match of matches) for (const [variable] of match.made) primary.add(variable);
  const letters = new Map(), colours = new Map();
  for (const variable of [...primary].sort((a, b) => a - b)) {
    const tried = [...variables[variable].name.toUpperCase()].filter((c) => /\p{L}|\p{N}/u.test(c));
    const used = new Set(letters.values());
    const free = [...tried, ..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((letter) => !used.has(letter));
    letters.set(variable, free ?? String(letters.size + 1));
    colours.set(variable, `--v${colours.size % 8}`);
  }
  const badge = (variable) => {
    const made = put("span", { class: colours.has(variable) ? "dot" : "dot none", title: variables[variable].name }, letters.get(variable) ?? "·");
    if (colours.has(variable)) made.style.background = `var(${colours.get(variable)})`;
    return made;
  };

  // --- lanes --------------------------------------------------------------------------------------------------------

  const MOST_LANES = 14;
  const inMatch = new Uint8Array(total);
  for (const by of heldBy) for (const event of by.keys()) inMatch[event] = 1;
  const inOrder = new Intl.Collator("en", { numeric: true }).compare;
  const lanesOf = (names) => {  // names that occur in matches, and the most frequent ones, have lanes of their own; the others share one
    const found = new Map();
    names.forEach((name, event) => found.set(name, (found.get(name) ?? 0) + 1 + inMatch[event] * total));
    const listed = [...found.keys()];
    const cut = listed.length > MOST_LANES;
    const own = cut ? listed.sort((a, b) => found.get(b) - found.get(a)).slice(0, MOST_LANES - 1) : listed;
    own.sort(inOrder);
    const number = new Map(own.map((name, index) => [name, index]));
    const apart = !cut || (matches.length > 0 && names.every((name, event) => !inMatch[event] || number.has(name)));  // whatever matches has a lane of its own
    return { labels: cut ? [...own, `${listed.length - own.length} others`] : own, of: names.map((name) => number.get(name) ?? own.length), apart };
  };
  const byType = lanesOf(events.type.map((_, event) => typeName(event)));
  const keyColumns = data.keys.map((key) => events.columns.find((column) => column.name === key)).filter(Boolean);
  const keyOf = (event) => keyColumns.map((column) => plain(column.values[event])).join(" · ");
  const byKey = keyColumns.length ? lanesOf(events.x.map((_, event) => keyOf(event))) : null;
  let lanes = byKey && (byKey.apart || byType.labels.length === 1) ? byKey : byType;

  // --- the timeline: events on one canvas, the chosen match on another above it -----------------------------------

  const plot = $("plot"), base = $("base"), overlay = $("overlay");
  const pad = (last - first) * 0.02 || (data.timed ? 1000 : 1);
  const whole = [first - pad, last + pad];
  const view = [...whole];
  let chosen = -1, hovered = -1, width = 0, height = 0, gutter = 0, laneHeight = 34;
  const AXIS = 26;
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  let palette = {};
  const readPalette = () => {
    palette = {};
    for (const name of ["--ink", "--soft", "--faint", "--line", "--card", "--accent", "--event", "--lane", "--on-v", "--sans",
      ...Array.from({ length: 8 }, (_, n) => `--v${n}`)]) palette[name] = colour(name);
  };
  const toX = (x) => gutter + ((x - view[0]) / (view[1] - view[0])) * (width - gutter);
  const fromX = (px) => view[0] + ((px - gutter) / (width - gutter)) * (view[1] - view[0]);
  const laneY = (event) => lanes.of[event] * laneHeight + laneHeight / 2;
  const from = (x) => {  // the first event at x or later
    let low = 0, high = total;
    while (low < high) { const middle = (low + high) >> 1; if (events.x[middle] < x) low = middle + 1; else high = middle; }
    return low;
  };
  const ctxOf = (canvas) => {
    const scale = devicePixelRatio || 1, ctx = canvas.getContext("2d");
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    return ctx;
  };
  const measure = () => {
    width = plot.clientWidth;
    const ctx = base.getContext("2d");
    ctx.font = `12.5px ${palette["--sans"]}`;
    const longest = Math.max(0, ...lanes.labels.map((label) => ctx.measureText(String(label).slice(0, 60)).width));
    gutter = Math.round(Math.max(74, Math.min(longest + 30, width * 0.2)));
    laneHeight = Math.max(32, Math.min(52, 210 / lanes.labels.length));
    height = Math.max(1, lanes.labels.length) * laneHeight + AXIS;
  };
  const drawBase = () => {
    const ctx = ctxOf(base), plotHeight = height - AXIS;
    ctx.font = `12.5px ${palette["--sans"]}`;
    ctx.textBaseline = "middle";
    lanes.labels.forEach((_, lane) => {
      if (lane % 2 === 0) { ctx.fillStyle = palette["--lane"]; ctx.fillRect(0, lane * laneHeight, width, laneHeight); }
    });
    const span = view[1] - view[0], step = stepOf(span, Math.max(3, (width - gutter) / 90));
    const zero = data.timed ? -(data.origin % step) : 0;
    ctx.strokeStyle = palette["--line"];
    ctx.lineWidth = 1;
    ctx.textAlign = "center";
    for (let n = Math.ceil((view[0] - zero) / step); n * step + zero <= view[1]; n += 1) {
      const x = Math.round(toX(n * step + zero)) + 0.5;
      if (x < gutter || (!data.timed && n * step < 1)) continue;
      ctx.beginPath(); ctx.moveTo(x, 0); ctx.lineTo(x, plotHeight); ctx.stroke();
      ctx.fillStyle = palette["--soft"];
      if (x > gutter + 20 && x < width - 24) ctx.fillText(axisText(n * step + zero, step), x, plotHeight + AXIS / 2);
    }
    ctx.save();
    ctx.beginPath(); ctx.rect(gutter, 0, width - gutter, plotHeight); ctx.clip();
    const begin = from(fromX(gutter - 6)), end = from(fromX(width + 6));
    const half = Math.min(8, laneHeight / 4), wide = end - begin > 3000 ? 1 : end - begin > 600 ? 2 : 3;
    ctx.fillStyle = palette["--event"];
    for (const held of [0, 1]) {
      ctx.globalAlpha = held ? 0.95 : 0.38;
      for (let event = begin; event < end; event += 1) {
        if (inMatch[event] === held) ctx.fillRect(toX(events.x[event]) - wide / 2, laneY(event) - half, wide, 2 * half);
      }
    }
    ctx.restore();
    ctx.fillStyle = palette["--ink"];
    ctx.textAlign = "left";
    lanes.labels.forEach((label, lane) => ctx.fillText(cutText(ctx, String(label), gutter - 22), 12, lane * laneHeight + laneHeight / 2));
    if (!total) { ctx.fillStyle = palette["--soft"]; ctx.fillText("No events", gutter + 12, plotHeight / 2); }
  };
  // Where the events of the chosen match are marked. Marks that would hide each other stand one above the other in their
  // lane, smaller; if that is not enough some are moved to the right, and if they would be moved far they are all dots.
  const READABLE = 7, FAR = 70;
  let marks = new Map();
  const arrange = (run, levels, far) => {  // whether the marks of a run find room on so many levels, none moved further than that
    const radius = Math.min(11, (laneHeight / 2 - (levels > 1 ? 0 : 2)) / levels), ends = Array(levels).fill(-Infinity);
    if (radius < READABLE) return false;
    for (const mark of run) {
      const free = ends.findIndex((end) => mark.at - end >= 2 * radius), level = free < 0 ? ends.indexOf(Math.min(...ends)) : free;
      mark.x = Math.max(mark.at, ends[level] + 2 * radius);
      if (mark.x - mark.at > far) return false;
      Object.assign(mark, { radius, level });
      ends[level] = mark.x;
    }
    const used = ends.filter((end) => end > -Infinity).length;
    for (const mark of run) mark.y = mark.middle + (2 * mark.level + 1 - used) * radius;
    return true;
  };
  const place = (run) => [1, 2, 3].some((levels) => arrange(run, levels, 0)) || [3, 2].some((levels) => arrange(run, levels, FAR));
  const placeMarks = () => {
    marks = new Map();
    if (chosen < 0) return;
    const runs = new Map();  // by lane: marks that are near to each other, and how far they reach
    for (const event of heldBy[chosen].keys()) {
      const at = toX(events.x[event]), mark = { event, at, middle: laneY(event) }, before = runs.get(lanes.of[event]);
      const run = before && at - before.reach < 22 ? before : { marks: [], dots: false };
      marks.set(event, mark);
      run.marks.push(mark);
      const dots = run.dots || !place(run.marks);  // what finds no room finds none with one more
      for (const each of dots ? (run.dots ? [mark] : run.marks) : []) Object.assign(each, { x: each.at, y: each.middle, radius: 5 });
      runs.set(lanes.of[event], { marks: run.marks, dots, reach: dots ? at : Math.max(...run.marks.map((each) => each.x)) });
    }
  };
  const drawOverlay = () => {
    const ctx = ctxOf(overlay), plotHeight = height - AXIS;
    placeMarks();
    ctx.save();
    ctx.beginPath(); ctx.rect(gutter, 0, width - gutter, height); ctx.clip();
    if (chosen >= 0) {
      const match = matches[chosen], by = heldBy[chosen];
      const begin = toX(events.x[match.start]), end = toX(events.x[match.end]);
      ctx.fillStyle = palette["--accent"];
      ctx.globalAlpha = 0.09;
      ctx.fillRect(begin - 12, 0, end - begin + 24, plotHeight);
      ctx.globalAlpha = 1;
      ctx.fillRect(begin - 12, plotHeight, end - begin + 24, 3);
      const shown = [...by.keys()].map((event) => marks.get(event));
      ctx.strokeStyle = palette["--accent"];
      ctx.globalAlpha = 0.45;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      shown.forEach(({ x, y }, index) => {
        if (!index) { ctx.moveTo(x, y); return; }
        const before = shown[index - 1], middle = (before.x + x) / 2;
        ctx.bezierCurveTo(middle, before.y, middle, y, x, y);
      });
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      for (const { event, at, middle, x, y, radius } of shown) {
        const variable = by.get(event)[0];
        if (x > at) {  // a line to where it happened
          ctx.strokeStyle = palette[colours.get(variable)];
          ctx.lineWidth = 1;
          ctx.beginPath(); ctx.moveTo(at, middle); ctx.lineTo(x, y); ctx.stroke();
        }
        ctx.beginPath(); ctx.arc(x, y, radius, 0, 7);
        ctx.fillStyle = palette[colours.get(variable)];
        ctx.fill();
        ctx.lineWidth = radius < READABLE ? 1 : 2;
        ctx.strokeStyle = palette["--card"];
        ctx.stroke();
        if (radius < READABLE) continue;
        ctx.font = `650 ${Math.min(11.5, radius * 1.3)}px ${palette["--sans"]}`;
        ctx.fillStyle = palette["--on-v"];
        ctx.fillText(letters.get(variable), x, y + 0.5);
      }
    }
    if (hovered >= 0) {
      ctx.strokeStyle = palette["--ink"];
      ctx.lineWidth = 1.5;
      const { x, y, radius } = marks.get(hovered) ?? { x: toX(events.x[hovered]), y: laneY(hovered), radius: 11 };
      ctx.beginPath(); ctx.arc(x, y, radius + 3, 0, 7); ctx.stroke();
    }
    ctx.restore();
  };
  let waiting = 0, stale = true;
  const draw = () => {
    waiting = 0;
    if (stale) { drawBase(); drawWindow(); }
    stale = false;
    drawOverlay();
  };
  const redraw = (all = true) => { stale = stale || all; if (!waiting) waiting = requestAnimationFrame(draw); };

  const setView = (low, high) => {
    const widest = whole[1] - whole[0], narrowest = data.timed ? Math.max(widest / 1e7, 1e-6) : 2;
    const span = Math.min(widest, Math.max(narrowest, high - low));
    const begin = Math.min(whole[1] - span, Math.max(whole[0], (low + high) / 2 - span / 2));
    view[0] = begin; view[1] = begin + span;
    redraw();
  };
  const zoom = (factor, at = (view[0] + view[1]) / 2) => setView(at + (view[0] - at) * factor, at + (view[1] - at) * factor);
  const fitting = () => {  // the view in which the chosen match takes a good third, with its neighbours on both sides
    const { start, end } = matches[chosen], low = events.x[start], high = events.x[end];
    if (high > low) {
      const room = Math.max((high - low) * 0.85, data.timed ? 0 : 1.2);
      return [low - room, high + room];
    }
    const before = low - events.x[Math.max(0, start - 6)], after = events.x[Math.min(total - 1, end + 6)] - high;
    const room = Math.min(...[before, after].filter((length) => length > 0), (whole[1] - whole[0]) / 2);
    return [low - room, high + room];
  };
  const fit = () => { if (chosen >= 0) setView(...fitting()); };
  const show = () => {  // leave the view as it is if the match can be seen well in it
    const low = toX(events.x[matches[chosen].start]), high = toX(events.x[matches[chosen].end]);
    const inside = low >= gutter + 14 && high <= width - 14, [begin, end] = fitting(), share = (view[1] - view[0]) / (end - begin);
    if (!inside || share < 0.55 || share > 1.1) fit();
  };

  // --- choosing a match ---------------------------------------------------------------------------------------------

  const list = $("list"), options = [];
  const choose = (number, { move = true, tell = true } = {}) => {
    if (number < 0 || number >= matches.length || number === chosen) return;
    if (chosen >= 0) {
      options[chosen].setAttribute("aria-selected", "false");
      resultRows[chosen]?.removeAttribute("aria-current");
    }
    chosen = number;
    const option = options[number];
    option.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", option.id);
    const top = option.offsetTop, bottom = top + option.offsetHeight;
    if (top < list.scrollTop) list.scrollTop = top - 4;
    else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom + 4 - list.clientHeight;
    resultRows[number]?.setAttribute("aria-current", "true");
    $("previous").disabled = number === 0;
    $("next").disabled = number === matches.length - 1;
    $("which").replaceChildren("Match ", put("b", {}, (number + 1).toLocaleString("en")), ` of ${matches.length.toLocaleString("en")}`);
    root.dataset.match = String(number + 1);
    detail();
    if (move) show();
    redraw(false);
    if (tell) {
      $("status").textContent = `Match ${number + 1} of ${matches.length}: ` +
        [...heldBy[number]].slice(0, 8).map(([event, by]) => `${variables[by[0]].name} ${when(event)}`).join(", ");
      try { history.replaceState(null, "", `#match=${number + 1}`); } catch { /* some browsers refuse this for files */ }
    }
  };

  const MOST_ROWS = 200;
  const detail = () => {
    const match = matches[chosen], by = heldBy[chosen];
    const facts = put("dl", { class: "facts" });
    data.columns.forEach((name, index) => {
      if (data.kinds[index] === "events") return;
      facts.append(put("div", {}, put("dt", {}, name), cell("dd", match.row[index])));
    });
    const head = put("tr", {}, put("th", { scope: "col" }, "Variable"), put("th", { scope: "col" }, data.timed ? "Time" : "Position"), put("th", { scope: "col" }, "Type"));
    const numeric = events.columns.map((column) => [...by.keys()].every((event) => column.values[event] === null || typeof column.values[event] === "number"));
    events.columns.forEach((column, index) => head.append(put("th", { scope: "col", class: numeric[index] ? "number" : "" }, column.name)));
    const body = put("tbody");
    for (const [event, held] of [...by].slice(0, MOST_ROWS)) {
      const names = put("td", { class: "badges" }, badge(held[0]), put("span", {}, variables[held[0]].name));
      const also = held.slice(1).filter((each) => !variables[each].implied).map((each) => variables[each].name);
      if (also.length) names.append(put("span", { class: "also" }, `also in ${also.join(", ")}`));
      const row = put("tr", {}, names, put("td", {}, when(event)), put("td", {}, typeName(event)));
      events.columns.forEach((column, index) => row.append(cell("td", column.values[event], numeric[index] ? "number" : "other")));
      body.append(row);
    }
    for (const [variable, at, values] of match.made.slice(0, MOST_ROWS)) {
      const text = Object.entries(values).map(([name, value]) => `${name} = ${short(value)}`).join(", ") || "nothing";
      const row = put("tr", {}, put("td", { class: "badges" }, badge(variable), put("span", {}, variables[variable].name)),
        put("td", {}, when(at)), put("td", { class: "null" }, "aggregate"));
      if (events.columns.length) row.append(put("td", { colspan: events.columns.length, title: plain(values) }, text));
      else row.lastChild.textContent = text;
      body.append(row);
    }
    const parts = [put("h3", {}, `Match ${(chosen + 1).toLocaleString("en")}`), facts];
    if (body.children.length) {
      const table = put("table", {}, put("thead", {}, head), body);
      parts.push(put("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Events of the match" }, table));
    } else parts.push(put("p", { class: "empty" }, "Its variables hold no events."));
    const left = Math.max(0, by.size - MOST_ROWS) + Math.max(0, match.made.length - MOST_ROWS);
    if (left) parts.push(put("p", { class: "hint" }, `${many(left, "event")} more in this match.`));
    $("detail").replaceChildren(...parts.filter((part) => part !== facts || facts.children.length));
  };

  // --- counts -------------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  const draft = (kind, attributes, text) => {
    const made = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  let windowBox = null, chartX = null;
  const drawCounts = () => {
    const bars = buckets.events.length, wide = Math.max(280, $("counts").clientWidth), left = gutter, room = wide - left - 8;
    if (!bars) { $("counts").replaceChildren(put("p", { class: "empty" }, "No events.")); return; }
    const end = buckets.start + bars * buckets.width;
    const svg = draft("svg", { viewBox: `0 0 ${wide} 152`, role: "img", "aria-label": $("counts-aside").textContent });
    chartX = (x) => left + ((x - buckets.start) / (end - buckets.start)) * room;
    [["Events", "events", 0], ["Matches", "matches", 68]].forEach(([title, kind, top]) => {
      const most = buckets[kind].reduce((one, other) => Math.max(one, other), 0);
      svg.append(draft("text", { class: "name", x: 0, y: top + 22 }, title));
      svg.append(draft("text", { x: 0, y: top + 39 }, `up to ${most.toLocaleString("en")}`));
      svg.append(draft("line", { class: "axis", x1: left, x2: left + room, y1: top + 60.5, y2: top + 60.5 }));
      buckets[kind].forEach((count, index) => {
        if (!count) return;
        const tall = Math.max(2, (count / most) * 50), x = left + (index * room) / bars;
        svg.append(draft("rect", { class: kind, x: x + 0.75, y: top + 60 - tall, width: Math.max(1, room / bars - 1.5), height: tall, rx: Math.min(2, room / bars / 4) }));
      });
    });
    const span = bars * buckets.width, step = stepOf(span, Math.max(3, room / 90)), zero = data.timed ? -(data.origin % step) : 0;
    for (let n = Math.ceil((buckets.start - zero) / step); n * step + zero <= end; n += 1) {
      const x = chartX(n * step + zero);
      if (x > left + 16 && x < wide - 30) svg.append(draft("text", { x, y: 148, "text-anchor": "middle" }, axisText(n * step + zero, step)));
    }
    windowBox = draft("rect", { class: "view", y: 2, height: 128, rx: 4 });
    svg.append(windowBox);
    buckets.events.forEach((count, index) => {
      const at = buckets.start + index * buckets.width;
      const hit = draft("rect", { class: "hit", x: left + (index * room) / bars, y: 0, width: room / bars, height: 132 });
      const upto = data.timed ? at + buckets.width : at + buckets.width - 1;
      hit.append(draft("title", {}, `${axisText(at, buckets.width)} – ${axisText(upto, buckets.width)}: ${many(count, "event")}, ${many(buckets.matches[index], "match")}`));
      hit.addEventListener("click", () => { const half = (view[1] - view[0]) / 2, middle = at + buckets.width / 2; setView(middle - half, middle + half); });
      svg.append(hit);
    });
    $("counts").replaceChildren(svg);
    drawWindow();
  };
  function drawWindow() {  // what the timeline shows, as a window in the chart of all
    if (!windowBox) return;
    const end = buckets.start + buckets.events.length * buckets.width;
    const low = chartX(Math.max(buckets.start, view[0])), high = chartX(Math.min(end, view[1]));
    windowBox.setAttribute("x", low);
    windowBox.setAttribute("width", Math.max(3, high - low));
  }
  const spanText = () => {
    if (!data.timed) return "positions";
    const names = [[DAY, "day"], [3600000, "hour"], [60000, "minute"], [1000, "second"], [1, "millisecond"]];
    const [unit, name] = names.find(([length]) => buckets.width >= length) ?? [1, "millisecond"];
    return `${Number((buckets.width / unit).toPrecision(4))} ${name}${buckets.width === unit ? "" : "s"}`;
  };

  // --- the result ---------------------------------------------------------------------------------------------------

  const FIRST_ROWS = 20, resultRows = [];
  const addRows = (end) => {
    const body = $("result").tBodies[0];
    for (let number = resultRows.length; number < end; number += 1) {
      const link = put("button", { type: "button", "aria-label": `Show match ${number + 1} in the timeline` }, String(number + 1));
      const row = put("tr", {}, put("td", { class: "number" }, link));
      matches[number].row.forEach((value, index) => row.append(cell("td", value, data.kinds[index])));
      row.addEventListener("click", () => { choose(number); $("timeline").scrollIntoView({ block: "nearest" }); });
      if (number === chosen) row.setAttribute("aria-current", "true");
      resultRows.push(row);
      body.append(row);
    }
  };

  // --- putting it together --------------------------------------------------------------------------------------------

  const found = counts.counted ? many(counts.matches, "match") : `more than ${many(counts.matches, "match")}`;
  $("headline").textContent = `${found[0].toUpperCase()}${found.slice(1)} in ${many(counts.events, "event")}`;
  document.title = `${$("headline").textContent} – acelera`;
  const part = (shownCount, all, exact) => (exact && shownCount === all ? `all ${all.toLocaleString("en")}` : `${shownCount.toLocaleString("en")} of ${exact ? "" : "more than "}${all.toLocaleString("en")}`);
  const leftOut = counts.events > 0 && (matches.length < counts.matches || total < counts.events || !counts.counted);
  const shownText = `Shown here: ${part(matches.length, counts.matches, counts.counted)} matches${matches.length < counts.matches || !counts.counted ? ", the first by where they end" : ""}, and ${part(total, counts.events, true)} events${total < counts.events ? ", those of these matches and the ones around them" : ""}.`;
  $("shown").textContent = counts.events ? shownText : "There are no events.";
  const range = data.timed && total ? `${events.time[0].slice(0, sameDay ? 10 : 5)}${sameDay ? ", " : ""}${brief(0)} to ${sameDay ? "" : events.time[total - 1].slice(0, 5)}${brief(total - 1)}` : "";
  const spanned = range && (leftOut ? ` These are from ${range}` : range) + (data.zoned ? " (UTC)." : ".");
  $("lead").textContent = (leftOut ? shownText : "") + spanned || "Events have no time here: they are shown by their position in the stream.";
  $("counts-aside").textContent = `all ${counts.events.toLocaleString("en")} events and ${counts.counted ? "all" : "the first"} ${counts.matches.toLocaleString("en")} matches, ` +
    (data.timed ? `per ${spanText().replace(/^1 /, "")}` : `per ${buckets.width.toLocaleString("en")} position${buckets.width === 1 ? "" : "s"}`) + ", a match where it ends";
  if (counts.matches && !matches.length && total) {
    $("hint").textContent = "No match is shown: the first one has more events than fit on this page, or none were asked for. Give report(…) larger limits.";
  } else $("hint").textContent = "← and → step through the matches. Drag to pan, hold Ctrl and scroll to zoom, click on an event to see a match of it.";
  for (const [variable, letter] of letters) {
    const { name, made } = variables[variable];
    $("legend").append(put("span", { "data-letter": letter }, badge(variable), name + (made === "all" ? " (aggregate)" : "")));
  }
  const keyTitle = (event) => keyColumns.map((column) => `${column.name}: ${plain(column.values[event])}`).join("\n").slice(0, 1500);
  heldBy.forEach((by, number) => {
    const match = matches[number];
    const span = put("span", { class: "span" }, put("span", {}, brief(match.start)));
    if (match.start !== match.end) span.append(" – ", put("span", {}, brief(match.end, match.start)));
    const key = byKey && put("span", { class: "key", title: keyTitle(match.start) }, shortened(keyOf(match.start), 30));
    options.push(put("div", { class: "option", role: "option", id: `match-${number + 1}`, "aria-selected": "false" },
      put("span", { class: "rank" }, String(number + 1)), span, key, put("span", { class: "size" }, many(by.size, "event"))));
  });
  list.classList.toggle("keyed", byKey !== null);
  list.append(...options);
  if (!matches.length) list.append(put("p", { class: "empty" }, counts.matches ? "None shown." : "Nothing matches."));
  list.addEventListener("click", (event) => { const option = event.target.closest(".option"); if (option) choose(options.indexOf(option)); });
  list.addEventListener("keydown", (event) => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 0, End: matches.length - 1, PageDown: Math.min(matches.length - 1, chosen + 9), PageUp: Math.max(0, chosen - 9) }[event.key];
    if (to !== undefined) { event.preventDefault(); choose(to); }
  });
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.(".scroll, .automaton, .query")) return;
    if (event.key === "ArrowRight") { event.preventDefault(); choose(chosen + 1); }
    if (event.key === "ArrowLeft") { event.preventDefault(); choose(chosen - 1); }
    if (event.key === "+") zoom(0.6);
    if (event.key === "-") zoom(1 / 0.6);
  });
  $("previous").disabled = $("next").disabled = $("fit").disabled = !matches.length;
  if (!matches.length) $("which").textContent = "No matches";
  $("previous").addEventListener("click", () => choose(chosen - 1));
  $("next").addEventListener("click", () => choose(chosen + 1));
  $("in").addEventListener("click", () => zoom(0.6));
  $("out").addEventListener("click", () => zoom(1 / 0.6));
  $("fit").addEventListener("click", fit);
  $("whole").addEventListener("click", () => setView(...whole));
  if (byKey) {
    $("lanes").hidden = false;
    $("by-key").textContent = `By ${data.keys.join(", ")}`;
    const lay = (which) => {
      lanes = which;
      $("by-type").setAttribute("aria-pressed", String(which === byType));
      $("by-key").setAttribute("aria-pressed", String(which === byKey));
      measure();
      drawCounts();
      redraw();
    };
    $("by-type").addEventListener("click", () => lay(byType));
    $("by-key").addEventListener("click", () => lay(byKey));
    $("by-type").setAttribute("aria-pressed", String(lanes === byType));
    $("by-key").setAttribute("aria-pressed", String(lanes === byKey));
  }

  const head = put("tr", {}, put("th", { scope: "col", class: "number" }, "#"));
  data.columns.forEach((name, index) => head.append(put("th", { scope: "col", class: data.kinds[index] === "number" ? "number" : "" }, name)));
  $("result").append(put("thead", {}, head), put("tbody"));
  addRows(Math.min(FIRST_ROWS, matches.length));
  const sayRows = () => { $("result-aside").textContent = matches.length ? `${resultRows.length === counts.matches ? "" : "the first "}${many(resultRows.length, "row")}${resultRows.length === counts.matches ? "" : ` of ${counts.counted ? "" : "more than "}${counts.matches.toLocaleString("en")}`}` : "no rows"; };
  sayRows();
  if (matches.length > FIRST_ROWS) {
    $("more").hidden = false;
    $("more").textContent = `Show ${matches.length.toLocaleString("en")} rows`;
    $("more").addEventListener("click", () => { addRows(matches.length); $("more").hidden = true; sayRows(); });
  }

  // --- pointer --------------------------------------------------------------------------------------------------------

  const nearest = (px, py) => {
    for (const mark of marks.values()) if (Math.hypot(mark.x - px, mark.y - py) <= mark.radius && px >= gutter) return mark.event;
    const lane = Math.floor(py / laneHeight);
    let found = -1, distance = 12;
    for (let event = from(fromX(px - 12)), end = from(fromX(px + 12)); event < end; event += 1) {
      const away = Math.abs(toX(events.x[event]) - px);
      if (lanes.of[event] === lane && away < distance) { found = event; distance = away; }
    }
    return px < gutter ? -1 : found;
  };
  const tip = $("tip");
  const hover = (px, py) => {
    const event = nearest(px, py);
    plot.classList.toggle("over", event >= 0 && inMatch[event] === 1);
    if (event === hovered) return;
    hovered = event;
    tip.hidden = event < 0;
    if (event >= 0) {
      tip.replaceChildren(put("b", {}, typeName(event)), ` ${when(event)}`);
      for (const column of events.columns.slice(0, 12)) tip.append(put("div", {}, `${column.name}: ${short(column.values[event]).slice(0, 120)}`));
      const x = toX(events.x[event]);
      tip.style.left = x < width * 0.6 ? `${x + 18}px` : "auto";
      tip.style.right = x < width * 0.6 ? "auto" : `${width - x + 18}px`;
      tip.style.top = "8px";
    }
    redraw(false);
  };
  let held = null;
  plot.addEventListener("pointerdown", (event) => { if (event.button === 0) held = { x: event.clientX, view: [...view], moved: false, id: event.pointerId }; });
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    if (!held) { hover(event.clientX - box.left, event.clientY - box.top); return; }
    const by = event.clientX - held.x;
    if (!held.moved && Math.abs(by) < 4) return;
    if (!held.moved) { held.moved = true; plot.setPointerCapture(held.id); plot.classList.add("dragging"); }
    const shift = (by / (width - gutter)) * (held.view[1] - held.view[0]);
    setView(held.view[0] - shift, held.view[1] - shift);
  });
  const release = (event) => {
    if (held && !held.moved && event.type === "pointerup") {
      const box = plot.getBoundingClientRect(), at = nearest(event.clientX - box.left, event.clientY - box.top);
      for (let n = 1; at >= 0 && n <= matches.length; n += 1) {
        const number = (chosen + n) % matches.length;
        if (heldBy[number].has(at)) { choose(number, { move: false }); break; }
      }
    }
    held = null;
    plot.classList.remove("dragging");
  };
  plot.addEventListener("pointerup", release);
  plot.addEventListener("pointercancel", release);
  plot.addEventListener("pointerleave", () => hover(-1, -1));
  plot.addEventListener("wheel", (event) => {
    const span = view[1] - view[0];
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), fromX(event.clientX - plot.getBoundingClientRect().left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = ((event.deltaX || event.deltaY) / (width - gutter)) * span;
      setView(view[0] + by, view[1] + by);
    }
  }, { passive: false });

  // --- begin ----------------------------------------------------------------------------------------------------------

  const fromHash = () => Number(/match=(\d+)/.exec(location.hash)?.[1] ?? 0) - 1;
  const picture = document.querySelector(".automaton svg");
  const frame = document.querySelector(".automaton"), natural = picture ? picture.width.baseVal.value : 0;
  if (natural > frame.clientWidth) document.querySelector(".pair").classList.add("wide");
  if (natural > frame.clientWidth && natural < 1.35 * frame.clientWidth) Object.assign(picture.style, { width: "100%", height: "auto" });
  readPalette();
  measure();
  drawCounts();
  choose(Math.max(0, Math.min(matches.length - 1, fromHash())), { tell: false, move: fromHash() >= 0 });
  if (chosen >= 0 && fromHash() < 0) show();
  draw();
  addEventListener("hashchange", () => { if (fromHash() >= 0) choose(fromHash()); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readPalette(); redraw(); });
  new ResizeObserver(() => { if (plot.clientWidth !== width) { measure(); drawCounts(); redraw(); } }).observe(plot);
  root.dataset.ready = "true";
  if (/measure/.test(location.hash)) {  // how long it took to be ready, and how long a step and a new view take
    const time = (work) => {
      const start = performance.now();
      work();
      draw();
      overlay.getContext("2d").getImageData(0, 0, 1, 1);
      base.getContext("2d").getImageData(0, 0, 1, 1);
      return performance.now() - start;
    };
    const ready = performance.now();
    const steps = matches.map((_, number) => time(() => choose(number, { tell: false })));
    const views = Array.from({ length: 20 }, () => time(() => { setView(...whole); stale = true; }));
    const say = (times) => `${(times.reduce((a, b) => a + b, 0) / Math.max(1, times.length)).toFixed(2)} mean, ${Math.max(0, ...times).toFixed(2)} max`;
    root.dataset.load = `${(ready - began).toFixed(1)} script, ${ready.toFixed(1)} since navigation`;
    root.dataset.step = say(steps);
    root.dataset.view = say(views);
  }
})();
