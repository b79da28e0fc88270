// What the leaderboard gives away: rows as CSV, as JSON, and as the result files of the massive text embedding benchmark (mteb).
//
// `rows` are plain objects with the columns below. The mteb files follow the shape that benchmark publishes: a folder a model,
// in it a folder a revision, in it `model_meta.json` and one file a task with `scores` by split, each score from 0 to 1. They
// come in one ZIP archive without compression, with a fixed date, so that equal rows give equal bytes.

export const COLUMNS = ["id", "kind", "what", "paper", "format", "task", "metric", "split", "protocol", "source", "data", "system",
  "value", "std", "low", "high", "n", "rank", "rank_of", "chapter", "page", "note"];

export function toCsv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => (name === "value" && row.printed ? row.printed : row[name])))]
    .map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

export function toJson(rows) {
  const kept = (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return `[\n${rows.map((row) => JSON.stringify(kept(row))).join(",\n")}\n]\n`;
}

const slug = (text) => text.replace(/[^A-Za-z0-9.+-]+/g, "_").replace(/^[_.]+|[_.]+$/g, "") || "none";
const mtebName = (metric) => metric.replace("@", "_at_").replace("%", "_at_percent_").replace(/[^A-Za-z0-9]+/g, "_");

// Metrics from 0 to 100 where more is better; a rank and a similarity have no such scale.
const fits = (row, directions) => row.what === "score" && !(row.metric in directions) && row.metric !== "mrr, 0 to 1";

// {path: object} of the rows that fit; main: task -> its main metric.
export function toMteb(rows, directions, main) {
  const files = {};
  for (const row of rows) {
    if (!fits(row, directions)) continue;
    const revision = [row.source, row.data, row.protocol, row.chapter].map(slug).join("-");
    const folder = `results/${slug(row.kind)}__${slug(row.system)}/${revision}`;
    files[`${folder}/model_meta.json`] ||= { loader: null, name: `${row.kind}/${slug(row.system)}`, revision, release_date: null, languages: ["eng-Latn"],
      n_parameters: null, memory_usage_mb: null, max_tokens: null, embed_dim: null, license: null, open_weights: null,
      public_training_code: null, public_training_data: null, framework: [], similarity_fn_name: null, use_instructions: null,
      training_datasets: null };
    const file = files[`${folder}/${slug(row.task)}.json`] ||= { dataset_revision: row.data, task_name: row.task, mteb_version: null,
      scores: {}, evaluation_time: null, kg_co2_emissions: null };
    const at = row.split.indexOf("/"), split = at < 0 ? row.split : row.split.slice(0, at);
    const subset = at < 0 ? "default" : row.split.slice(at + 1);
    const entries = file.scores[split] ||= [];
    let entry = entries.find((one) => one.hf_subset === subset);
    if (!entry) entries.push(entry = { hf_subset: subset, languages: ["eng-Latn"] });
    const name = mtebName(row.metric), score = Math.round(row.value * 1e4) / 1e6;
    if (name in entry) continue; // the same number, recorded twice
    entry[name] = score;
    if (!("main_score" in entry) || row.metric === main[row.task]) entry.main_score = score;
  }
  return files;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// {path: text} -> the bytes of a ZIP archive: stored, names in UTF-8, dated 1 January 1980.
export function toZip(files) {
  const encoder = new TextEncoder(), parts = [], directory = [];
  let offset = 0;
  const block = (size, fields) => {
    const view = new DataView(new ArrayBuffer(size));
    for (const [at, width, value] of fields) (width === 2 ? view.setUint16(at, value, true) : view.setUint32(at, value, true));
    return new Uint8Array(view.buffer);
  };
  for (const [path, text] of Object.entries(files)) {
    const name = encoder.encode(path), bytes = encoder.encode(text), crc = crc32(bytes);
    const shared = (from) => [[from, 2, 20], [from + 2, 2, 0x800], [from + 4, 2, 0], [from + 6, 2, 0], [from + 8, 2, 0x21],
      [from + 10, 4, crc], [from + 14, 4, bytes.length], [from + 18, 4, bytes.length], [from + 22, 2, name.length]];
    parts.push(block(30, [[0, 4, 0x04034b50], ...shared(4)]), name, bytes);
    directory.push(block(46, [[0, 4, 0x02014b50], [4, 2, 20], ...shared(6), [42, 4, offset]]), name);
    offset += 30 + name.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0), count = Object.keys(files).length;
  return new Blob([...parts, ...directory,
    block(22, [[0, 4, 0x06054b50], [8, 2, count], [10, 2, count], [12, 4, size], [16, 4, offset]])], { type: "application/zip" });
}
