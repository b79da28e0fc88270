// The browser half of the own-paper explorer: a text is encoded by the page itself as it is typed, and stands among papers.
//
// State: `sel` = {example, code} (the trait `selection`, shared with Python) and `own`: whether what stands in the boxes is the
// reader's and no example. The address bar keeps both, and a text that is the reader's itself: it says nothing of it to a server.
// `brief` (the first page of the book): one box for a title or a few words, the papers nearest by the vector for proximity, no change of the text.

const CHANGED = "none";
const BRIEF = 5;
const OWN = ""; // in the list of examples and in an address: a text of the reader's

// ----------------------------------------------------------------------------------------- changes that need no tagger

const END = /(?<=[.!?])["')\]]*\s+(?=["'(\[]?[A-Z0-9])/g;
const SHORT = /(?:\b(?:et al|e\.g|i\.e|cf|vs|viz|etc|approx|resp|Figs?|Eqs?|Secs?|Refs?|Tabs?|Nos?|Drs?|Profs?|St)|\b[A-Z])\.$/;

export function sentences(text) {
  const found = [];
  let start = 0;
  for (const gap of text.matchAll(END)) {
    const end = gap.index + gap[0].trimEnd().length, after = gap.index + gap[0].length;
    if (SHORT.test(text.slice(start, end))) continue;
    found.push(text.slice(start, end).trim());
    start = after;
  }
  const last = text.slice(start).trim();
  return last ? [...found, last] : found;
}

// Words, and marks of their own: near the Treebank's tokens, which Python counts ("cannot" and "author's" are two each).
export function tokens(text) {
  const apart = text.replace(/\b(can)(not)\b/gi, "$1 $2").replace(/([^\s'])('(?:s|m|d|ll|re|ve)|n't)\b/gi, "$1 $2");
  return apart.match(/'(?:s|m|d|ll|re|ve)\b|n't\b|[\p{L}\p{N}]+(?:[-./'’][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]/giu) || [];
}

// Numbers from 0 to 1 that a seed decides (mulberry32).
function drawing(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function drawn(n, count, random) {
  const places = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [places[i], places[j]] = [places[j], places[i]];
  }
  return places.slice(0, count);
}

function third(text, which) {
  const all = sentences(text), size = Math.floor(all.length / 3);
  return size ? [...all.slice(0, (which - 1) * size), ...all.slice(which * size)].join(" ") : null;
}

function byLength(text, sign) {
  const all = sentences(text).map((sentence) => [sentence, tokens(sentence).length]);
  return all.sort((a, b) => sign * (a[1] - b[1])).map(([sentence]) => sentence).join(" ");
}

const wider = (text, random) => {
  const places = [...text].flatMap((letter, at) => (letter === " " ? [at] : []));
  const chosen = new Set(drawn(places.length, Math.floor(places.length / 2), random).map((i) => places[i]));
  return [...text].map((letter, at) => (chosen.has(at) ? " ".repeat(2 + Math.floor(random() * 4)) : letter)).join("");
};

// code -> (title, abstract, random) => [title, abstract], or null where the text has too little for it.
export const CHANGES = {
  T_ARot: (t, a) => { const all = sentences(a), half = all.length >> 1; return [t, [...all.slice(half), ...all.slice(0, half)].join(" ")]; },
  T_AShuff: (t, a, random) => { const all = sentences(a); return [t, drawn(all.length, all.length, random).map((i) => all[i]).join(" ")]; },
  T_ASortAsc: (t, a) => [t, byLength(a, 1)],
  T_ASortDesc: (t, a) => [t, byLength(a, -1)],
  T_ADelRand: (t, a, random) => {
    const all = tokens(a), gone = new Set(drawn(all.length, Math.floor(0.3 * all.length), random));
    return [t, all.filter((_, at) => !gone.has(at)).join(" ")];
  },
  T_ADelQ1: (t, a) => { const left = third(a, 1); return left === null ? null : [t, left]; },
  T_ADelQ2: (t, a) => { const left = third(a, 2); return left === null ? null : [t, left]; },
  T_ADelQ3: (t, a) => { const left = third(a, 3); return left === null ? null : [t, left]; },
  T_A_WS: (t, a, random) => [wider(t, random), wider(a, random)],
};

export function change(code, title, abstract, seed) {
  if (!CHANGES[code]) return [title, abstract];
  if (!abstract.trim() && code !== "T_A_WS") return null;
  return CHANGES[code](title, abstract, drawing(seed));
}

// -------------------------------------------------------------------------------------------------------------- numbers

function length(v) {
  let sum = 0;
  for (let i = 0; i < v.length; i += 1) sum += v[i] * v[i];
  return Math.sqrt(sum);
}

export function cosine(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum / Math.max(length(a) * length(b), 1e-12);
}

// Papers' vectors, kept as whole numbers: scaled to length 1.
function table(data, n, dim) {
  const whole = new Int8Array(bytes(data).buffer), values = new Float32Array(n * dim);
  for (let row = 0; row < n; row += 1) {
    const size = Math.max(length(whole.subarray(row * dim, (row + 1) * dim)), 1e-12);
    for (let i = row * dim; i < (row + 1) * dim; i += 1) values[i] = whole[i] / size;
  }
  return values;
}

// The k papers of the highest cosine: [place, cosine], highest first; of equals the earlier.
export function nearest(vector, values, n, k) {
  const dim = vector.length, size = Math.max(length(vector), 1e-12), best = [];
  for (let row = 0; row < n; row += 1) {
    let score = 0;
    for (let i = 0; i < dim; i += 1) score += vector[i] * values[row * dim + i];
    score /= size;
    if (best.length === k && score <= best[k - 1][1]) continue;
    let at = best.length;
    while (at > 0 && best[at - 1][1] < score) at -= 1;
    best.splice(at, 0, [row, score]);
    if (best.length > k) best.pop();
  }
  return best;
}

function fields({ weight, bias }, vector) {
  const scores = bias.map((b, f) => weight[f].reduce((sum, w, i) => sum + w * vector[i], b)), top = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - top)), total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share, f) => [f, share / total]).sort((a, b) => b[1] - a[1]);
}

const year = ({ weight, bias }, vector) => weight.reduce((sum, w, i) => sum + w * vector[i], bias);

export function read(view) {
  const encoder = open(view.encoder);
  const spaces = Object.fromEntries(encoder.formats.map((format) => [format, table(view.vectors[format], view.papers.length, encoder.dim)]));
  return (title, abstract) => {
    const text = [title.trim(), abstract.trim()].filter(Boolean).join(view.encoder.tokens.separator), began = performance.now();
    const vectors = encoder.encode(text), took = performance.now() - began;
    const near = Object.fromEntries(encoder.formats.map((format) => [format, nearest(vectors[format], spaces[format], view.papers.length, view.k)]));
    const ids = encoder.tokens(text);
    return { vectors, near, took, pieces: ids.length, words: encoder.foreign(`${title} ${abstract}`),
      fields: fields(view.heads.field, vectors.CLF), year: year(view.heads.year, vectors.RGN) };
  };
}

// --------------------------------------------------------------------------------------------------------------- widget

function render({ model, el }) {
  const view = JSON.parse(model.get("data"));
  const answer = read(view);
  const uid = unique();
  const names = new Map(Object.entries(view.formats));
  const brief = Boolean(model.get("brief")), most = brief ? BRIEF : view.k;
  let sel = { ...model.get("selection") };
  let seed = 1, timer = 0, soonest = 0, own = false;

  const field = (...given) => labelled(uid, ...given);
  const pick = h("select", { onchange: () => (pick.value === OWN ? typed() : choose({ example: pick.value })) },
    option(OWN, "a text of your own"), view.examples.map(([id, title]) => option(id, title)));
  const title = h("input", { type: "text", autocomplete: "off", spellcheck: "false", oninput: soon });
  const abstract = h("textarea", { rows: 7, spellcheck: "false", oninput: soon });
  const codes = h("select", { onchange: () => choose({ code: codes.value }) },
    option(CHANGED, "as typed"), view.codes.map(([code, text]) => option(code, `${text} (${code})`)));
  const again = button("Draw again", () => { seed += 1; draw(); });
  const cost = h("p", { class: "opx-cost" });
  const changed = h("section", { class: "opx-changed", "aria-label": "The changed text" });
  const guess = h("section", { class: "opx-guess", "aria-label": "What the vectors say" });
  const lists = h("table", { class: "opx-lists" });
  const { root, live } = frame("A paper of your own", { class: brief ? "opx opx-brief" : "opx" },
    h("div", { class: "opx-text" }, field("Begin with", pick, "example"),
      h("div", { class: "opx-buttons" }, button(brief ? "Empty the box" : "Empty both boxes", () => { title.value = abstract.value = ""; title.focus(); typed(); }),
        brief ? null : button("Delete the abstract", () => { abstract.value = ""; typed(); })),
      field(brief ? "Title, or a few words: type, and look below" : "Title", title, "title"), brief ? null : field("Abstract", abstract, "abstract")),
    brief ? null : h("div", { class: "opx-change" }, field("Change the text before it is read", codes, "code"), again),
    changed, brief ? null : cost, guess, lists, brief ? cost : null,
    h("p", { class: "opx-hint" }, view.about));

  function soon() {
    cancelAnimationFrame(soonest);
    soonest = requestAnimationFrame(typed);
  }

  // What stands in the boxes is the reader's from here on.
  function typed() {
    own = true;
    pick.value = OWN;
    draw();
    publish();
  }

  function draw() {
    const text = [title.value, abstract.value];
    const any = text.some((part) => part.trim());
    const told = any ? change(sel.code, ...text, seed) : text;
    const before = answer(...text), after = told && sel.code !== CHANGED ? answer(...told) : before;
    drawChange(told, before, after, any);
    cost.replaceChildren(...(any ? ["Read in ", h("b", { class: "opx-ms" }, `${after.took.toFixed(after.took < 10 ? 1 : 0)} ms`), ` by this page: ${after.pieces} word pieces`,
      after.pieces >= view.encoder.tokens.length ? ` (the first ${view.encoder.tokens.length} are read, the rest is not)` : "",
      ` of ${after.words[0]} ${after.words[0] === 1 ? "word" : "words"}, of which its vocabulary does not know ${after.words[1] || "none"}`, brief ? "." : ". Four vectors, one pass."]
      : ["Nothing is typed. What stands below is what the encoder says of an empty text."]));
    drawGuess(after);
    drawLists(before, after);
    clearTimeout(timer);
    timer = setTimeout(() => {
      live.textContent = `Field ${view.fields[after.fields[0][0]]}, year ${Math.round(after.year)}. Nearest under ${encoderFormats().map((format) =>
        `${names.get(format)[0]}: ${view.papers[after.near[format][0][0]][1]}`).join("; ")}.`;
    }, 900);
  }

  const encoderFormats = () => (brief ? ["PRX"] : view.encoder.shape.formats);

  function drawChange(told, before, after, any) {
    const random = view.codes.find(([code]) => code === sel.code)?.[2];
    again.hidden = !random || !any;
    if (sel.code === CHANGED || !any) return changed.replaceChildren();
    if (!told) return changed.replaceChildren(h("p", { class: "opx-why" }, h("strong", {}, "Does not apply: "), "the abstract has too few sentences. The text is read as typed."));
    const moved = encoderFormats().map((format) => h("td", {}, h("b", {}, cosine(before.vectors[format], after.vectors[format]).toFixed(3)),
      small(` ${shared(before, after, format)} of ${view.k} stay`)));
    changed.replaceChildren(
      h("p", { class: "opx-title" }, told[0]), h("p", {}, told[1]),
      h("table", {}, h("caption", {}, "Cosine of the changed text to the typed one, and nearest papers that stay"),
        h("thead", {}, h("tr", {}, encoderFormats().map((format) => h("th", { scope: "col" }, names.get(format)[0])))),
        h("tbody", {}, h("tr", {}, moved))));
  }

  const shared = (before, after, format) => after.near[format].filter(([i]) => before.near[format].some(([j]) => j === i)).length;

  function drawGuess(after) {
    const [low, high] = view.years;
    const [, , , field, year] = own ? [] : view.examples.find(([id]) => id === sel.example);
    const told = (what) => (what ? small(` (the example’s own: ${what})`) : null);
    guess.replaceChildren(
      h("div", {}, h("h3", { class: "opx-h" }, "Field", told(field)), h("ol", {}, after.fields.slice(0, 3).filter(([, share]) => share >= 0.005).map(([f, share]) =>
        h("li", {}, h("span", { class: "opx-bar", style: `inline-size: ${Math.max(1, Math.round(100 * share))}%`, "aria-hidden": "true" }),
          h("span", {}, view.fields[f]), h("b", {}, `${Math.round(100 * share)} %`)))), small(view.heads.field.about)),
      h("div", {}, h("h3", { class: "opx-h" }, "Year", told(year)), h("p", { class: "opx-year" }, String(Math.round(after.year))),
        h("meter", { min: low, max: high, value: Math.min(high, Math.max(low, after.year)), "aria-label": `Year, from ${low} to ${high}` }),
        h("div", { class: "opx-ends", "aria-hidden": "true" }, small(String(low)), small(String(high))),
        small(view.heads.year.about)));
  }

  // The papers among the first `most` of at least one format, by their mean rank.
  function union(of) {
    const at = (i) => encoderFormats().map((format) => of.near[format].findIndex(([j]) => j === i) + 1);
    const found = [...new Set(encoderFormats().flatMap((format) => of.near[format].slice(0, most).map(([i]) => i)))];
    const mean = (ranks) => ranks.reduce((sum, rank) => sum + (rank || view.k + 1), 0);
    return found.map((i) => [i, at(i)]).sort((a, b) => mean(a[1]) - mean(b[1]));
  }

  function drawLists(before, after) {
    const formats = encoderFormats(), apart = (ranks) => ranks.some((rank) => !rank || rank > most);
    const fresh = (i, format) => after !== before && !before.near[format].some(([j]) => j === i);
    const sided = (paper, ranks) => (brief ? [...ranks, paper] : [paper, ...ranks]); // one rank stands before the paper
    lists.replaceChildren(
      h("caption", {}, brief ? "Nearest papers" : `Nearest papers, with their rank by each of the four vectors. Coloured: not among the first ${most} of all four. –: not among the first ${view.k}.`),
      h("thead", {}, h("tr", {}, sided(h("th", { scope: "col" }, "Paper"), formats.map((format) => h("th", { scope: "col" }, brief ? "Rank" : names.get(format)[0]))))),
      h("tbody", {}, union(after).map(([i, ranks]) => {
        const [, heading, when, field] = view.papers[i];
        return h("tr", { class: apart(ranks) ? "opx-apart" : null }, sided(h("th", { scope: "row" }, h("span", {}, heading), small(` ${view.fields[field]}, ${when}`)),
          ranks.map((rank, at) => h("td", {}, rank ? String(rank) : "–", rank && fresh(i, formats[at]) ? small(" new") : null))));
      })));
  }

  function fill() {
    const [, heading, text] = view.examples.find(([id]) => id === sel.example);
    title.value = heading;
    abstract.value = brief ? "" : text;
  }

  function take(next, refilled = next.example !== sel.example) {
    sel = next;
    if (refilled) {
      fill();
      own = false;
    }
    codes.value = sel.code;
    pick.value = own ? OWN : sel.example;
    draw();
  }

  function choose({ text, ...changes }) {
    if (text) {
      [title.value, abstract.value] = [text[0], brief ? "" : text[1]];
      own = true;
    }
    take({ ...sel, ...changes }, "example" in changes);
    publish();
  }

  const { publish, arrive, start } = tie({ model, el }, { root, live, key: view.key, prefix: "#own-paper=", choose, take,
    selection: () => sel,
    address: () => joined(own ? [OWN, sel.code, title.value, abstract.value] : [sel.example, sel.code]),
    wanted(address) {
      const [example, code, ...text] = parted(address);
      if (brief ? code !== CHANGED : code !== CHANGED && !Object.hasOwn(CHANGES, code)) return null;
      if (example === OWN) return text.length === 2 ? { code, text } : null;
      return view.examples.some(([id]) => id === example) ? { example, code } : null;
    },
    said: () => live.textContent, // it follows what is typed
  });

  take(sel, true);
  arrive();
  const stop = start();
  return () => {
    stop();
    clearTimeout(timer);
    cancelAnimationFrame(soonest);
  };
}

export default { render };
