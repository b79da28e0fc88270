"""Text of the pages of a PDF that Chromium wrote: for the tests, as no PDF library is in the lock.

Chromium's PDFs keep dictionaries as plain text and pack streams by deflate; glyph numbers become characters by each font's
ToUnicode table. White space is dropped: glyphs are placed one by one, and where words end is not written. Ligatures are taken
apart.
"""

from __future__ import annotations

import re
import unicodedata
import zlib

OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\b(.*?)\nendobj", re.DOTALL)


def objects(data: bytes) -> dict[int, bytes]:
    return {int(m[1]): m[2] for m in OBJECT.finditer(data)}


def stream(body: bytes) -> bytes:
    packed = body.split(b"stream\n", 1)[1].rsplit(b"\nendstream", 1)[0]
    return zlib.decompress(packed) if b"/FlateDecode" in body else packed


def characters(table: bytes) -> dict[str, str]:
    """Glyph number in hexadecimal -> text, of a ToUnicode table."""
    text = table.decode("latin-1")
    found: dict[str, str] = {}
    for block in re.findall(r"beginbfchar(.*?)endbfchar", text, re.DOTALL):
        for glyph, to in re.findall(r"<(\w+)>\s*<(\w+)>", block):
            found[glyph.upper()] = bytes.fromhex(to).decode("utf-16-be")
    for block in re.findall(r"beginbfrange(.*?)endbfrange", text, re.DOTALL):
        for low, high, to in re.findall(r"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
            for n in range(int(high, 16) - int(low, 16) + 1):
                found[f"{int(low, 16) + n:0{len(low)}X}"] = chr(int(to, 16) + n)
    return found


def pages(data: bytes) -> list[str]:
    """Return the text of each page without white space, in the order of the pages."""
    known = objects(data)
    kids = [int(n) for body in _tree(known) for n in re.findall(rb"(\d+) 0 R", body)]
    return [_text(known[n], known, {}) for n in kids if re.search(rb"/Type /Page\b(?!s)", known[n])]


def _tree(known: dict[int, bytes]) -> list[bytes]:
    """The lists of kids, from the first page to the last."""
    nodes = {
        n: m[1]
        for n, body in known.items()
        if b"/Type /Pages" in body and (m := re.search(rb"/Kids \[([^\]]*)\]", body))
    }
    below = {n: [int(k) for k in re.findall(rb"(\d+) 0 R", kids)] for n, kids in nodes.items()}
    (root,) = [n for n in nodes if not any(n in kids for kids in below.values())]

    def walk(n: int) -> list[bytes]:
        return [part for k in below[n] for part in (walk(k) if k in nodes else [b"%d 0 R" % k])]

    return walk(root)


def _text(body: bytes, known: dict[int, bytes], fonts: dict[str, dict[str, str]]) -> str:
    """Text of a page, or of a form that it draws."""
    named = {m[1].decode(): int(m[2]) for m in re.finditer(rb"/(\w+) (\d+) 0 R", body)}
    content = named.get("Contents")
    script = stream(known[content] if content is not None else body).decode("latin-1")
    out: list[str] = []
    table: dict[str, str] = {}
    for token in re.finditer(r"/(\w+) [\d.]+ Tf|/(\w+) Do|<([0-9A-Fa-f]+)>", script):
        if token[1]:
            if token[1] not in fonts:
                to = re.search(rb"/ToUnicode (\d+) 0 R", known[named[token[1]]])
                fonts[token[1]] = characters(stream(known[int(to[1])])) if to else {}
            table = fonts[token[1]]
        elif token[2]:
            drawn = known.get(named.get(token[2], -1), b"")
            out.append(_text(drawn, known, {}) if b"/Subtype /Form" in drawn else "")
        else:
            width = len(next(iter(table), "0000"))
            glyphs = token[3].upper()
            out += [table.get(glyphs[i : i + width], "") for i in range(0, len(glyphs), width)]
    return unicodedata.normalize("NFKC", "".join("".join(out).split()))


def outline(data: bytes) -> list[str]:
    """Return the titles of the PDF's outline, in the order in which they were written."""
    found = []
    for body in objects(data).values():
        if (
            b"/Parent" in body
            and b"/Dest" in body
            and (m := re.search(rb"/Title (?:\((.*?)(?<!\\)\)|<([0-9A-Fa-f]+)>)", body, re.DOTALL))
        ):
            raw = bytes.fromhex(m[2].decode()) if m[2] is not None else re.sub(rb"\\(.)", rb"\1", m[1])
            found.append(raw.decode("utf-16") if raw[:2] in (b"\xfe\xff", b"\xff\xfe") else raw.decode("latin-1"))
    return found
