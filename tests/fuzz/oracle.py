"""What a call may do: answer with finite numbers of the right shape, or refuse with a reason. All else is bad."""

from __future__ import annotations

import contextlib
import io
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from kernelweave.errors import ColumnsWarning, KernelweaveError, UndecidedWarning
from kernelweave.select import ClusterEvidence

_MAY_BE_NAN = ("chance", "peak_depth", "shared_shape")  # what is not measured for a number of clusters
SAID = (ConvergenceWarning, ColumnsWarning, UndecidedWarning)
# what scikit-learn itself says of X and y; it says it in place of the model
_ITS_OWN = (
    "X does not have valid feature names",
    "X has feature names",
    "A column-vector y",
    "The number of unique classes",
    "pandas.DataFrame with sparse columns found",
)


@dataclass(frozen=True)
class Outcome:
    """What became of a call: "good", "refused", or what is bad about it."""

    kind: str
    text: str = ""

    @property
    def is_bad(self) -> bool:
        return self.kind not in ("good", "refused")


def judged(call: Callable[[], Any], check: Callable[[Any], str | None] = lambda found: None) -> tuple[Outcome, Any]:
    """Return the outcome of a call, and what it returned; `check` says what is wrong with that."""
    found, failure = None, None
    with warnings.catch_warnings(record=True) as said, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                found = call()
                wrong = check(found)
            except Exception as error:
                failure, wrong = error, None
    leaked = [one for one in said if not _may_be_said(one)]
    if leaked:
        one = leaked[0]
        text = f"{one.category.__name__}: {one.message} ({_place(one.filename)}:{one.lineno})"
        return Outcome("warning", text), found
    if failure is not None:
        return _of_error(failure), None
    return (Outcome("wrong", wrong), None) if wrong else (Outcome("good"), found)


def _may_be_said(one: warnings.WarningMessage) -> bool:
    own = str(one.message).startswith(_ITS_OWN)
    return issubclass(one.category, SAID) or (own and issubclass(one.category, UserWarning))


def _place(path: str) -> str:
    return "/".join(Path(path).parts[-2:])


def _of_error(error: Exception) -> Outcome:
    """Return "refused" for an error that is meant, and "internal" for one that is not."""
    frames = traceback.extract_tb(error.__traceback__)
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if isinstance(error, KernelweaveError | NotFittedError) and str(error):
        return Outcome("refused", text)
    if isinstance(error, ValueError | TypeError) and _by_scikit_learn(frames):
        return Outcome("refused", text)
    ours = [frame for frame in frames if "/kernelweave/" in frame.filename]
    where = " < ".join(f"{_place(frame.filename)}:{frame.lineno}" for frame in reversed([*ours[-2:], frames[-1]]))
    return Outcome("internal", f"{text} ({where})")


def _by_scikit_learn(frames: traceback.StackSummary) -> bool:
    """Return whether scikit-learn's own checks of X, y or a parameter refused it, or one of ours did in its words."""
    checks = ("validation.py", "_param_validation.py", "multiclass.py")
    its_own = ["/sklearn/utils/" in frame.filename and frame.filename.endswith(checks) for frame in frames]
    inside = [i for i, own in enumerate(its_own) if own]
    return bool(inside) and not any("/kernelweave/" in frame.filename for frame in frames[inside[0] :])


def not_finite(thing: Any, name: str) -> Iterator[str]:
    """Return the places of an attribute that are not finite, but for those that are documented to be NaN at times."""
    if isinstance(thing, np.ndarray):
        if thing.dtype.kind in "fc" and not np.isfinite(thing).all():
            yield name
    elif sparse.issparse(thing):
        yield from not_finite(thing.data, name)
    elif isinstance(thing, float | np.floating):
        if not np.isfinite(thing):
            yield name
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from not_finite(value, f"{name}[{key!r}]")
    elif isinstance(thing, tuple | list):
        for i, value in enumerate(thing):
            yield from not_finite(value, f"{name}[{i}]")
    elif is_dataclass(thing) and not isinstance(thing, type):
        unknown = _MAY_BE_NAN if isinstance(thing, ClusterEvidence) else ()
        for field in fields(thing):
            if field.name not in unknown:
                yield from not_finite(getattr(thing, field.name), f"{name}.{field.name}")


def wrong_with_fit(model: Any, n: int | None) -> str | None:
    """Return what is wrong with a fitted model, None if nothing is."""
    attributes = {name: value for name, value in vars(model).items() if name.endswith("_") and name[0] != "_"}
    bad = [place for name, value in attributes.items() for place in not_finite(value, name)]
    if bad:
        return f"not finite: {', '.join(bad[:4])}"
    labels = attributes.get("labels_", attributes.get("transduction_"))
    if labels is None or labels.ndim != 1 or (n is not None and len(labels) != n):
        return f"labels of shape {np.shape(labels)} for {n} samples"
    n = len(labels)
    for name in ("graph_", "consensus_kernel_"):
        if name in attributes and attributes[name].shape != (n, n):
            return f"{name} of shape {attributes[name].shape}"
    if "classes_" in attributes:
        return _wrong_with_distributions(attributes["label_distributions_"], n, len(attributes["classes_"]))
    count = attributes.get("n_clusters_", model.n_clusters)
    if labels.min() < 0 or (isinstance(count, int) and labels.max() >= count):
        return f"labels from {labels.min()} to {labels.max()} of {count} clusters"
    return None if "membership_" not in attributes else _wrong_with_distributions(attributes["membership_"], n, None)


def _wrong_with_distributions(P: Any, n: int, c: int | None) -> str | None:
    if P.ndim != 2 or P.shape[0] != n or (c is not None and P.shape[1] != c):
        return f"distributions of shape {P.shape} for {n} samples and {c} classes"
    if not np.isfinite(P).all():
        return "distributions that are not finite"
    if P.min() < -1e-6 or not np.allclose(P.sum(axis=1), 1, atol=1e-4):
        return f"rows that sum to {P.sum(axis=1).min()} to {P.sum(axis=1).max()}, least entry {P.min()}"
    return None


def wrong_with_answer(method: str, answer: Any, n: int | None) -> str | None:
    """Return what is wrong with what a method of a fitted model returned."""
    if not isinstance(answer, np.ndarray):
        return f"{method} returned {type(answer).__name__}"
    if n is not None and len(answer) != n:
        return f"{method} returned {len(answer)} rows for {n} samples"
    if method == "predict_proba":
        return _wrong_with_distributions(answer, len(answer), None)
    return f"{method} is not finite" if any(not_finite(answer, method)) else None
