// The source of a page is saved, not opened. A link to a number's origin must show it: open the folded list around the target. Printing opens every folded box of ours.
// Pages opened from a folder may not read each other, so there the search fetches a page's words as a script (`book.excerpts`).
(function () {
  if (location.protocol === "file:" && location.pathname.endsWith("/search.html")) {
    const asked = {}, given = {};
    window.scirepText = (page, text) => given[page](text);
    window.fetch = (url) => {
      const page = url.replace(/^\.\/|\.html$/g, "");
      asked[page] ??= new Promise((done) => {
        given[page] = done;
        document.head.append(Object.assign(document.createElement("script"), { src: `_texts/${page}.js`, onerror: () => done("") }));
      });
      return asked[page].then((text) => new Response(text));
    };
  }
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target?.closest("details:not([open])"); box; box = box.parentElement.closest("details:not([open])")) box.open = true;
    if (target?.closest("details")) target.scrollIntoView({ block: "center" });
  };
  const open = () => document.querySelectorAll("details[class^='scirep-']").forEach((box) => (box.open = true));
  // The theme opens a page's source in a tab, where a notebook is a wall of JSON. A page from disk may not save a file beside
  // it either, but may run one: `book.downloads` writes each source again as a script that hands it over.
  const save = (text, name) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text])), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  window.scirepSource = save;
  const download = () => document.querySelectorAll(".btn-download-source-button[href$='.ipynb']").forEach((link) => {
    link.setAttribute("download", "");
    link.removeAttribute("target");
    if (location.protocol !== "file:") return;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.head.append(Object.assign(document.createElement("script"), { src: `${link.href}.js` }));
    });
  });
  window.addEventListener("DOMContentLoaded", () => { reveal(); download(); });
  window.addEventListener("hashchange", reveal);
  window.addEventListener("beforeprint", open);
})();
