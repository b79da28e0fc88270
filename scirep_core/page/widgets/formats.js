// The browser half of the format explorer: one paper, a map under each format, its neighbours, and what they share.
//
// State: `sel` (the trait `selection`, shared with Python and the address bar); what the pointer or the keyboard is on,
// `hot`, the group of papers lit on the maps, `lit`, the format whose neighbours all maps ring, `lens`, and the one the
// neighbours are sorted by, `by`, stay here.

const SIDE = 1000; // places on a map are whole numbers from 0 to this
const HUES = 6; // fields with a colour of their own, the most frequent ones
const MATCHES = 6; // titles offered while a word is being typed

const sum = (list) => list.reduce((a, b) => a + b, 0);
const mean = (list) => sum(list) / list.length;
const one = (value) => value.toFixed(1);
const listed = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
const COLOURED = { field: "Field", year: "Year", citations: "Citations" };

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = unique();
  const papers = view.papers.map(([id, number, title, text, year, field, cited]) => ({ id, number, title, text, year, field, cited }));
  const placeOf = new Map(papers.map((p, i) => [p.id, i]));
  const models = new Map(view.models.map((m) => [m.key, m]));
  const linked = view.links.map((row) => new Set(row));
  const n = papers.length;
  let sel = { ...model.get("selection") };
  let hot = null;
  let lit = null;
  let lens = null;
  let by = null;
  let every = false; // of the neighbours, those under one format alone too
  let trail = []; // papers left behind, for the way back
  let sliding = false;

  const now = () => models.get(sel.model);
  const at = () => placeOf.get(sel.paper);
  const sides = () => now().formats.map((_, side) => side);
  const near = (side, i = at()) => now().near[side][i];
  const pairs = () => Object.keys(now().shared).map((key) => key.split("|").map(Number));
  const both = (a, b) => near(a).filter((i) => near(b).includes(i)).length;
  const holders = (i) => sides().filter((side) => near(side).includes(i));
  const fieldOf = (p) => view.fields[p.field];
  const cites = (p) => `cited ${p.cited}×`;
  const about = (p) => [fieldOf(p), p.year, cites(p)].join(" · ");

  // ---- colours --------------------------------------------------------------------------------------------------
  // Of a field its number while it has a hue, "own" where the chosen paper's has none, then "x"; of years and citations
  // "l0" to "l5".
  function group(p) {
    if (sel.colour === "field") return p.field < HUES ? String(p.field) : p.field === papers[at()].field ? "own" : "x";
    const value = sel.colour === "year" ? p.year : p.cited;
    return `l${view.levels[sel.colour].filter((edge) => edge <= value).length}`;
  }

  function groups() {
    if (sel.colour === "field") {
      const own = papers[at()].field;
      const rest = view.fields.length - HUES - (own >= HUES ? 1 : 0);
      return [...(own >= HUES ? [["own", view.fields[own]]] : []), ...view.fields.slice(0, HUES).map((name, i) => [String(i), name]),
        ...(rest > 0 ? [["x", `${rest} other field${rest === 1 ? "" : "s"}`]] : [])];
    }
    const values = papers.map((p) => (sel.colour === "year" ? p.year : p.cited));
    const cuts = [Math.min(...values), ...view.levels[sel.colour], Math.max(...values) + 1];
    const span = (low, high) => (low === high ? String(low) : `${low}–${high}`);
    return cuts.slice(0, -1).map((low, i) => [`l${i}`, span(low, cuts[i + 1] - 1)]);
  }

  // ---- fixed frame; its parts are refilled by draw() -------------------------------------------------------------
  const field = (...given) => labelled(uid, ...given);
  const pick = h("select", { onchange: (e) => choose({ model: e.target.value }) }, view.models.map((m) => option(m.key, `${m.key}: ${one(mean(Object.values(m.shared)))} of ${view.k} shared`)));
  const colour = h("select", { onchange: (e) => { lit = null; choose({ colour: e.target.value }); } },
    view.colours.map((name) => option(name, COLOURED[name])));
  const slider = h("input", { type: "range", min: 1, max: n, step: 1, oninput: (e) => go(now().order[e.target.value - 1], true) });
  const search = h("input", { type: "search", role: "combobox", autocomplete: "off", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": `${uid}-found`, placeholder: "words of a title", oninput: offer, onkeydown: searchKey, onblur: () => setTimeout(fold, 150) });
  const found = h("ul", { class: "sfx-found", id: `${uid}-found`, role: "listbox", "aria-label": "Papers found", hidden: true });
  const back = button("Back", goBack, { title: "Back to the paper before" });
  const controls = h("div", { class: "sfx-controls", role: "group", "aria-label": "Choose a paper" },
    h("div", { class: "sfx-field sfx-of-walk" },
      h("label", { for: `${uid}-walk` }, `Any of ${n} papers: its formats`, h("b", {}, " disagree most ← → agree most")),
      h("div", { class: "sfx-walk" }, button("‹", () => step(-1), { "aria-label": "Previous paper" }), slider,
        button("›", () => step(1), { "aria-label": "Next paper" }), back)),
    h("div", { class: "sfx-search" }, field("Find a paper", search, "search"), found),
    view.models.length > 1 ? field("Model", pick, "model") : null,
    field("Colour dots by", colour, "colour"));
  slider.id = `${uid}-walk`;
  const subject = h("section", { class: "sfx-subject", "aria-label": "Chosen paper" });
  const agree = h("section", { class: "sfx-agree", "aria-label": "Neighbours that formats share" });
  const verdict = h("p", { class: "sfx-verdict" });
  const legend = h("div", { class: "sfx-legend", role: "group", "aria-label": "Colours; press one to light its papers" });
  const columns = h("div", { class: "sfx-columns" });
  const common = h("section", { class: "sfx-common", "aria-label": "What the neighbours have in common with the paper" });
  const lenses = h("div", { class: "sfx-lenses", role: "group", "aria-label": "Whose neighbours are ringed" });
  const note = h("p", { class: "sfx-note" });
  const around = h("section", { class: "sfx-around", "aria-label": "Neighbours" });
  const tip = h("div", { class: "sfx-tip", "aria-hidden": "true", hidden: true });
  const command = commandBox(() => live);
  const { root, live } = frame("Format explorer", { onkeydown: rootKey },
    controls,
    h("div", { class: "sfx-top" }, subject, agree),
    verdict, legend, columns, lenses, note, common, around,
    command.box,
    h("p", { class: "sfx-help" }, "A click on a dot or a neighbour chooses that paper. Keys: ", keys("[ ]"), " previous, next paper, ", keys("b"), " back. On a map: ",
      keys("← ↑ → ↓"), " to the next dot that way, ", keys("Enter"), " choose it. Among the neighbours: ", keys("↑ ↓"), " move, ",
      keys("Enter"), " choose. The address bar keeps this view."),
    tip);

  // ---- drawing --------------------------------------------------------------------------------------------------
  let maps = [];
  let drawn = ""; // the model whose maps stand there
  function draw() {
    if (drawn !== sel.model) drawMaps();
    for (const part of [drawControls, drawSubject, drawAgree, drawLegend, drawColours, drawCommon, drawAround, drawRings]) part();
    verdict.replaceChildren(...said());
    command.code.textContent = papermill(view, { "{paper}": String(papers[at()].number), "{colour}": sel.colour });
  }

  function drawControls() {
    pick.value = sel.model;
    colour.value = sel.colour;
    slider.value = now().order.indexOf(at()) + 1;
    slider.setAttribute("aria-valuetext", `${slider.value} of ${n}, ${papers[at()].title}`);
    back.disabled = !trail.length;
  }

  function drawSubject() {
    const p = papers[at()];
    subject.replaceChildren(
      h("div", { class: "sfx-kicker" }, "One paper, ", h("strong", {}, `${now().formats.length} vectors`), view.models.length > 1 ? ` · ${sel.model}` : ""),
      h("div", { class: "sfx-title" }, p.title),
      h("div", { class: "sfx-about" }, about(p)),
      h("p", { class: "sfx-text" }, p.text));
  }

  // The lower triangle of formats by formats: how many of the first k neighbours two of them share.
  function drawAgree() {
    const { formats, shared } = now();
    const last = formats.length - 1;
    agree.replaceChildren(h("table", {},
      h("caption", {}, `Same neighbours, of ${view.k}: `, h("b", {}, "this paper"), `, mean of all; by chance ${one(view.chance.shared)}`),
      h("thead", {}, h("tr", {}, h("td", {}), formats.slice(0, last).map((name) => h("th", { scope: "col", title: view.formats[name][0] }, name)))),
      h("tbody", {}, formats.slice(1).map((name, row) => h("tr", {}, h("th", { scope: "row" }, name),
        formats.slice(0, last).map((_, col) => {
          if (col > row) return h("td", {});
          const count = both(col, row + 1);
          return h("td", { class: "sfx-cell", "data-level": Math.min(4, Math.floor((5 * count) / (view.k + 1))) },
            h("b", {}, count), " ", small(one(shared[`${col}|${row + 1}`])));
        }))))));
  }

  // What the two tables show, in words: counted, not written.
  function said() {
    const { formats } = now();
    const counts = pairs().map(([a, b]) => [both(a, b), `${formats[a]}–${formats[b]}`]);
    const most = Math.max(...counts.map(([count]) => count));
    const least = Math.min(...counts.map(([count]) => count));
    const of = (wanted) => counts.filter(([count]) => count === wanted).map(([, name]) => name);
    const all = new Set(sides().flatMap((side) => near(side)));
    const inAll = [...all].filter((i) => holders(i).length === formats.length).length;
    const rest = of(most).length > 2 && of(least).length + of(most).length === counts.length ? "all other pairs" : listed(of(most));
    const first = most === least ? `Every two formats share ${most} of this paper's ${view.k} neighbours.`
      : `Of this paper's ${view.k} neighbours ${listed(of(least))} share ${least}, ${rest} ${most}.`;
    return [h("strong", {}, first), ` ${inAll} ${inAll === 1 ? "is" : "are"} the same under all ${formats.length}; ${all.size} different papers in all. `,
      `Over all papers two formats ${listed([sel.model, ...models.keys()].filter((key, i) => i === 0 || key !== sel.model)
        .map((key, i) => `of ${key} ${i ? "" : "share "}${one(mean(Object.values(models.get(key).shared)))}`))}.`];
  }

  function drawLegend() {
    const counts = new Map();
    for (const p of papers) counts.set(group(p), (counts.get(group(p)) || 0) + 1);
    const focused = legend.contains(document.activeElement) ? document.activeElement.dataset.c : null;
    legend.replaceChildren(...groups().map(([key, name]) => button(
      [h("i", { "data-c": key, "aria-hidden": "true" }), name],
      () => light(lit === key ? null : key), { "data-c": key, title: `${counts.get(key) || 0} papers`, "aria-pressed": String(lit === key),
        onmouseenter: () => shade(key), onmouseleave: () => shade(lit) })));
    if (focused !== null) (legend.querySelector(`button[data-c="${focused}"]`) || legend.firstElementChild).focus({ preventScroll: true });
  }

  function drawMaps() {
    drawn = sel.model;
    const { formats, places, shares } = now();
    maps = formats.map((name, side) => {
      const dots = papers.map((_, i) => h("svg:circle", { cx: places[side][i][0], cy: places[side][i][1], r: 12 }));
      const rings = h("svg:g", { class: "sfx-rings" });
      const pad = 45;
      const svg = h("svg:svg", { viewBox: `${-pad} ${-pad} ${SIDE + 2 * pad} ${SIDE + 2 * pad}`, "aria-hidden": "true" }, h("svg:g", {}, dots), rings);
      const box = h("div", { class: "sfx-map", tabindex: 0, role: "application", "aria-roledescription": "map",
        "aria-label": `Map of ${n} papers under ${name}. Arrow keys go from dot to dot, Enter chooses a paper.`,
        onkeydown: (e) => mapKey(e, side), onfocus: () => point(hot ?? at(), side), onblur: () => point(null) }, svg);
      svg.addEventListener("pointermove", (e) => point(under(e, side), side, e));
      svg.addEventListener("pointerleave", () => point(null));
      svg.addEventListener("click", (e) => { const i = under(e, side); if (i !== null) go(i); });
      return { box, svg, dots, rings, side };
    });
    columns.replaceChildren(...formats.map((name, side) => h("section", { class: "sfx-column", "aria-label": name },
      h("div", { class: "sfx-head", title: view.formats[name][1] }, h("strong", {}, name), " ", view.formats[name][0]), maps[side].box)));
    if (lens !== null && lens >= formats.length) lens = null;
    if (by !== null && by >= formats.length) by = null;
    lenses.replaceChildren("Ringed on every map: ", ...[null, ...sides()].map((side) => button(side === null ? `each format's own ${view.k}` : `${formats[side]}'s ${view.k}`,
      () => { lens = side; drawRings(); }, { "data-side": side === null ? "own" : side })));
    note.textContent = `A map keeps near papers near as well as two dimensions can: of a paper's ${view.k} nearest, `
      + `${listed(shares.map((share) => one(share * view.k)))} are among the ${view.k} nearest dots. ${view.about}${view.about ? "." : ""}`;
  }

  function drawColours() {
    const kinds = papers.map(group);
    for (const { dots } of maps) dots.forEach((dot, i) => dot.setAttribute("data-c", kinds[i]));
    shade(lit);
  }

  // Papers of one group stay, the others fade.
  function shade(key) {
    for (const { svg } of maps) {
      if (key === null) delete svg.dataset.lit;
      else svg.dataset.lit = key;
      for (const dot of svg.querySelectorAll(".sfx-on")) dot.classList.remove("sfx-on");
      if (key !== null) for (const dot of svg.querySelectorAll(`circle[data-c="${key}"]`)) dot.classList.add("sfx-on");
    }
  }

  function light(key) {
    lit = key;
    drawLegend();
    shade(key);
    const name = key === null ? "" : groups().find(([found]) => found === key)[1];
    live.textContent = key === null ? "All colours" : `Lit: ${name}`;
  }

  function drawRings() {
    for (const control of lenses.children) control.setAttribute("aria-pressed", String(control.dataset.side === String(lens ?? "own")));
    for (const { rings, side } of maps) {
      const place = (i) => now().places[side][i];
      const ring = (i, r, kind) => h("svg:circle", { class: kind, cx: place(i)[0], cy: place(i)[1], r });
      const [x, y] = place(at());
      rings.replaceChildren(
        ...near(lens ?? side).map((i) => ring(i, 22, "sfx-ring")),
        h("svg:path", { class: "sfx-cross", d: `M${x - 60} ${y}H${x + 60}M${x} ${y - 60}V${y + 60}` }),
        ring(at(), 27, "sfx-chosen"),
        ...(hot === null || hot === at() ? [] : [ring(hot, 30, "sfx-hot")]));
    }
  }

  function drawCommon() {
    const { formats, facts } = now();
    const p = papers[at()];
    const apart = (of) => (side) => mean(near(side).map((i) => Math.abs(of(papers[i]) - of(p))));
    const log = (q) => Math.log10(1 + q.cited);
    const measure = {
      field: (side) => near(side).filter((i) => papers[i].field === p.field).length,
      linked: (side) => near(side).filter((i) => linked[at()].has(i)).length,
      years: apart((q) => q.year),
      citations: apart(log),
    };
    const shown = (name, value) => (name === "citations" ? `×${one(10 ** value)}` : name === "years" || !Number.isInteger(value) ? one(value) : String(value));
    const mid = (name, value) => (name === "citations" ? `×${one(10 ** value)}` : one(value));
    common.replaceChildren(h("table", {},
      h("caption", {}, `The ${view.k} neighbours and the paper: `, h("b", {}, "this paper"), `, mean of all ${n}; shaded: what the format was trained for`),
      h("thead", {}, h("tr", {}, h("td", {}), formats.map((name) => h("th", { scope: "col", title: view.formats[name][0] }, name)), h("th", { scope: "col" }, `any ${view.k}`))),
      h("tbody", {}, Object.entries(facts).map(([name, means]) => h("tr", {}, h("th", { scope: "row" }, view.facts[name]),
        sides().map((side) => h("td", { class: view.asked[name] === formats[side] ? "sfx-asked" : null },
          h("b", {}, shown(name, measure[name](side))), " ", small(mid(name, means[side])))),
        h("td", { class: "sfx-any" }, small(mid(name, view.chance[name]))))))));
  }

  // Every paper that is a neighbour under some format, once: its rank under each. In groups by how many formats have it,
  // or one format's ten first.
  function drawAround() {
    const { formats } = now();
    const rank = (i, side) => near(side).indexOf(i) + 1;
    const found = [...new Set(sides().flatMap((side) => near(side)))];
    const middle = (i) => mean(holders(i).map((side) => rank(i, side)));
    found.sort((a, b) => holders(b).length - holders(a).length || middle(a) - middle(b));
    const parts = by === null
      ? sides().map((side) => formats.length - side).map((count) => [
        count === formats.length ? `Under all ${count} formats` : count === 1 ? "Under one format alone" : `Under ${count} formats`,
        found.filter((i) => holders(i).length === count)])
      : [[`The ${view.k} nearest under ${formats[by]}`, near(by)], [`Under other formats, not under ${formats[by]}`, found.filter((i) => !rank(i, by))]];
    const head = (text, side) => h("th", { scope: "col", "aria-sort": by === side ? "ascending" : null },
      button(text, () => { by = side; drawAround(); around.querySelectorAll("thead button")[side === null ? 0 : side + 1].focus(); },
        { title: side === null ? "Group by how many formats have it" : `Sort by rank under ${formats[side]}` }));
    const line = (i) => {
      const q = papers[i];
      const same = q.field === papers[at()].field;
      return h("tr", { class: "sfx-row", "data-i": i, onclick: () => go(i), onmouseenter: () => point(i), onmouseleave: () => point(null) },
        h("th", { scope: "row" },
          button(q.title, () => go(i), { class: "sfx-name", tabindex: -1, onfocus: () => point(i), onblur: () => point(null) }),
          h("span", { class: "sfx-facts" }, h("i", { "data-c": group(q), "aria-hidden": "true" }),
            h("span", { class: same ? "sfx-same" : null }, fieldOf(q), same ? hidden(" (the same)") : null),
            linked[at()].has(i) ? h("span", { class: "sfx-same" }, "citation link") : null)),
        sides().map((side) => (rank(i, side) ? h("td", {}, h("b", { class: "sfx-rank", "data-level": rank(i, side) <= 3 ? 4 : rank(i, side) <= 6 ? 3 : 1 }, rank(i, side)))
          : h("td", { class: "sfx-none" }, "–"))));
    };
    around.replaceChildren(h("table", { onkeydown: aroundKey },
      h("caption", {}, `${found.length} papers are among the ${view.k} nearest under some format; numbers are ranks`),
      h("thead", {}, h("tr", {}, head("Neighbour", null), formats.map((name, side) => head(name, side)))),
      parts.filter(([, rows]) => rows.length).map(([text, rows], i) => {
        const rest = i > 0 && rows === parts.at(-1)[1];
        const toggle = () => { every = !every; drawAround(); around.querySelector(".sfx-part button").focus(); };
        return h("tbody", {},
          h("tr", { class: "sfx-part" }, h("th", { scope: "rowgroup", colspan: formats.length + 1 }, text, small(` ${rows.length} `),
            rest ? button(every ? "Hide" : "Show", toggle, { "aria-expanded": String(every), "aria-label": `${every ? "Hide" : "Show"}: ${text}` }) : null)),
          rest && !every ? null : rows.map(line));
      })));
    around.querySelector(".sfx-name").tabIndex = 0;
  }

  // ---- pointing -------------------------------------------------------------------------------------------------
  // The dot under the pointer: the nearest one, within a finger's or a mouse's reach.
  function under(e, side) {
    const svg = maps[side].svg;
    const to = svg.getScreenCTM();
    if (!to) return null;
    const spot = new DOMPoint(e.clientX, e.clientY).matrixTransform(to.inverse());
    const reach = (e.pointerType === "touch" ? 18 : 9) / to.a;
    let best = null;
    let least = reach * reach;
    now().places[side].forEach(([x, y], i) => {
      const d = (x - spot.x) ** 2 + (y - spot.y) ** 2;
      if (d < least) [best, least] = [i, d];
    });
    return best;
  }

  // One paper is pointed at, by mouse or keyboard: ringed on every map, marked in every list, named beside its dot.
  function point(i, side = null, e = null) {
    if (i !== hot) {
      hot = i;
      drawRings();
      for (const line of around.querySelectorAll(".sfx-row")) line.classList.toggle("sfx-pointed", Number(line.dataset.i) === i);
    }
    tip.hidden = i === null || side === null;
    if (tip.hidden) return;
    const p = papers[i];
    tip.replaceChildren(h("strong", {}, p.title), small(about(p)));
    const frame = root.getBoundingClientRect();
    const map = maps[side].box.getBoundingClientRect(); // above its map: it would hide rings on the maps beside
    const left = map.left + map.width / 2 - frame.left - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(0, Math.min(frame.width - tip.offsetWidth, left))}px`;
    tip.style.top = `${map.top - frame.top - tip.offsetHeight - 3}px`;
    if (!e) live.textContent = `${p.title}. ${about(p)}`;
  }

  // ---- acting ---------------------------------------------------------------------------------------------------
  function choose(changes) {
    sel = { ...sel, ...changes };
    hot = null;
    tip.hidden = true;
    const inside = around.contains(document.activeElement);
    draw();
    if (inside) around.querySelector(".sfx-name").focus({ preventScroll: true }); // the row it was on is gone: keep the keyboard here
    publish();
  }

  function go(i, slides = false) {
    if (i === at()) return;
    if (!(slides && sliding)) trail.push(sel.paper); // the papers a slider passes are not worth a way back
    sliding = slides;
    choose({ paper: papers[i].id });
  }

  function goBack() {
    sliding = false;
    const before = trail.pop();
    if (before !== undefined) choose({ paper: before });
  }

  function step(by) {
    const { order } = now();
    go(order[(order.indexOf(at()) + by + n) % n]);
  }

  function aroundKey(e) {
    const names = [...around.querySelectorAll(".sfx-name")];
    const here = names.indexOf(document.activeElement);
    const steps = { ArrowDown: here + 1, j: here + 1, ArrowUp: here - 1, k: here - 1, Home: 0, End: names.length - 1 };
    if (!plain(e) || here < 0 || !(e.key in steps)) return;
    const next = names[Math.max(0, Math.min(names.length - 1, steps[e.key]))];
    names[here].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    done(e);
  }

  function mapKey(e, side) {
    if (!plain(e)) return;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (way) {
      const [x, y] = now().places[side][hot ?? at()];
      let best = null;
      let least = Infinity;
      now().places[side].forEach(([px, py], i) => { // ahead, and rather straight than near
        const ahead = (px - x) * way[0] + (py - y) * way[1];
        const aside = Math.abs((px - x) * way[1]) + Math.abs((py - y) * way[0]);
        if (ahead > 0 && ahead >= aside && ahead + 2 * aside < least) [best, least] = [i, ahead + 2 * aside];
      });
      if (best !== null) point(best, side);
    } else if ((e.key === "Enter" || e.key === " ") && hot !== null) {
      go(hot);
      point(at(), side);
    } else if (e.key === "Escape") point(at(), side);
    else return;
    done(e);
  }

  function rootKey(e) {
    if (!plain(e) || e.target === search || e.target.matches("select")) return;
    if (e.key === "[" || e.key === "]") step(e.key === "[" ? -1 : 1);
    else if (e.key === "b") goBack();
    else return;
    done(e);
  }

  // ---- finding a paper by its title --------------------------------------------------------------------------------
  let marked = -1;
  function offer() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? papers.map((_, i) => i).filter((i) => words.every((word) => papers[i].title.toLowerCase().includes(word))) : [];
    marked = -1;
    found.replaceChildren(...hits.slice(0, MATCHES).map((i, place) => h("li", { role: "option", id: `${uid}-found-${place}`, "aria-selected": "false", "data-i": i,
      onmousedown: (e) => { e.preventDefault(); take(i); } }, papers[i].title, " ", small(about(papers[i])))),
    ...(words.length && hits.length > MATCHES ? [h("li", { class: "sfx-more", role: "presentation" }, `and ${hits.length - MATCHES} more`)] : []),
    ...(words.length && !hits.length ? [h("li", { class: "sfx-more", role: "presentation" }, "No title has all these words.")] : []));
    found.hidden = !words.length;
    search.setAttribute("aria-expanded", String(!found.hidden));
    search.removeAttribute("aria-activedescendant");
    live.textContent = words.length ? `${hits.length} titles found` : "";
  }

  function fold() {
    found.hidden = true;
    search.setAttribute("aria-expanded", "false");
  }

  function take(i) {
    search.value = "";
    offer();
    go(i);
  }

  function searchKey(e) {
    const rows = [...found.querySelectorAll("[role=option]")];
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      if (!rows.length) return;
      marked = (marked + (e.key === "ArrowDown" ? 1 : -1) + rows.length + (marked < 0 && e.key === "ArrowUp" ? 1 : 0)) % rows.length;
      rows.forEach((line, i) => line.setAttribute("aria-selected", String(i === marked)));
      search.setAttribute("aria-activedescendant", rows[marked].id);
    } else if (e.key === "Enter" && rows.length) take(Number(rows[Math.max(0, marked)].dataset.i));
    else if (e.key === "Escape" && !found.hidden) fold();
    else return;
    done(e);
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: "#formats=", choose,
    selection: () => sel,
    take(next) {
      sel = next;
      hot = null;
      draw();
    },
    address: () => joined([sel.paper, sel.colour, sel.model]),
    wanted(text) {
      const [paper, name, key] = parted(text);
      return placeOf.has(paper) ? { paper, colour: view.colours.includes(name) ? name : sel.colour, model: models.has(key) ? key : sel.model } : null;
    },
    said: () => `${papers[at()].title}. ${verdict.textContent}`,
  });

  draw();
  arrive();
  return start();
}

export default { render };
