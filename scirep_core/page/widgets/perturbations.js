// The browser half of the perturbation explorer: one paper, one of 32 changes word by word, and where encoders put the result.
//
// State: `sel` (the trait `selection`, shared with Python and the address bar). A typed text is asked for by the trait `asked`;
// only where a kernel answers by `answer` do the boxes for it appear.

const OWN = "own";
const SIDE = 1000; // papers on a map are within 0 to this; changed texts may lie outside
const PAUSE = 800; // milliseconds without a key before a typed text is asked for

// A changed field as nodes. Its ranges: [a, b] kept, [a, b, new] replaced, "new" added; what no range covers is deleted.
export function changed(before, change, sentences) {
  if (change === null) return [before];
  if (!Array.isArray(change)) {
    return change.order.map((from, to) => [h("span", { class: from === to ? "spx-sentence" : "spx-sentence spx-moved" },
      h("b", {}, from + 1), hidden(from === to ? ". sentence: " : `. sentence, now ${to + 1}.: `), before.slice(...sentences[from])), " "]).flat();
  }
  const out = [];
  const gone = (text) => {
    const [, first, middle, last] = /^(\s*)([^]*?)(\s*)$/.exec(text);
    return middle ? [first, h("del", {}, middle), last] : [text];
  };
  const added = (text) => (text.trim() ? h("ins", {}, text) : h("ins", { class: "spx-space" }, hidden(`${text.length} spaces`), "␣".repeat(text.length)));
  let at = 0;
  for (const op of change) {
    if (typeof op === "string") {
      out.push(" ", added(op), " ");
      continue;
    }
    out.push(...gone(before.slice(at, op[0])));
    const old = before.slice(op[0], op[1]);
    if (op.length === 2) out.push(old);
    else if (!op[2].trim() || old.toLowerCase() === op[2].toLowerCase()) out.push(added(op[2]));
    else out.push(h("del", {}, old), " ", added(op[2]));
    at = op[1];
  }
  return [...out, ...gone(before.slice(at))];
}

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = unique();
  const codes = view.codes.map(([code, category, title, abstract, does, random]) => ({ code, category, title, abstract, does, random }));
  const called = (name) => view.called[name] || name; // a code or a category in words
  const titles = new Map(Object.entries(view.titles));
  const points = view.encoders.map((encoder) => new Map(encoder.points.map(([i, x, y]) => [i, [x, y]])));
  const papers = new Map(view.papers.map((paper) => [paper.id, paper]));
  const order = codes.map((_, i) => i).sort((a, b) => view.categories.indexOf(codes[a].category) - view.categories.indexOf(codes[b].category) || a - b);
  let sel = { ...model.get("selection") };

  const paper = () => papers.get(sel.paper);
  const at = () => codes.findIndex(({ code }) => code === sel.code);
  const now = () => paper().codes[at()];
  const applies = (entry) => typeof entry !== "string";
  const stayed = (entry, side) => entry[3][side][4].filter((i) => paper().near[side].includes(i)).length;

  // ---- fixed frame; its parts are refilled by draw() -------------------------------------------------------------
  const field = (...given) => labelled(uid, ...given);
  const pick = h("select", { onchange: (e) => choose({ paper: e.target.value }) });
  const result = h("input", { type: "checkbox", id: `${uid}-result`, onchange: () => root.classList.toggle("spx-result", result.checked) });
  const controls = h("div", { class: "spx-controls", role: "group", "aria-label": "Choose a paper" },
    field("Paper", pick, "paper"),
    h("div", { class: "spx-steps" }, button("‹ previous", () => step(-1), { "aria-label": "Previous change" }), button("next ›", () => step(1), { "aria-label": "Next change" })),
    h("label", { class: "spx-check", for: result.id }, result, " hide what was deleted"));
  const own = {
    title: h("input", { type: "text", autocomplete: "off", oninput: typed }),
    abstract: h("textarea", { rows: 4, oninput: typed }),
  };
  const state = h("span", { class: "spx-status", role: "status" });
  const typing = h("div", { class: "spx-own", role: "group", "aria-label": "A text of your own", hidden: true },
    field("Your title", own.title, "title"), field("Your abstract", own.abstract, "abstract"),
    h("div", {}, button("Change it in all 32 ways", ask), " ", state));
  const hint = h("p", { class: "spx-hint" }, "In JupyterLab, with a kernel, boxes appear here for a title and an abstract of your own: ",
    h("code", {}, view.opened || "this chapter"), ".");
  const picker = h("div", { class: "spx-codes", role: "group", "aria-label": "The 32 changes", onkeydown: pickerKey });
  const about = h("div", { class: "spx-about" });
  const text = h("section", { class: "spx-text", "aria-label": "The change" });
  const sides = h("div", { class: "spx-sides" });
  const names = view.encoders.map(({ name }) => name);
  const legend = h("p", { class: "spx-hint" }, `Numbers: of the ${view.k} nearest papers, how many stay under ${names.join(", ")}; a dashed change does not apply.`);
  const marks = h("p", { class: "spx-hint" }, "On a map: circle, the original; diamond, the changed text; rings, the nearest before; green discs, after.");
  const command = h("code", {});
  const { root, live } = frame("Perturbation explorer", { onkeydown: rootKey },
    controls, typing, hint, picker, legend, about, text, marks, sides,
    h("pre", { tabindex: 0, role: "region", "aria-label": "Command for papers of your own" }, command),
    h("p", { class: "spx-help" }, "Keys: ", keys("[ ]"), " previous, next change; ", keys(", ."), " previous, next paper; among the changes ",
      keys("← ↑ → ↓"), ". The address bar keeps this view. ", view.about));

  // ---- drawing --------------------------------------------------------------------------------------------------
  function draw() {
    for (const part of [drawControls, drawPicker, drawText, drawSides]) part();
    command.textContent = `scirep perturb --code ${sel.code} < papers.jsonl > neighbours.jsonl`;
  }

  function drawControls() {
    pick.replaceChildren(...[...papers.values()].map((one) => option(one.id, `${one.id === OWN ? "Your text: " : ""}${one.title || "(no title)"}`)));
    pick.value = sel.paper;
  }

  // A button a code, by category; below its name how many of the nearest papers stay under each encoder.
  function drawPicker() {
    const inside = picker.contains(document.activeElement);
    picker.replaceChildren(...view.categories.map((category) => h("div", { class: "spx-category", role: "group", "aria-label": called(category) },
      h("h3", { class: "spx-h" }, called(category)),
      order.filter((i) => codes[i].category === category).map((i) => {
        const entry = paper().codes[i];
        const stays = applies(entry) ? view.encoders.map((_, side) => stayed(entry, side)) : [];
        const told = applies(entry) ? stays.map((n, side) => `${n} of ${view.k} under ${names[side]}`).join(", ") : `does not apply: ${entry}`;
        return button([called(codes[i].code), h("span", { class: "spx-stays", "aria-hidden": "true" },
          applies(entry) ? stays.map((n) => h("i", { "data-level": Math.round((4 * n) / view.k) }, n)) : "–")],
        () => choose({ code: codes[i].code }), { "aria-label": `${called(codes[i].code)}: ${told}`, "aria-pressed": String(codes[i].code === sel.code), tabindex: codes[i].code === sel.code ? 0 : -1,
          "data-code": codes[i].code, class: applies(entry) ? null : "spx-away", title: `${codes[i].code}: ${applies(entry) ? `of ${view.k} nearest papers stay: ${told}` : told}` });
      }))));
    if (inside) picker.querySelector("[aria-pressed=true]").focus({ preventScroll: true });
  }

  function drawText() {
    const { code, category, title, abstract, random } = codes[at()];
    const entry = now();
    about.replaceChildren(h("strong", { title: code }, called(code)), h("span", { class: "spx-tag" }, called(category)), `title ${title}; abstract ${abstract}`,
      ...(random ? [small("drawn by a seed")] : []), h("span", { class: "spx-kept" }, applies(entry) ? `${entry[2]} % of the words kept` : "does not apply"));
    const [first, second] = applies(entry) ? entry : [null, null];
    text.replaceChildren(
      applies(entry) ? "" : h("p", { class: "spx-why" }, h("strong", {}, "Left out: "), `${entry}. The text below is unchanged.`),
      h("p", { class: "spx-title" }, changed(paper().title, first, [])),
      h("p", {}, changed(paper().abstract, second, paper().sentences)));
  }

  const unfolded = new Set([0]); // encoders whose nearest papers are listed
  function drawSides() {
    sides.replaceChildren(...view.encoders.map((encoder, side) => {
      const before = paper().near[side];
      const found = applies(now()) ? now()[3][side] : null;
      const after = found ? found[4] : before;
      const line = (i, mine, others, there) => h("li", { class: found && others.includes(i) ? "spx-stays-on" : "spx-leaves", onmouseenter: () => light(i), onmouseleave: () => light(null), "data-i": i },
        titles.get(String(i)), found && others.includes(i) ? small(` ${there} ${others.indexOf(i) + 1}`) : found ? small(mine ? " gone" : " new") : null);
      const { svg, light } = map(side, found, before, after);
      const share = before.filter((i) => after.includes(i)).length;
      return h("section", { class: "spx-side", "aria-label": encoder.name },
        h("div", { class: "spx-map" }, svg, small(`two dimensions hold ${Math.round(100 * encoder.held)} % of the variance`)),
        h("div", { class: "spx-near" },
          h("p", { class: "spx-head" }, h("strong", {}, encoder.name), ...(found ? [" cosine ", h("b", { class: "spx-cosine" }, found[2].toFixed(3)), "; its original is ",
            h("b", { class: "spx-rank" }, found[3] === 1 ? "the nearest" : `number ${count(found[3])}`), ` of ${count(view.total + (sel.paper === OWN ? 1 : 0))}; `,
            h("b", { class: "spx-share" }, `${share} of ${view.k}`), " nearest papers stay"] : [": not changed"])),
          h("details", { open: unfolded.has(side), ontoggle: (e) => unfolded[e.target.open ? "add" : "delete"](side) }, h("summary", {}, "Which papers"), h("div", { class: "spx-lists" },
            h("div", {}, h("h3", { class: "spx-h" }, "Nearest before"), h("ol", {}, before.map((i) => line(i, true, after, "now")))),
            found ? h("div", {}, h("h3", { class: "spx-h" }, "Nearest after"), h("ol", {}, after.map((i) => line(i, false, before, "was")))) : null))));
    }));
  }

  // All papers as dots, the nearest before as rings, after as discs, and an arrow from the original to the changed text.
  function map(side, found, before, after) {
    const pad = 130;
    const place = (i) => points[side].get(i);
    const mark = (i, r, kind) => place(i) && h("svg:circle", { class: kind, cx: place(i)[0], cy: place(i)[1], r });
    const clip = (v) => Math.max(-pad + 20, Math.min(SIDE + pad - 20, v));
    const start = paper().at[side].map(clip);
    const end = found ? [found[0], found[1]].map(clip) : start;
    const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
    const far = Math.hypot(dx, dy);
    const turn = (Math.atan2(dy, dx) * 180) / Math.PI;
    const hot = h("svg:g", {});
    const svg = h("svg:svg", { viewBox: `${-pad} ${-pad} ${SIDE + 2 * pad} ${SIDE + 2 * pad}`, role: "img",
      "aria-label": found ? `Map under ${view.encoders[side].name}: the changed text lies ${Math.round((100 * far) / SIDE)} % of the map's width from its original.`
        : `Map under ${view.encoders[side].name}: the paper and its nearest papers.` },
    h("svg:g", {}, [...points[side].keys()].map((i) => mark(i, 9, "spx-dot"))),
    h("svg:g", {}, after.map((i) => mark(i, 17, "spx-after")), before.map((i) => mark(i, 24, "spx-before"))),
    far > 45 ? h("svg:g", { class: "spx-arrow" }, h("svg:path", { d: `M${start}L${end}` }),
      h("svg:path", { d: "M-62 -21L-24 0L-62 21z", class: "spx-tip", transform: `translate(${end}) rotate(${turn})` })) : null,
    h("svg:circle", { class: "spx-original", cx: start[0], cy: start[1], r: 22 }),
    found ? h("svg:path", { class: "spx-changed", d: "M0 -24L24 0L0 24L-24 0z", transform: `translate(${end})` }) : null, hot);
    return { svg, light: (i) => hot.replaceChildren(...(i !== null && place(i) ? [mark(i, 38, "spx-hot")] : [])) };
  }

  // ---- acting ---------------------------------------------------------------------------------------------------
  function choose(changes) {
    sel = { ...sel, ...changes };
    draw();
    publish();
  }

  const turned = (list, value, by) => list[(list.indexOf(value) + by + list.length) % list.length];
  const inOrder = order.map((i) => codes[i].code);
  const step = (by) => choose({ code: turned(inOrder, sel.code, by) });

  function pickerKey(e) {
    const to = { ArrowLeft: () => step(-1), ArrowUp: () => step(-1), ArrowRight: () => step(1), ArrowDown: () => step(1),
      Home: () => choose({ code: inOrder[0] }), End: () => choose({ code: inOrder.at(-1) }) }[e.key];
    if (!to || !plain(e)) return;
    to();
    done(e);
  }

  function rootKey(e) {
    if (e.target === own.abstract || e.target === own.title) {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey || e.target === own.title)) { ask(); done(e); }
      return;
    }
    if (!plain(e) || e.target.matches("select")) return;
    if (e.key === "[" || e.key === "]") step(e.key === "[" ? -1 : 1);
    else if (e.key === "," || e.key === ".") choose({ paper: turned([...papers.keys()], sel.paper, e.key === "," ? -1 : 1) });
    else return;
    done(e);
  }

  // ---- a text of the reader's own: asked for, one at a time, where a kernel answers --------------------------------
  let number = 0;
  let waits = null; // number of the question under way
  let again = false;
  let pause = 0;
  function send(more) {
    number += 1;
    model.set("asked", { n: number, by: uid, ...more });
    model.save_changes();
  }

  function typed() {
    clearTimeout(pause);
    pause = setTimeout(ask, PAUSE);
  }

  function ask() {
    clearTimeout(pause);
    if (!own.title.value.trim() && !own.abstract.value.trim()) return;
    if (waits !== null) {
      again = true;
      return;
    }
    state.textContent = "Changing and encoding … (the first text takes longest)";
    send({ title: own.title.value, abstract: own.abstract.value });
    waits = number;
  }

  function onAnswer() {
    const said = JSON.parse(model.get("answer") || "{}");
    if (said.n === undefined) return;
    typing.hidden = false;
    hint.hidden = true;
    if (said.by !== uid || said.n !== waits) return;
    waits = null;
    state.textContent = said.error || "";
    if (said.paper) {
      for (const [i, title] of Object.entries(said.titles)) titles.set(i, title);
      said.points.forEach((more, side) => more.forEach(([i, x, y]) => points[side].set(i, [x, y])));
      papers.set(OWN, said.paper);
      const keep = document.activeElement;
      choose({ paper: OWN });
      if (keep === own.title || keep === own.abstract) keep.focus({ preventScroll: true });
    }
    if (again) {
      again = false;
      ask();
    }
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: "#perturbation=", choose,
    selection: () => sel,
    take(next) {
      if (!papers.has(next.paper)) return false; // a text that was typed in another view
      sel = next;
      return draw();
    },
    address: () => (sel.paper === OWN ? null : joined([sel.paper, sel.code])),
    wanted(text) {
      const [id, code] = parted(text);
      return papers.has(id) ? { paper: id, code: inOrder.includes(code) ? code : sel.code } : null;
    },
    said() {
      const entry = now();
      return `${sel.code}, ${paper().title}. ${applies(entry) ? `${entry[2]} % of the words kept. ${view.encoders.map(({ name }, side) =>
        `${name}: cosine ${entry[3][side][2].toFixed(2)}, ${stayed(entry, side)} of ${view.k} stay`).join(". ")}` : `Does not apply: ${entry}`}.`;
    },
  });

  if (!papers.has(sel.paper)) sel.paper = view.papers[0].id; // a saved page may remember a text that was typed
  draw();
  arrive();
  model.on("change:answer", onAnswer);
  send({}); // is anybody there?
  const stop = start();
  return () => {
    stop();
    clearTimeout(pause);
    model.off("change:answer", onAnswer);
  };
}

export default { render };
