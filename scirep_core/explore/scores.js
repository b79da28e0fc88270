// The browser half of the score explorer: two systems, every task, the difference with its interval.
//
// One self-contained module: no imports, no network, so that it runs from a blob in a page opened from disk.
// All text of the data goes through `h`, which only makes text nodes: a hostile name stays text.
// State: `sel` (the trait `selection`, shared with Python and the address bar). Nothing is computed here but signs.

const PREFIX = "#scores=";
const FIELDS = ["first", "second", "run", "protocol", "order"];

function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const one = (x) => x.toFixed(1).replace(/^-(?=0\.0$)/, "");
const signed = (x) => `${x > 0.05 ? "+" : x < -0.05 ? "\u2212" : ""}${Math.abs(x).toFixed(1)}`;
const WORDS = { ahead: "ahead", behind: "behind", open: "not settled", same: "the same system", none: "no paired difference" };

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = `sco-${Math.random().toString(36).slice(2, 9)}`;
  const names = view.systems.map(([name]) => name);
  const label = new Map(view.systems);
  const about = new Map(view.runs.map(([key, , told]) => [key, told]));
  let sel = { ...model.get("selection") };
  let timer = 0;

  const protocols = (run) => ["paper", "sound"].filter((p) => view.rows.some((row) => row.run === run && row.protocol === p));
  const choice = (name, text, options) => {
    const box = h("select", { id: `${uid}-${name}`, onchange: () => choose({ [name]: box.value }) },
      options.map(([value, shown]) => h("option", { value }, shown)));
    return [h("label", { for: box.id }, text), box];
  };

  // ---- frame ---------------------------------------------------------------------------------------------------
  const [firstLabel, first] = choice("first", "First system", view.systems);
  const [secondLabel, second] = choice("second", "Second system", view.systems);
  const [runLabel, run] = choice("run", "Scores", view.runs);
  const [protocolLabel, protocol] = choice("protocol", "Protocol", []);
  const swap = h("button", { type: "button", class: "sco-swap", onclick: () => choose({ first: sel.second, second: sel.first }) }, "Swap");
  const told = h("p", { class: "sco-note" });
  const verdict = h("p", { class: "sco-verdict" });
  const head = h("tr", {});
  const body = h("tbody", {});
  const live = h("div", { class: "sco-sr", role: "status", "aria-live": "polite" });
  const root = h("div", { class: "sco", role: "group", "aria-label": "Score explorer",
    "data-lm-suppress-shortcuts": "true", // JupyterLab would take x and [ for itself
    onkeydown: rootKey },
    h("div", { class: "sco-bar" },
      h("div", {}, firstLabel, first), swap, h("div", {}, secondLabel, second),
      h("div", {}, runLabel, run), h("div", {}, protocolLabel, protocol)),
    told, verdict,
    h("table", {}, h("caption", { class: "sco-sr" }, "Scores of two systems on each task, and their difference"), h("thead", {}, head), body),
    h("p", { class: "sco-help" }, "Keys: ", h("kbd", {}, "x"), " swap, ", h("kbd", {}, "["), " ", h("kbd", {}, "]"),
      " previous, next second system. A column's heading sorts by it. The address bar keeps this view."),
    live);

  // ---- what is shown -------------------------------------------------------------------------------------------
  // [difference, low, high] of the chosen two, first minus second: kept once for a pair, turned round where needed
  function gap(row) {
    const [a, b] = [names.indexOf(sel.first), names.indexOf(sel.second)];
    const kept = row.gaps[a < b ? `${a}|${b}` : `${b}|${a}`];
    if (!kept || a === b) return null;
    return a < b ? kept : [-kept[0], kept[2] === null ? null : -kept[2], kept[1] === null ? null : -kept[1]];
  }

  function state(row) {
    const found = gap(row);
    if (sel.first === sel.second) return "same";
    if (!found || found[1] === null) return "none";
    if (found[1] === found[2]) return "open"; // one block drawn again and again settles nothing
    return found[1] > 0 ? "ahead" : found[2] < 0 ? "behind" : "open";
  }

  const score = (row, name) => (row.scores[name] ? row.scores[name][0] : null);

  function difference(row) {
    const found = gap(row);
    if (found) return found[0];
    const [a, b] = [score(row, sel.first), score(row, sel.second)];
    return a === null || b === null ? null : a - b;
  }

  function shown() {
    const rows = view.rows.filter((row) => row.run === sel.run && row.protocol === sel.protocol
      && (score(row, sel.first) !== null || score(row, sel.second) !== null));
    const down = !sel.order.startsWith("-");
    const by = sel.order.replace("-", "");
    if (by === "task") return down ? rows : [...rows].reverse();
    const value = { first: (row) => score(row, sel.first), second: (row) => score(row, sel.second), difference }[by];
    const last = (x) => (x === null ? -Infinity : x);
    return [...rows].sort((a, b) => {
      const [p, q] = [value(a), value(b)];
      if (p === null || q === null) return last(q) === last(p) ? 0 : last(q) - last(p); // without a number: always last
      return down ? q - p : p - q;
    });
  }

  function draw() {
    const rows = shown();
    const has = protocols(sel.run);
    protocol.replaceChildren(...has.map((name) => h("option", { value: name }, name)));
    for (const [box, name] of [[first, "first"], [second, "second"], [run, "run"], [protocol, "protocol"]]) box.value = sel[name];
    told.textContent = about.get(sel.run);
    verdict.textContent = summary(rows);
    drawHead();
    const most = Math.max(1, ...rows.flatMap((row) => (gap(row) || []).filter((x) => x !== null).map(Math.abs)));
    body.replaceChildren(...rows.map((row) => line(row, most)));
    if (!rows.length) body.append(h("tr", {}, h("td", { colspan: 5 }, "Neither system was scored here.")));
  }

  function drawHead() {
    const focused = head.contains(document.activeElement) ? document.activeElement.dataset.by : null;
    const by = sel.order.replace("-", "");
    const heads = [["task", "Task"], ["first", label.get(sel.first)], ["second", label.get(sel.second)], ["difference", "Difference"]];
    head.replaceChildren(...heads.map(([name, text]) => h("th", { scope: "col", class: `sco-${name}`,
      "aria-sort": by !== name ? null : (sel.order.startsWith("-") === (name === "task") ? "descending" : "ascending") },
      h("button", { type: "button", "data-by": name, title: "Sort by this column",
        onclick: () => choose({ order: sel.order === name ? `-${name}` : name }) }, text,
        h("span", { class: "sco-arrow", "aria-hidden": "true" }, by !== name ? "" : sel.order.startsWith("-") ? " ↑" : " ↓")))),
    h("th", { scope: "col", class: "sco-plot-head" }, h("span", { "aria-hidden": "true" }, "second ← → first"), h("span", { class: "sco-sr" }, "Drawn")));
    if (focused) head.querySelector(`[data-by="${focused}"]`).focus();
  }

  function line(row, most) {
    const cell = (name) => {
      const found = row.scores[name];
      return h("td", {}, found ? one(found[0]) : "–",
        found && found[1] !== null ? h("small", {}, `${one(found[1])} to ${one(found[2])}`) : null);
    };
    const found = gap(row);
    const is = state(row);
    const d = difference(row);
    const at = (x) => `${50 + (48 * x) / most}%`;
    return h("tr", { "data-task": row.task, "data-state": is },
      h("th", { scope: "row" }, row.title, row.split === "test" ? null : `, ${row.split}`,
        h("small", {}, [view.formats[row.format], row.metric, `n = ${row.n.toLocaleString("en")}`].filter(Boolean).join(" · "))),
      cell(sel.first), cell(sel.second),
      h("td", { class: "sco-gap" }, d === null ? "–" : signed(d),
        found && found[1] !== null ? h("small", {}, `${signed(found[1])} to ${signed(found[2])}`) : null,
        h("small", { class: "sco-word" }, d === null ? "one was not scored" : WORDS[is])),
      h("td", { class: "sco-plot", "aria-hidden": "true" }, found && h("span", {}, h("i", { class: "sco-zero" }),
        found[1] !== null && h("i", { class: "sco-range", style: `left:${at(found[1])};right:calc(100% - ${at(found[2])})` }),
        h("i", { class: "sco-dot", style: `left:${at(found[0])}` }))));
  }

  function summary(rows) {
    const [a, b] = [label.get(sel.first), label.get(sel.second)];
    if (sel.first === sel.second) return "Choose two different systems.";
    const count = (is) => rows.filter((row) => state(row) === is).length;
    const of = rows.filter((row) => state(row) !== "none").length;
    const without = rows.length - of;
    if (!of) return `No paired difference of ${a} and ${b} was recorded here.`;
    return `${a} − ${b}: the interval lies above 0 on ${count("ahead")} of ${of} ${of === 1 ? "score" : "scores"}, below 0 on ${count("behind")}; `
      + `${count("open")} ${count("open") === 1 ? "is" : "are"} not settled.${without ? ` ${without} without a paired difference.` : ""}`;
  }

  // ---- acting --------------------------------------------------------------------------------------------------
  function choose(changes) {
    sel = { ...sel, ...changes };
    const has = protocols(sel.run);
    if (!has.includes(sel.protocol)) sel.protocol = has[0];
    draw();
    clearTimeout(timer);
    timer = setTimeout(() => { // one message to Python, one entry in the address bar, one announcement
      model.set("selection", { ...sel });
      model.save_changes();
      writeHash();
      live.textContent = verdict.textContent;
    }, 200);
  }

  function rootKey(e) {
    if ((e.ctrlKey || e.metaKey || e.altKey) && !e.getModifierState("AltGraph")) return;
    const at = names.indexOf(sel.second);
    if (e.key === "x") choose({ first: sel.second, second: sel.first });
    else if (e.key === "[") choose({ second: names[(at + names.length - 1) % names.length] });
    else if (e.key === "]") choose({ second: names[(at + 1) % names.length] });
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  function writeHash() {
    try {
      history.replaceState(history.state, "", `${PREFIX}${FIELDS.map((name) => encodeURIComponent(sel[name])).join(",")}`);
    } catch {
      // a sandboxed frame has no address of its own: the view just cannot be shared from there
    }
  }

  // Another anchor of the page, a system this page does not have or a damaged address all mean: nothing for us.
  function onHash() {
    if (!location.hash.startsWith(PREFIX)) return false;
    try {
      const parts = location.hash.slice(PREFIX.length).split(",").map(decodeURIComponent);
      const wanted = Object.fromEntries(FIELDS.map((name, i) => [name, parts[i]]));
      const orders = ["task", "first", "second", "difference"].flatMap((name) => [name, `-${name}`]);
      if (!names.includes(wanted.first) || !names.includes(wanted.second) || !about.has(wanted.run) || !orders.includes(wanted.order)) return false;
      choose(wanted);
      return true;
    } catch {
      return false;
    }
  }

  function onModel() {
    const next = model.get("selection");
    if (FIELDS.every((name) => next[name] === sel[name])) return;
    clearTimeout(timer);
    sel = { ...next };
    draw();
    writeHash();
    live.textContent = verdict.textContent;
  }

  el.replaceChildren(root);
  draw();
  if (onHash()) requestAnimationFrame(() => root.scrollIntoView({ block: "start" }));
  window.addEventListener("hashchange", onHash);
  model.on("change:selection", onModel);
  // the plain tables beside the widget served readers without script; with script they fold away
  for (const table of document.querySelectorAll("details.sco-fallback")) {
    if (table.dataset.key === view.key) table.open = false;
  }
  return () => {
    clearTimeout(timer);
    window.removeEventListener("hashchange", onHash);
    model.off("change:selection", onModel);
  };
}

export default { render };
