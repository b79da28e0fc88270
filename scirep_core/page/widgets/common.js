// What every explorer's browser half begins with: elements, keys, the ties to Python and to the address bar.
//
// common.py puts this file before an explorer's own, and NAME, the class that begins all its class names, before this: one
// module without imports and without network, so that it runs from a blob in a page opened from disk.
// All text of the data goes through `h`, which only makes text nodes: a hostile title stays text.

const SVG = "http://www.w3.org/2000/svg";

function h(tag, props, ...children) {
  const node = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

const button = (text, onclick, props) => h("button", { type: "button", ...props, onclick }, text);
const option = (value, text) => h("option", { value }, text);
const small = (text) => h("small", {}, text);
const hidden = (text) => h("span", { class: `${NAME}-sr` }, text); // for a screen reader alone
const keys = (names) => names.split(" ").map((name) => h("kbd", {}, name));
const count = (n) => n.toLocaleString("en");
const unique = () => `${NAME}-${Math.random().toString(36).slice(2, 9)}`;

// A control under its label, both in a box with a class of their own.
function labelled(uid, text, control, name) {
  control.id = `${uid}-${name}`;
  return h("div", { class: `${NAME}-field ${NAME}-of-${name}` }, h("label", { for: control.id }, text), control);
}

// The root, and in it the line that a screen reader reads out whenever it changes.
function frame(label, props, ...children) {
  const live = h("div", { class: `${NAME}-sr`, role: "status", "aria-live": "polite" });
  const root = h("div", { class: NAME, role: "group", "aria-label": label,
    "data-lm-suppress-shortcuts": "true", // JupyterLab would take j, k, x and [ for itself
    ...props }, ...children, live);
  return { root, live };
}

const plain = (e) => !((e.ctrlKey || e.metaKey || e.altKey) && !e.getModifierState("AltGraph")); // no shortcut of the browser's
const done = (e) => { e.preventDefault(); e.stopPropagation(); };

const joined = (parts) => parts.map((part) => encodeURIComponent(part).replaceAll("%2F", "/")).join(",");
const parted = (text) => text.replace(/%(?![0-9a-f]{2})/gi, "%25").split(",").map(decodeURIComponent); // a bare "20%" is fine

// The selection is shared: with Python by the trait `selection`, with others by the address bar, which keeps the view.
//
//   selection()     what is shown now           take(next)   show what Python chose; false: this page does not have it
//   address()       it as text, which follows `prefix` in the address bar; null: nobody else has this view
//   wanted(text)    what an address asks to change, null where this page does not have it
//   choose(changes) as if the reader had chosen it          said()   it in words, for a screen reader
//   key             of the data, which the plain tables beside the widget carry too
//
// `publish(text)` after each choice, `arrive()` once all is drawn; `start()` puts the root on the page and returns what undoes it.
function tie({ model, el }, { root, live, key, prefix, selection, take, address, wanted, choose, said }) {
  let timer = 0;

  function tell(text) {
    const shared = address();
    if (shared !== null) {
      try {
        history.replaceState(history.state, "", prefix + shared);
      } catch {
        // a sandboxed frame has no address of its own: the view just cannot be shared from there
      }
    }
    live.textContent = text ?? said();
  }

  // One message to Python, one entry in the address bar and one announcement when the reader pauses, not per pixel.
  function publish(text) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      model.set("selection", { ...selection() });
      model.save_changes();
      tell(text);
    }, 200);
  }

  // Another anchor of the page, something this page does not have or a damaged address all mean: nothing for us.
  function onHash() {
    if (!location.hash.startsWith(prefix)) return false;
    let changes = null;
    try {
      changes = wanted(location.hash.slice(prefix.length));
    } catch (error) {
      if (!(error instanceof URIError)) throw error;
    }
    if (changes) choose(changes);
    return Boolean(changes);
  }

  function onModel() {
    const next = model.get("selection");
    if (JSON.stringify(Object.entries(next).sort()) === JSON.stringify(Object.entries(selection()).sort())) return;
    clearTimeout(timer);
    if (take({ ...next }) !== false) tell();
  }

  function arrive() {
    if (onHash()) requestAnimationFrame(() => root.scrollIntoView({ block: "start" })); // the host may attach `el` after this
    // the plain tables beside the widget served readers without script; with script they fold away
    for (const twin of document.querySelectorAll(`details.${NAME}-fallback`)) if (twin.dataset.key === key) twin.open = false;
  }

  function start() {
    const badge = model.get("badge");
    if (badge) root.prepend(h("p", { class: `${NAME}-papers` }, badge));
    el.replaceChildren(root);
    window.addEventListener("hashchange", onHash);
    model.on("change:selection", onModel);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("hashchange", onHash);
      model.off("change:selection", onModel);
    };
  }

  return { publish, arrive, start };
}
