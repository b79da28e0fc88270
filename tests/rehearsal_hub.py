"""A hub of our own on the loopback: the published addresses, with invented papers and tiny models in the published layouts.

A command that is given `environment` meets it in place of the network: a proxy that ends every connection here, with a
certificate for the hosts below that only this environment trusts. Manifests, hub names and all that reads them stay as they
are. What it serves:

    huggingface.co/datasets/allenai/...          SciRepEval's texts and labels, in as many shards as the manifests list
    takelab.fer.hr, ...amazonaws.com             MDCR and S2AND
    raw.githubusercontent.com                    the small real samples, as they are in SCIREP_DATA_MIRROR
    huggingface.co/<organisation>/<model>        tiny BERTs, an MPNet and adapters; pickled where the hub has pickles
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import tiny_models

from scirep_core.data import sources
from scirep_core.data.manifests import list_manifests, load_manifest, mirrored
from scirep_core.encoders import ENCODERS

CERTIFICATE = Path(__file__).with_suffix(".pem")
"""Made for this test, of no use elsewhere: a key and a certificate of its own for the hosts above."""
MANIFESTS = ("scirepeval", "scirepeval_test", "mdcr", "s2and")
COMMIT = "c" * 40
PICKLED = ("allenai/scibert_scivocab_uncased", "allenai/specter", "allenai/specter2_base")
"""Models whose weights the hub has as pickles alone."""


def write(folder: Path, papers: int, seed: int = 0) -> dict[str, Path]:
    """Write what the hub serves; returns address without its scheme -> file."""
    files = {}
    emitted = folder / "papers"
    for collection in ("scirepeval", "mdcr", "s2and"):
        sources.ensure(emitted, collection, papers, seed)
    validation = {"mdcr_val.json": "mdcr_test.json", "mdcr_val_data.jsonl": "mdcr_test_data.jsonl"}  # no task reads it
    for name in MANIFESTS:
        manifest = load_manifest(name)
        _reshard(emitted / name, [file.path for file in manifest.files])
        for file in manifest.files:
            path = emitted / name / validation.get(file.path, file.path)
            assert path.is_file(), f"{name}: nothing is invented for {file.path}"
            files[manifest.url_of(file).removeprefix("https://")] = path
    for manifest in map(load_manifest, list_manifests()):
        mirror = mirrored(manifest)
        if manifest.url.startswith("https://raw.githubusercontent.com/") and mirror is not None:
            files |= {manifest.url_of(file).removeprefix("https://"): mirror / file.path for file in manifest.files}
    for repository, made in _models(folder / "models").items():
        files |= {
            f"huggingface.co/{repository}/resolve/{COMMIT}/{path.relative_to(made).as_posix()}": path
            for path in made.rglob("*") if path.is_file()
        }  # fmt: skip
    return files


def _reshard(folder: Path, listed: list[str]) -> None:
    """Cut splits that were written as one file into as many shards as are listed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for split in {Path(path).parent for path in listed if path.endswith(".parquet")}:
        shards = sorted(path for path in listed if Path(path).parent == split and path.endswith(".parquet"))
        written = sorted((folder / split).glob("*.parquet"))
        if len(shards) == len(written) or not written:
            continue
        rows = pa.concat_tables([pq.read_table(path) for path in written])
        shutil.rmtree(folder / split)
        (folder / split).mkdir()
        cuts = [len(rows) * i // len(shards) for i in range(len(shards) + 1)]
        for shard, (start, stop) in zip(shards, pairwise(cuts), strict=True):
            pq.write_table(rows.slice(start, stop - start), folder / shard)


def _models(folder: Path) -> dict[str, Path]:
    """Write a tiny model for each hub name that the chapters' tables ask for; returns name -> folder."""
    made = {}
    names = ("scibert", "specter", "scincl", "specter2_base", "e5")
    for seed, name in enumerate(names):
        repository = ENCODERS[name].model
        made[repository] = tiny_models.bert(folder / repository, seed, safe=repository not in PICKLED)
    mpnet = ENCODERS["mpnet"].model
    made[mpnet] = tiny_models.pipeline(tiny_models.mpnet(folder / mpnet), length=384)
    safe = tiny_models.bert(folder / "safe", names.index("specter2_base"))
    for seed, repository in enumerate(ENCODERS["specter2"].adapters.values()):
        name = repository.partition("/")[2]
        made[repository] = tiny_models.adapter(safe, folder / repository, name, seed, safe=False)
    return made


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: dict[str, Path]
    requests: list[str]
    context: ssl.SSLContext

    def do_CONNECT(self) -> None:
        """Take the place of the host that is asked for, and answer what comes through the tunnel."""
        self.send_response(200)
        self.end_headers()
        host = self.path.partition(":")[0]
        try:
            inner = self.context.wrap_socket(self.connection, server_side=True)
        except OSError:
            self.close_connection = True
            return
        self.connection, self.host, self.close_connection = inner, host, False
        self.rfile, self.wfile = inner.makefile("rb"), inner.makefile("wb", 0)

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, body: bool) -> None:
        path = f"{self.host}{urlsplit(self.path).path}"
        self.requests.append(f"{self.command} {path}")
        content = self._content(path)
        if content is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content[start:])

    def _content(self, path: str) -> bytes | None:
        host, _, rest = path.partition("/")
        if host == "huggingface.co" and rest.startswith("api/models/"):
            repository = rest.removeprefix("api/models/").partition("/revision/")[0]
            prefix = f"huggingface.co/{repository}/resolve/{COMMIT}/"
            names = [name.removeprefix(prefix) for name in self.files if name.startswith(prefix)]
            described = {"id": repository, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
            return json.dumps(described).encode() if names else None
        path = path.replace("/resolve/main/", f"/resolve/{COMMIT}/")
        return self.files[path].read_bytes() if path in self.files else None

    def log_message(self, *_: object) -> None:
        """Say nothing: the requests are kept."""


@contextmanager
def serve(files: dict[str, Path]) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the environment in which commands meet the hub, and the list of the requests it answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    requests: list[str] = []
    handler = type("Answers", (_Answers,), {"files": files, "requests": requests, "context": context})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = f"http://127.0.0.1:{server.server_address[1]}"
        environment = {key: value for key, value in os.environ.items() if key != "SCIREP_DATA_MIRROR"}
        yield environment | {
            "HTTPS_PROXY": proxy, "https_proxy": proxy, "NO_PROXY": "", "no_proxy": "",
            "REQUESTS_CA_BUNDLE": str(CERTIFICATE), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1",
        }, requests  # fmt: skip
        server.shutdown()
