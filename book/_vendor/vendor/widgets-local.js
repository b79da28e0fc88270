// Point the widget loader at the copies beside this page, so that nothing is ever asked of the network.
(function () {
  const root = new URL(document.documentElement.dataset.content_root || "./", document.baseURI);
  const at = (path) => new URL(path, root).href;
  window.require.config({
    paths: {
      anywidget: at("vendor/anywidget/index"),
      // each part of the bundle looks for its icon fonts next to the path it believes it came from
      "@jupyter-widgets": at("vendor/html-manager"),
      "@jupyter-widgets/html-manager/dist/libembed-amd": at("vendor/html-manager/libembed-amd"),
    },
  });
  // widgets still speak MathJax 2 when they typeset a label; answer with MathJax 3. Runs before the manager's own load handler
  window.addEventListener("load", () => {
    if (!window.MathJax) return;
    window.MathJax.Hub = { Queue: ([, , node]) => window.MathJax.startup.promise.then(() => window.MathJax.typesetPromise([node])) };
  });
})();
