// The papermill command that computes the chapter as it is looked at, and a button that copies it.

// A shell word: what is not plainly harmless is quoted, so that a copied command means what it shows.
const shell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

// Parameters whose value is a name in braces follow the view: `now` says by what.
function papermill({ notebook, parameters }, now) {
  const flags = Object.entries(parameters).map(([name, value]) => `-p ${shell(name)} ${shell(Object.hasOwn(now, value) ? now[value] : value)}`);
  return ["papermill", shell(notebook), "out.ipynb", ...flags].join(" ");
}

// `live()` is the line that a screen reader reads; the command's text goes into `code`.
function commandBox(live) {
  const code = h("code", {});
  const copied = h("span", { class: `${NAME}-status`, "aria-hidden": "true" });

  async function copy() {
    let worked = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // pages from disk and old browsers have no clipboard object: a textarea and the old command do it
      const area = h("textarea", { class: `${NAME}-sr`, "aria-label": "Command to copy" });
      area.value = code.textContent;
      box.append(area);
      area.select();
      worked = document.execCommand("copy");
      area.remove();
    }
    if (!worked) getSelection().selectAllChildren(code);
    live().textContent = copied.textContent = worked ? "Copied" : "Press Ctrl+C to copy the selected command";
    setTimeout(() => { copied.textContent = ""; }, 4000);
  }

  const box = h("div", { class: `${NAME}-command` }, button("Copy as papermill command", copy), copied,
    h("pre", { tabindex: 0, role: "region", "aria-label": "Papermill command" }, code));
  return { box, code };
}
