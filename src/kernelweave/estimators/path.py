"""A whole grid of parameters in one go, each setting started from its neighbour's solution."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from numbers import Real
from typing import TypeVar

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import LabelsLike
from kernelweave.core.algebra.matrices import definite_inverse
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.estimators._learned import Learnable, LearnedClassifier, LearnedClusterer, learnable
from kernelweave.runtime import threads
from kernelweave.samples.reader import SamplesLike
from kernelweave.solve import Solution, State

__all__ = ["smkl_path"]

_Model = TypeVar("_Model", bound=LearnedClusterer | LearnedClassifier)

# outermost first; from strong to weak regularisation, so that each solution is a good start for the next setting
_ORDER = {"gamma": -1, "beta": -1, "relative_beta": -1, "alpha": 1}


def smkl_path(
    model: _Model, X: SamplesLike, grid: Mapping[str, Sequence[float]], *, y: LabelsLike | None = None
) -> Iterator[_Model]:
    """Yield the model fitted with every combination of parameters, the kernels built once and starts warm.

    The settings come in the order that makes warm starts most useful: gamma and beta from large to small, alpha from
    small to large. A setting whose warm start fails or does not converge is solved again from a cold start.

    Parameters
    ----------
    model : SMKL, KGL or PMKL clusterer or classifier
        Gives every other parameter; it is not changed.
    X : samples or kernel matrices
        As in the model's `fit`.
    grid : mapping of parameter name to values
        Values of "alpha", "beta" or "relative_beta", and "gamma"; what is not named stays as the model has it.
    y : array of shape (n_samples,), optional
        The labels, for a classifier.

    Yields
    ------
    model
        A fitted copy for every setting, one after the other: keep what you need of it, a graph takes n² floats.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import SMKLClustering, smkl_path
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"gamma": [0.1, 1], "alpha": [1e-5, 1e-3]}
    >>> [(m.gamma, m.alpha) for m in smkl_path(SMKLClustering(3, random_state=0), X, grid)]
    [(1, 1e-05), (1, 0.001), (0.1, 1e-05), (0.1, 0.001)]
    """
    settings = _settings(model, grid)
    first = clone(model).set_params(**settings[0])
    first._check_parameters()
    given = learnable(first, X, y)
    head: Solution | None = None  # of the block before: the same alpha, and the nearest beta and gamma
    for _, block in groupby(settings, key=_without_alpha):
        before = head
        for place, setting in enumerate(block):
            fitted = clone(model).set_params(**setting)
            fitted._check_parameters()
            with threads(fitted.n_jobs, given.samples.n_samples):
                before = _learn(fitted, given, before)
            head = before if place == 0 else head
            yield fitted


def _without_alpha(setting: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in setting.items() if name != "alpha"}


def _settings(model: _Model, grid: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    if not isinstance(model, LearnedClusterer | LearnedClassifier):
        msg = f"A path is one of SMKL, KGL or PMKL, whose starts can be warm; got {model!r}: fit it for every setting."
        raise InvalidInputError(msg)
    known = [name for name in _ORDER if name in model.get_params(deep=False)]
    if not (isinstance(grid, Mapping) and grid and set(grid) <= set(known) and all(map(_are_numbers, grid.values()))):
        msg = f"A path of {type(model).__name__} runs over lists of values of {', '.join(known)}; got {grid!r}."
        raise InvalidInputError(msg)
    axes = {name: sorted(grid[name], key=lambda value: sign * value) for name, sign in _ORDER.items() if name in grid}
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _are_numbers(values: object) -> bool:
    if not isinstance(values, Collection) or isinstance(values, Mapping):
        return False
    return len(values) > 0 and all(isinstance(value, Real) and not isinstance(value, bool) for value in values)


def _learn(model: LearnedClusterer | LearnedClassifier, given: Learnable, before: Solution | None) -> Solution:
    """Return the solution from a warm start, or from a cold one if there is no warm one or it does not converge."""
    start = None if before is None else _warm(before, model._scheme().gamma)
    if start is not None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConvergenceWarning)
                return model._learn(given, start)
        except (ConvergenceWarning, NotFiniteError):
            pass
    return model._learn(given)


def _warm(before: Solution, gamma: float) -> State | None:
    """Return a solution as a start for another setting, if its kernel is within the bounds of that one.

    The labels are those that the graph was learned with, not those on the edges of it that were kept.
    """
    if definite_inverse(before.state.K, shift=0.51 * gamma) is None:
        return None
    return replace(before.state, P=before.P)
