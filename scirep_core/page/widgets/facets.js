// The browser half of the facet explorer: draws one query, two rankings, their metrics and one opened paper.
//
// State: `sel` (the trait `selection`, shared with Python and the address bar) and `cursor` (keyboard only).

const METRICS = [ // name, what it says; the values come from `metrics`
  ["P@k", "share of the first k that is relevant"],
  ["R@k", "share of the relevant that is in the first k"],
  ["NDCG@k", "linear gain, ranks 1 and 2 undiscounted, then 1/log2(rank)"],
  ["R-Precision (published)", "R / rank of the last relevant"],
  ["R-Precision (standard)", "precision at rank R, R = number of relevant"],
];

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const letter = (side) => h("span", { class: "scx-ab" }, "AB"[side]);
const both = (make) => [0, 1].map(make);

// The cut of the published script: the percentage is truncated, not rounded.
const cut = (cutoff, n) => (typeof cutoff === "number" ? cutoff : Math.trunc((parseInt(cutoff, 10) / 100) * n));

function parseCutoff(text) {
  const match = /^([1-9]\d{0,3})(%?)$/.exec(text);
  if (!match || (match[2] && Number(match[1]) > 100)) return null;
  return match[2] ? text : Number(text);
}

// The same five numbers as scirep_core.metrics, times 100; `gains` are ratings in ranked order.
export function metrics(gains, k, relevant) {
  const hit = gains.map((gain) => gain >= relevant);
  const count = (n) => hit.slice(0, n).filter(Boolean).length;
  const dcg = (list) => list.slice(0, k).reduce((sum, gain, i) => sum + gain / Math.max(1, Math.log2(i + 1)), 0);
  const total = count(gains.length);
  const ideal = dcg([...gains].sort((a, b) => b - a));
  const share = (part, whole) => (whole ? (100 * part) / whole : 0);
  const atK = k ? [share(count(k), k), share(count(k), total), share(dcg(gains), ideal)] : [null, null, null];
  return [...atK, share(total, hit.lastIndexOf(true) + 1), share(count(total), total)];
}

// Split a text at the given terms (whole words, any case) and mark them.
function marked(text, terms) {
  const words = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).filter(Boolean);
  if (!words.length) return [text];
  const found = new RegExp(`(?<![\\p{L}\\p{N}_])(${words.join("|")})(?![\\p{L}\\p{N}_])`, "giu");
  return text.split(found).map((part, i) => (i % 2 ? h("mark", {}, part) : part));
}

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = unique();
  const queries = new Map(view.queries.map((row) => [row.id, row]));
  const label = new Map(view.systems);
  const place = new Map(view.systems.map(([name], i) => [name, i]));
  const paper = (i) => {
    const [id, title, year, sentences, labels] = view.papers[i];
    return { id, title, year, sentences, labels, open: title !== undefined }; // without text nobody can open it
  };
  const rated = (rating) => `${rating} ${view.ratings[rating]}`;
  let sel = { ...model.get("selection") };
  let cursor = { side: 0, item: null };

  const field = (...given) => labelled(uid, ...given);
  const row = () => queries.get(sel.query);
  const ranking = (side) => row().ranks[place.get(sel.systems[side])];
  const rating = (item) => Number(row().rated[item]);
  const candidate = (item) => paper(row().pool[item]);
  const gains = (side) => ranking(side).map(rating);
  const itemOf = (id) => row().pool.findIndex((i) => view.papers[i][0] === id);
  const nameOf = (side) => label.get(sel.systems[side]);
  const kOf = (side) => cut(sel.cutoff, ranking(side).length);

  // ---- controls -------------------------------------------------------------------------------------------------
  const papers = new Map();
  for (const q of view.queries) {
    const { id, title, year } = paper(q.paper);
    if (!papers.has(id)) papers.set(id, { text: `${title}${year ? ` (${year})` : ""}`, queries: [] });
    papers.get(id).queries.push(q);
  }
  const pick = {
    paper: h("select", { onchange: (e) => {
      const offered = papers.get(e.target.value).queries;
      choose({ query: (offered.find((q) => q.facet === sel.facet) || offered[0]).id });
    } }, [...papers].map(([id, p]) => option(id, p.text))),
    facet: h("select", { onchange: (e) => choose({ query: e.target.value }) }),
    systems: both((side) => h("select", { onchange: (e) => pickSystem(side, e.target.value) },
      view.systems.map(([name, text]) => option(name, text)))),
    unit: h("select", { onchange: (e) => {
      const n = ranking(0).length;
      const k = Math.max(1, Math.min(n, cut(sel.cutoff, n)));
      choose({ cutoff: e.target.value === "%" ? `${Math.max(1, Math.round((100 * k) / n))}%` : k });
    } }, option("%", "% of the ranking"), option("k", "first k papers")),
    slider: h("input", { type: "range", min: 1, step: 1, oninput: (e) => setCutoff(e.target.value) }),
    number: h("input", { type: "number", min: 1, step: 1, oninput: (e) => setCutoff(e.target.value),
      // leaving the box puts a valid number back; redrawing the rows here would swallow the click that left it
      onchange: () => drawControls() }),
    filter: h("input", { type: "search", placeholder: "word in title or text", oninput: () => filterLists() }),
    relevant: h("input", { type: "checkbox", onchange: () => filterLists() }),
  };
  const status = h("span", { class: "scx-status" });
  const controls = h("div", { class: "scx-controls", role: "group", "aria-label": "Choose what to compare" },
    field("Query paper", pick.paper, "paper"),
    field("Facet", pick.facet, "facet"),
    h("div", { class: "scx-steps" }, status, button("Previous", () => step(-1), { "aria-label": "Previous query" }),
      button("Next", () => step(1), { "aria-label": "Next query" })),
    field("Ranking A", pick.systems[0], "a"),
    field("Ranking B", pick.systems[1], "b"),
    field("Cut-off as", pick.unit, "unit"),
    field("Percent", pick.number, "number"),
    field("Cut-off", pick.slider, "slider"));
  const filters = h("div", { class: "scx-filters", role: "group", "aria-label": "Filter both rankings" },
    field("Show papers with", pick.filter, "filter"),
    h("label", { class: "scx-check" }, pick.relevant, h("span", {}, `Only relevant (${view.ratings.slice(view.relevant).join(" or ")})`)));

  // ---- fixed frame; its parts are refilled by draw() -----------------------------------------------------------
  const query = h("section", { class: "scx-query", "aria-label": "Query" });
  const numbers = h("section", { class: "scx-metrics", "aria-label": "Metrics of this query" });
  const sides = both((side) => ({
    head: h("div", { class: "scx-head" }),
    list: h("ul", { class: "scx-list", role: "listbox", tabindex: 0,
      onkeydown: (e) => listKey(e, side), onfocus: () => {
        const items = listed(side);
        if (cursor.side !== side || !items.includes(cursor.item)) moveTo(side, items[0] ?? null);
      } }),
  }));
  const detail = h("section", { class: "scx-detail", "aria-label": "Opened paper" });
  const command = commandBox(() => live);
  const { root, live } = frame("Facet explorer", { onkeydown: rootKey },
    controls,
    h("div", { class: "scx-top" }, query, numbers),
    filters,
    h("div", { class: "scx-sides" },
      sides.map(({ head, list }, side) => h("div", { class: `scx-side scx-side-${side}` }, head, list)),
      detail),
    command.box,
    h("p", { class: "scx-help" }, "Keys: ", keys("[ ]"), " previous, next query. In a ranking: ", keys("↑ ↓ j k"), " move, ",
      keys("Enter"), " open, ", keys("← →"), " same paper in the other ranking, ", keys("Esc"),
      " close. The address bar keeps this view."));

  // ---- drawing --------------------------------------------------------------------------------------------------
  const about = ({ year, id }) => `${year || "year unknown"} · paper ${id}`;

  function sentence(text, kind, lit, tags, terms) {
    return h("li", { class: lit ? "scx-lit" : "scx-dim" },
      h("span", { class: "scx-label" }, kind, " "), marked(text, terms || []), tags);
  }

  function draw() {
    for (const part of [drawControls, drawQuery, drawMetrics, drawLists, drawDetail]) part();
    command.code.textContent = papermill(view,
      { "{query}": sel.query, "{systems}": sel.systems.join(","), "{facet}": sel.facet, "{cutoff}": String(sel.cutoff) });
  }

  function drawControls() {
    const { id } = paper(row().paper);
    pick.paper.value = id;
    pick.facet.replaceChildren(...papers.get(id).queries.map((q) => option(q.id, capital(q.facet))));
    pick.facet.value = sel.query;
    pick.systems.forEach((select, side) => { select.value = sel.systems[side]; });
    const percent = typeof sel.cutoff === "string";
    pick.unit.value = percent ? "%" : "k";
    pick.number.previousSibling.textContent = percent ? "Percent" : "Papers";
    for (const input of [pick.slider, pick.number]) {
      input.max = percent ? 100 : Math.max(...both((side) => ranking(side).length));
      // while a number is being typed over, its box may be empty: leave it to the reader
      if (input !== pick.number || input.value !== "" || document.activeElement !== input) input.value = parseInt(sel.cutoff, 10);
    }
    pick.slider.setAttribute("aria-valuetext", percent ? sel.cutoff : `first ${sel.cutoff}`);
    status.textContent = `Query ${view.queries.indexOf(row()) + 1} of ${view.queries.length}`;
  }

  function drawQuery() {
    const q = row();
    const p = paper(q.paper);
    const also = q.match.filter((name) => name !== q.facet);
    query.replaceChildren(
      h("div", { class: "scx-kicker" }, "Query by its ", h("strong", {}, q.facet), " sentences",
        also.length ? ` (${also.join(", ")} counts as ${q.facet})` : ""),
      h("div", { class: "scx-title" }, p.title),
      h("div", { class: "scx-about" }, about(p)),
      h("ol", { class: "scx-sentences" }, p.sentences.map((text, i) => {
        const lit = q.lit.includes(i);
        return sentence(text, view.labels[p.labels[i]], lit, lit ? hidden(" (part of the query)") : null);
      })));
  }

  const columns = () => both((side) => metrics(gains(side), kOf(side), view.relevant));

  function drawMetrics() {
    const [a, b] = columns();
    const show = (value) => (value === null ? "–" : value.toFixed(2));
    const gap = (i) => {
      if (a[i] === null || b[i] === null) return "–";
      const text = (b[i] - a[i]).toFixed(2);
      return Number(text) > 0 ? `+${text}` : Number(text) < 0 ? text.replace("-", "−") : "0.00";
    };
    const reach = typeof sel.cutoff === "string" ? `${sel.cutoff} of the ranking` : `the first ${sel.cutoff}`;
    const relevant = gains(0).filter((gain) => gain >= view.relevant).length;
    numbers.replaceChildren(h("table", {},
      h("caption", {}, `Metrics in percent at ${reach}; relevant = rated ${view.relevant} or 3 (${relevant} of ${ranking(0).length})`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Metric"),
        both((side) => h("th", { scope: "col" }, letter(side), " ", nameOf(side), typeof sel.cutoff === "string" ? small(`k = ${kOf(side)}`) : null)),
        h("th", { scope: "col" }, "B − A"))),
      h("tbody", {}, METRICS.map(([name, hint], i) => h("tr", {}, h("th", { scope: "row" }, name, small(hint)),
        [show(a[i]), show(b[i]), gap(i)].map((text) => h("td", {}, text)))))));
  }

  // The whole ranking at a glance: one bar per rated paper, taller and stronger with its rating.
  function strip(side, k) {
    const list = gains(side);
    const at = (wanted) => list.map((gain, i) => (gain === wanted ? i + 1 : 0)).filter(Boolean).join(", ") || "none";
    return h("svg:svg", { class: "scx-strip", viewBox: `0 0 ${list.length} 12`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Ranks of near identical papers: ${at(3)}; of similar papers: ${at(2)}` },
      h("svg:rect", { class: "scx-within", x: 0, y: 0, width: Math.min(k, list.length), height: 12 }),
      list.map((gain, i) => gain > 0 && h("svg:rect", { class: `scx-bar-${gain}`, x: i + 0.1, y: 12 - 4 * gain, width: 0.8, height: 4 * gain })));
  }

  function passes(item) {
    const word = pick.filter.value.trim().toLowerCase();
    const { title, sentences } = candidate(item);
    return (!pick.relevant.checked || rating(item) >= view.relevant)
      && (!word || [title, ...sentences].join(" ").toLowerCase().includes(word));
  }

  const listed = (side) => ranking(side).filter((item) => candidate(item).open && passes(item));

  function drawLists() {
    both(drawList);
    paint(false);
  }

  function filterLists() {
    drawLists();
    live.textContent = both((side) => `${listed(side).length} papers listed for ${nameOf(side)}`).join(", ");
  }

  function drawList(side) {
    const ranks = ranking(side);
    const elsewhere = new Map(ranking(1 - side).map((item, i) => [item, i + 1]));
    const k = kOf(side);
    const note = (kind, text) => h("li", { class: `scx-${kind}`, role: "presentation" }, text);
    const filtering = pick.relevant.checked || pick.filter.value.trim() !== "";
    const lines = [];
    let gap = 0;
    const flush = (rank) => {
      if (!gap) return;
      const span = gap === 1 ? `rank ${rank}` : `ranks ${rank - gap + 1} to ${rank}`;
      lines.push(note("gap", `${span}: not relevant, not listed`));
      gap = 0;
    };
    let count = 0;
    ranks.forEach((item, i) => {
      const rank = i + 1;
      const p = candidate(item);
      if (p.open && passes(item)) {
        flush(rank - 1);
        lines.push(candidateRow(side, item, rank, elsewhere.get(item), p));
        count += 1;
      } else if (!p.open && !filtering) gap += 1;
      if (rank === k || rank === ranks.length) flush(rank);
      if (rank === k) lines.push(note("cut", `cut-off: first ${k}`));
    });
    if (!count) lines.unshift(note("gap", "No listed paper passes the filter."));
    const { head, list } = sides[side];
    const scroll = list.scrollTop;
    const absent = row().pool.length - ranks.length;
    const facts = [`${ranks.length} papers ranked, ${count} listed`, absent && `${absent} of the pool left out`, `▲ ▼ places against ${"BA"[side]}`];
    head.replaceChildren(h("div", { class: "scx-name" }, letter(side), " ", nameOf(side)),
      h("div", { class: "scx-about" }, facts.filter(Boolean).join("; ")), strip(side, k));
    list.setAttribute("aria-label", `Papers ranked by ${"AB"[side]}, ${nameOf(side)}`);
    list.replaceChildren(...lines);
    list.scrollTop = scroll;
  }

  function candidateRow(side, item, rank, other, p) {
    const by = other === undefined ? null : other - rank;
    const move = by === null ? ["only here", `, not ranked by ${nameOf(1 - side)}`]
      : by === 0 ? ["same rank", ` in ${nameOf(1 - side)}`]
        : [`${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`, ` ${by > 0 ? "higher" : "lower"} than in ${nameOf(1 - side)}`];
    return h("li", { class: "scx-row", role: "option", id: `${uid}-${side}-${item}`, "aria-selected": "false", "data-item": item,
      onclick: () => { moveTo(side, item); sides[side].list.focus({ preventScroll: true }); open(item); } },
      h("span", { class: "scx-rank" }, rank),
      h("span", { class: "scx-what" },
        h("span", { class: "scx-name" }, p.title),
        h("span", { class: "scx-facts" }, badge(item),
          h("span", { class: "scx-move", title: move.join("") }, move[0], hidden(move[1])))));
  }

  const badge = (item) => h("span", { class: "scx-badge", "data-rating": rating(item), title: `rated ${rating(item)}` },
    view.ratings[rating(item)]);

  function drawDetail() {
    const item = sel.candidate === null ? -1 : itemOf(sel.candidate);
    detail.classList.toggle("scx-empty", item < 0);
    detail.dataset.side = cursor.side;
    if (item < 0) {
      detail.replaceChildren(h("p", {}, "Open a paper in either ranking to read it and see why each system put it there."));
      return;
    }
    const p = candidate(item);
    const why = both((side) => {
      const kept = row().why[place.get(sel.systems[side])][item];
      const [pairs, terms] = kept || [[], []];
      return [pairs, terms.map(([term, weight]) => [view.terms[term], weight]), Boolean(kept)];
    });
    const ranks = both((side) => ranking(side).indexOf(item) + 1);
    const terms = why.flatMap(([, list]) => list.map(([term]) => term));
    const tags = (j) => [0, 1].flatMap((side) => why[side][0].filter((pair) => pair[1] === j)
      .map(([i, , score]) => h("span", { class: "scx-tag" }, `${"AB"[side]}: query ${i + 1}, ${score}`)));
    detail.replaceChildren(
      h("div", { class: "scx-kicker" }, "Opened paper ", badge(item),
        button("Close", () => close())),
      h("div", { class: "scx-title" }, p.title),
      h("div", { class: "scx-about" }, about(p), both((side) => ` · ${nameOf(side)}: ${ranks[side] ? `rank ${ranks[side]}` : "not ranked"}`)),
      h("div", { class: "scx-open" },
        h("ol", { class: "scx-sentences" }, p.sentences.map((text, j) => {
          const found = tags(j);
          const kind = view.labels[p.labels[j]];
          const line = sentence(text, kind, row().match.includes(kind), found, terms);
          line.classList.toggle("scx-matched", found.length > 0);
          return line;
        })),
        h("div", { class: "scx-whys" }, both((side) => reason(side, ranks[side], why[side], p)))));
  }

  function reason(side, rank, [pairs, terms, kept], p) {
    const asked = paper(row().paper).sentences;
    return h("section", { class: "scx-why", "aria-label": `Why ${nameOf(side)} matched it` },
      h("div", { class: "scx-name" }, letter(side), ` Why ${nameOf(side)} `, rank ? `put it at rank ${rank}` : "left it out"),
      pairs.map(([i, j, score]) => h("dl", {},
        h("dt", {}, `Query sentence ${i + 1}`), h("dd", {}, asked[i]),
        h("dt", {}, `Sentence ${j + 1} here, score ${score}`), h("dd", {}, p.sentences[j]))),
      terms.length ? h("ul", { class: "scx-terms", "aria-label": "Matched terms and their weights" },
        terms.map(([term, weight]) => h("li", {}, h("span", {}, term), " ", small(weight)))) : null,
      pairs.length || terms.length ? null : h("p", {}, !rank ? "It is not in this ranking."
        : kept ? "This system gives no reason that can be shown sentence by sentence." : "No reason was kept for this paper."));
  }

  // ---- acting ---------------------------------------------------------------------------------------------------
  function choose(changes, say) {
    const before = sel.query;
    sel = { ...sel, ...changes };
    sel.facet = row().facet;
    if (sel.query !== before) {
      sel.candidate = null;
      cursor = { side: 0, item: null };
      sides.forEach(({ list }) => { list.scrollTop = 0; });
    }
    const inside = detail.contains(document.activeElement);
    draw();
    if (inside) sides[cursor.side].list.focus({ preventScroll: true }); // its Close button is gone: keep the keyboard here
    publish(say);
  }

  function setCutoff(text) {
    const value = parseCutoff(typeof sel.cutoff === "string" ? `${text}%` : text);
    if (value !== null) choose({ cutoff: value });
  }

  function pickSystem(side, name) {
    const systems = [...sel.systems];
    if (systems[1 - side] === name) systems[1 - side] = systems[side]; // the two swap rather than be the same
    systems[side] = name;
    choose({ systems });
  }

  function step(by) {
    const n = view.queries.length;
    choose({ query: view.queries[(view.queries.indexOf(row()) + by + n) % n].id });
  }

  function moveTo(side, item) {
    cursor = { side, item };
    paint(true);
  }

  // Mark the cursor and the opened paper; to reveal them scrolls the lists only, never the page.
  function paint(reveal) {
    sides.forEach(({ list }, side) => {
      list.removeAttribute("aria-activedescendant");
      for (const line of list.querySelectorAll("[role=option]")) {
        const here = side === cursor.side && Number(line.dataset.item) === cursor.item;
        const opened = candidate(line.dataset.item).id === sel.candidate;
        line.setAttribute("aria-selected", String(here));
        line.classList.toggle("scx-opened", opened);
        if (here) list.setAttribute("aria-activedescendant", line.id);
        if (!reveal || !(here || opened)) continue;
        const [top, bottom] = [line.offsetTop, line.offsetTop + line.offsetHeight];
        if (top < list.scrollTop) list.scrollTop = top;
        else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
      }
    });
  }

  function open(item, follow) {
    if (item === null) return;
    const p = candidate(item);
    choose({ candidate: p.id }, `Opened ${p.title}, rated ${rated(rating(item))}`);
    paint(true);
    const top = detail.getBoundingClientRect().top;
    if (!follow && top > window.innerHeight - 120) detail.scrollIntoView({ block: "nearest" });
  }

  const close = () => choose({ candidate: null }, "Closed the paper");

  function listKey(e, side) {
    if (!plain(e)) return;
    const items = listed(side);
    const at = items.indexOf(cursor.side === side ? cursor.item : null);
    const steps = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: items.length - 1, PageDown: at + 8, PageUp: at - 8 };
    if (e.key in steps) {
      moveTo(side, items[Math.max(0, Math.min(items.length - 1, steps[e.key]))] ?? null);
      if (sel.candidate !== null) open(cursor.item, true); // an open panel follows the cursor
    } else if (e.key === "Enter" || e.key === " ") open(cursor.item);
    else if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      const to = e.key === "ArrowLeft" ? 0 : 1;
      if (to !== side && listed(to).includes(cursor.item)) {
        moveTo(to, cursor.item);
        sides[to].list.focus();
      }
    } else return;
    done(e);
  }

  function rootKey(e) {
    if (!plain(e)) return;
    const typing = e.target.matches("select, input[type=number], input[type=search]");
    if (e.key === "Escape" && sel.candidate !== null && !typing) close();
    else if ((e.key === "[" || e.key === "]") && !typing) step(e.key === "[" ? -1 : 1);
    else return;
    done(e);
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: "#explorer=", choose,
    selection: () => sel,
    take(next) {
      sel = next;
      cursor = { side: cursor.side, item: sel.candidate === null ? null : itemOf(sel.candidate) };
      draw();
      paint(true);
    },
    address: () => joined([sel.query, ...sel.systems, sel.cutoff]),
    wanted(text) {
      const [query, a, b, k] = parted(text);
      const systems = label.has(a) && label.has(b) && a !== b ? [a, b] : sel.systems;
      return queries.has(query) ? { query, systems, cutoff: parseCutoff(k || "") ?? sel.cutoff } : null;
    },
    said() {
      const values = columns();
      const told = (value) => (value === null ? "undefined" : value.toFixed(2));
      return both((side) => `${nameOf(side)} at k ${kOf(side)}: `
        + METRICS.map(([name], i) => `${name} ${told(values[side][i])}`).join(", ")).join(". ");
    },
  });

  draw();
  arrive();
  return start();
}

export default { render };
