"""Hostile files: models, tables and settings with bytes changed, cut or doubled, and what reads them."""

from __future__ import annotations

import copy
import functools
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import io as matlab
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import make_blobs

import kernelweave
from kernelweave.experiments import spec
from kernelweave.tabular import ReadOptions, read_tables
from tests.fuzz.cases import ESTIMATORS, METHODS, Call
from tests.fuzz.draw import Draw
from tests.fuzz.oracle import judged, wrong_with_answer

X, Y = make_blobs(24, n_features=3, centers=3, random_state=0)
PART = np.where(np.arange(24) % 3 == 0, Y, -1)
FRAME = pd.DataFrame(X.round(3), columns=["a", "b", "c"]).assign(name=[f"s{i}" for i in range(24)], kind=Y.astype(str))
ODD_BYTES = [b"\0", b"\xff" * 8, b"PK\x05\x06" + b"\xff" * 18, b"\n", b'"', b",,,", b"nan", b"1e999", b"[[[[", b"{}"]
ODD_VALUES = [
    None,
    [],
    {},
    "text",
    -1,
    10**30,
    1e308,
    True,
    {"$array": 0},
    {"$array": 99},
    [[]],
    "\ud800",
    {"$tuple": []},
]


@functools.cache
def _model(place: int) -> bytes:
    """Return the file of a fitted model."""
    cls = ESTIMATORS[place]
    model = cls() if is_classifier(cls()) else cls(n_clusters=3, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        model.fit(X, PART).save(Path(folder) / "model.kw")
        return (Path(folder) / "model.kw").read_bytes()


def _saved(write: Callable[[Any], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        return next(Path(folder).iterdir()).read_bytes()


def _anndata(path: Path) -> None:
    import anndata

    anndata.AnnData(X, obs=FRAME[["name", "kind"]].astype(str).rename(index=str)).write_h5ad(path)


@functools.cache
def _table(suffix: str) -> bytes:
    """Return a file of a table of one type."""
    writers: dict[str, Callable[[Any], object]] = {
        ".csv": lambda path: FRAME.to_csv(path, index=False),
        ".tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
        ".csv.gz": lambda path: FRAME.to_csv(path, index=False, compression="gzip"),
        ".parquet": FRAME.to_parquet,
        ".feather": FRAME.to_feather,
        ".npy": lambda path: np.save(path.with_suffix(".npy"), X),
        ".npz": lambda path: np.savez(path.with_suffix(".npz"), x=X, names=FRAME.name.to_numpy(str)),
        ".mat": lambda path: matlab.savemat(path.with_suffix(".mat"), {"X": X, "S": sparse.csc_matrix(X)}),
        ".xlsx": lambda path: FRAME.to_excel(path.with_suffix(".xlsx"), index=False),
        ".h5ad": _anndata,
    }
    return _saved(writers[suffix])


_TYPES = (".csv", ".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".npy", ".npz", ".mat", ".xlsx", ".h5ad")
TABLES = tuple(one for one in _TYPES if one != ".h5ad" or find_spec("anndata"))  # it is not there with every pandas


def _mutated(draw: Draw, data: bytes) -> bytes:
    """Return bytes with a few changes."""
    for _ in range(draw.one([1, 1, 2, 5, 20])):
        i, j = sorted(draw.integer(0, len(data)) for _ in range(2))
        change = draw.one(["poke", "poke", "insert", "insert", "cut", "end", "double", "flip"])
        if change == "poke" and data:
            i = min(i, len(data) - 1)
            data = data[:i] + bytes([draw.integer(0, 255)]) + data[i + 1 :]
        elif change == "flip" and data:
            i = min(i, len(data) - 1)
            data = data[:i] + bytes([data[i] ^ (1 << draw.integer(0, 7))]) + data[i + 1 :]
        elif change == "insert":
            data = data[:i] + draw.one(ODD_BYTES) + data[i:]
        elif change == "cut":
            data = data[:i] + data[min(j, i + 64) :]
        elif change == "end":
            data = data[:j]
        else:
            data = data[:j] + data[i:]
    return data


def _with_header(draw: Draw, data: bytes) -> bytes:
    """Return a model file with some values of its header replaced, its arrays and their digests intact."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        tree = json.loads(old.read("model.json"))
        for _ in range(draw.integer(1, 3)):
            _replace(draw, tree)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                new.writestr(name, json.dumps(tree) if name == "model.json" else old.read(name))
    return out.getvalue()


def _replace(draw: Draw, tree: Any) -> None:
    """Replace, drop or swap a value somewhere in a tree of JSON."""
    while True:
        places = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not places:
            return
        place = draw.one(places)
        if not isinstance(tree[place], dict | list) or draw.chance(0.25):
            break
        tree = tree[place]
    action = draw.one(["value", "value", "drop", "swap"])
    if action == "drop":
        del tree[place]
    elif action == "swap":
        other = draw.one(places)
        tree[place], tree[other] = tree[other], tree[place]
    else:
        tree[place] = copy.deepcopy(draw.one(ODD_VALUES))


def run_file(seed: int, index: int, folder: Path) -> Iterator[Call]:
    """Write one hostile file into a folder, read it, and use what was read; every call is returned."""
    draw = Draw(seed, index)
    kind = draw.one(["model", "model", "header", "header", "table", "table", "table", "settings"])
    if kind in ("model", "header"):
        data = _model(draw.integer(0, len(ESTIMATORS) - 1))
        path = folder / "hostile.kw"
        path.write_bytes(_mutated(draw, data) if kind == "model" else _with_header(draw, data))
        yield from _loaded(path)
    elif kind == "table":
        suffix = draw.one(TABLES)
        path = folder / f"hostile{suffix}"
        path.write_bytes(_mutated(draw, _table(suffix)))
        yield Call(f"read {suffix}", judged(lambda: read_tables(path, ReadOptions()))[0])
    else:
        path = folder / "hostile.toml"
        source = draw.one(sorted(spec.available_specs().values()))
        path.write_bytes(_mutated(draw, source.read_bytes()))
        yield Call("read .toml", judged(lambda: spec.load_spec(str(path), draw.one(["quick", "full", "none"])))[0])


def _loaded(path: Path) -> Iterator[Call]:
    outcome, model = judged(lambda: kernelweave.load(path))
    yield Call("load", outcome)
    if model is None:
        return
    for method in METHODS:
        if hasattr(model, method):

            def answer(method: str = method) -> Any:
                return getattr(model, method)(X)

            found, _ = judged(answer, lambda a, m=method: wrong_with_answer(m, a, None))
            yield Call(f"loaded {type(model).__name__}.{method}", found)
    yield Call("loaded repr", judged(lambda: repr(model))[0])
