// The browser half of the task explorer: a searchable list of tasks, and what is known of the chosen one.
//
// State: `sel` (the trait `selection`, shared with Python and the address bar) and the words in the search field.

const quiet = (text) => h("span", { class: "stx-quiet" }, text);
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const dotted = (parts) => parts.filter(Boolean).join(" · ");

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const uid = unique();
  const tasks = new Map(view.tasks.map((task) => [task.key, task]));
  const collection = new Map(view.collections);
  let sel = { ...model.get("selection") };

  const task = () => tasks.get(sel.task);
  const format = (t) => `${view.formats[t.format]} (${t.format})`;
  const paper = (i) => {
    const [id, title, text, year, venue] = view.papers[i];
    return { id, title, text, about: dotted([year, venue, id && `${title ? "paper" : "id"} ${id}`]) };
  };
  const haystack = new Map(view.tasks.map((t) => [t.key, dotted([t.title, t.key, format(t), t.type.replaceAll("_", " "), t.asks,
    ...t.metrics, collection.get(t.paper), t.relation, t.source[1]]).toLowerCase()]));

  // ---- frame: the list on the left, the chosen task on the right; draw() refills their parts -------------------
  const search = h("input", { type: "search", id: `${uid}-search`, role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-expanded": "true", "aria-controls": `${uid}-list`, "aria-autocomplete": "list", placeholder: "name, metric …",
    oninput: () => { drawList(); live.textContent = found.textContent; }, onkeydown: searchKey });
  const found = h("span", { class: "stx-found" });
  const list = h("div", { class: "stx-list", id: `${uid}-list`, role: "listbox", tabindex: 0, "aria-label": "Tasks", onkeydown: listKey });
  const head = h("header", {});
  const facts = h("div", { class: "stx-facts" });
  const spread = h("section", { class: "stx-charts", "aria-label": "How labels and sizes are spread" });
  const which = h("h4", { class: "stx-h" });
  const another = button("Another example", () => turn(1), { class: "stx-another" });
  const example = h("div", { class: "stx-example" });
  const shown = h("section", { class: "stx-shown", "aria-label": "Example" }, h("div", { class: "stx-bar" }, which, another), example);
  const used = h("section", { class: "stx-used", "aria-label": "Where it is used" });
  const { root, live } = frame("Task explorer", { onkeydown: rootKey },
    h("div", { class: "stx-body" },
      h("div", { class: "stx-picker", role: "group", "aria-label": "Choose a task" },
        h("div", { class: "stx-bar" }, h("label", { for: search.id }, "Find a task"), found), search, list),
      h("div", { class: "stx-task", role: "group", "aria-label": "Chosen task" }, head, facts, spread, shown, used)),
    h("p", { class: "stx-help" }, "Keys: ", keys("↑ ↓"), " in the list or the search field, ", keys("[ ]"), " previous, next task, ",
      keys("n p"), " next, previous example, ", keys("/"), " search. The address bar keeps this view."));

  // ---- the list ------------------------------------------------------------------------------------------------
  const passing = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return view.tasks.filter((t) => words.every((word) => haystack.get(t.key).includes(word)));
  };

  // Grouped by paper, then by format; in the order of the inventory within a group.
  function ordered() {
    const passed = passing();
    return view.collections.flatMap(([name]) => Object.keys(view.formats)
      .map((code) => [name, code, passed.filter((t) => t.paper === name && t.format === code)])
      .filter(([, , rows]) => rows.length));
  }

  const walked = () => ordered().flatMap(([, , rows]) => rows.map((t) => t.key));

  function drawList() {
    const groups = ordered();
    const twins = (t) => view.tasks.filter((o) => o.title === t.title && o.paper === t.paper).length > 1;
    const apart = (t) => ({ retrieval: "whole pool", proximity: "reranked", adhoc_search: "reranked", triplets: "training pairs" })[t.type] || t.key.split("/").pop();
    const lines = [];
    let last = null;
    groups.forEach(([name, code, rows], i) => {
      const id = `${uid}-g${i}`;
      if (name !== last) lines.push(h("div", { class: "stx-paper", role: "presentation" }, collection.get(name)));
      last = name;
      lines.push(h("div", { role: "group", "aria-labelledby": id },
        h("div", { class: "stx-format", id }, hidden(`${collection.get(name)}, `), view.formats[code]),
        rows.map((t) => h("div", { class: `stx-option${t.examples.length ? "" : " stx-bare"}`, role: "option", id: optionId(t.key),
          "data-key": t.key, "aria-selected": String(t.key === sel.task), onclick: () => { choose({ task: t.key, example: 0 }); list.focus({ preventScroll: true }); } },
        t.title, twins(t) ? [" ", quiet(apart(t))] : null, t.examples.length ? null : small("no data here")))));
    });
    if (!lines.length) lines.push(h("div", { class: "stx-none", role: "presentation" }, "No task has all these words."));
    list.replaceChildren(...lines);
    found.textContent = search.value.trim() ? `${walked().length} of ${view.tasks.length}` : plural(view.tasks.length, "task");
    paint();
  }

  const optionId = (key) => `${uid}-o${[...tasks.keys()].indexOf(key)}`;

  // Mark the chosen line and bring it into view: the list scrolls, the page never does.
  function paint() {
    let here = null;
    for (const line of list.querySelectorAll("[role=option]")) {
      const is = line.dataset.key === sel.task;
      line.setAttribute("aria-selected", String(is));
      if (is) here = line;
    }
    for (const node of [list, search]) {
      if (here) node.setAttribute("aria-activedescendant", here.id);
      else node.removeAttribute("aria-activedescendant");
    }
    if (!here) return;
    const [top, bottom] = [here.offsetTop, here.offsetTop + here.offsetHeight];
    if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) list.scrollTop = (top + bottom - list.clientHeight) / 2;
  }

  // ---- the chosen task -----------------------------------------------------------------------------------------
  function draw() {
    for (const part of [drawHead, drawFacts, drawCharts, drawExample, drawUsed, paint]) part();
  }

  function drawHead() {
    const t = task();
    const [, badge, told] = t.source;
    head.replaceChildren(
      h("div", { class: "stx-kicker" }, dotted([collection.get(t.paper), format(t)])),
      h("h3", { class: "stx-title" }, t.title),
      h("div", { class: "stx-asks" }, t.asks),
      h("p", { class: "stx-source" }, h("span", { class: "stx-badge", "data-source": t.source[0] || "none" }, badge), " ", told));
  }

  function drawFacts() {
    const t = task();
    const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    const cell = (value) => h("td", {}, value === null ? "–" : count(value));
    facts.replaceChildren(
      h("dl", {},
        fact("Type", t.type.replaceAll("_", " ")),
        fact("Metrics", t.metrics.map((name) => [h("code", {}, name), " "])),
        t.relation ? fact("Relation", t.relation) : null,
        t.notes ? fact("Notes", t.notes) : null),
      t.sizes.length ? h("table", { class: "stx-sizes" },
        h("caption", { class: "stx-sr" }, "Sizes here and as printed"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Size"), h("th", { scope: "col" }, "here"), h("th", { scope: "col" }, "printed"))),
        h("tbody", {}, t.sizes.map(([name, ours, printed]) => h("tr", {}, h("th", { scope: "row" }, name), cell(ours), cell(printed))))) : null);
  }

  function drawCharts() {
    spread.hidden = !task().charts.length;
    spread.replaceChildren(...task().charts.map((chart) => (chart.rows ? bars(chart) : columns(chart))));
  }

  function bars({ title, parts, rows, more }) {
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    const most = Math.max(1, ...rows.map(([, list]) => sum(list)));
    return h("table", { class: `stx-bars${parts.length > 1 ? " stx-parts" : ""}` },
      h("caption", { class: "stx-h" }, title, parts.length > 1 ? h("span", { class: "stx-key" },
        parts.map((part, i) => [h("span", { "data-part": i }, part), i + 1 < parts.length ? hidden(" + ") : null])) : null),
      h("tbody", {}, rows.map(([name, list]) => h("tr", {},
        h("th", { scope: "row" }, name),
        h("td", { class: "stx-track", "aria-hidden": "true" }, h("span", {}, list.map((n, i) => n > 0 && h("i", { "data-part": i, style: `width:${(100 * n) / most}%` })))),
        h("td", {}, list.map(count).join(" + ")))),
      more ? h("tr", {}, h("td", { colspan: 3, class: "stx-quiet" }, more)) : null));
  }

  function columns({ title, columns: list, note }) {
    const most = Math.max(1, ...list.map(([, n]) => n));
    const told = list.filter(([, n]) => n).map(([name, n]) => `${name}: ${n}`).join(", ");
    return h("figure", { class: "stx-columns" },
      h("figcaption", { class: "stx-h" }, title),
      h("div", { style: `max-width:${Math.max(list.length, 1) * 3}rem` },
        h("svg:svg", { viewBox: `0 0 ${Math.max(list.length, 1)} 20`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}. ${told}` },
          list.map(([name, n], i) => h("svg:rect", { x: i + 0.06, y: 20 - (20 * n) / most, width: 0.88, height: (20 * n) / most },
            h("svg:title", {}, `${name}: ${count(n)}`)))),
        h("div", { class: "stx-axis", "aria-hidden": "true" }, quiet(list.length ? list[0][0] : ""),
          quiet(list.length > 1 ? list[list.length - 1][0] : ""))),
      h("div", { class: "stx-note" }, note));
  }

  // ---- examples ------------------------------------------------------------------------------------------------
  function drawExample() {
    const { examples, key } = task();
    const it = examples[sel.example];
    which.textContent = it ? `Example ${sel.example + 1} of ${examples.length}` : "No example";
    another.hidden = examples.length < 2;
    example.replaceChildren(...(it ? KINDS[it.kind](it).flat().filter(Boolean)
      : [h("p", { class: "stx-quiet" }, `Read the data with load_task("${key}") and give them to this explorer.`)]));
  }

  const split = (name) => h("span", { class: "stx-chip" }, `${name} split`);

  function text(i, name, ...extra) {
    const p = paper(i);
    const empty = !p.title && !p.text;
    return h("article", { class: "stx-text" },
      h("div", { class: "stx-kicker" }, name, " ", extra, p.title ? null : p.about),
      p.title ? h("div", { class: "stx-name" }, p.title) : null,
      p.title && p.about ? h("div", { class: "stx-note" }, p.about) : null,
      p.text ? h("p", { class: p.title ? null : "stx-bareword" }, p.text) : null,
      empty ? h("p", { class: "stx-quiet" }, "The source has no text for it.") : null);
  }

  // Darker the higher a grade stands among those of its query; digit and word always stand beside the colour.
  function badge(grade, word, most) {
    const level = grade === null ? "none" : grade <= 0 ? 0 : Math.ceil((3 * grade) / Math.max(most, 1));
    return h("span", { class: "stx-grade", "data-level": level }, grade === null ? word : /^\d/.test(word) ? word : `${grade} ${word}`);
  }

  // Grades of one meaning (1 to 15 clicks) are told as one.
  function totals(list, most) {
    const all = list.reduce((sum, [, , n]) => sum + n, 0);
    const groups = new Map();
    for (const [grade, word, n] of list) {
      if (!groups.has(word)) groups.set(word, { grades: [], n: 0 });
      groups.get(word).grades.push(grade);
      groups.get(word).n += n;
    }
    return h("div", { class: "stx-totals" }, h("span", {}, `${plural(all, "candidate")}:`), [...groups].map(([word, { grades, n }]) =>
      h("span", {}, `${count(n)} × `, badge(grades[0], grades.length > 1 ? `${grades[grades.length - 1]} to ${grades[0]} ${word}` : word, most))));
  }

  function ranking({ query, facet, lit, group, candidates, totals: list }) {
    const most = task().charts[0].top; // the same colour for a grade in every query
    const all = list.reduce((sum, [, , n]) => sum + n, 0);
    return [
      text(query, "Query", facet ? [`by its ${facet}`] : [], group ? [` in the group ${group}`] : []),
      lit ? h("div", { class: "stx-lit" }, quiet(`Its ${facet} sentences: `), lit.map((line) => h("p", {}, line))) : null,
      totals(list, most),
      h("ol", { class: "stx-candidates", "aria-label": candidates.length < all ? `${candidates.length} of ${all} candidates` : "All candidates" },
        candidates.map(([grade, word, i]) => {
          const p = paper(i);
          const name = h(p.title && p.text ? "summary" : "div", { class: "stx-name" }, p.title || p.text || `paper ${p.id}`);
          const about = p.about ? h("div", { class: "stx-note" }, p.about) : null;
          return h("li", {}, badge(grade, word, most), p.title && p.text ? h("details", {}, name, h("p", {}, p.text), about)
            : h("div", {}, name, about));
        })),
      candidates.length < all ? h("p", { class: "stx-note" }, `${candidates.length} of ${count(all)} shown, drawn from the grades in turn.`) : null,
    ];
  }

  const KINDS = {
    labelled: ({ paper: i, split: name, labels, value }) => [
      text(i, "Paper", split(name)),
      h("div", { class: "stx-answer" }, quiet(labels ? (labels.length === 1 ? "Label" : "Labels") : "Value"), " ",
        labels ? (labels.length ? labels.map((label) => h("span", { class: "stx-label" }, label)) : "none")
          : h("span", { class: "stx-label" }, String(value))),
    ],
    ranking,
    labels: ({ paper: i, gold, of, matched, matches }) => [
      text(i, "Paper"),
      h("div", { class: "stx-kicker" }, `${plural(of, "gold label")}${gold.length < of ? `, ${gold.length} shown` : ""}`),
      h("dl", { class: "stx-gold" }, gold.map(([, name, definition]) => h("div", {},
        h("dt", {}, name), h("dd", {}, definition || "no definition: the name is the text")))),
      matches === null ? null : h("p", { class: "stx-note" }, matches
        ? `Named in the text (${count(matches)}): ${matched.map((name) => name + (gold.length < of || gold.some((g) => g[1] === name) ? "" : " (not a correct label)")).join(", ")}${matched.length < matches ? " …" : ""}`
        : "No label is named in the text."),
    ],
    reviewers: ({ paper: i, reviewers, of }) => [
      text(i, "Submission"),
      h("ol", { class: "stx-candidates", "aria-label": "Reviewers" }, reviewers.map(([grade, word, id, papers, all]) => h("li", {},
        badge(grade, word, 3), h("div", {}, h("div", { class: "stx-name" }, `Reviewer ${id}`),
          h("ul", { class: "stx-papers" }, papers.map((p) => h("li", {}, paper(p).title || paper(p).id))),
          all > papers.length ? h("div", { class: "stx-note" }, `and ${plural(all - papers.length, "more paper")}`) : null)))),
      reviewers.length < of ? h("p", { class: "stx-note" }, `${reviewers.length} of ${plural(of, "judged reviewer")} shown.`) : null,
    ],
    block: ({ block, clusters, people, of }) => [
      h("div", { class: "stx-kicker" }, "Block of equal names ", h("strong", {}, block), `: ${plural(of, "mention")} of ${people === 1 ? "one person" : `${people} people`}`),
      h("div", { class: "stx-clusters" }, clusters.map(([mentions, size], i) => h("section", { "aria-label": `Person ${i + 1}` },
        h("div", { class: "stx-name" }, `Person ${i + 1} `, quiet(plural(size, "mention"))),
        h("ul", { class: "stx-papers" }, mentions.map(([name, affiliation, p]) => h("li", {}, paper(p).title || paper(p).id,
          name || affiliation ? h("div", { class: "stx-note" }, dotted([name, affiliation])) : null))),
        size > mentions.length ? h("div", { class: "stx-note" }, `and ${count(size - mentions.length)} more`) : null))),
      clusters.length < people ? h("p", { class: "stx-note" }, `${clusters.length} of ${people} people shown.`) : null,
    ],
    self: ({ paper: i }) => {
      const p = paper(i);
      return [
        h("article", { class: "stx-text" }, h("div", { class: "stx-kicker" }, "Query: the title alone"), h("p", { class: "stx-bareword" }, p.title)),
        h("article", { class: "stx-text" }, h("div", { class: "stx-kicker" }, "To be found among all papers of the collection"),
          h("div", { class: "stx-name" }, p.title), h("div", { class: "stx-note" }, p.about), p.text ? h("p", {}, p.text) : null),
      ];
    },
    triple: ({ query, positive, negative, split: name }) => [
      text(query, "Query", split(name)),
      text(positive, h("span", { class: "stx-grade", "data-level": 3 }, "positive")),
      negative === null ? h("p", { class: "stx-note" }, "No negative of its own: the other positives of a batch serve.")
        : text(negative, h("span", { class: "stx-grade", "data-level": 0 }, "negative")),
    ],
  };

  function drawUsed() {
    const rows = task().used.map((id) => [id, ...(view.exhibits[id] || ["", "", ""])]);
    used.hidden = !rows.length;
    const base = document.documentElement.dataset.content_root; // set by the book, so that a chapter can be linked
    used.replaceChildren(h("h4", { class: "stx-h" }, "Where it is used"), h("ul", {}, rows.map(([id, exhibit, shows, chapter]) => h("li", {},
      h("strong", {}, exhibit || id), " ", shows, " ",
      chapter === "" ? quiet("(no chapter yet)") : base === undefined ? quiet(`(chapter ${chapter})`)
        : named(h("a", { href: `${base}${encodeURI(chapter)}.html` }, `chapter ${chapter}`))))));
  }

  function named(link) { // by its title, which the book lists beside the page
    const plain = (url) => url.replace(/[?#].*$/, "");
    const there = [...document.querySelectorAll("nav a[href]")].find((one) => one.hash === "" && plain(one.href) === plain(link.href));
    if (plain(link.href) === plain(location.href)) link.textContent = "this chapter";
    else if (there) link.textContent = `chapter “${there.textContent.trim()}”`;
    return link;
  }

  // ---- acting --------------------------------------------------------------------------------------------------
  function choose(changes) {
    const before = sel.task;
    sel = { ...sel, ...changes };
    if (sel.task !== before) draw();
    else drawExample();
    publish(sel.task !== before ? undefined : which.textContent);
  }

  function turn(by) {
    const n = task().examples.length;
    if (n > 1) choose({ example: (sel.example + by + n) % n });
  }

  function step(to) {
    const order = walked();
    if (!order.length) return;
    const at = order.indexOf(sel.task);
    const next = to === "first" ? 0 : to === "last" ? order.length - 1 : at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + to));
    if (order[next] !== sel.task) choose({ task: order[next], example: 0 });
  }

  function searchKey(e) {
    if (!plain(e)) return;
    if (e.key === "ArrowDown") step(1);
    else if (e.key === "ArrowUp") step(-1);
    else if (e.key === "Enter") {
      if (!walked().includes(sel.task)) step("first");
    } else if (e.key === "Escape" && search.value) {
      search.value = "";
      drawList();
    } else return;
    done(e);
  }

  function listKey(e) {
    if (!plain(e)) return;
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, Home: "first", End: "last", PageDown: 8, PageUp: -8 };
    if (!(e.key in steps)) return;
    step(steps[e.key]);
    done(e);
  }

  function rootKey(e) {
    if (!plain(e) || e.target === search) return;
    if (e.key === "[" || e.key === "]") step(e.key === "[" ? -1 : 1);
    else if (e.key === "n" || e.key === "p") turn(e.key === "n" ? 1 : -1);
    else if (e.key === "/") search.focus();
    else return;
    done(e);
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: "#task=", choose,
    selection: () => sel,
    take(next) { sel = next; draw(); },
    address: () => joined([sel.task, sel.example + 1]),
    wanted(text) {
      const [key, number] = parted(text);
      if (!tasks.has(key)) return null;
      const last = Math.max(0, tasks.get(key).examples.length - 1);
      return { task: key, example: /^[1-9]\d{0,4}$/.test(number || "") ? Math.min(Number(number) - 1, last) : 0 };
    },
    said() {
      const t = task();
      return dotted([t.title, collection.get(t.paper), format(t), t.source[1], plural(t.examples.length, "example")]);
    },
  });

  drawList();
  draw();
  requestAnimationFrame(paint); // the host may attach `el` after this, and only then the list has a height
  arrive();
  return start();
}

export default { render };
