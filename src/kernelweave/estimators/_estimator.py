"""The base of every estimator: parameters, samples read once, the fitted state, files and pictures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Array, LabelsLike, Mask, Matrix, Vector
from kernelweave.errors import InvalidInputError, UndecidedWarning
from kernelweave.estimators._repr import summary_html
from kernelweave.files import save_model
from kernelweave.kernels import Gaussian, Kernel, as_kernel
from kernelweave.kernels.bank import check_stack
from kernelweave.kernels.view_bank import Bank, KernelsLike, bank_of
from kernelweave.runtime import Reporter, StageProgress, check_memory, threads
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.file_reading import FileReading
from kernelweave.samples.partial_labels import read_labels
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.reader import SampleSet, SamplesLike, read_like, read_samples
from kernelweave.samples.unrelated import without_unrelated
from kernelweave.samples.views import TableReading, Views
from kernelweave.weave.choice import SOLVERS, refuse_gaps
from kernelweave.weave.graph_model import Answers, GraphModel, chunked_answers
from kernelweave.weave.plan import KernelShares

__all__ = [
    "AT_LEAST_ONE",
    "NOT_NEGATIVE",
    "RIDGE",
    "KernelLike",
    "KernelModel",
    "KernelsLike",
    "Number",
]

KernelLike: TypeAlias = Kernel | str | Callable[..., float] | None

_LARGEST = np.iinfo(np.int32).max  # number of clusters, neighbours, iterations and threads


class Number(Interval):  # type: ignore[misc]
    """An interval of finite numbers, without booleans and integers that numpy cannot hold."""

    def is_satisfied_by(self, val: object) -> bool:
        """Return whether a value is one of the numbers."""
        if isinstance(val, bool | np.bool_) or not isinstance(val, Integral | float | np.floating):
            return False  # fractions are real numbers too, but numpy has no type for them
        if isinstance(val, np.uint64 | np.float16):
            return False  # arithmetic with them makes floating-point numbers, or overflows
        fits = abs(int(val)) < 2**63 if isinstance(val, Integral) else isfinite(val)
        return fits and bool(super().is_satisfied_by(val if isinstance(val, Integral) else float(val)))


AT_LEAST_ONE = Number(Integral, 1, _LARGEST, closed="both")
NOT_NEGATIVE = Number(Real, 0, None, closed="left")
RIDGE = Number(Real, 0, 1e15, closed="right")  # added to kernels, in single precision too


class KernelModel(BaseEstimator):  # type: ignore[misc]
    """A model of samples that are compared by one kernel (`kernel`) or several (`kernels`)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [AT_LEAST_ONE],
        "alpha": [Number(Real, 0, 1e15, closed="both")],
        "gamma": [RIDGE],
        "lam": [Number(Real, 1e-100, 1e100, closed="both")],  # times a kernel of that range
        "max_iter": [AT_LEAST_ONE],
        "tol": [Number(Real, 0, 1e15, closed="both")],
        "n_init": [AT_LEAST_ONE],
        "n_neighbors": [AT_LEAST_ONE],
        "random_state": [Number(Integral, 0, 2**32 - 1, closed="both"), np.random.RandomState, None],
        "n_jobs": [AT_LEAST_ONE, Number(Integral, -_LARGEST, -1, closed="both"), None],
        "verbose": [Number(Integral, 0, _LARGEST, closed="both"), "boolean"],
        "views": [Mapping, None],
        "dtype": [
            StrOptions({"float32", "float64"}),
            Options(type, {np.float32, np.float64}),
            Options(np.dtype, {np.dtype(np.float32), np.dtype(np.float64)}),
            None,
        ],
    }
    _of_matrices: ClassVar[tuple[str, ...]] = ("precomputed",)  # the words for kernels that X holds the matrices of
    _only_kernels: ClassVar[bool] = False  # whether these must be kernels: some baselines take graphs or distances
    _default_kernel: ClassVar[Kernel] = Gaussian(t=1)
    _fitted_always: ClassVar[
        tuple[str, ...]
    ] = (  # the attributes of every fitted model, without which no file is loaded
        "n_features_in_",
        "view_names_",
        "view_widths_",
        "sample_names_",
        "readings_",
    )
    _matrices: ClassVar[float] = 2.0  # of size n x n that a fit holds at once, besides the kernels
    _keeps_kernels: ClassVar[bool] = True  # whether it holds the matrices of all kernels too

    n_features_in_: int
    feature_names_in_: Array
    column_names_: tuple[str, ...]  # those of one data frame whose names are not texts, as texts
    view_names_: tuple[str, ...]
    view_widths_: tuple[int, ...]
    sample_names_: Array | None
    readings_: dict[str, TableReading]
    file_reading_: FileReading  # set by commands that read files, not by `fit`
    kernel_names_: tuple[str, ...]
    kernel_views_: tuple[str, ...]
    kernel_shares_: Vector
    _graph_model: GraphModel

    def set_params(self, **params: object) -> Self:
        """Set parameters by their names.

        Solvers and kernels are not changed but replaced as a whole: ``set_params(solver=Landmark(n_landmarks=50))``.

        Parameters
        ----------
        **params : dict
            The new values.

        Returns
        -------
        self
        """
        values = {**self.get_params(deep=False), **params}
        for given in params:
            name, within, _ = given.partition("__")
            if within and name in values and not hasattr(values[name], "set_params"):
                example = ", such as set_params(solver=Landmark(n_landmarks=50))" if name == "solver" else ""
                msg = f"{given!r} names a part of {name}, which has none to set: replace {name} as a whole{example}."
                raise InvalidInputError(msg)
        found: Self = super().set_params(**params)
        return found

    def _one_kernel(self) -> Kernel | Literal["precomputed"]:
        """Return the kernel of a model that has the parameter `kernel` in place of `kernels`."""
        kernel: KernelLike = self.kernel
        if kernel is None:
            return self._default_kernel
        return "precomputed" if isinstance(kernel, str) and kernel == "precomputed" else as_kernel(kernel)

    def _check_parameters(self) -> None:
        """Refuse values that are not allowed, and those that contradict each other, before anything is read."""
        self._validate_params()
        given = vars(self)
        scale, beta, relative_beta = (given.get(name) for name in ("scale", "beta", "relative_beta"))
        if get_tags(self).input_tags.pairwise and scale not in (None, "auto", "none"):
            msg = f"scale={scale!r} scales samples, but kernels are 'precomputed': use 'auto' or 'none'."
            raise InvalidInputError(msg)
        if given.get("class_mass") and given.get("propagation") == "lgc":  # far from labels all its scores are alike
            msg = 'class_mass=True scales harmonic scores, but propagation is "lgc": leave one of the two out.'
            raise InvalidInputError(msg)
        if given.get("graph") == "knn" and given.get("gamma", "auto") != "auto":
            msg = f'gamma={given["gamma"]!r} sets the ridge, but graph="knn" has none: leave one of the two out.'
            raise InvalidInputError(msg)
        if beta is not None and relative_beta is not None:
            msg = (
                f"beta={beta!r} and relative_beta={relative_beta!r} say the same thing twice: "
                "give the paper's beta or the relative one, not both."
            )
            raise InvalidInputError(msg)

    def _read(self, X: SamplesLike, y: LabelsLike | None = None) -> SampleSet:
        """Return the samples of `fit`, at least as many as clusters; y are the labels of a classifier."""
        pairwise = get_tags(self).input_tags.pairwise
        reader = type(self)(**self.get_params(deep=False))  # scikit-learn's checks set attributes: a fit may still fail
        samples = read_samples(reader, X, precomputed=pairwise, kernels=getattr(self, "kernels", None))
        c, n = getattr(self, "n_clusters", "auto"), samples.n_samples
        if not isinstance(c, str) and n is not None and c > n:
            msg = f"n_clusters={c} is more than the n_samples={n} given: lower n_clusters, or pass more samples."
            raise InvalidInputError(msg)
        if "mixed" in samples.requirements:
            views = cast(Views, samples)  # tables in memory alone are mixed
            return without_unrelated(views, None if y is None else read_labels(y, views, X)[1])
        return samples

    def _no_chunks(self) -> InvalidInputError:
        """Return the error of a model that compares samples each with all others, where X is read in chunks."""
        return InvalidInputError(
            f"{type(self).__name__} takes samples in memory, but X is read in chunks: load it first, or use "
            'WeaveClustering or WeaveClassifier with solver="landmark".'
        )

    def _read_again(self, X: SamplesLike) -> SampleSet:
        """Return samples in the form of those of `fit`."""
        samples = read_like(self, X, kernel_names=self.kernel_names_ if get_tags(self).input_tags.pairwise else None)
        if not samples.complete and hasattr(self, "solver_"):
            refuse_gaps(self.solver_, samples)
        return samples

    def _answers(self, X: SamplesLike, *, warn: bool = True) -> Answers:
        """Return the distribution of every sample over classes or clusters, and which samples are undecided.

        With `warn`, new samples that are similar to no training sample with an answer give a warning.
        """
        samples, model = self._read_again(X), self._graph_model
        if model.joiner.chunked or isinstance(samples, Chunks):  # which kernel matrices never are
            given = cast(Views | Chunks, samples)
            found = chunked_answers(model, given, self.n_features_in_, self.n_jobs, self._progress())
        else:
            with threads(1 if self.n_jobs is None else self.n_jobs):  # small products, for which threads do not pay
                found = model.answers(samples)
        empty = found.undecided & (found.known < 0)
        if warn and empty.any():
            warnings.warn(_undecided(empty), UndecidedWarning, stacklevel=3)
        return found

    def _progress(self) -> StageProgress:
        return StageProgress(Reporter(type(self).__name__, self.verbose))

    @classmethod
    def estimate_memory(cls, n_samples: int, *, n_kernels: int = 12, itemsize: int = 8) -> int:
        """Return about how many bytes a fit needs beyond its samples: kernel matrices, and what is made of them.

        Of WeaveClustering and WeaveClassifier it is that of the solver "dense"; the others need much less.

        Parameters
        ----------
        n_samples : int
            The number of samples.
        n_kernels : int, default=12
            The number of kernels, whose matrices are all kept, but by WeaveClustering and WeaveClassifier.
        itemsize : int, default=8
            The bytes of a number, 4 in single precision.

        Returns
        -------
        int
            Bytes, a rough figure.
        """
        return int((cls._matrices + n_kernels * cls._keeps_kernels) * itemsize * int(n_samples) ** 2)

    def _check_memory(self, samples: Views | KernelStack, n_kernels: int) -> None:
        """Refuse samples whose kernel matrices, and what the model makes of them, do not fit."""
        n, needs = samples.n_samples, samples.requirements.keys()
        lean = [f'"{one.name}"' for one in SOLVERS.values() if one.name != "dense" and needs <= one.supports]
        solvers = f" with solver={' or '.join(lean)} for many samples," if lean else ""
        fewer = "fewer samples or kernels" if n_kernels > 1 else "fewer samples"
        check_memory(
            self.estimate_memory(n, n_kernels=n_kernels, itemsize=samples.dtype.itemsize),
            what=f"{type(self).__name__} of {n} samples and {n_kernels} kernel{'s' * (n_kernels != 1)}",
            advice=f"use WeaveClustering or WeaveClassifier,{solvers} or {fewer}",
        )

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank fixed on the samples, and the kernel matrices H (r, n, n)."""
        several = hasattr(self, "kernels")
        bank = bank_of(self.kernels if several else self._one_kernel(), samples)
        if not several and len(bank.names) > 1:
            raise InvalidInputError(_one_kernel_only(type(self).__name__, samples, len(bank)))
        self._check_memory(samples, len(bank.names))
        with threads(self.n_jobs, samples.n_samples):
            H = bank.fit_grams(samples)
        check_stack(H, bank.names, training=True)
        return bank, H

    def _keep(self, fitted: Mapping[str, Any], samples: SampleSet, kernels: KernelShares | None = None) -> None:
        """Replace the fitted state of an earlier fit by this one; a model of tables has no kernels."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        found = dict(samples.attributes)
        if kernels is not None:
            found |= {"kernel_names_": kernels.names, "kernel_views_": kernels.views, "kernel_shares_": kernels.shares}
            if kernels.weights is not None:
                found["kernel_weights_"] = kernels.weights
            if any(version.scalings for version in kernels.versions):  # kernel matrices are not scaled
                found["scaling_"] = kernels.versions
        self.__dict__.update({**found, **fitted})

    @property
    def view_shares_(self) -> Vector:
        """The share of every view in the consensus, in the order of `view_names_`: that of its kernels together."""
        check_is_fitted(self)
        views = np.array(self.kernel_views_)
        return np.array([self.kernel_shares_[views == name].sum() for name in self.view_names_])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file of JSON and arrays, which `kernelweave.load` reads back.

        Parameters
        ----------
        path : str or path
            Where to; an existing file is replaced once the new one is complete.

        Notes
        -----
        The file holds no pickle: reading it runs no code. Python functions and kernel classes of your own can
        therefore not be saved; use pickle or joblib for those, and load such files only from sources you trust.
        """
        save_model(self, path)

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + summary_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += summary_html(self)
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        spec = getattr(self, "kernels", getattr(self, "kernel", None))  # models of complete tables have neither
        tags.input_tags.pairwise = isinstance(spec, str) and spec in self._of_matrices
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


def _undecided(empty: Mask) -> str:
    """Return the warning of new samples that are similar to no training sample with an answer."""
    n = len(empty)
    what = f"{np.count_nonzero(empty)} of {n} samples are" if n > 1 else "The sample is"
    first = f" (first: row {empty.argmax()})" if n > 1 else ""
    return (
        f"{what} similar to no training sample with an answer{first}: uniform probabilities are returned. "
        "undecided(X) tells which samples these are."
    )


def _one_kernel_only(model: str, samples: Views | KernelStack, n_kernels: int) -> str:
    """Return why a model of one kernel refuses these samples, and what to do."""
    if isinstance(samples, KernelStack):
        return f"{model} learns from one kernel matrix; got {n_kernels}. Pass one, or use SMKL for several."
    cure = "encode categories as numbers" if "mixed" in samples.requirements else "pass one table"
    return (
        f"{model} learns from one kernel of one table, but X holds {len(samples.names)} views "
        f"({', '.join(samples.names)}): {cure}, or use a model of several kernels, such as SMKL."
    )
