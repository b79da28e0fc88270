"""Equal seeds give equal bytes, whatever the processor's vector units, the linear algebra or the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import hashlib, pathlib, sys, tempfile
from scirep_core.data.literature import generate
from scirep_core.data.literature.emit import COLLECTIONS, write_collection
with tempfile.TemporaryDirectory() as name:
    root, literature = pathlib.Path(name), generate(500, int(sys.argv[1]))
    for collection in COLLECTIONS:
        write_collection(root, collection, literature)
    files = sorted(p for p in root.rglob("*") if p.is_file())
    text = "".join(f"{p.relative_to(root)} {hashlib.sha256(p.read_bytes()).hexdigest()} " for p in files)
    print(len(files), hashlib.sha256(text.encode()).hexdigest())
"""
PLAIN = {  # what an old machine would do: no AVX2 or AVX-512 sorts, another BLAS kernel, one thread, another hash seed
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR X86_V3",
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "7",
}


def digest(seed: int, **changed: str) -> str:
    call = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(seed)]
    done = subprocess.run(call, env=os.environ | changed, capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def test_every_embedded_file_is_the_same_on_a_plainer_machine() -> None:
    here = digest(3)
    assert int(here.split()[0]) > 250
    assert digest(3, **PLAIN) == here
    assert digest(4) != here
