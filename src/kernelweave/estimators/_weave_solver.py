"""Which solver a Weave model takes, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelweave.errors import InvalidInputError
from kernelweave.memory import available_memory, check_memory, estimate_memory
from kernelweave.weave.local.local_weave import default_candidates
from kernelweave.weave.local.neighbours import EXACT_UP_TO, has_pynndescent

__all__ = ["SOLVERS", "SolverChoice", "choose_solver"]

SOLVERS = ("auto", "dense", "local", "landmark")
DENSE_UP_TO = 5000  # samples; above, local graphs are as good and much faster
_LOCAL_UP_TO = 2_000_000  # samples; above, a fit would take the better part of an hour


@dataclass(frozen=True, slots=True)
class SolverChoice:
    """The solver of a fit, and why it was taken.

    Parameters
    ----------
    name : {"dense", "local", "landmark"}
        The solver.
    reason : str
        What decided.
    """

    name: str
    reason: str


def choose_solver(model: Any, X: Any) -> SolverChoice:
    """Return the solver that the model asks for, or the one that suits the samples and the memory."""
    streamed = _streamed(X)
    if streamed and model.solver in ("dense", "local"):
        msg = (
            f"solver={model.solver!r} takes samples in memory; got {type(X).__name__}, which is read in chunks: use "
            'solver="landmark", or load the samples first.'
        )
        raise InvalidInputError(msg)
    whole = _needs_dense(model)
    if whole and model.solver in ("local", "landmark"):
        msg = f"solver={model.solver!r} cannot be used with {whole}: use solver='dense'."
        raise InvalidInputError(msg)
    choice = (
        _automatic(model, X, streamed, whole) if model.solver == "auto" else SolverChoice(model.solver, "asked for")
    )
    if choice.name == "dense":
        _check_dense(model, X, whole)
    return choice


def _automatic(model: Any, X: Any, streamed: bool, whole: str) -> SolverChoice:
    if streamed:
        return SolverChoice("landmark", "the samples are read in chunks")
    n, d = _shape(X)
    if whole:
        return SolverChoice("dense", f"it takes {whole}")
    dense = _dense_need(model, n)
    free = available_memory()
    if n <= DENSE_UP_TO and _fits(dense, free):
        return SolverChoice("dense", f"{n} samples are few enough to compare each with all others")
    if n > EXACT_UP_TO and not has_pynndescent():
        return SolverChoice(
            "landmark", f'{n} samples are many, and pynndescent ("kernelweave[large]") is not installed'
        )
    k = model.n_candidates or default_candidates(n, model.n_neighbors)
    local = estimate_memory("local", n, n_features=d, n_candidates=k)
    if n <= _LOCAL_UP_TO and _fits(local, free):
        return SolverChoice("local", f"{n} samples are too many to compare each with all others")
    why = f"are more than {_LOCAL_UP_TO}" if n > _LOCAL_UP_TO else f"need {local / 2**30:.2g} GiB as a local graph"
    return SolverChoice("landmark", f"{n} samples {why}")


def _needs_dense(model: Any) -> str:
    """Return what of the model needs whole kernel matrices, or nothing."""
    if model._precomputed:
        return "precomputed kernels"
    return "consensus=True" if getattr(model, "consensus", False) else ""


def _check_dense(model: Any, X: Any, whole: str) -> None:
    n, _ = _shape(X)
    advice = 'use solver="local" or "landmark", or dtype="float32"'
    if whole:
        advice = f"{whole} cannot do with less; take fewer samples, or {advice} without it"
    check_memory(_dense_need(model, n), what=f"The dense graph of {n} samples", advice=advice)


def _dense_need(model: Any, n: int) -> int:
    consensus = getattr(model, "consensus", False)
    itemsize = 4 if str(model.dtype).endswith("32") else 8
    return estimate_memory("weave-consensus" if consensus else "weave", n, itemsize=itemsize)


def _fits(need: int, free: int | None) -> bool:
    return free is None or need <= free


def _streamed(X: Any) -> bool:
    """Tell whether samples come in chunks: a dask collection, a path, an iterator; nothing is imported for it."""
    if isinstance(X, str | Path) or hasattr(X, "__dask_graph__"):
        return True
    return callable(X) or (hasattr(X, "__next__") and not hasattr(X, "shape"))


def _shape(X: Any) -> tuple[int, int]:
    """Return the number of samples and columns of one table, or of several of the same samples."""
    if hasattr(X, "shape"):
        return (int(X.shape[-2]), int(X.shape[-1])) if len(X.shape) > 1 else (len(X) if len(X.shape) else 0, 1)
    tables = list(X.values()) if isinstance(X, Mapping) else X
    if isinstance(tables, Sequence) and len(tables) and len(getattr(tables[0], "shape", ())) == 2:
        shapes = [table.shape for table in tables if hasattr(table, "shape")]
        return max(int(s[0]) for s in shapes), sum(int(s[-1]) for s in shapes)
    try:
        return len(X), 1
    except TypeError:  # no table at all: what reads it will say so
        return 0, 1
