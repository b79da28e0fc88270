"""Where the real data come from, under which licence, and what needs them: `data_manifests/*.yaml` as a page."""

from __future__ import annotations

from scirep_core.book.reference.prose import cell, code, escape, fence, table
from scirep_core.data.manifests import Manifest, list_manifests, load_manifest

SEEN = {
    "full": "every file read by this project's readers",
    "sample": "read in part",
    "no": "never seen here: checked at first sight, and from then on",
}


def size(manifest: Manifest) -> str:
    """Return the bytes of a collection: what is known of them."""
    if not manifest.bytes:
        return "unknown"
    return f"{manifest.bytes:,}" + (f" and {manifest.unseen} files of unknown size" if manifest.unseen else "")


def listing() -> str:
    """Return the table of all collections, and a section for each with its source and what needs it."""
    found = [load_manifest(name) for name in list_manifests()]
    rows = (
        [
            f'<a href="#data-{one.name}">{one.name}</a>',
            cell(one.title),
            _licence(one),
            str(len(one.files)),
            size(one),
            one.verified,
        ]
        for one in found
    )
    legend = "\n".join(f"- `{state}`: {meaning}." for state, meaning in SEEN.items())
    header = ["collection", "what it is", "licence", "files", "bytes", "verified"]
    return "\n\n".join([table(header, rows), legend, *(_section(one) for one in found)])


def _licence(manifest: Manifest) -> str:
    name = "its own terms" if manifest.licence.spdx == "NOASSERTION" else manifest.licence.spdx
    return f"[{escape(name)}]({manifest.licence.url})"


def _section(manifest: Manifest) -> str:
    at = manifest.commit or manifest.revision
    kind = "commit" if manifest.commit else "revision"
    counts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in manifest.counts.items())
    needed = ", ".join(map(code, manifest.needed_for)) or "no task by itself: chapters and tests read it"
    facts = {
        "Paper": escape(manifest.paper),
        "Source": f"<{manifest.repository}>" + (f", {kind} {code(at)}" if at else ""),
        "Licence": f"{_licence(manifest)}. {escape(manifest.licence.notice)}",
        "Needed by": needed,
        "Counts": f"{escape(counts)} ({escape(manifest.counts_source)})" if counts else "",
        "Files": f"{len(manifest.files)}" + (f", {size(manifest)} bytes" if manifest.bytes else ", sizes unknown"),
        "By hand": escape(manifest.gated),
    }
    lines = "\n".join(f"- **{name}**: {text}" for name, text in facts.items() if text)
    return "\n\n".join([
        f'<div id="data-{manifest.name}"></div>', f"## {manifest.name}", escape(manifest.title), lines,
        fence(f"scirep data get {manifest.name}", "bash"),
    ])  # fmt: skip
