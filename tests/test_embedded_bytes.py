"""Equal seeds give equal bytes, whatever the processor, the linear algebra, the hash seed or the order of writing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from scripts import alone

SCRIPT = """
import gzip, hashlib, importlib, json, pathlib, sys, tempfile
import numpy, pyarrow.parquet
from scirep_core.data.literature import emit, generate, write_csfcube

def content(path):  # what a file says, whatever packs it
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        return f"{table.schema} {table.to_pylist()}".encode()
    if path.suffix == ".npz":
        with numpy.load(path) as file:
            return str(file["ids"].tolist()).encode() + file["vectors"].tobytes()
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()

with tempfile.TemporaryDirectory() as name:
    root, literature = pathlib.Path(name), generate(500, int(sys.argv[1]))
    modules = [module for made in emit.COLLECTIONS.values() for module in made]
    for module in modules[::int(sys.argv[2])]:  # no writer depends on what was written before
        importlib.import_module(f"{emit.__name__}.{module}").write(root, literature)
    write_csfcube(root / "csfcube", 500, int(sys.argv[1]))
    files = sorted(p for p in root.rglob("*") if p.is_file())
    print(json.dumps({p.relative_to(root).as_posix(): [hashlib.sha256(b).hexdigest() for b in (p.read_bytes(), content(p))]
                      for p in files}))
"""
PLAIN = {  # what an old machine would do: no AVX2 or AVX-512 sorts, another BLAS kernel, one thread, another hash seed
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR X86_V3",
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "7",
}
OF_NO_SEED = ("label.json", "labels.txt", "mesh.txt", "venues.txt", "task.json")
"""Ends of the names of files that are the same in every literature: what labels there are."""
PINNED = "4bfd5011ed8bf9e894fb517aaf9b33e08731d89f32c8d8f9a745206661f5d6d4"
"""Of all files of seed 3: names and what they say."""


def digests(seed: int, order: int = 1, **changed: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(alone(SCRIPT, seed, order, **changed).splitlines()[-1])
    return found


def test_every_embedded_file_is_pinned_and_the_same_on_a_plainer_machine_and_in_another_order() -> None:
    here = digests(3)
    assert len(here) > 250
    said = json.dumps({name: content for name, (_, content) in here.items()})
    assert hashlib.sha256(said.encode()).hexdigest() == PINNED
    assert digests(3, -1, **PLAIN) == here
    other = digests(4)
    same = {name for name in here if here[name] == other.get(name)}
    assert {Path(name).name.rpartition("_")[2] for name in same} <= set(OF_NO_SEED), same
