"""How much memory a fit will take, and whether it is there, asked before anything large is allocated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kernelweave.errors import NotEnoughMemoryError

__all__ = ["available_memory", "check_dense_memory", "check_memory", "estimate_memory"]

LIMIT = "KERNELWEAVE_MEMORY"  # bytes to plan with instead of what the machine reports

# the most that is in memory at once, in n x n matrices beside the r kernels that a model keeps
_MATRICES = {"weave": 4.0, "weave-consensus": 8.0, "smkl": 8.2, "kernels": 2.0}
_BYTES_PER_NEIGHBOUR = 70  # local, counted: lists of candidates and their making, kernels, graph, eigenvectors
_LOCAL_ROW = 400  # and what each sample takes besides


def estimate_memory(
    model: str, n_samples: int, *, n_kernels: int = 12, n_features: int = 0, n_candidates: int = 15, itemsize: int = 8
) -> int:
    """Return about how many bytes a fit needs beyond its samples.

    A rough figure, for refusing in time what cannot fit; that of "local" counts the arrays that live at the same time
    and is not a measured peak.

    Parameters
    ----------
    model : {"weave", "weave-consensus", "smkl", "kernels", "local"}
        Dense Weave, the same with `consensus=True`, the SMKL family, another model of whole kernel matrices (the least
        that it needs), or Weave with solver="local".
    n_samples : int
        The number of samples.
    n_kernels : int, default=12
        The number of kernels; the SMKL family keeps the matrices of all of them.
    n_features : int, default=0
        The width of the samples, of which "local" keeps a scaled copy in single precision.
    n_candidates : int, default=15
        For "local": the neighbours that each sample is compared with.
    itemsize : int, default=8
        The bytes of a number, 4 in single precision.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> from kernelweave.memory import estimate_memory
    >>> round(estimate_memory("weave", 20_000) / 2**30)
    12
    """
    if model == "local":
        return n_samples * (_LOCAL_ROW + _BYTES_PER_NEIGHBOUR * n_candidates + 2 * 4 * n_features)
    kept = n_kernels if model in ("smkl", "kernels") else 0
    return int((_MATRICES[model] + kept) * itemsize * n_samples**2)


def available_memory() -> int | None:
    """Return the bytes that can still be allocated, None where the system does not say.

    The least of what the machine and its control group leave; the environment variable KERNELWEAVE_MEMORY, in bytes,
    takes their place.
    """
    if given := os.environ.get(LIMIT):
        return int(float(given))
    known = [value for value in (_machine(), _control_group()) if value is not None]
    return min(known) if known else None


def check_memory(need: int, *, what: str, advice: str) -> None:
    """Refuse, before allocating, what does not fit; the error names the need, what there is and the way on."""
    free = available_memory()
    if free is not None and need > free:
        msg = f"{what} needs about {_gib(need)} of memory, and {_gib(free)} are available: {advice}."
        raise NotEnoughMemoryError(msg)


def check_dense_memory(model: object, kind: str, n_kernels: int, samples: Any) -> None:
    """Refuse samples whose kernel matrices, and what a model of this kind makes of them, do not fit."""
    n = samples.shape[0]
    check_memory(
        estimate_memory(kind, n, n_kernels=n_kernels, itemsize=np.dtype(samples.dtype).itemsize),
        what=f"{type(model).__name__} of {n} samples and {n_kernels} kernels",
        advice='use WeaveClustering or WeaveClassifier, with solver="local" or "landmark" for many samples, '
        "or fewer samples or kernels",
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB" if size >= 2**27 else f"{size / 2**20:.3g} MiB"


def _machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # not Linux: all that there is, in use or not
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return None


def _control_group() -> int | None:
    """Return what the limit of a container leaves; pages of files that could be dropped count as free."""
    for folder, limit, used, cache in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            most = int(Path(folder, limit).read_text())  # "max" where there is none
            stat = dict(line.split() for line in Path(folder, "memory.stat").read_text().splitlines())
            return most - int(Path(folder, used).read_text()) + int(stat.get(cache, 0))
        except (OSError, ValueError):
            continue
    return None
