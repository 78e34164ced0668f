(() => {
  const root = document.documentElement;
  root.dataset.errors = "0";
  addEventListener("error", () => { root.dataset.errors = String(Number(root.dataset.errors) + 1); });

  const data = JSON.parse(document.getElementById("data").textContent);
  const { events, labels, names } = data;
  const $ = (id) => document.getElementById(id);
  const { put, many, plain, short, shortened, axisText, stepOf, cutText } = parts(data);
  const total = events.label.length;
  const derived = [...events.label.keys()].filter((event) => events.derived[event]);  // in the order of their ends
  const nameOf = (event) => labels[events.label[event]].name;

  // --- times and values as texts --------------------------------------------------------------------------------

  const range = (from, to) => from === to ? from : `${from} – ${to.slice(0, 10) === from.slice(0, 10) && data.timed ? to.slice(11) : to}`;
  const when = (event) => range(events.from[event], events.to[event]);
  const cell = (kind, value) => {
    const missing = value === undefined || value === null, text = missing ? "" : short(value);
    const made = put(kind, {}, text.length > 160 ? text.slice(0, 160) + "…" : text);
    if (!missing && plain(value) !== made.textContent) made.title = plain(value).slice(0, 1500);
    if (typeof value === "number") made.classList.add("number");
    return made;
  };
  const fieldsText = (event) => Object.entries(events.fields[event]).map(([name, value]) => `${name} ${short(value)}`).join(", ");
  const swatch = (label) => {
    const made = put("span", { class: "swatch", "aria-hidden": "true" });
    if (labels[label].colour !== null) made.style.background = `var(--v${labels[label].colour})`;
    return made;
  };

  // --- what an event was made from ------------------------------------------------------------------------------

  const wayChosen = new Map();  // for events with several ways, the number of the one that is shown
  const wayOf = (event) => events.ways[event][wayChosen.get(event) ?? 0];
  const hasParts = (way) => way.parts.length + way.timers.length + way.looked.length > 0;
  const sources = (event) => {
    const way = wayOf(event);
    return way ? [...way.parts.map(([, part]) => part), ...way.looked.flatMap((looked) => looked.events ?? [])] : [];
  };
  const below = (event) => {  // all events that it was made from, down to base events, with how many steps away they are
    const found = new Map([[event, 0]]), todo = [event];
    for (let at = 0; at < todo.length; at += 1) {
      for (const each of sources(todo[at])) if (!found.has(each)) { found.set(each, found.get(todo[at]) + 1); todo.push(each); }
    }
    return found;
  };
  const uses = new Map();  // for each event the derived ones that were made from it
  for (const event of derived) {
    for (const each of new Set(sources(event))) {
      if (!uses.has(each)) uses.set(each, []);
      uses.get(each).push(event);
    }
  }

  // --- lanes: one for each label, with rows for intervals that overlap, and one for timers --------------------------

  const MOST_ROWS_OF_LANE = 5, ROW = 13;
  const rowOf = new Array(total).fill(0), rowsOf = labels.map(() => 1);
  const stacked = (list, begin, end, most) => {  // a row for each of some intervals, such that few overlap
    const free = [], rows = new Map();
    for (const each of [...list].sort((a, b) => begin(a) - begin(b) || end(a) - end(b))) {
      let row = free.findIndex((until) => until < begin(each));
      if (row < 0) row = free.length < most ? free.length : free.indexOf(Math.min(...free));
      free[row] = end(each);
      rows.set(each, row);
    }
    return [rows, Math.max(1, free.length)];
  };
  labels.forEach((_, label) => {
    const own = [...events.label.keys()].filter((event) => events.label[event] === label);
    const [rows, count] = stacked(own, (event) => events.begin[event], (event) => events.end[event], MOST_ROWS_OF_LANE);
    for (const [event, row] of rows) rowOf[event] = row;
    rowsOf[label] = count;
  });
  const hasTimers = events.ways.some((ways) => ways.some((way) => way.timers.length));
  const tops = [];
  let plotHeight = 0;
  for (const count of [...rowsOf, ...(hasTimers ? [3] : [])]) { tops.push(plotHeight); plotHeight += Math.max(34, count * ROW + 14); }
  tops.push(plotHeight);
  const yOf = (event) => {
    const label = events.label[event], room = tops[label + 1] - tops[label];
    return tops[label] + room / 2 + (rowOf[event] - (rowsOf[label] - 1) / 2) * ROW;
  };

  // --- the timeline: events on one canvas, the chosen one on another above it ---------------------------------------

  const plot = $("plot"), base = $("base"), overlay = $("overlay"), AXIS = 26, HALF = 4;
  const every = (list, start, better) => list.reduce((one, other) => better(one, other), start);
  const timersOf = events.ways.flat().flatMap((way) => way.timers);
  const first = total ? every([...events.begin, ...timersOf.map((timer) => timer.begin)], Infinity, Math.min) : 0;
  const last = total ? every([...events.end, ...timersOf.map((timer) => timer.end)], -Infinity, Math.max) : 1;
  const pad = (last - first) * 0.02 || (data.timed ? 1000 : 1);
  const whole = [first - pad, last + pad], view = [...whole];
  let chosen = -1, hovered = -1, width = 0, gutter = 0, palette = {};
  const height = plotHeight + AXIS;
  const readPalette = () => {
    const style = getComputedStyle(root);
    palette = {};
    for (const name of ["--ink", "--soft", "--faint", "--line", "--card", "--accent", "--event", "--lane", "--sans",
      ...Array.from({ length: 8 }, (_, n) => `--v${n}`)]) palette[name] = style.getPropertyValue(name).trim();
  };
  const colourOf = (event) => palette[labels[events.label[event]].colour === null ? "--event" : `--v${labels[events.label[event]].colour}`];
  const toX = (x) => gutter + ((x - view[0]) / (view[1] - view[0])) * (width - gutter);
  const fromX = (px) => view[0] + ((px - gutter) / (width - gutter)) * (view[1] - view[0]);
  const box = (begin, end, least = 3) => {  // what is seen of an interval: its left edge and its width
    const left = Math.max(toX(begin), gutter - 20), right = Math.min(toX(end), width + 20);
    return right - left >= least ? [left, right - left] : [(left + right - least) / 2, least];
  };
  const visible = (begin, end) => end >= view[0] && begin <= view[1];
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
    const longest = every(labels.map((label) => ctx.measureText(label.name.slice(0, 60)).width), 0, Math.max);
    gutter = Math.round(Math.max(84, Math.min(longest + 30, width * 0.24)));
  };
  const clipped = (ctx, work) => {
    ctx.save();
    ctx.beginPath(); ctx.rect(gutter, 0, width - gutter, height); ctx.clip();
    work();
    ctx.restore();
  };
  const drawAxis = (ctx) => {
    const step = stepOf(view[1] - view[0], Math.max(3, (width - gutter) / 90)), zero = data.timed ? -(data.origin % step) : 0;
    ctx.strokeStyle = palette["--line"];
    ctx.lineWidth = 1;
    ctx.textAlign = "center";
    for (let n = Math.ceil((view[0] - zero) / step); n * step + zero <= view[1]; n += 1) {
      const x = Math.round(toX(n * step + zero)) + 0.5;
      if (x < gutter) continue;
      ctx.beginPath(); ctx.moveTo(x, 0); ctx.lineTo(x, plotHeight); ctx.stroke();
      ctx.fillStyle = palette["--soft"];
      if (x > gutter + 20 && x < width - 24) ctx.fillText(axisText(n * step + zero, step), x, plotHeight + AXIS / 2);
    }
  };
  const drawBase = () => {
    const ctx = ctxOf(base), lanes = [...labels.map((label) => label.name), ...(hasTimers ? ["timers"] : [])];
    ctx.font = `12.5px ${palette["--sans"]}`;
    ctx.textBaseline = "middle";
    lanes.forEach((_, lane) => {
      if (lane % 2 === 0) { ctx.fillStyle = palette["--lane"]; ctx.fillRect(0, tops[lane], width, tops[lane + 1] - tops[lane]); }
    });
    drawAxis(ctx);
    clipped(ctx, () => {
      ctx.globalAlpha = 0.5;
      for (let event = 0; event < total; event += 1) {
        if (!visible(events.begin[event], events.end[event])) continue;
        const [left, wide] = box(events.begin[event], events.end[event]), point = events.begin[event] === events.end[event];
        ctx.fillStyle = colourOf(event);
        ctx.fillRect(left, yOf(event) - (point ? HALF + 1.5 : HALF), wide, 2 * (point ? HALF + 1.5 : HALF));
      }
    });
    ctx.textAlign = "left";
    lanes.forEach((name, lane) => {
      ctx.fillStyle = palette[labels[lane] ? "--ink" : "--soft"];
      ctx.fillText(cutText(ctx, name, gutter - 22), 12, (tops[lane] + tops[lane + 1]) / 2);
    });
    if (!total) { ctx.fillStyle = palette["--soft"]; ctx.fillText("No events", gutter + 12, plotHeight / 2); }
  };

  const MOST_LINKS = 400;
  const middleOf = (event) => {
    const [left, wide] = box(events.begin[event], events.end[event]);
    return [left + wide / 2, yOf(event)];
  };
  const drawLinks = (ctx, found) => {
    let drawn = 0;
    ctx.strokeStyle = palette["--accent"];
    for (const [event, steps] of found) {
      ctx.globalAlpha = steps ? 0.3 : 0.6;
      ctx.lineWidth = steps ? 1 : 1.5;
      for (const part of new Set(sources(event))) {
        drawn += 1;
        if (drawn > MOST_LINKS) return;
        const [x, y] = middleOf(event), [toX_, toY] = middleOf(part), middle = (y + toY) / 2;
        ctx.beginPath(); ctx.moveTo(x, y); ctx.bezierCurveTo(x, middle, toX_, middle, toX_, toY); ctx.stroke();
      }
    }
  };
  const drawTimers = (ctx, found) => {  // hollow: nothing happens in them but time; with what was looked for
    const timers = [...found].flatMap(([event, steps]) => (wayOf(event)?.timers ?? []).map((timer) => ({ ...timer, steps }))).slice(0, 40);
    const lane = labels.length, room = tops[lane + 1] - tops[lane];
    const [rows, count] = stacked(timers, (timer) => timer.begin, (timer) => timer.end, 4);
    for (const [timer, row] of rows) {
      const [left, wide] = box(timer.begin, timer.end), tall = Math.min(14, (room - 6) / count);
      const y = tops[lane] + room / 2 + (row - (count - 1) / 2) * tall;
      ctx.globalAlpha = timer.steps ? 0.45 : 1;
      ctx.strokeStyle = palette["--ink"];
      ctx.lineWidth = 1.5;
      ctx.setLineDash([4, 3]);
      ctx.strokeRect(left, y - tall / 2 + 1, wide, tall - 2);
      ctx.setLineDash([]);
      ctx.fillStyle = palette["--ink"];
      if (wide > 24) ctx.fillText(cutText(ctx, timer.name, wide - 8), left + wide / 2, y);
    }
  };
  const drawEvent = (ctx, event, steps) => {
    const [left, wide] = box(events.begin[event], events.end[event], 5);
    ctx.globalAlpha = 1;
    ctx.fillStyle = labels[events.label[event]].colour === null ? palette["--ink"] : colourOf(event);
    ctx.fillRect(left, yOf(event) - HALF - 1, wide, 2 * HALF + 2);
    if (steps === 0) {
      ctx.strokeStyle = palette["--ink"];
      ctx.lineWidth = 2;
      ctx.strokeRect(left - 2.5, yOf(event) - HALF - 3.5, wide + 5, 2 * HALF + 7);
    }
  };
  const drawNames = (ctx) => {  // what the rule calls the parts of the chosen event
    ctx.font = `600 11px ${palette["--sans"]}`;
    ctx.textAlign = "center";
    const named = new Map();
    for (const [name, part] of wayOf(chosen)?.parts ?? []) if (name) named.set(part, named.has(part) ? `${named.get(part)}, ${name}` : name);
    for (const [part, name] of named) {
      const [x, y] = middleOf(part), wide = ctx.measureText(name).width + 8, up = y - tops[events.label[part]] > 22 ? -13 : 13;
      ctx.globalAlpha = 0.92;
      ctx.fillStyle = palette["--card"];
      ctx.fillRect(x - wide / 2, y + up - 7, wide, 14);
      ctx.globalAlpha = 1;
      ctx.fillStyle = palette["--ink"];
      ctx.fillText(name, x, y + up);
    }
  };
  const drawOverlay = () => {
    const ctx = ctxOf(overlay);
    ctx.textBaseline = "middle";
    ctx.textAlign = "center";
    ctx.font = `11px ${palette["--sans"]}`;
    clipped(ctx, () => {
      if (chosen >= 0) {
        const [left, wide] = box(events.begin[chosen], events.end[chosen]), found = below(chosen);
        ctx.fillStyle = palette["--accent"];
        ctx.globalAlpha = 0.08;
        ctx.fillRect(left - 3, 0, wide + 6, plotHeight);
        ctx.globalAlpha = 1;
        ctx.fillRect(left - 3, plotHeight, wide + 6, 3);
        drawLinks(ctx, found);
        for (const [event, steps] of [...found].reverse()) drawEvent(ctx, event, steps);
        if (hasTimers) drawTimers(ctx, found);
        drawNames(ctx);
      }
      if (hovered >= 0) {
        const [left, wide] = box(events.begin[hovered], events.end[hovered]);
        ctx.globalAlpha = 1;
        ctx.strokeStyle = palette["--ink"];
        ctx.lineWidth = 1.5;
        ctx.strokeRect(left - 3, yOf(hovered) - HALF - 4, wide + 6, 2 * HALF + 8);
      }
    });
  };
  let waiting = 0, stale = true;
  const draw = () => {
    waiting = 0;
    if (stale) drawBase();
    stale = false;
    drawOverlay();
  };
  const redraw = (all = true) => { stale = stale || all; if (!waiting) waiting = requestAnimationFrame(draw); };
  const setView = (low, high) => {
    const widest = whole[1] - whole[0], narrowest = data.timed ? Math.max(widest / 1e7, 1e-3) : 2;
    const span = Math.min(widest, Math.max(narrowest, high - low));
    const begin = Math.min(whole[1] - span, Math.max(whole[0], (low + high) / 2 - span / 2));
    view[0] = begin; view[1] = begin + span;
    redraw();
  };
  const zoom = (factor, at = (view[0] + view[1]) / 2) => setView(at + (view[0] - at) * factor, at + (view[1] - at) * factor);
  const fitting = () => {  // the view in which the chosen event takes a good third
    const low = events.begin[chosen], high = events.end[chosen], room = (high - low) * 0.85 || (whole[1] - whole[0]) * 0.02;
    return [low - room, high + room];
  };
  const fit = () => { if (chosen >= 0) setView(...fitting()); };
  const show = () => {  // leave the view as it is if the event can be seen well in it
    const [begin, end] = fitting(), share = (view[1] - view[0]) / (end - begin);
    const inside = events.begin[chosen] >= view[0] && events.end[chosen] <= view[1];
    if (!inside || share < 0.55 || share > 1.6) fit();
  };

  // --- choosing an event --------------------------------------------------------------------------------------------

  const list = $("list");
  let stepped = derived, options = new Map();
  const markRow = (event, on) => {
    options.get(event)?.setAttribute("aria-selected", String(on));
    if (on) resultRows.get(event)?.setAttribute("aria-current", "true");
    else resultRows.get(event)?.removeAttribute("aria-current");
  };
  const markRule = () => {
    const rule = chosen >= 0 ? wayOf(chosen)?.rule : undefined;
    document.querySelectorAll(".program .rule").forEach((each) => each.classList.toggle("on", Number(each.dataset.rule) === rule));
  };
  const choose = (event, { move = true, tell = true } = {}) => {
    if (event === undefined || event < 0 || event === chosen || !events.derived[event]) return;
    if (!stepped.includes(event)) only(-1);
    if (chosen >= 0) markRow(chosen, false);
    chosen = event;
    markRow(event, true);
    const option = options.get(event);
    list.setAttribute("aria-activedescendant", option.id);
    const top = option.offsetTop, bottom = top + option.offsetHeight;
    if (top < list.scrollTop) list.scrollTop = top - 4;
    else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom + 4 - list.clientHeight;
    root.dataset.event = String(event + 1);
    where();
    markRule();
    detail();
    if (move) show();
    redraw(false);
    if (tell) {
      $("status").textContent = `${nameOf(event)} ${when(event)}: ${fieldsText(event)}`.slice(0, 400);
      try { history.replaceState(null, "", `#event=${event + 1}`); } catch { /* some browsers refuse this for files */ }
    }
  };
  const where = () => {
    const number = stepped.indexOf(chosen);
    $("previous").disabled = number <= 0;
    $("next").disabled = number < 0 || number === stepped.length - 1;
    if (stepped.length) $("which").replaceChildren("Event ", put("b", {}, (number + 1).toLocaleString("en")), ` of ${stepped.length.toLocaleString("en")}`);
    else $("which").textContent = "Nothing derived";
  };
  const step = (by) => choose(stepped[stepped.indexOf(chosen) + by]);
  const only = (label) => {  // step through the events of one label, or of all
    stepped = label < 0 ? derived : derived.filter((event) => events.label[event] === label);
    $("only").value = String(label);
    options = new Map(stepped.map((event, number) => [event, put("div", { class: "option", role: "option", id: `event-${event + 1}`, "aria-selected": String(event === chosen) },
      put("span", { class: "rank" }, String(number + 1)),
      put("span", { class: "what", title: fieldsText(event).slice(0, 400) }, swatch(events.label[event]), shortened(nameOf(event), 40), " ", fieldsText(event).slice(0, 80)),
      put("span", {}), put("span", { class: "span" }, when(event)))]));
    list.replaceChildren(...options.values());
    if (!stepped.length) list.append(put("p", { class: "empty" }, "Nothing was derived, or nothing of it is shown."));
  };

  // --- the chosen event: what it is, and a tree of what it was made from ----------------------------------------------

  const MOST_ROWS = 200;
  const line = (depth, role, what, time, rest, kind = "") => {
    const tree = put("td", { class: "tree" }, what);
    tree.style.paddingLeft = `${depth * 20}px`;
    return put("tr", { class: kind }, tree, put("td", { class: "role", title: role }, role), put("td", {}, time), put("td", { title: rest.slice(0, 1500) }, rest.slice(0, 160)));
  };
  const eventLine = (depth, role, event) => {
    const name = shortened(nameOf(event), 40);
    const what = put("span", {}, swatch(events.label[event]));
    if (events.derived[event]) {
      const button = put("button", { type: "button", "aria-label": `Show ${nameOf(event)} ${when(event)}` }, name);
      button.addEventListener("click", () => choose(event));
      what.append(button);
    } else what.append(name);
    return line(depth, role, what, when(event), fieldsText(event));
  };
  const treeRows = () => {
    const rows = [], told = new Set([chosen]);
    const tell = (event, depth) => {
      const way = wayOf(event);
      if (!way) return;
      const role = (name) => name || "event";
      for (const [name, part] of way.parts) { rows.push(eventLine(depth, role(name), part)); further(part, depth); }
      for (const timer of way.timers) rows.push(line(depth, timer.name, "timer", range(timer.from, timer.to), timer.what, "timer"));
      for (const looked of way.looked) {
        if (looked.events === null) rows.push(line(depth, `while ${looked.during}`, "nothing", "", `no ${looked.query}`, "timer"));
        for (const each of looked.events ?? []) { rows.push(eventLine(depth, `collected while ${looked.during}`, each)); further(each, depth); }
      }
    };
    const further = (event, depth) => {  // once: an event may be a part of several
      if (told.has(event) || rows.length > MOST_ROWS) return;
      told.add(event);
      tell(event, depth + 1);
    };
    tell(chosen, 0);
    return rows;
  };
  const waysChoice = () => {
    const ways = events.ways[chosen];
    if (ways.length < 2) return null;
    const choice = put("div", { class: "choice", role: "group", "aria-label": "Ways in which it was made" });
    ways.forEach((_, number) => {
      const button = put("button", { type: "button", "aria-pressed": String(number === (wayChosen.get(chosen) ?? 0)) }, `Way ${number + 1}`);
      button.addEventListener("click", () => { wayChosen.set(chosen, number); markRule(); detail(); redraw(false); });
      choice.append(button);
    });
    return choice;
  };
  const detail = () => {
    const facts = put("dl", { class: "facts" }), way = wayOf(chosen);
    for (const [name, value] of Object.entries(events.fields[chosen])) facts.append(put("div", {}, put("dt", {}, name), cell("dd", value)));
    const title = put("h3", {}, swatch(events.label[chosen]), `${nameOf(chosen)}  ${when(chosen)}`);
    const by = put("p", { class: "by" }, way ? `Made by rule ${names[way.rule]}${hasParts(way) ? " from:" : "."}` : "How it was made was not found.");
    const rows = way ? treeRows() : [], shown = [title, facts, by, waysChoice()].filter((part) => part && (part !== facts || facts.children.length));
    if (rows.length) {
      const head = put("tr", {}, ...["What", "In the rule", "When", "Values"].map((name) => put("th", { scope: "col" }, name)));
      const table = put("table", {}, put("thead", {}, head), put("tbody", {}, ...rows.slice(0, MOST_ROWS)));
      shown.push(put("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "What the event was made from" }, table));
    }
    if (rows.length > MOST_ROWS) shown.push(put("p", { class: "hint" }, `Only the first ${MOST_ROWS} lines are listed; all of it is marked on the timeline.`));
    const used = uses.get(chosen) ?? [];
    if (used.length) {
      const line = put("p", { class: "hint" }, `Used in ${many(used.length, "event")}: `);
      used.slice(0, 12).forEach((event, number) => {
        const button = put("button", { type: "button" }, `${shortened(nameOf(event), 30)} ${when(event)}`);
        button.addEventListener("click", () => choose(event));
        line.append(number ? " " : "", button);
      });
      shown.push(line);
    }
    $("detail").replaceChildren(...shown);
  };

  // --- numbers, and the derived events by label -------------------------------------------------------------------------

  const shownOf = (label, kind) => events.label.reduce((sum, each, event) => sum + Number(each === label && events.derived[event] === kind), 0);
  const drawNumbers = () => {
    const titles = ["Label", "Came in", "Derived", "Shown here"];
    const head = put("tr", {}, ...titles.map((title, column) => put("th", { scope: "col", class: column ? "number" : "" }, title)));
    const rows = labels.map((label, number) => put("tr", {}, put("td", {}, swatch(number), label.name),
      ...[label.base, label.derived, shownOf(number, 0) + shownOf(number, 1)].map((count) => put("td", { class: "number" }, count.toLocaleString("en")))));
    $("counts").append(put("thead", {}, head), put("tbody", {}, ...rows));
  };
  const FIRST_ROWS = 20;
  let resultRows = new Map();
  const made = labels.map((_, label) => label).filter((label) => labels[label].colour !== null && shownOf(label, 1));
  const table = (label, most) => {
    const own = derived.filter((event) => events.label[event] === label), columns = [...new Set(own.flatMap((event) => Object.keys(events.fields[event])))];
    const head = put("tr", {}, ...["#", "begin", "end", ...columns].map((name) => put("th", { scope: "col" }, name)));
    resultRows = new Map(own.slice(0, most).map((event, number) => {
      const link = put("button", { type: "button", "aria-label": `Show ${nameOf(event)} ${when(event)} in the timeline` }, String(number + 1));
      const row = put("tr", {}, put("td", {}, link), put("td", {}, events.from[event]), put("td", {}, events.to[event]),
        ...columns.map((name) => cell("td", events.fields[event][name])));
      row.addEventListener("click", () => { choose(event); $("timeline").scrollIntoView({ block: "nearest" }); });
      return [event, row];
    }));
    $("result").replaceChildren(put("thead", {}, head), put("tbody", {}, ...resultRows.values()));
    if (chosen >= 0) markRow(chosen, true);
    $("result-aside").textContent = `${labels[label].name}: ${resultRows.size === labels[label].derived ? many(resultRows.size, "event") : `the first ${resultRows.size.toLocaleString("en")} of ${many(labels[label].derived, "event")}`}`;
    $("more").hidden = own.length <= most;
    $("more").textContent = `Show ${own.length.toLocaleString("en")} events`;
    $("more").onclick = () => table(label, own.length);
    document.querySelectorAll("#tabs button").forEach((tab) => tab.setAttribute("aria-pressed", String(Number(tab.dataset.label) === label)));
  };

  // --- putting it together ----------------------------------------------------------------------------------------------

  const sum = (kind) => labels.reduce((all, label) => all + label[kind], 0);
  const cameIn = sum("base"), wereMade = sum("derived"), leftOut = total < cameIn + wereMade;
  $("headline").textContent = `${many(wereMade, "derived event")} from ${many(cameIn, "event")}`;
  document.title = `${$("headline").textContent} – acelera`;
  const shownText = leftOut
    ? `This page shows the first ${total.toLocaleString("en")} of ${(cameIn + wereMade).toLocaleString("en")} events, by where they end: ${(total - derived.length).toLocaleString("en")} that came in and ${derived.length.toLocaleString("en")} that were derived. Later ones are only counted.`
    : `Shown here: all ${(cameIn + wereMade).toLocaleString("en")} events.`;
  const firstText = total ? events.from[events.begin.indexOf(every(events.begin, Infinity, Math.min))] : "", lastText = total ? events.to[total - 1] : "";
  $("shown").textContent = total ? shownText : "There are no events.";
  $("lead").textContent = total ? `${leftOut ? shownText + " " : ""}From ${firstText} to ${lastText}.` : "There are no events.";
  $("counts-aside").textContent = "all events of the run, by label";
  $("hint").textContent = derived.length
    ? "← and → step through the derived events. Drag to pan, hold Ctrl and scroll to zoom. Click on a derived event to see what it was made from, on another to see what was made of it."
    : "Drag to pan, hold Ctrl and scroll to zoom.";
  made.forEach((label) => $("legend").append(put("span", {}, swatch(label), shortened(labels[label].name, 40))));
  $("only").append(put("option", { value: "-1" }, "all labels"), ...made.map((label) => put("option", { value: String(label) }, shortened(labels[label].name, 40))));
  $("only").addEventListener("change", () => { only(Number($("only").value)); if (stepped.includes(chosen)) where(); else choose(stepped[0]); });
  made.forEach((label) => {
    const tab = put("button", { type: "button", "data-label": String(label), "aria-pressed": "false" }, swatch(label), shortened(labels[label].name, 40));
    tab.addEventListener("click", () => table(label, FIRST_ROWS));
    $("tabs").append(tab);
  });
  document.querySelectorAll(".rules .made").forEach((node) => {  // boxes have the colours of their labels
    const label = labels.find((each) => each.name === node.dataset.label);
    if (label && label.colour !== null) node.style.color = `var(--v${label.colour})`;
  });
  drawNumbers();
  only(-1);
  where();
  if (made.length) table(made[0], FIRST_ROWS);
  else $("result-aside").textContent = "none";

  list.addEventListener("click", (event) => {
    const option = event.target.closest(".option");
    if (option) choose(Number(option.id.slice(6)) - 1);
  });
  list.addEventListener("keydown", (event) => {
    const at = stepped.indexOf(chosen), end = stepped.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: end, PageDown: Math.min(end, at + 9), PageUp: Math.max(0, at - 9) }[event.key];
    if (to !== undefined) { event.preventDefault(); choose(stepped[to]); }
  });
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.(".scroll, .automaton, .query, select")) return;
    if (event.key === "ArrowRight") { event.preventDefault(); step(1); }
    if (event.key === "ArrowLeft") { event.preventDefault(); step(-1); }
    if (event.key === "+") zoom(0.6);
    if (event.key === "-") zoom(1 / 0.6);
  });
  $("fit").disabled = !derived.length;
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("in").addEventListener("click", () => zoom(0.6));
  $("out").addEventListener("click", () => zoom(1 / 0.6));
  $("fit").addEventListener("click", fit);
  $("whole").addEventListener("click", () => setView(...whole));

  // --- pointer ------------------------------------------------------------------------------------------------------------

  const nearest = (px, py) => {
    let found = -1, distance = 9;
    if (px < gutter) return found;
    for (let event = 0; event < total; event += 1) {
      if (!visible(events.begin[event], events.end[event])) continue;
      const [left, wide] = box(events.begin[event], events.end[event]);
      const away = Math.hypot(Math.max(left - px, 0, px - left - wide), Math.max(Math.abs(yOf(event) - py) - HALF, 0));
      if (away < distance) { found = event; distance = away; }
    }
    return found;
  };
  const tip = $("tip");
  const hover = (px, py) => {
    const event = nearest(px, py);
    plot.classList.toggle("over", event >= 0 && (events.derived[event] === 1 || uses.has(event)));
    if (event === hovered) return;
    hovered = event;
    tip.hidden = event < 0;
    if (event >= 0) {
      tip.replaceChildren(put("b", {}, shortened(nameOf(event), 60)), ` ${when(event)}`);
      for (const [name, value] of Object.entries(events.fields[event]).slice(0, 12)) tip.append(put("div", {}, `${name}: ${short(value).slice(0, 120)}`));
      const [left, wide] = box(events.begin[event], events.end[event]), x = left + wide / 2;
      tip.style.left = x < width * 0.6 ? `${x + 18}px` : "auto";
      tip.style.right = x < width * 0.6 ? "auto" : `${width - x + 18}px`;
      tip.style.top = "8px";
    }
    redraw(false);
  };
  const clicked = (event) => {  // a derived event itself; of another, the next one that was made of it
    if (event < 0) return;
    if (events.derived[event]) { choose(event, { move: false }); return; }
    const of = uses.get(event) ?? [];
    choose(of[(of.indexOf(chosen) + 1) % of.length], { move: false });
  };
  let held = null;
  plot.addEventListener("pointerdown", (event) => { if (event.button === 0) held = { x: event.clientX, view: [...view], moved: false, id: event.pointerId }; });
  plot.addEventListener("pointermove", (event) => {
    const frame = plot.getBoundingClientRect();
    if (!held) { hover(event.clientX - frame.left, event.clientY - frame.top); return; }
    const by = event.clientX - held.x;
    if (!held.moved && Math.abs(by) < 4) return;
    if (!held.moved) { held.moved = true; plot.setPointerCapture(held.id); plot.classList.add("dragging"); }
    const shift = (by / (width - gutter)) * (held.view[1] - held.view[0]);
    setView(held.view[0] - shift, held.view[1] - shift);
  });
  const release = (event) => {
    if (held && !held.moved && event.type === "pointerup") {
      const frame = plot.getBoundingClientRect();
      clicked(nearest(event.clientX - frame.left, event.clientY - frame.top));
    }
    held = null;
    plot.classList.remove("dragging");
  };
  plot.addEventListener("pointerup", release);
  plot.addEventListener("pointercancel", release);
  plot.addEventListener("pointerleave", () => hover(-1, -1));
  plot.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), fromX(event.clientX - plot.getBoundingClientRect().left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = ((event.deltaX || event.deltaY) / (width - gutter)) * (view[1] - view[0]);
      setView(view[0] + by, view[1] + by);
    }
  }, { passive: false });

  // --- begin --------------------------------------------------------------------------------------------------------------

  const fromHash = () => Number(/event=(\d+)/.exec(location.hash)?.[1] ?? 0) - 1;
  readPalette();
  measure();
  const isAsked = Boolean(events.derived[fromHash()]);
  choose(isAsked ? fromHash() : derived[0], { tell: false, move: isAsked });
  draw();
  addEventListener("hashchange", () => choose(fromHash()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readPalette(); redraw(); });
  new ResizeObserver(() => { if (plot.clientWidth !== width) { measure(); redraw(); } }).observe(plot);
  root.dataset.ready = "true";
})();
