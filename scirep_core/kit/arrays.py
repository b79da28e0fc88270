"""Arrays out of a `.npz`: the one reader of them, for files that come from a stranger.

A `.npz` is a zip of `.npy` files, and numpy believes what they say of themselves. Here nothing is allocated before the
zip's directory, its sizes against those of the file, and each array's header agree; nothing is ever unpickled.
"""

from __future__ import annotations

import math
import struct
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Never

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from scirep_core.kit.errors import DataError

KINDS = "biufcUS"
"""Kinds of numbers and texts that arrays may hold (`numpy.dtype.kind`)."""
DEFLATED = 1032
"""Bytes that one byte of a deflated stream can stand for, at most."""
_AGAIN = "Save it again with numpy.savez"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(path: Path, *wanted: Sequence[str]) -> list[NDArray[Any]]:
    """Return one array for each of `wanted`: the first of its names that the file has.

    Raises DataError for a file that is no whole .npz, is encrypted, announces other sizes than it has, lacks a wanted array,
    or holds it empty, as Python objects, or as bytes of no kind in `KINDS`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            held = _directory(archive, path)
            names = [next((name for name in choices if name in held), None) for choices in wanted]
            if None in names:
                need = " and ".join(f"`{choices[0]}`" for choices in wanted)
                raise DataError(path, None, f"arrays are {', '.join(held) or 'none'}", f"Store {need}")
            return [_array(archive, held[name], name, path) for name in names if name is not None]
    except FileNotFoundError:
        raise DataError(path, None, "file not found") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, NotImplementedError,
            ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError) as error:  # fmt: skip
        _refuse(path, str(error) or type(error).__name__)


def _refuse(path: Path, reason: str) -> Never:
    raise DataError(path, None, f"not a readable .npz ({reason:.200})", _AGAIN) from None


def _directory(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return name -> entry of the arrays, all of which must be as large as they say."""
    whole, held = path.stat().st_size, {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name == entry.filename:
            continue  # no array
        if name in held:
            _refuse(path, f"`{name:.60}` is there twice")
        if entry.flag_bits & 0x2041:  # encrypted, strongly encrypted, or its names are
            _refuse(path, f"`{name:.60}` is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            _refuse(path, f"`{name:.60}` is packed by method {entry.compress_type}")
        most = entry.compress_size * (DEFLATED if entry.compress_type == zipfile.ZIP_DEFLATED else 1)
        if entry.compress_size > whole or entry.file_size > most:
            _refuse(path, f"`{name:.60}` announces {entry.file_size:,} bytes, the file has {whole:,}")
        held[name] = entry
    return held


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, path: Path) -> NDArray[Any]:
    with archive.open(entry) as stream:
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            _refuse(path, f"`{name}` has a header of version {version}")
        try:
            shape, _, dtype = _HEADERS[version](stream)
        except Exception as error:  # numpy reads it as Python code: tokens, literals, a description of a dtype
            _refuse(path, f"the header of `{name}`: {str(error) or type(error).__name__}")
        start = stream.tell()
    if dtype.hasobject:
        better = "ids.astype(str)" if name == "ids" else f"{name}.astype(float), with rows of one length"
        raise DataError(path, None, f"`{name}` holds Python objects, which are not loaded", f"Save {better}")
    if dtype.kind not in KINDS:
        raise DataError(path, None, f"`{name}` holds {dtype!s:.60}, neither numbers nor texts")
    if not dtype.itemsize or any(side < 1 for side in shape):
        raise DataError(path, None, f"`{name}` is empty: shape {shape} of {dtype}")
    if math.prod(shape) * dtype.itemsize != entry.file_size - start:
        _refuse(path, f"`{name}` announces shape {shape} of {dtype} in {entry.file_size - start:,} bytes")
    with archive.open(entry) as stream:
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    if (
        dtype.kind == "U"
        and array.ravel("K").view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)).max() > sys.maxunicode
    ):
        _refuse(path, f"`{name}` holds a number that is no character")
    return array
