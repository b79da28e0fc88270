// The browser half of the leaderboard: tens of thousands of rows, filtered and searched at each keystroke, a page at a time.
//
// State: `sel` (the trait `selection`, shared with Python and the address bar). Rows are numbers into lists of texts.
// A cell is what numbers must share to be compared; ranks and orders by value stay within it.

const PREFIX = "#leaderboard?";
const PAGE = 50;
const START = { what: "score", kind: "", paper: "", format: "", task: "", metric: "", split: "", protocol: "", source: "", q: "", sort: "rank", page: 1 };
const FILTERS = ["paper", "format", "task", "metric", "split", "protocol", "source"];
const CELL = ["task", "metric", "split", "protocol", "source", "data"];
const SEARCHED = ["system", "task", "metric", "split", "protocol", "source", "data", "chapter", "kind", "paper", "note"];
const KINDS = { published: "Published", recorded: "Recorded", submitted: "Submitted", live: "Live" };
const WHATS = { score: "scores", difference: "differences of scores", measurement: "other measurements", repeat: "scores again, by another chapter", "": "all rows" };
const FORMATS = { CLF: "Classification", RGN: "Regression", PRX: "Proximity", QRY: "Ad-hoc search", "": "none" };
const PAPERS = { scirepeval: "SciRepEval", csfcube: "CSFCube", neighbours: "Textual neighbours", scimult: "SciMult", beyond: "Beyond the papers" };
const EXHIBIT = /^(CS|V1|V2|TN|SM)-T(A?\d+)$/; // a table of a paper
const PRINTED = { CS: "CSFCube", V1: "SciRepEval v1", V2: "SciRepEval v2", TN: "Textual neighbours", SM: "SciMult" };
const WITHIN = ["rank", "value", "width"];
const HEADS = { rank: "Rank", system: "System", value: "Value", width: "Interval", n: "n", task: "Task", metric: "Metric", split: "Split",
  protocol: "Protocol", source: "Data", kind: "Kind", chapter: "From" };
const SORTED = { rank: "rank", value: "value", width: "width of the interval" };

const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export async function unpack(view) {
  const bytes = Uint8Array.from(atob(view.packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return board(view, await new Response(stream).json());
}

// Everything that does not depend on what is shown: typed columns, cells, ranks, lower-case texts for the search.
function board(view, { texts, codes, value: raw, low, high, n, ids }) {
  const size = view.rows, column = {}, lower = {};
  for (const name of Object.keys(codes)) column[name] = Uint32Array.from(codes[name]);
  for (const name of SEARCHED) lower[name] = texts[name].map((text) => text.toLowerCase());
  for (const [name, words] of [["system", view.names], ["metric", view.measures]]) lower[name] = texts[name].map((text) => `${text} ${words[text] ?? ""}`.toLowerCase());
  const text = (name, i) => texts[name][column[name][i]];
  const value = Float64Array.from(raw, Number);
  const cell = new Int32Array(size), places = new Map(), members = [];
  for (let i = 0; i < size; i += 1) {
    const key = CELL.map((name) => column[name][i]).join();
    if (!places.has(key)) { places.set(key, members.length); members.push([]); }
    members[cell[i] = places.get(key)].push(i);
  }
  const rank = new Int32Array(size), of = new Int32Array(members.length), range = members.map(() => null);
  const score = texts.what.indexOf("score");
  members.forEach((rows, c) => {
    const side = view.directions[text("metric", rows[0])] ?? 1, best = new Map();
    let least = Infinity, most = -Infinity;
    for (const i of rows) {
      least = Math.min(least, value[i], low[i] ?? value[i]);
      most = Math.max(most, value[i], high[i] ?? value[i]);
      if (column.what[i] !== score || text("system", i) in view.bounds || !side) continue;
      best.set(column.system[i], Math.max(side * value[i], best.get(column.system[i]) ?? -Infinity));
    }
    range[c] = [least, most];
    of[c] = best.size;
    const left = new Map(best); // systems without a rank so far: a system has one, its best row
    for (const i of rows) {
      const its = left.get(column.system[i]);
      if (column.what[i] !== score || its !== side * value[i]) continue;
      left.delete(column.system[i]);
      rank[i] = 1;
      for (const other of best.values()) if (other > its) rank[i] += 1;
    }
  });
  const id = (i) => ids[i] ?? [text("kind", i) === "submitted" ? "recorded" : text("kind", i),
    ...["chapter", "task", "system", "metric", "split", "protocol"].map((name) => text(name, i))].join(":");
  return { view, size, texts, column, lower, text, value, raw, low, high, n, cell, members, rank, of, range, id, words: new Map() };
}

// The order of all rows under a sort, made once each.
function ordering(data) {
  const made = new Map();
  return (sort) => {
    if (made.has(sort)) return made.get(sort);
    const name = sort.replace("-", ""), sign = sort.startsWith("-") ? -1 : 1, order = Array.from({ length: data.size }, (_, i) => i);
    const width = (i) => (data.low[i] === null || data.high[i] === null ? Infinity : data.high[i] - data.low[i]);
    const number = { rank: (i) => i, value: (i) => data.value[i], width, n: (i) => data.n[i] ?? -1 }[name];
    const rest = (a, b) => a - b; // rows come cell by cell, best first
    if (number) {
      const within = WITHIN.includes(name);
      order.sort((a, b) => (within ? data.cell[a] - data.cell[b] : 0) || (number(a) === number(b) ? 0 : sign * (number(a) < number(b) ? -1 : 1)) || rest(a, b));
    } else {
      const places = data.texts[name].map((text, at) => [text.toLowerCase(), at]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      const standing = new Int32Array(places.length);
      places.forEach(([, at], k) => { standing[at] = k; });
      order.sort((a, b) => sign * (standing[data.column[name][a]] - standing[data.column[name][b]]) || rest(a, b));
    }
    made.set(sort, Int32Array.from(order));
    return made.get(sort);
  };
}

// The rows that hold a word in any of the searched columns, one byte each; the last words typed are kept.
function holding(data, word) {
  const kept = data.words.get(word);
  if (kept) return kept;
  const rows = new Uint8Array(data.size);
  for (const name of SEARCHED) {
    const mask = Uint8Array.from(data.lower[name], (text) => (text.includes(word) ? 1 : 0)), codes = data.column[name];
    if (!mask.includes(1)) continue;
    for (let i = 0; i < rows.length; i += 1) rows[i] |= mask[codes[i]];
  }
  if (data.words.size > 40) data.words.clear();
  data.words.set(word, rows);
  return rows;
}

// The rows that a selection lets pass, in its order.
export function passing(data, order, sel) {
  const pass = new Uint8Array(data.size).fill(1);
  const only = (name, keep) => {
    const mask = Uint8Array.from(data.texts[name], (text) => (keep(text) ? 1 : 0)), codes = data.column[name];
    for (let i = 0; i < pass.length; i += 1) pass[i] &= mask[codes[i]];
  };
  if (sel.what) only("what", (text) => text === sel.what);
  if (sel.kind) only("kind", (text) => sel.kind.split(",").includes(text));
  for (const name of FILTERS) if (sel[name]) only(name, (text) => text === sel[name]);
  for (const word of sel.q.toLowerCase().split(/\s+/).filter(Boolean)) {
    const rows = holding(data, word);
    for (let i = 0; i < pass.length; i += 1) pass[i] &= rows[i];
  }
  const found = new Int32Array(data.size);
  let n = 0;
  for (let at = 0; at < order.length; at += 1) if (pass[order[at]]) found[n++] = order[at];
  return found.subarray(0, n);
}

// A row as a plain object, for the exports.
export function record(data, i) {
  const texts = Object.fromEntries(["kind", "what", "paper", "format", ...CELL, "system"].map((name) => [name, data.text(name, i)]));
  const c = data.cell[i];
  return { id: data.id(i), ...texts, value: data.value[i], printed: typeof data.raw[i] === "string" ? data.raw[i] : "", std: data.text("std", i),
    low: data.low[i], high: data.high[i], n: data.n[i], rank: data.rank[i] || null, rank_of: data.rank[i] ? data.of[c] : null,
    chapter: data.text("chapter", i), page: data.text("page", i), note: data.text("note", i) };
}

export function shown(value) {
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 1 });
  return value === 0 || size >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

const anchor = (id) => `o-${id.replaceAll("+", "plus").replace(/[^A-Za-z0-9]+/g, "-")}`;

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = unique();
  let sel = { ...START, ...model.get("selection") };
  let data = null, ordered = null, found = [], soonest = 0;

  // ---- frame -----------------------------------------------------------------------------------------------------
  const field = (...given) => labelled(uid, ...given);
  const search = h("input", { type: "search", autocomplete: "off", spellcheck: "false", maxlength: 200, placeholder: "system, task, metric, note …", oninput: soon });
  const pick = Object.fromEntries([...FILTERS, "what", "sort"].map((name) => [name, h("select", { onchange: () => choose({ [name]: pick[name].value, page: 1 }) })]));
  const kinds = Object.fromEntries(Object.entries(KINDS).map(([name, text]) => {
    const box = h("input", { type: "checkbox", id: `${uid}-${name}`, onchange: onKind });
    return [name, { box, node: h("label", { for: box.id, class: "lbx-kind", "data-kind": name }, box, h("span", {}, text)) }];
  }));
  const state = h("p", { class: "lbx-state" }, "Unpacking the rows …");
  const scroll = h("div", { class: "lbx-scroll", tabindex: 0, role: "region", "aria-label": "Rows" });
  const turns = h("div", { class: "lbx-turns" });
  const link = h("input", { type: "text", readonly: true, class: "lbx-link", "aria-label": "Link to this view", hidden: true, onfocus: () => link.select() });
  const told = h("span", { class: "lbx-told", role: "status" });
  const { root, live } = frame("Leaderboard", { onkeydown: onKey },
    h("div", { class: "lbx-filters", role: "group", "aria-label": "Filters" },
      field("Search", search, "q"), ...["task", "metric"].map((name) => field(HEADS[name], pick[name], name)),
      h("details", { class: "lbx-more" }, h("summary", {}, "More filters"), h("div", { class: "lbx-filters" },
        field("Show", pick.what, "what"),
        ...["paper", "format", "split", "protocol", "source"].map((name) => field({ paper: "Paper", format: "Format", source: "Source" }[name] || HEADS[name], pick[name], name)),
        field("Order by", pick.sort, "sort"))),
      h("div", { class: "lbx-last" }, h("fieldset", { class: "lbx-kinds" }, h("legend", {}, "Kind"), Object.values(kinds).map((kind) => kind.node)),
        button("Clear all filters", () => choose({ ...START }), { class: "lbx-clear" }))),
    state, scroll, turns,
    h("div", { class: "lbx-take" }, h("span", {}, "Download these rows: "),
      button("CSV", () => save("leaderboard.csv", toCsv(taken()), "text/csv"), { class: "lbx-csv" }),
      button("JSON", () => save("leaderboard.json", toJson(taken()), "application/json"), { class: "lbx-json" }),
      button("mteb result files", saveMteb, { class: "lbx-mteb" }),
      button("Copy the link", share, { class: "lbx-share" }), link, told),
    h("p", { class: "lbx-help" }, "Ranks and sorting by value stay within one task, metric, split, protocol, source and collection, named in the blue line. " +
      "Keys: / search, [ and ] previous and next page. The address bar keeps this view."));

  // ---- choices ---------------------------------------------------------------------------------------------------
  // What a filter offers depends on the filters before it: the tasks of a paper, the metrics of a task.
  function offered(name) {
    const before = FILTERS.slice(0, FILTERS.indexOf(name)).filter((other) => sel[other] && other !== name);
    const there = new Uint8Array(data.texts[name].length);
    const wanted = before.map((other) => [data.column[other], data.texts[other].indexOf(sel[other])]);
    const what = sel.what ? data.texts.what.indexOf(sel.what) : -1;
    for (let i = 0; i < data.size; i += 1) {
      if ((what < 0 || data.column.what[i] === what) && wanted.every(([codes, code]) => codes[i] === code)) there[data.column[name][i]] = 1;
    }
    const list = data.texts[name].filter((text, at) => text && (there[at] || text === sel[name]));
    return ["metric", "split", "protocol", "source"].includes(name) ? list.sort() : list;
  }

  function drawFilters() {
    const label = { paper: PAPERS, format: FORMATS, task: data.view.titles, metric: data.view.measures };
    for (const name of FILTERS) {
      pick[name].replaceChildren(option("", "all"), ...offered(name).map((text) => option(text, label[name]?.[text] || clip(text, 80))));
      pick[name].value = sel[name];
    }
    pick.what.replaceChildren(...Object.entries(WHATS).map(([value, text]) => option(value, text)));
    pick.what.value = sel.what;
    pick.sort.replaceChildren(...Object.keys(HEADS).flatMap((name) => ["", "-"].map((sign) =>
      option(sign + name, `${SORTED[name] || HEADS[name].toLowerCase()}${sign ? ", reversed" : ""}`))));
    pick.sort.value = sel.sort;
    for (const [name, { box }] of Object.entries(kinds)) box.checked = !sel.kind || sel.kind.split(",").includes(name);
    if (search.value !== sel.q) search.value = sel.q;
  }

  function onKind() {
    const on = Object.keys(kinds).filter((name) => kinds[name].box.checked);
    choose({ kind: on.length === Object.keys(kinds).length || !on.length ? "" : on.join(), page: 1 });
  }

  // ---- the table -------------------------------------------------------------------------------------------------
  function draw() {
    found = passing(data, ordered(sel.sort), sel);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    sel.page = Math.min(sel.page, pages);
    const from = (sel.page - 1) * PAGE, rows = [...found.subarray(from, from + PAGE)], grouped = WITHIN.includes(sel.sort.replace("-", ""));
    const seen = new Uint8Array(data.members.length);
    let cells = 0;
    for (const i of found) if (!seen[data.cell[i]]) { seen[data.cell[i]] = 1; cells += 1; }
    state.textContent = `${count(found.length)} of ${count(data.size)} rows, in ${count(cells)} ${cells === 1 ? "ranking: one task, metric, split, protocol, source, data" : "rankings, not comparable with one another"}.${hiding()}`;
    const names = grouped ? ["rank", "system", "value", "width", "n", "kind", "chapter"]
      : ["system", "value", "width", "n", "task", "metric", "split", "protocol", "source", "kind", "chapter", "rank"];
    const bodies = [];
    let last = -1;
    for (const i of rows) {
      if (grouped && data.cell[i] !== last) bodies.push(h("tbody", {}, heading(i, names.length)));
      else if (!bodies.length) bodies.push(h("tbody", {}));
      last = data.cell[i];
      bodies.at(-1).append(line(i, names, grouped));
    }
    scroll.replaceChildren(rows.length ? h("table", { class: grouped ? "lbx-grouped" : null },
      h("caption", { class: "lbx-sr" }, state.textContent), h("thead", {}, h("tr", {}, names.map(head))), bodies)
      : h("p", { class: "lbx-none" }, "No row has all this. Clear a filter, or search for less."));
    turns.replaceChildren(
      button("‹ previous", () => turn(-1), { disabled: sel.page <= 1, "aria-label": "Previous page" }),
      h("span", {}, rows.length ? `${count(from + 1)} to ${count(from + rows.length)}, page ${sel.page} of ${count(pages)}` : "nothing"),
      button("next ›", () => turn(1), { disabled: sel.page >= pages, "aria-label": "Next page" }));
  }

  // A search looks among the rows that the filters leave: say how many others hold its words.
  function hiding() {
    if (!sel.q.trim()) return "";
    const more = passing(data, ordered("rank"), { ...START, what: "", q: sel.q }).length - found.length;
    return more ? ` ${count(more)} more ${more === 1 ? "row holds" : "rows hold"} these words and ${more === 1 ? "is" : "are"} left out by the filters.` : "";
  }

  function head(name) {
    const on = sel.sort.replace("-", "") === name, down = sel.sort.startsWith("-");
    return h("th", { scope: "col", class: `lbx-c-${name}`, "aria-sort": on ? (down ? "descending" : "ascending") : null },
      button([HEADS[name], h("span", { "aria-hidden": "true" }, on ? (down ? " ▼" : " ▲") : "")],
        () => { choose({ sort: (on && !down ? "-" : "") + name, page: 1 }); scroll.querySelector(`.lbx-c-${name} button`)?.focus(); }));
  }

  const titled = (i) => data.view.titles[data.text("task", i)] ?? data.text("task", i);
  const measured = (i) => h("span", { title: data.text("metric", i) }, data.view.measures[data.text("metric", i)] ?? data.text("metric", i));

  function heading(i, span) {
    const c = data.cell[i], many = data.of[c];
    return h("tr", { class: "lbx-cell" }, h("th", { colspan: span, scope: "rowgroup" },
      h("b", { title: data.text("task", i) }, titled(i)), " ", measured(i), `, ${data.text("split", i)} `,
      small(`protocol ${data.text("protocol", i)} · ${data.text("source", i)} data, ${data.text("data", i)}${many ? ` · ${many} ranked` : ""}`)));
  }

  function line(i, names, grouped) {
    const kind = data.text("kind", i), system = data.text("system", i), id = data.id(i), note = data.text("note", i);
    const cells = {
      rank: () => data.rank[i] ? [String(data.rank[i]), grouped ? null : small(` of ${data.of[data.cell[i]]}`)]
        : small(data.text("what", i) === "score" && data.view.bounds[system] || "–"),
      system: () => [system ? h("span", { title: system }, data.view.names[system] ?? system) : small("no system"), note ? h("span", { class: "lbx-note", title: note }, clip(note, 90)) : null],
      value: () => typeof data.raw[i] === "string" ? [data.raw[i], data.text("std", i) ? small(` ± ${data.text("std", i)}`) : null] : shown(data.value[i]),
      width: () => [data.low[i] === null || data.high[i] === null ? small("–") : `${shown(data.low[i])} to ${shown(data.high[i])}`, grouped ? bar(i, kind) : null],
      n: () => data.n[i] === null ? small("–") : count(data.n[i]),
      task: () => h("span", { title: data.text("task", i) }, titled(i)),
      metric: () => measured(i),
      source: () => [data.text("source", i), small(` ${data.text("data", i)}`)],
      kind: () => h("span", { class: "lbx-badge", "data-kind": kind }, kind),
      chapter: () => origin(i, id),
    };
    return h("tr", { "data-id": id }, names.map((name) => h(name === "system" ? "th" : "td",
      { class: `lbx-c-${name}`, scope: name === "system" ? "row" : null }, cells[name] ? cells[name]() : data.text(name, i))));
  }

  // Value and interval within the range of the cell's own numbers.
  function bar(i, kind) {
    const [least, most] = data.range[data.cell[i]];
    if (!(most > least)) return null;
    const at = (x) => `${(100 * (x - least) / (most - least)).toFixed(1)}%`;
    const low = data.low[i] ?? data.value[i], high = data.high[i] ?? data.value[i];
    return h("span", { class: "lbx-bar", "data-kind": kind, "aria-hidden": "true" },
      h("i", { style: `inset-inline-start:${at(low)};inline-size:${(100 * (high - low) / (most - least)).toFixed(1)}%` }), h("b", { style: `inset-inline-start:${at(data.value[i])}` }));
  }

  // The page that shows where the number is from, if this is the book and one does; its id goes to `scirep explain`.
  function origin(i, id) {
    const base = document.documentElement.dataset.content_root, page = data.text("page", i), chapter = data.text("chapter", i);
    const table = EXHIBIT.exec(chapter);
    const words = table ? `${PRINTED[table[1]]}, Table ${table[2]}` : chapter.split("/").flatMap((word, k) => (k ? ["/", h("wbr"), word] : [word]));
    return base !== undefined && page ? h("a", { href: `${base}${encodeURI(page)}.html#${anchor(id)}`, title: id }, words) : h("span", { title: id }, words);
  }

  // ---- acting ----------------------------------------------------------------------------------------------------
  function choose(changes) {
    const next = { ...sel, ...changes };
    if (("paper" in changes || "format" in changes) && !("task" in changes) && next.task && !agrees(next, "task")) next.task = "";
    if (("task" in changes || !next.task) && !("metric" in changes) && next.metric && !agrees(next, "metric")) next.metric = "";
    if (!("split" in changes) && next.split && !agrees(next, "split")) next.split = "";
    sel = next;
    drawFilters();
    draw();
    changed();
  }

  // Whether any row has what a filter says, given the filters before it.
  function agrees(next, name) {
    const until = FILTERS.slice(0, FILTERS.indexOf(name) + 1);
    return passing(data, ordered("rank"), { ...START, what: next.what, ...Object.fromEntries(until.map((key) => [key, next[key]])) }).length > 0;
  }

  function soon() {
    cancelAnimationFrame(soonest);
    soonest = requestAnimationFrame(() => {
      if (!data) return;
      sel = { ...sel, q: search.value, page: 1 };
      draw();
      changed();
    });
  }

  function turn(by) {
    const to = sel.page + by;
    if (to < 1 || to > Math.ceil(found.length / PAGE)) return;
    choose({ page: to });
    scroll.scrollTop = 0;
  }

  function changed() {
    told.textContent = "";
    link.hidden = true;
    publish();
  }

  function address() {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(sel)) if (String(value) !== String(START[name])) given.set(name, value);
    return String(given);
  }

  async function share() {
    link.value = `${location.href.split("#")[0]}${PREFIX}${address()}`;
    try {
      await navigator.clipboard.writeText(link.value);
      told.textContent = "Copied.";
    } catch { // a page from disk, or a browser that forbids it
      told.textContent = "Copy it from here:";
    }
    link.hidden = false;
    if (told.textContent !== "Copied.") link.focus();
  }

  const taken = () => Array.from(found, (i) => record(data, i));

  function save(name, content, type) {
    const blob = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const anchor = h("a", { href: blob, download: name });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(blob), 10_000);
    told.textContent = `${count(found.length)} rows in ${name}.`;
  }

  function saveMteb() {
    const files = toMteb(taken(), view.directions, view.main);
    const tasks = Object.keys(files).filter((path) => !path.endsWith("/model_meta.json")).length;
    if (!tasks) {
      told.textContent = "None of the rows shown is a score from 0 to 100 of a system on a task.";
      return;
    }
    save("leaderboard-mteb.zip", toZip(Object.fromEntries(Object.entries(files).map(([path, file]) => [path, `${JSON.stringify(file, null, 2)}\n`]))));
    told.textContent = `${count(tasks)} result files in leaderboard-mteb.zip.`;
  }

  function onKey(e) {
    if (!plain(e)) return;
    const typing = e.target === search || e.target === link;
    if (e.key === "Escape" && e.target === search && search.value) { search.value = ""; soon(); }
    else if (typing) return;
    else if (e.key === "/") search.focus();
    else if ((e.key === "[" || e.key === "]") && data) turn(e.key === "[" ? -1 : 1);
    else return;
    done(e);
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: PREFIX, choose, address,
    selection: () => sel,
    take(next) {
      sel = { ...START, ...next };
      if (!data) return;
      drawFilters();
      draw();
    },
    wanted(text) {
      if (!data) return null;
      const next = { ...START };
      for (const [name, value] of new URLSearchParams(text)) if (Object.hasOwn(START, name)) next[name] = value;
      next.page = /^[1-9]\d{0,5}$/.test(next.page) ? Number(next.page) : 1;
      next.q = next.q.slice(0, 200);
      const known = FILTERS.every((name) => !next[name] || data.texts[name].includes(next[name])) && Object.hasOwn(WHATS, next.what) &&
        Object.hasOwn(HEADS, next.sort.replace(/^-/, "")) && next.kind.split(",").every((kind) => !kind || Object.hasOwn(KINDS, kind));
      return known ? next : null;
    },
    said: () => state.textContent,
  });

  let gone = false;
  unpack(view).then((unpacked) => {
    if (gone) return;
    data = unpacked;
    ordered = ordering(data);
    drawFilters();
    draw();
    root.dataset.ready = "yes";
    arrive();
  }, () => { state.textContent = "This browser cannot unpack the rows (DecompressionStream is missing); the plain tables hold the first of them."; });
  const stop = start();
  return () => {
    gone = true;
    stop();
    cancelAnimationFrame(soonest);
  };
}

export default { render };
