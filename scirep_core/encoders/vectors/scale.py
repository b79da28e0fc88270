"""The same shards as tasks on a Ray cluster (`scirep encode --engine ray`); no other file knows about clusters.

The folder stays the source of truth: tasks claim, compute and write the very shards that `encoders/vectors/folder.py` would, so a
run that broke off, on either engine, goes on where it stopped. The driver reads the input once and keeps a bounded
number of shards in flight; the folder must be on a file system that all machines share. Starting Ray costs 10-30 s. An
encoder that runs on a GPU asks for one of the cluster's a task; on a CPU Ray's own rule gives a task one core.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.encoders import Encoder, load_encoder
from scirep_core.encoders.settings import Settings, pick_device
from scirep_core.encoders.vectors.embed import Progress
from scirep_core.encoders.vectors.encoding import Plan, Record
from scirep_core.encoders.vectors.folder import encode_shard, finish, missing_shards, name_of, quiet, reader, shards_of
from scirep_core.kit.errors import ConfigError, ScirepError
from scirep_core.kit.formats import Format


class Named(NamedTuple):
    """An encoder as a worker can load it: by name and settings."""

    name: str
    settings: Settings

    def load(self) -> Encoder:
        """Return the encoder."""
        return load_encoder(self.name, **self.settings._asdict())


def import_ray() -> Any:
    """Return the ray module. Raises ConfigError with the line that installs it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        reason = "--engine ray needs Ray. Run `pip install 'scirep-book[scale]'`, or use --engine local"
        raise ConfigError(reason) from None
    return ray


def encode_on_ray(
    papers: Path, out: Path, plan: Plan, named: Named, format: Format, progress: Progress = quiet
) -> None:
    """Compute what is missing of a folder as Ray tasks, and write its manifest. Errors are those of `encode_folder`."""
    ray = import_ray()
    if not ray.is_initialized():
        try:  # RAY_ADDRESS names a cluster
            ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
        except Exception as error:  # Ray raises bare ones
            raise ScirepError(
                f"Ray does not start: {str(error).strip():.200}. Try again when the machine is less busy, set "
                "RAY_ADDRESS to a running cluster, or use --engine local"
            ) from None
    encoder = named.load()
    waiting = missing_shards(out, plan)
    done = plan.papers - sum(plan.parts[number].papers for number in waiting)
    device = pick_device(named.settings.device).partition(":")[0]  # a worker's own GPU is its first
    named = named._replace(settings=named.settings._replace(device=device))
    kind, task = ("GPU", ray.remote(num_gpus=1)(_task)) if device == "cuda" else ("CPU", ray.remote(_task))
    most = max(1, int(ray.cluster_resources().get(kind, 1))) + 1
    read = reader(papers, plan, encoder)
    flying: dict[Any, int] = {}
    progress(done, plan.papers)
    while waiting or flying:
        while waiting and len(flying) < most:
            number = waiting.pop(0)
            rows = [tuple(row) for row in read(number)]
            flying[task.remote(out, number, plan.key, rows, named, encoder.fingerprint, format)] = number
        ready, _ = ray.wait(list(flying), num_returns=1)
        for reference in ready:
            number = flying.pop(reference)
            _result(ray, reference)
            done += plan.parts[number].papers
            progress(done, plan.papers)
    finish(out, plan)


def _result(ray: Any, reference: Any) -> None:
    """Wait for a task; an error of ours in it is raised as it was there."""
    try:
        message = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise ScirepError(f"Ray: {str(error).strip().splitlines()[-1]:.200}. Run the same command again") from None
    if message is not None:
        raise ScirepError(message)


def _task(
    out: Path, number: int, key: str, rows: list[tuple[str, int, str]], named: Named, fingerprint: str, format: Format
) -> str | None:
    """Compute one shard on a worker unless it is there by now; return the text of an error of ours."""
    try:
        encoder = _loaded(named)
        if encoder.fingerprint != fingerprint:
            raise ConfigError(f"{named.name}: this worker has other weights or another tokenizer than the driver")
        shards = shards_of(out, key)
        with shards.claim(name_of(number)):
            if not shards.path(name_of(number)).is_file():
                encode_shard(shards, number, [Record(*row) for row in rows], encoder, format)
    except ScirepError as error:
        return str(error)
    return None


@lru_cache(maxsize=1)
def _loaded(named: Named) -> Encoder:
    return named.load()
