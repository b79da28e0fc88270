// The browser half of the score explorer: two systems, every task, the difference with its interval.
//
// State: `sel` (the trait `selection`, shared with Python and the address bar). Nothing is computed here but signs.

const FIELDS = ["first", "second", "run", "protocol", "order"];
const ORDERS = ["task", "first", "second", "difference"];

const one = (x) => x.toFixed(1).replace(/^-(?=0\.0$)/, "");
const signed = (x) => `${x > 0.05 ? "+" : x < -0.05 ? "\u2212" : ""}${Math.abs(x).toFixed(1)}`;
const PROTOCOLS = { paper: "published", sound: "ours" };
const WORDS = { ahead: "higher", behind: "lower", open: "no significant difference", same: "the same", none: "no paired test" };

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = unique();
  const names = view.systems.map(([name]) => name);
  const label = new Map(view.systems);
  const about = new Map(view.runs.map(([key, , told]) => [key, told]));
  let sel = { ...model.get("selection") };

  // What a run can show: systems that have scores in it, and which of its protocols have paired differences.
  const scored = (run) => names.filter((name) => view.rows.some((row) => row.run === run && row.scores[name]));
  const paired = (run, name) => view.rows.some((row) => row.run === run && row.protocol === name && Object.keys(row.gaps).length);
  const protocols = (run) => ["paper", "sound"].filter((p) => view.rows.some((row) => row.run === run && row.protocol === p));
  const choice = (name, text, options) => {
    const box = h("select", { id: `${uid}-${name}`, onchange: () => choose({ [name]: box.value }) },
      options.map(([value, shown]) => option(value, shown)));
    return [h("label", { for: box.id }, text), box];
  };

  // ---- frame ---------------------------------------------------------------------------------------------------
  const [firstLabel, first] = choice("first", "Compare", []);
  const [secondLabel, second] = choice("second", "with", []);
  const [runLabel, run] = choice("run", "Scores", view.runs);
  const [protocolLabel, protocol] = choice("protocol", "Protocol", []);
  const swap = button("Swap", () => choose({ first: sel.second, second: sel.first }), { class: "sco-swap" });
  const told = h("p", { class: "sco-note" });
  const verdict = h("p", { class: "sco-verdict" });
  const head = h("tr", {});
  const body = h("tbody", {});
  const { root, live } = frame("Score explorer", { onkeydown: rootKey },
    h("div", { class: "sco-bar" },
      h("div", {}, firstLabel, first), swap, h("div", {}, secondLabel, second),
      h("div", { hidden: view.runs.length < 2 || null }, runLabel, run), h("div", { hidden: view.protocols < 2 || null }, protocolLabel, protocol)),
    told, verdict,
    h("table", {}, h("caption", { class: "sco-sr" }, "The scores of the two, and their difference"), h("thead", {}, head), body),
    h("p", { class: "sco-help" }, "Keys: ", keys("x"), " swap, ", keys("[ ]"),
      " previous, next to compare with. A column's heading sorts by it. The address bar keeps this view."));

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
    protocol.replaceChildren(...has.map((name) => option(name, `${PROTOCOLS[name]}${paired(sel.run, name) ? "" : " (no paired tests)"}`)));
    const offered = scored(sel.run);
    for (const [box, name] of [[first, sel.first], [second, sel.second]]) {
      box.replaceChildren(...names.filter((one) => one === name || offered.includes(one)).map((one) => option(one, label.get(one))));
    }
    for (const [box, name] of [[first, "first"], [second, "second"], [run, "run"], [protocol, "protocol"]]) box.value = sel[name];
    told.textContent = about.get(sel.run);
    verdict.textContent = summary(rows);
    drawHead();
    const most = 1.06 * Math.max(1, ...rows.flatMap((row) => (gap(row) || [difference(row)]).map(Math.abs)));
    const tested = rows.some((row) => gap(row));
    body.replaceChildren(...rows.map((row) => line(row, most, tested)));
    if (!rows.length) body.append(h("tr", {}, h("td", { colspan: 5 }, "Neither was scored here.")));
  }

  function drawHead() {
    const focused = head.contains(document.activeElement) ? document.activeElement.dataset.by : null;
    const by = sel.order.replace("-", "");
    const heads = [["task", "Score"], ["first", label.get(sel.first)], ["second", label.get(sel.second)], ["difference", "Difference"]];
    head.replaceChildren(...heads.map(([name, text]) => h("th", { scope: "col", class: `sco-${name}`,
      "aria-sort": by !== name ? null : (sel.order.startsWith("-") === (name === "task") ? "descending" : "ascending") },
      button([text, h("span", { class: "sco-arrow", "aria-hidden": "true" }, by !== name ? "" : sel.order.startsWith("-") ? " ↑" : " ↓")],
        () => choose({ order: sel.order === name ? `-${name}` : name }), { "data-by": name, title: "Sort by this column" }))),
    h("th", { scope: "col", class: "sco-plot-head" }, h("span", { "aria-hidden": "true" }, `${label.get(sel.second)} ← → ${label.get(sel.first)}`), hidden("Drawn")));
    if (focused) head.querySelector(`[data-by="${focused}"]`).focus();
  }

  function line(row, most, tested) {
    const cell = (name) => {
      const found = row.scores[name];
      return h("td", {}, found ? one(found[0]) : "–",
        found && found[1] !== null ? small(`${one(found[1])} to ${one(found[2])}`) : null);
    };
    const found = gap(row);
    const is = state(row);
    const d = difference(row);
    const at = (x) => `${50 + (48 * x) / most}%`;
    return h("tr", { "data-task": row.task, "data-state": is },
      h("th", { scope: "row" }, row.title, row.split === "test" ? null : `, ${row.split}`,
        small([view.formats[row.format], row.metric, row.n && `n = ${count(row.n)}`].filter(Boolean).join(" · "))),
      cell(sel.first), cell(sel.second),
      h("td", { class: "sco-gap" }, d === null ? "–" : signed(d),
        found && found[1] !== null ? small(`${signed(found[1])} to ${signed(found[2])}`) : null,
        d === null ? small("one was not scored") : is !== "none" || tested ? h("small", { class: "sco-word" }, WORDS[is]) : null),
      h("td", { class: "sco-plot", "aria-hidden": "true" }, d !== null && h("span", {}, h("i", { class: "sco-zero" }),
        found && found[1] !== null && h("i", { class: "sco-range", style: `left:${at(found[1])};right:calc(100% - ${at(found[2])})` }),
        h("i", { class: "sco-dot", style: `left:${at(d)}` }))));
  }

  function summary(rows) {
    const [a, b] = [label.get(sel.first), label.get(sel.second)];
    if (sel.first === sel.second) return "Choose two that differ.";
    const [ahead, behind, open] = ["ahead", "behind", "open"].map((is) => rows.filter((row) => state(row) === is).length);
    const of = rows.filter((row) => state(row) !== "none").length;
    const without = rows.length - of;
    if (!of) {
      const both = rows.map(difference).filter((d) => d !== null);
      const [above, below] = [1, -1].map((sign) => both.filter((d) => Math.sign(d) === sign).length);
      return `${a} − ${b}: ${above} of ${both.length} ${both.length === 1 ? "difference is" : "differences are"} above 0 and ${below} below, `
        + (sel.run === "printed" ? "as printed; printed scores come without a paired test." : "without a paired test.");
    }
    const found = [[ahead, "significantly above 0"], [behind, "significantly below 0"], [open, "not significant"]]
      .filter(([n]) => n).map(([n, words]) => `${n} ${words}`);
    return `${a} − ${b}, of ${of} tested ${of === 1 ? "difference" : "differences"}: ${found.join(", ")}. Tested one by one, without `
      + `correction.${without ? ` ${without} without a paired test.` : ""} Differences are taken before rounding.`;
  }

  // ---- acting --------------------------------------------------------------------------------------------------
  function choose(changes) {
    sel = { ...sel, ...changes };
    const offered = scored(sel.run);
    if ("run" in changes && !(offered.includes(sel.first) && offered.includes(sel.second))) [sel.first, sel.second] = view.opens[sel.run];
    const has = protocols(sel.run);
    if (!has.includes(sel.protocol)) sel.protocol = has[0];
    draw();
    publish();
  }

  function rootKey(e) {
    if (!plain(e)) return;
    const offered = scored(sel.run), at = Math.max(0, offered.indexOf(sel.second));
    if (e.key === "x") choose({ first: sel.second, second: sel.first });
    else if (e.key === "[") choose({ second: offered[(at + offered.length - 1) % offered.length] });
    else if (e.key === "]") choose({ second: offered[(at + 1) % offered.length] });
    else return;
    done(e);
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: "#scores=", choose,
    selection: () => sel,
    take(next) { sel = next; draw(); },
    address: () => joined(FIELDS.map((name) => sel[name])),
    wanted(text) {
      const parts = parted(text);
      const next = Object.fromEntries(FIELDS.map((name, i) => [name, parts[i]]));
      const known = names.includes(next.first) && names.includes(next.second) && about.has(next.run) && ORDERS.includes((next.order || "").replace(/^-/, ""));
      return known ? next : null;
    },
    said: () => verdict.textContent,
  });

  draw();
  arrive();
  return start();
}

export default { render };
