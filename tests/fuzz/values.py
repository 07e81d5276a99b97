"""Parameters and labels, allowed and hostile. The allowed ones are read off the constraints of an estimator."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils._param_validation import Interval, Options, StrOptions

from kernelweave import Dense, Landmark, Local, kernels
from tests.fuzz.draw import Draw

HOSTILE = [
    "2", "", "auto", "none", b"auto", True, False, np.True_, 10**30, -(10**30), 10**400, 2**31, 2**63, -1, 0, 1.5, -0.5,
    np.nan, np.inf, -np.inf, 1e308, 1e-308, 5e-324, [], [2], (1,), {}, {"a": 1}, {"auto"}, np.array([1, 2]),
    np.array(2), np.float16(2), np.int8(2), np.float32("nan"), np.uint64(3), None, object(), 2j, Decimal(2), pd.NA,
    Fraction(1, 2), date(2020, 1, 1), np.datetime64("NaT"), len, int, range(3), "\0", "é" * 300,
]  # fmt: skip
# what a case pays for by its time is kept small
_SMALL = {
    "max_iter": [1, 2, 3, 7],
    "n_iter": [1, 2, 5],
    "n_init": [1, 1, 2],
    "code_max_iter": [1, 5, 40],
    "n_jobs": [None, None, 1],
    "verbose": [0, 0, False],
    "n_clusters": [1, 2, 2, 3, 3, 3, 4, 7, 30],
    "n_groups": [1, 2, 3],
    "dtype": [None, None, np.float32, "float64", np.dtype("float32")],
    "random_state": [0, 1, None],
}
_ALWAYS = ("n_clusters", "max_iter", "n_init", "code_max_iter", "n_iter", "random_state")
_KERNELS = [
    "released-12", "released-7", "printed-12", "printed-7", None, "mixed", [kernels.Gaussian(t=1), kernels.Linear()],
    {"a": kernels.Gaussian(t=0.1)}, [kernels.Polynomial(degree=4)], [kernels.Linear() * 1e300, kernels.Linear()],
    kernels.KernelBank([kernels.Cosine()]), ["rbf", "linear"], [kernels.Laplacian(t=1), kernels.Chi2()],
    [kernels.SelfTuning(), kernels.CosineNormalized(kernels.Linear())], [kernels.MaxNormalized(kernels.Linear())],
    [kernels.Centered(kernels.Gaussian(t=1))], [kernels.TraceNormalized(kernels.Polynomial(degree=2, offset=1))],
    {"X": "released-7"}, [kernels.Overlap()], [np.dot], [], {}, "sigmoid", 7, ["none such"],
]  # fmt: skip
_KERNEL = [
    None, None, None, kernels.Gaussian(t=0.2), kernels.Gaussian(t=1e-9), kernels.Linear(),
    kernels.Polynomial(degree=4, offset=1), "rbf", "linear", "cosine", kernels.Laplacian(t=0.1), kernels.SelfTuning(),
    np.dot, kernels.Linear() + kernels.Cosine(),
    "nothing", 7, kernels.Cosine(), kernels.DiameterNormalized(kernels.Linear()), "distances",
]  # fmt: skip
_OTHER = {
    "views": [None, None, None, None, {"a": slice(0, 1), "b": slice(1, 9)}, {"a": [0]}, {}, {"a": ["c0"]}, {"a": [-9]}],
    "scale": [{"X": "unit"}, {"X": "zscore", "v0": "none"}, {}, {"X": 3}],
    "weights": [[1.0], [1, 2], [0] * 3, np.ones(12), [-1] * 12, [np.nan] * 12, [1e300] * 12, ["a"] * 7, np.eye(2)],
    "priors": [None, [0.5, 0.5], [0.2, 0.3, 0.5], [0, 1], [np.nan, 1], [1e300, 1e300], "ab", [[1]], {"a": 1}],
    "solver": [Dense(), Local(), Local(n_candidates=5), Landmark(), Landmark(n_landmarks=4)],
    "n_landmarks": [None, 1, 3, 10],
}  # fmt: skip


def _number(draw: Draw, allowed: Interval) -> Any:
    low = 0 if allowed.left is None else allowed.left
    high = allowed.right
    if allowed.type is Integral:
        return low + draw.one([0, 1, 2, 3, 5, 10, 40, 2**31 - 1 - low if high is None else int(high - low)])
    inside = [low + step for step in (1e-300, 1e-12, 1e-5, 1e-2, 0.5, 1, 10, 1e5, 1e100, 1e300)]
    fitting = [value for value in inside if value in allowed]
    return draw.one([*fitting, low]) if low in allowed else draw.one(fitting)


def allowed_value(draw: Draw, name: str, constraints: list[Any]) -> Any:
    """Return a value that the constraints of a parameter allow, most of the time."""
    if name in _SMALL:
        return draw.one(_SMALL[name])
    if name in _OTHER and draw.chance(0.3):
        return draw.one(_OTHER[name])
    one = draw.one(constraints)
    if isinstance(one, StrOptions):
        return draw.one(sorted(one.options))
    if isinstance(one, Options):
        return draw.one(sorted(one.options, key=str))
    if isinstance(one, Interval):
        return _number(draw, one)
    return draw.one([True, False]) if isinstance(one, str) and one == "boolean" else None


def parameters(draw: Draw, cls: type) -> dict[str, Any]:
    """Return parameters of an estimator: a few that are not the default ones, now and then one that is hostile."""
    constraints = cls._parameter_constraints
    found: dict[str, Any] = {}
    for name, default in cls().get_params(deep=False).items():
        if name in ("kernels", "kernel"):
            if draw.chance(0.4):
                found[name] = draw.one(_KERNELS if name == "kernels" else _KERNEL)
        elif name in _ALWAYS or draw.chance(0.2):
            value = allowed_value(draw, name, constraints.get(name, [None]))
            if value is not None or default is None:
                found[name] = value
    if draw.chance(0.15):
        found[draw.one(list(cls().get_params(deep=False)))] = draw.one(HOSTILE)
    return found


def _plain(draw: Draw, z: Any) -> Any:
    return np.where(draw.rng.random(len(z)) < 0.5, z, -1)


def _objects(draw: Draw, z: Any) -> Any:
    words = np.array(["a", "b", None, "", "-1", "NA"], dtype=object)
    return words[np.where(draw.rng.random(len(z)) < 0.5, z % 2, 2 + z)]


LABELS = {
    "plain": _plain,
    "plain again": _plain,
    "plain once more": _plain,
    "all": lambda draw, z: z,
    "floats": lambda draw, z: np.where(draw.rng.random(len(z)) < 0.5, z, np.nan),
    "objects": _objects,
    "text": lambda draw, z: _plain(draw, z).astype(str),
    "list": lambda draw, z: _plain(draw, z).tolist(),
    "bytes": lambda draw, z: _plain(draw, z).astype("S"),
    "bool": lambda draw, z: z > 0,
    "small": lambda draw, z: _plain(draw, z).astype(np.int8),
    "unsigned": lambda draw, z: z.astype(np.uint8),
    "huge": lambda draw, z: np.where(z == 0, -1, z * 2**61),
    "huge objects": lambda draw, z: np.array([10**30 * (i + 1) for i in z.tolist()], dtype=object),
    "fractions": lambda draw, z: z / 3 + 0.1,
    "infinite": lambda draw, z: np.where(z == 0, np.inf, z),
    "series": lambda draw, z: pd.Series(_plain(draw, z), index=[f"s{i}" for i in range(len(z))]),
    "category": lambda draw, z: pd.Series(np.where(z == 0, None, z.astype(str)), dtype="category"),
    "nullable": lambda draw, z: pd.Series(z, dtype="Int64").where(z > 0),
    "frame": lambda draw, z: pd.DataFrame({"y": _plain(draw, z)}),
    "unlabelled": lambda draw, z: np.full(len(z), -1),
    "one class": lambda draw, z: np.where(z == 0, 0, -1),
    "short": lambda draw, z: z[:-1],
    "two columns": lambda draw, z: np.column_stack([z, z]),
    "column": lambda draw, z: z[:, None],
    "none": lambda draw, z: None,
    "number": lambda draw, z: 3,
    "word": lambda draw, z: "labels",
    "dates": lambda draw, z: np.array("2020-01-01", dtype="M8[D]") + z,
    "masked": lambda draw, z: np.ma.masked_equal(z, 0),
    "complex": lambda draw, z: z + 1j,
    "mixed": lambda draw, z: [draw.one([1, "a", None, 2.5, True]) for _ in z],
    "tuples": lambda draw, z: [(1, 2)] * len(z),
    "dict": lambda draw, z: dict(enumerate(z.tolist())),
    "set": lambda draw, z: set(z.tolist()),
}


def labels(draw: Draw, n: int) -> Any:
    """Return labels of n samples."""
    return draw.named(LABELS, draw.rng.integers(0, 3, n))
