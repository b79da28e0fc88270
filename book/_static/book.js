// A link to a number's origin must show it: open the folded list around the target. Printing opens every folded box of ours.
// Pages opened from a folder may not read each other, so there the search lists titles without an excerpt of each page.
(function () {
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target?.closest("details:not([open])"); box; box = box.parentElement.closest("details:not([open])")) box.open = true;
    if (target?.closest("details")) target.scrollIntoView({ block: "center" });
  };
  const open = () => document.querySelectorAll("details[class^='scirep-']").forEach((box) => (box.open = true));
  window.addEventListener("DOMContentLoaded", reveal);
  window.addEventListener("hashchange", reveal);
  window.addEventListener("beforeprint", open);
})();
