"""Equal seeds give equal bytes, whatever the processor, the linear algebra, the hash seed or the order of writing."""

from __future__ import annotations

import json
from pathlib import Path

from scripts import alone

SCRIPT = """
import hashlib, importlib, json, pathlib, sys, tempfile
from scirep_core.data.literature import emit, generate, write_csfcube
with tempfile.TemporaryDirectory() as name:
    root, literature = pathlib.Path(name), generate(500, int(sys.argv[1]))
    modules = [module for made in emit.COLLECTIONS.values() for module in made]
    for module in modules[::int(sys.argv[2])]:  # no writer depends on what was written before
        importlib.import_module(f"{emit.__name__}.{module}").write(root, literature)
    write_csfcube(root / "csfcube", 500, int(sys.argv[1]))
    files = sorted(p for p in root.rglob("*") if p.is_file())
    print(json.dumps({p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}))
"""
PLAIN = {  # what an old machine would do: no AVX2 or AVX-512 sorts, another BLAS kernel, one thread, another hash seed
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR X86_V3",
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "7",
}
OF_NO_SEED = ("label.json", "labels.txt", "mesh.txt", "venues.txt", "task.json")
"""Ends of the names of files that are the same in every literature: what labels there are."""


def digests(seed: int, order: int = 1, **changed: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(alone(SCRIPT, seed, order, **changed).splitlines()[-1])
    return found


def test_every_embedded_file_is_the_same_on_a_plainer_machine_and_in_another_order() -> None:
    here = digests(3)
    assert len(here) > 250
    assert digests(3, -1, **PLAIN) == here
    same = here.items() & digests(4).items()
    assert {Path(name).name.rpartition("_")[2] for name, _ in same} <= set(OF_NO_SEED), same
