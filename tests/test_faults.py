"""Hostile input ends in one line: every fault is a row, of what a stranger hands us and how the line begins that refuses it.

A row's function writes the input under a folder and returns the words of a command, or a call of the documented interface.
Whichever it is, it ends with exit code 2 and one line of bounded length that a terminal cannot obey.
"""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_notebooks

from scirep_core import cli
from scirep_core.bench.given import as_mapping
from scirep_core.book.runcache import Places, components, read_chapter
from scirep_core.data.readers import beir, csfcube
from scirep_core.evaluators.facets import read_rankings
from scirep_core.kit.arrays import read_arrays
from scirep_core.kit.errors import LONGEST, ConfigError, DataError, legible
from scirep_core.kit.records import DEEPEST, LARGEST, field, from_text, parse_line, read_csv, read_yaml

Doing = list[Any] | Callable[[], Any]
DIGITS = "9" * 5000
ESCAPE, RIGHT_TO_LEFT = "\x1b[2J", "\u202e"
ROW = {"task": "scirepeval/average-v2", "split": "all", "metric": "average", "protocol": "paper", "value": 50.0, "n": 27,
       "encoder": "MTL CLS, seed 0", "parameters": {"variant": "MTL CLS", "training_seed": 0}}  # fmt: skip


def wrote(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


# ---- what is done with a file ---------------------------------------------------------------------------------------


def with_file(name: str, doing: Callable[[Path], Doing], content: str | bytes) -> Callable[[Path], Doing]:
    return lambda folder: doing(wrote(folder / name, content))


def scored(name: str, content: str | bytes) -> Callable[[Path], Doing]:
    return with_file(name, lambda path: ["score", "csfcube", "--vectors", path], content)


def training(name: str, text: str) -> Callable[[Path], Doing]:
    return with_file(name, lambda path: ["train", "--config", path], text)


def study(**change: Any) -> Callable[[Path], Doing]:
    line = json.dumps(ROW | change) + "\n"
    return with_file("rows.jsonl", lambda path: ["study", "main", "--show", "--out", path], line)


def info(path: Path) -> Doing:
    return lambda: csfcube._query_info(path, {csfcube.Query("1", "method")})


queries = partial(with_file, "queries-release.csv", info)
rankings = partial(with_file, "x-method-ranked.json", lambda path: partial(read_rankings, path.parent, ["method"]))
judgements = partial(with_file, "test.tsv", lambda path: lambda: list(beir.qrels(path)))
papers = partial(with_file, "stdin", lambda path: ["perturb", "--code", "T_ADelRand", "--tools", "fallback"])
manifest = partial(with_file, "manifests/tiny.yaml", lambda path: ["data", "get", "tiny"])


def vector(paper_id: str) -> str:
    return f'{{"paper_id": {paper_id}, "embedding": [1]}}\n'


def words(*given: str) -> Callable[[Path], Doing]:
    return lambda folder: list(given)


# ---- arrays, links, notebooks ---------------------------------------------------------------------------------------


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def headed(header: str, payload: bytes = bytes(16)) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + payload


GOOD = {"ids.npy": npy(np.array(["a", "b"])), "vectors.npy": npy(np.zeros((2, 1)))}


def packed(changed: dict[str, bytes] | None = None, **more: Any) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", **more) as archive:
        for name, content in (GOOD | (changed or {})).items():
            archive.writestr(name, content)
    return held.getvalue()


def arrays(changed: dict[str, bytes] | None = None, **more: Any) -> Callable[[Path], Doing]:
    return scored("v.npz", packed(changed, **more))


def overwritten(local: int, central: int, new: bytes) -> Callable[[Path], Doing]:
    """An archive with bytes put at these places of every local header and of every header of the directory."""
    data = packed()
    for magic, at in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        before, after = re.escape(magic) + b"." * (at - 4), b"." * len(new)
        data = re.sub(b"(" + before + b")" + after, lambda found: found[1] + new, data, flags=re.DOTALL)
    return scored("v.npz", data)


def junk() -> bytes:
    data = packed({"vectors.npy": npy(np.zeros((2, 500)))})
    return data[:2000] + b"x" * 200 + data[2200:]


def folder_twice(folder: Path) -> Doing:
    path = folder / "v.npz"
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for name in ("ids.npy", "vectors.npy", "ids.npy"):
            archive.writestr(name, GOOD[name])
    return lambda: read_arrays(path, ("ids",))


def loop(folder: Path) -> Doing:
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    return ["submit", folder / "loop.jsonl", "--check-only"]


def notebook(change: Callable[[dict[str, Any]], Any], *, needs: Any = None) -> Callable[[Path], Doing]:
    def spoil(folder: Path) -> Doing:
        path = toy_notebooks.write(folder / "p" / "n.ipynb", "1", **({} if needs is None else {"needs": needs}))
        held = json.loads(path.read_text())
        change(held)
        path.write_text(json.dumps(held))
        if needs is not None:
            return lambda: components(read_chapter(path), {}, "embedded", Places(folder))
        return ["run", path]

    return spoil


def broken(folder: Path) -> Doing:
    return lambda: {}[f"{ESCAPE}{RIGHT_TO_LEFT}" + "x" * 10_000]


FAULTS: dict[str, tuple[Callable[[Path], Doing], str]] = {
    "a csv cell beyond the reader's limit": (
        queries(f"pid,facet,year,title\n1,method,2000,{'x' * 140_000}\n"), "F/queries-release.csv:2: not a csv row (field larger"),
    "a csv with quotes that do not close": (queries('pid,facet,year,title\n1,method,2000,"x\n'), "F/queries-release.csv:2: not a"),
    "a csv row too short": (queries("pid,facet,year,title\n1,method\n"), "F/queries-release.csv:2: the row does not have"),
    "a csv column twice": (queries("pid,facet,year,title,pid\n"), "F/queries-release.csv:1: column 'pid' is there twice"),
    "a csv with a superscript year": (queries("pid,facet,year,title\n1,method,²,t\n"), "F/queries-release.csv:2: year '²' is no"),
    "a csv that is no UTF-8": (
        lambda f: lambda: list(read_csv(wrote(f / "a.csv", b"a,b\n1,\xff\n"))), "F/a.csv:2: not UTF-8 at byte 2"),
    "a distance that no float holds": (
        rankings('{"1": [["2", ' + DIGITS[:400] + ']]}'), "F/x-method-ranked.json: a whole number of 400 digits"),
    "a distance of thousands of digits": (
        rankings('{"1": [["2", ' + DIGITS + ']]}'), "F/x-method-ranked.json: a whole number of 5,000 digits"),
    "a grade of 5,000 digits": (judgements(f"query-id\tcorpus-id\tscore\nq\td\t{DIGITS}"), "F/test.tsv:2: grade '999"),
    "an id of 5,000 digits": (
        scored("v.jsonl", vector(DIGITS)), "F/v.jsonl:1: a whole number of 5,000 digits"),
    "an id beyond 64 bits": (
        scored("v.jsonl", vector(DIGITS[:200])), "F/v.jsonl:1: field 'paper_id' holds a whole"),
    "half of a surrogate pair": (
        papers('{"paper_id": "a\\ud800", "title": "t", "abstract": "One. Two."}'),
        "standard input:1: field 'paper_id': \\ud800 is half of"),
    "a deep line": (papers("[" * 100_000), "standard input:1: "),
    "half of a pair in an id of vectors": (
        scored("v.jsonl", '{"paper_id": "\\uDC00", "embedding": [1]}\n'), "F/v.jsonl:1: field 'paper_id': \\udc00 is half of"),
    "no row of vectors": (scored("v.jsonl", ""), "F/v.jsonl: it has no rows"),
    "parquet that is none": (scored("v.parquet", "PAR1"), "F/v.parquet: not a whole parquet file"),

    "an encrypted .npz": (overwritten(6, 8, b"\x01"), "F/v.npz: not a readable .npz (`ids` is encrypted)"),
    "an .npz whose directory announces 4 GB": (
        overwritten(22, 24, b"\xf0\xff\xff\xff"), "F/v.npz: not a readable .npz (`ids` announces 4,2"),
    "an .npz whose array announces 29 TiB": (
        arrays({"vectors.npy": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2000000000000)}\n")}),
        "F/v.npz: not a readable .npz (`vectors` announces shape (2, 2000000000000)"),
    "an .npz of 10**15 rows of nothing": (
        arrays({"vectors.npy": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 0)}\n", b"")}),
        "F/v.npz: `vectors` is empty"),
    "an .npz of 10**15 empty texts": (
        arrays({"ids.npy": headed("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000000,)}\n", b"")}),
        "F/v.npz: `ids` is empty"),
    "an .npz that is one array": (scored("v.npz", npy(np.zeros(3))), "F/v.npz: not a readable .npz ("),
    "an .npz of nothing": (scored("v.npz", ""), "F/v.npz: not a readable .npz ("),
    "an .npz cut short": (scored("v.npz", packed()[:300]), "F/v.npz: not a readable .npz ("),
    "an .npz with junk in its middle": (scored("v.npz", junk()), "F/v.npz: not a readable .npz ("),
    "an .npz of raw bytes": (arrays({"ids.npy": b"a\nb\n"}), "F/v.npz: not a readable .npz ("),
    "an .npz of bytes for numbers": (arrays({"vectors.npy": npy(np.array([[b"x"], [b"y"]]))}), "F/v.npz: the vector of a holds |S"),
    "an .npz with half a header": (arrays({"ids.npy": headed("{'descr': '<U1', 'shap")}), "F/v.npz: not a readable .npz ("),
    "an .npz with a deep header": (arrays({"ids.npy": headed("(" * 9000)}), "F/v.npz: not a readable .npz ("),
    "an .npz with a header that is no description": (arrays({"ids.npy": headed("[]\n")}), "F/v.npz: not a readable .npz ("),
    "an .npz of records": (
        arrays({"ids.npy": npy(np.zeros(2, dtype=[("a", "i4")]))}), "F/v.npz: `ids` holds [('a', '<i4')], neither"),
    "an .npz of objects": (arrays({"ids.npy": npy(np.array(["a", None]))}), "F/v.npz: `ids` holds Python objects, which are not"),
    "an .npz whose ids are no UTF-8": (arrays({"ids.npy": npy(np.array([b"\xff", b"b"]))}), "F/v.npz: id b'\\xff' is not UTF-8"),
    "an .npz whose ids are no characters": (
        arrays({"ids.npy": headed("{'descr': '<U1', 'fortran_order': False, 'shape': (2,)}\n", b"\xff" * 8)}), "F/v.npz: "),
    "an .npz packed by another method": (arrays(compression=zipfile.ZIP_LZMA), "F/v.npz: not a readable .npz (`ids` is packed"),
    "an .npz with an array twice": (folder_twice, "F/v.npz: not a readable .npz (`ids` is there twice)"),
    "ids in memory that are no UTF-8": (lambda f: lambda: as_mapping({"\ud800": [1.0]}), "vectors: id '\\ud800' is not UTF-8"),

    "a study's row with a number for a name": (study(encoder=7), "F/rows.jsonl:1: encoder = 7. It must be a str"),
    "a study's row with a text for a number": (study(value="50"), "F/rows.jsonl:1: value = '50'. It must be a finite int or float"),
    "a study's row with a list for parameters": (study(parameters=[]), "F/rows.jsonl:1: parameters = []. It must be a dict"),
    "a study's row with texts by query": (study(by_query={"q": "x"}), "F/rows.jsonl:1: by_query.q = 'x'. It must be a finite"),
    "a study's row with a text for a seed": (
        study(parameters={"training_seed": "0"}), "F/rows.jsonl:1: parameters.training_seed = '0'. It must be a finite int"),
    "a study's row with a list for a variant": (
        study(parameters={"variant": ["MTL CLS"]}), "F/rows.jsonl:1: parameters.variant = ['MTL CLS']. It must be a str"),
    "a study's row that is infinite": (study(value=float("1e999")), "F/rows.jsonl:1: "),
    "a loop of links": (loop, "F/loop.jsonl: cannot be read (Too many levels of symbolic links)"),

    "a cell without a type": (notebook(lambda held: held["cells"][1].pop("cell_type")), "F/p/n.ipynb: not a notebook (format 4)"),
    "a cell without metadata": (notebook(lambda held: held["cells"][1].pop("metadata")), "F/p/n.ipynb: not a notebook (format 4)"),
    "a cell with a text for tags": (
        notebook(lambda held: held["cells"][1].update(metadata={"tags": 7})), "F/p/n.ipynb: not a notebook (format 4)"),
    "a notebook without metadata": (notebook(lambda held: held.pop("metadata")), "F/p/n.ipynb: not a notebook (format 4)"),
    "a notebook of format 3": (notebook(lambda held: held.update(nbformat=3)), "F/p/n.ipynb: not a notebook (format 4)"),
    "a notebook that needs a number": (notebook(lambda held: None, needs=[7]), "p/n: metadata.scirep.needs is [7]: give"),
    "a notebook that needs the whole disk": (notebook(lambda held: None, needs=["/etc/*"]), "p/n: metadata.scirep.needs is ['/etc"),

    "a deep manifest": (manifest("name: " + "[" * 100_000), "F/manifests/tiny.yaml:1: nested more than"),
    "a manifest of deep blocks": (
        manifest("".join(" " * i + f"a{i}:\n" for i in range(600))), "F/manifests/tiny.yaml:33: nested more than"),
    "a manifest beyond a megabyte": (manifest("#" * (LARGEST + 1)), f"F/manifests/tiny.yaml: more than {LARGEST:,} bytes"),
    "a manifest with anchors": (manifest("a: &x [1]\nb: *x\n"), "F/manifests/tiny.yaml:1: an anchor, 'x'"),
    "a manifest with a list for a key": (manifest("? [a]\n: 1\n"), "F/manifests/tiny.yaml:1: not plain YAML: a list or"),
    "a manifest with an endless number": (manifest(f"bytes: {DIGITS}\n"), "F/manifests/tiny.yaml: not plain YAML: "),
    "a deep training in YAML": (training("a.yaml", "out: " + "[" * 100_000), "F/a.yaml:1: nested more than"),
    "a deep training in TOML": (training("a.toml", "out = " + "[" * 100_000), "F/a.toml: not TOML: "),
    "a deep training in JSON": (training("a.json", "[" * 100_000), "F/a.json: nested too deeply"),
    "a setting of 400 digits": (
        lambda f: ["train", "--config", wrote(f / "a.toml", ""), "--set", f"train.learning_rate={DIGITS[:400]}"],
        "--set: train: learning_rate = '999"),

    "a name that clears the screen": (words("explain", f"{ESCAPE}{RIGHT_TO_LEFT}x"), "no number '\\x1b[2J\\u202ex'"),
    "a name of 100,000 characters": (words("explain", "x" * 100_000), "no number 'xxx"),
    "a folder that clears the screen": (
        lambda f: ["data", "verify", f / f"a{ESCAPE}{RIGHT_TO_LEFT}\n"], ""),
    "an id that clears the screen": (
        scored("v.jsonl", '{"paper_id": "\\u001b[2J\\u202e\\r", "embedding": [1]}\n' * 2), "F/v.jsonl:2: id \\x1b[2J\\u202e\\r is"),
    "a command that clears the screen": (words(f"{ESCAPE}{RIGHT_TO_LEFT}"), "No such command '\\x1b[2J\\u202e'"),
    "an option of 100,000 characters": (words("score", "--" + "x" * 100_000), "No such option: --xxx"),
    "what nobody foresaw": (broken, "KeyError: '\\x1b[2J\\u202exxx"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_hostile_input_ends_in_one_line(name, tmp_path, capfd, monkeypatch):
    make, start = FAULTS[name]
    doing = make(tmp_path)
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path / "home"))
    if (tmp_path / "manifests").is_dir():
        monkeypatch.setenv("SCIREP_MANIFESTS", str(tmp_path / "manifests"))
    if (tmp_path / "stdin").is_file():
        monkeypatch.setattr(sys, "stdin", (tmp_path / "stdin").open(encoding="utf-8"))
    if callable(doing):
        code = cli._guarded(doing)
    else:
        with pytest.raises(SystemExit) as left:
            cli.main([str(word) for word in doing])
        code = int(left.value.code or 0)
    said = capfd.readouterr().err.splitlines(keepends=True)
    err = "".join(line for line in said if "NLTK" not in line)  # what `perturb` says of a machine without its data
    assert code == 2, err
    assert err.endswith("\n") and err.count("\n") == 1, err
    assert all(letter.isprintable() for letter in err[:-1]), repr(err)
    assert err.startswith(f"scirep: {start}".replace("F/", f"{tmp_path}/")), err
    assert len(err) <= LONGEST + 20
    assert "unsafe" not in err and "allow_pickle" not in err, "what an error advises is safe"
    assert "nobody foresaw" not in err or name == "what nobody foresaw", err


def test_the_line_of_what_nobody_foresaw_names_the_file_of_its_traceback(tmp_path, capsys, monkeypatch):
    def traced(home: Path) -> Path:
        monkeypatch.setenv("SCIREP_HOME", str(home))
        assert cli._guarded(lambda: {}["lost"]) == 2
        found = re.search(r"The traceback is in (\S+\.txt); please report it", capsys.readouterr().err)
        assert found and "Traceback (most recent call last)" in Path(found[1]).read_text()
        assert '{}["lost"]' in Path(found[1]).read_text()
        return Path(found[1])

    assert traced(tmp_path / "home").parent == tmp_path / "home" / "faults"
    traced(wrote(tmp_path / "file", "")).unlink()  # no folder can be made below it: the system's own place is taken


def test_a_line_that_is_cut_keeps_its_file_and_its_remedy():
    line = str(DataError("a.json", 3, "value " + "x" * 5000, "Save it again"))
    assert line.startswith("a.json:3: value xxx") and line.endswith("xxx. Save it again") and "[...]" in line
    assert len(line) == LONGEST
    assert str(ConfigError("été \U0001f600 näher")) == "été \U0001f600 näher", "what a terminal prints stays as it is"
    assert legible("\ud800" + "\x1b" * 10_000).isprintable() and len(legible("\x1b" * 10_000)) == LONGEST


def test_what_is_of_a_usual_kind_is_still_read(tmp_path):
    assert from_text('"\\ud83d\\ude00"') == "\U0001f600", "both halves of a pair are a character"
    assert from_text("1000000000000000019884624838656") == 10**30 + 19884624838656, "the longest text of a tokenizer"
    assert field({"n": 2**63 - 1}, "n", int, tmp_path, None) == 2**63 - 1
    assert parse_line(b'{"a": -1.5e3}', tmp_path, 1) == {"a": -1500.0}
    path = wrote(tmp_path / "a.csv", '\ufeffa,b\r\n1,"x\r\ny"\r\n\r\n2,\r\n')
    assert list(read_csv(path, ["b"])) == [(3, {"a": "1", "b": "x\r\ny"}), (5, {"a": "2", "b": ""})]
    text = "a:\n" + "".join(" " * i + "b:\n" for i in range(1, DEEPEST - 1)) + " " * DEEPEST + "c: 1\n"
    held, lines = read_yaml(wrote(tmp_path / "a.yaml", text))
    assert held["a"]["b"]["b"] and lines["a", "b", "b"] == 4
    for dtype in ("f2", "f8", "i8", ">f4", "U3", "S3"):
        array = np.asfortranarray(np.ones((3, 2)).astype(dtype))
        for save in (np.savez, np.savez_compressed):
            save(tmp_path / "a.npz", ids=array)
            assert np.array_equal(read_arrays(tmp_path / "a.npz", ("nothing", "ids"))[0], array)
