// A search box and filters over the rows of a page's `scirep-coverage` tables (coverage, beyond/slips). Without scripts the tables
// are whole and the form is not shown. A field named x but `words` is a choice among a row's `data-x`, a list with blanks; the
// address bar keeps what is filtered: coverage.html#filter?paper=scimult&state=exact
window.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.scirep-filter");
  if (!form) return;
  const fields = form.elements, told = form.querySelector("output");
  const tables = [...document.querySelectorAll("table.scirep-coverage")];
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]).map((row) => [row, row.textContent.toLowerCase()]);
  const choices = [...form.querySelectorAll("select")].map((field) => field.name);
  const fits = (row, text) => {
    const chosen = (name) => {
      const there = (row.dataset[name] ?? "").split(" "), wanted = fields[name].value;
      return !wanted || (name === "state" && fields.strongest?.checked ? there[0] === wanted : there.includes(wanted));
    };
    return fields.words.value.toLowerCase().split(/\s+/).every((word) => text.includes(word)) && choices.every(chosen);
  };
  const show = () => {
    for (const [row, text] of rows) row.hidden = !fits(row, text);
    for (const table of tables) table.closest("section").hidden = ![...table.tBodies[0].rows].some((row) => !row.hidden);
    told.textContent = `${rows.filter(([row]) => !row.hidden).length} of ${rows.length} ${form.getAttribute("aria-label").toLowerCase()}`;
  };
  const PREFIX = "#filter?", names = [...fields].map((field) => field.name).filter(Boolean);
  const keep = () => {
    const asked = new URLSearchParams(names.map((name) => [name, fields[name].type === "checkbox" ? (fields[name].checked ? "yes" : "") : fields[name].value]).filter(([, value]) => value));
    if (`${asked}` || location.hash.startsWith(PREFIX)) history.replaceState(null, "", `${asked}` ? PREFIX + asked : location.pathname);
  };
  const arrive = () => {
    if (!location.hash.startsWith(PREFIX)) return false;
    const asked = new URLSearchParams(location.hash.slice(PREFIX.length));
    for (const name of names) {
      if (fields[name].type === "checkbox") fields[name].checked = asked.has(name);
      else fields[name].value = asked.get(name) ?? "";
      if (fields[name].selectedIndex === -1) fields[name].selectedIndex = 0; // a value this page does not have
    }
    show();
    return true;
  };
  // a link to an exhibit must show it, whatever is filtered
  const reveal = () => {
    if (arrive()) return;
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("tr");
    if (!row?.hidden) return;
    form.reset();
    row.scrollIntoView({ block: "center" });
  };
  form.addEventListener("input", () => { show(); keep(); });
  form.addEventListener("reset", () => { for (const field of fields) field.type === "checkbox" ? (field.checked = false) : (field.value = ""); show(); keep(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", reveal);
  window.addEventListener("beforeprint", () => form.reset());
  form.hidden = false;
  show();
  arrive();
});
