// A small trained encoder, run by the page itself: word pieces, one forward pass, four vectors (encoders/one_pass.py).
//
//   const model = open(packed)               what own_encoder.py packed: JSON
//   model.tokens(text)                       token ids, as the tokenizers library gives them
//   model.foreign(text)                      [words, how many of them the vocabulary does not have as they are]
//   model.encode(text)                       {CLF, RGN, PRX, QRY}: Float32Array each
//
// The document is read once. Each format has a row of its own behind the document's rows, which sees the document and itself
// and is seen by nobody. Sums are in double precision, so vectors are Python's up to rounding.

// ---------------------------------------------------------------------------------------------------------- word pieces

const SPACE = /\p{White_Space}/u;
const OTHER = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/u;
const PUNCTUATION = /[\p{P}$+<=>^`|~]/u;
const HAN = [[0x4e00, 0x9fff], [0x3400, 0x4dbf], [0x20000, 0x2a6df], [0x2a700, 0x2b73f], [0x2b740, 0x2b81f],
             [0x2b920, 0x2ceaf], [0xf900, 0xfaff], [0x2f800, 0x2fa1f]];
const LONGEST = 100; // letters of a word that is looked up

function han(letter) {
  const code = letter.codePointAt(0);
  return code >= 0x3400 && HAN.some(([first, last]) => code >= first && code <= last);
}

// BERT's normalizer: control characters go, Chinese ones stand alone, accents go, capitals are lowered one by one.
function normal(text) {
  let kept = "";
  for (const letter of text) {
    if (letter === "\t" || letter === "\n" || letter === "\r") kept += " ";
    else if (letter === "\ufffd" || OTHER.test(letter)) continue; // before spaces: U+0085 is both
    else if (SPACE.test(letter)) kept += " ";
    else kept += han(letter) ? ` ${letter} ` : letter;
  }
  let lowered = "";
  for (const letter of kept.normalize("NFD").replace(/\p{Mn}/gu, "")) lowered += letter.toLowerCase();
  return lowered;
}

function words(text) {
  const found = [];
  let word = "";
  for (const letter of normal(text)) {
    const space = letter === " ", mark = !space && PUNCTUATION.test(letter);
    if ((space || mark) && word) { found.push(word); word = ""; }
    if (mark) found.push(letter);
    else if (!space) word += letter;
  }
  if (word) found.push(word);
  return found;
}

class Tokens {
  constructor({ pieces, unknown, first, last, special, length }) {
    Object.assign(this, { unknown, first, last, length });
    this.known = new Map(pieces.split("\n").map((piece, id) => [piece, id]));
    this.special = new Map(special);
    const escaped = special.map(([name]) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    this.cut = new RegExp(`(${escaped.join("|")})`);
  }

  // The longest piece that begins the rest of a word, again and again; a word that cannot be cut is unknown.
  pieces(word) {
    const letters = [...word];
    if (letters.length > LONGEST) return [this.unknown];
    const found = [];
    for (let start = 0; start < letters.length;) {
      let end = letters.length, id;
      for (; end > start; end -= 1) {
        id = this.known.get((start ? "##" : "") + letters.slice(start, end).join(""));
        if (id !== undefined) break;
      }
      if (id === undefined) return [this.unknown];
      found.push(id);
      start = end;
    }
    return found;
  }

  // [words, those of them that are no piece of their own]; marks and numbers are no words.
  foreign(text) {
    const found = words(text).filter((word) => /\p{L}/u.test(word));
    return [found.length, found.filter((word) => !this.known.has(word)).length];
  }

  ids(text) {
    const found = [];
    for (const part of text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "?").split(this.cut)) {
      if (this.special.has(part)) found.push(this.special.get(part));
      else for (const word of words(part)) found.push(...this.pieces(word));
    }
    return Int32Array.from([this.first, ...found.slice(0, this.length - 2), this.last]);
  }
}

// -------------------------------------------------------------------------------------------------------------- numbers

// erf to 1e-9: its series near 0, its continued fraction beyond.
function erf(x) {
  const z = Math.abs(x);
  if (z > 5.5) return Math.sign(x);
  if (z < 2.4) {
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > 1e-11 * Math.abs(sum) && n < 60; n += 1) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let tail = 0;
  for (let n = 24; n > 0; n -= 1) tail = n / 2 / (z + tail);
  return Math.sign(x) * (1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + tail));
}

// x -> gelu(x), from a table with a parabola through three neighbours: erf for each number would take most of the time.
const STEP = 1 / 256, EDGE = 6;
const TABLE = Float64Array.from({ length: 2 * EDGE / STEP + 3 }, (_, i) => {
  const x = (i - 1) * STEP - EDGE;
  return 0.5 * x * (1 + erf(x / Math.SQRT2));
});

function gelu(x) {
  if (x >= EDGE) return x;
  if (x <= -EDGE) return 0;
  const at = (x + EDGE) / STEP + 1, i = Math.round(at), t = at - i;
  const below = TABLE[i - 1], here = TABLE[i], above = TABLE[i + 1];
  return here + t * ((above - below) / 2 + t * ((above + below) / 2 - here));
}

// rows x of width `from`, each times the weights' rows, plus bias: (n, to). Four outputs at a time share what is read of x.
function linear(x, n, { weight, bias, to, from }) {
  const y = new Float32Array(n * to);
  for (let row = 0; row < n; row += 1) {
    const start = row * from;
    for (let o = 0; o < to; o += 4) {
      const w0 = o * from, w1 = w0 + from, w2 = w1 + from, w3 = w2 + from;
      let a = 0, b = 0, c = 0, d = 0;
      for (let i = 0; i < from; i += 1) {
        const value = x[start + i];
        a += value * weight[w0 + i];
        b += value * weight[w1 + i];
        c += value * weight[w2 + i];
        d += value * weight[w3 + i];
      }
      const out = row * to + o;
      y[out] = a + bias[o];
      y[out + 1] = b + bias[o + 1];
      y[out + 2] = c + bias[o + 2];
      y[out + 3] = d + bias[o + 3];
    }
  }
  return y;
}

// Each row of x (n, dim) to mean 0 and variance 1, times scale, plus shift; in place.
function norm(x, n, { scale, shift, epsilon }) {
  const dim = scale.length;
  for (let row = 0; row < n; row += 1) {
    const start = row * dim;
    let mean = 0, spread = 0;
    for (let i = 0; i < dim; i += 1) mean += x[start + i];
    mean /= dim;
    for (let i = 0; i < dim; i += 1) spread += (x[start + i] - mean) ** 2;
    const factor = 1 / Math.sqrt(spread / dim + epsilon);
    for (let i = 0; i < dim; i += 1) x[start + i] = (x[start + i] - mean) * factor * scale[i] + shift[i];
  }
  return x;
}

// Attention of rows `from`.. of all rows: each over the first `told` rows, and over itself where it stands behind them.
function attention(q, k, v, from, rows, told, heads, dim) {
  const size = dim / heads, out = new Float32Array((rows - from) * dim), weights = new Float64Array(told + 1);
  const factor = 1 / Math.sqrt(size);
  for (let head = 0; head < heads; head += 1) {
    for (let row = from; row < rows; row += 1) {
      const asks = (row - from) * dim + head * size, count = row < told ? told : told + 1;
      let top = -Infinity;
      for (let j = 0; j < count; j += 1) {
        const sees = (j < told ? j : row) * dim + head * size;
        let score = 0;
        for (let i = 0; i < size; i += 1) score += q[asks + i] * k[sees + i];
        weights[j] = score * factor;
        if (weights[j] > top) top = weights[j];
      }
      let total = 0;
      for (let j = 0; j < count; j += 1) total += weights[j] = Math.exp(weights[j] - top);
      for (let j = 0; j < count; j += 1) {
        const sees = (j < told ? j : row) * dim + head * size, share = weights[j] / total;
        for (let i = 0; i < size; i += 1) out[asks + i] += share * v[sees + i];
      }
    }
  }
  return out;
}

function add(x, y) {
  for (let i = 0; i < x.length; i += 1) x[i] += y[i];
  return x;
}

// --------------------------------------------------------------------------------------------------------------- weights

export function bytes(text) {
  const raw = atob(text), found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) found[i] = raw.charCodeAt(i);
  return found;
}

// name -> Float32Array: matrices are whole numbers from -127 to 127 with a factor a row, vectors are numbers as they are.
function unpack({ arrays, data }) {
  const raw = bytes(data), found = {};
  for (const [name, rows, columns, at, factors] of arrays) {
    if (factors < 0) {
      found[name] = new Float32Array(raw.slice(at, at + 4 * columns).buffer);
      continue;
    }
    const whole = new Int8Array(raw.buffer, at, rows * columns);
    const scale = new Float32Array(raw.slice(factors, factors + 4 * rows).buffer);
    const values = found[name] = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row += 1)
      for (let i = row * columns; i < (row + 1) * columns; i += 1) values[i] = whole[i] * scale[row];
  }
  return found;
}

export function open(packed) {
  const { dim, heads, layers, epsilon, formats } = packed.shape;
  const all = unpack(packed.weights), tokens = new Tokens(packed.tokens);
  const made = (name) => {
    const weight = all[`${name}.weight`], bias = all[`${name}.bias`];
    return { weight, bias, to: bias.length, from: weight.length / bias.length };
  };
  const normed = (name) => ({ scale: all[`${name}.weight`], shift: all[`${name}.bias`], epsilon });
  const stack = Array.from({ length: layers }, (_, i) => Object.fromEntries([
    ...["query", "key", "value", "dense", "intermediate", "output"].map((part) => [part, made(`layers.${i}.${part}`)]),
    ...["norm1", "norm2"].map((part) => [part, normed(`layers.${i}.${part}`)])]));
  const own = all["own"], words = all["words.weight"], places = all["places.weight"], kind = all["types.weight"];

  function start(ids) {
    const x = new Float32Array((ids.length + formats.length) * dim);
    const row = (at, id, place, more) => {
      for (let i = 0; i < dim; i += 1)
        x[at * dim + i] = words[id * dim + i] + places[place * dim + i] + kind[i] + (more === undefined ? 0 : own[more * dim + i]);
    };
    ids.forEach((id, at) => row(at, id, at));
    formats.forEach((_, f) => row(ids.length + f, ids[0], 0, f));
    return norm(x, ids.length + formats.length, normed("norm"));
  }

  function encode(text) {
    const ids = tokens.ids(text), told = ids.length, rows = told + formats.length;
    let x = start(ids);
    stack.forEach((layer, number) => {
      const from = number === layers - 1 ? told : 0, count = rows - from; // of the last layer only the formats' rows are read
      const asks = x.subarray(from * dim);
      const seen = attention(linear(asks, count, layer.query), linear(x, rows, layer.key), linear(x, rows, layer.value),
                             from, rows, told, heads, dim);
      const h = norm(add(linear(seen, count, layer.dense), asks), count, layer.norm1);
      const wide = linear(h, count, layer.intermediate);
      for (let i = 0; i < wide.length; i += 1) wide[i] = gelu(wide[i]);
      x = norm(add(linear(wide, count, layer.output), h), count, layer.norm2);
    });
    return Object.fromEntries(formats.map((format, f) => [format, x.slice(f * dim, (f + 1) * dim)]));
  }

  return { formats, dim, tokens: (text) => tokens.ids(text), foreign: (text) => tokens.foreign(text), encode, separator: packed.tokens.separator };
}
