"""What the clusterers share that compare samples with a few anchors instead of with each other."""

from __future__ import annotations

from abc import abstractmethod
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Matrix, Vector
from kernelweave.baselines.view_distances import need_every_sample
from kernelweave.estimators._copies import warn_of_split_copies
from kernelweave.estimators._estimator import KernelModel
from kernelweave.runtime import check_memory, threads
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.views import Views

__all__ = ["TableClusterer"]


class TableClusterer(ClusterMixin, KernelModel):  # type: ignore[misc]
    """Clusters samples by their features in one or several complete tables, without matrices of all pairs."""

    _usual_anchors: ClassVar[int]
    _columns: ClassVar[int]  # numbers per sample and view that a fit holds at once with so many anchors

    _fitted_always = (*KernelModel._fitted_always, "labels_")

    labels_: NDArray[np.int32]
    embedding_: Matrix

    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Find the clusters of the samples, and what the model learns with them.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            The samples; also a dict or list of tables, or `Views`, with every sample in every table.
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        self._validate_params()
        rng = check_random_state(self.random_state)
        samples = self._read(X)
        if not isinstance(samples, Views):  # kernels are never "precomputed"
            raise self._no_chunks()
        need_every_sample(type(self).__name__, samples)
        self._check_size(samples)
        with threads(self.n_jobs, samples.n_samples):
            found = self._cluster(samples, rng)
        found["labels_"] = found["labels_"].astype(np.int32, copy=False)
        self._keep(found, samples)
        name = type(self).__name__
        warn_of_split_copies(self.labels_, samples.digests(), self.n_clusters, name, stacklevel=2)
        return self

    @property
    def view_shares_(self) -> Vector:
        """The share of every view, in the order of `view_names_`: all count the same."""
        check_is_fitted(self)
        return np.full(len(self.view_names_), 1 / len(self.view_names_))

    @abstractmethod
    def _cluster(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        """Return the fitted attributes, `labels_` among them."""

    def _check_size(self, views: Views) -> None:
        """Refuse samples for which there is not enough memory; k-means copies a dense table."""
        copy = max(0 if sparse.issparse(X) else X.nbytes for X in views.tables)
        columns = self.estimate_memory(views.n_samples, n_kernels=len(views.names))
        check_memory(
            copy + columns * max(1, ceil(self._n_anchors(views.n_samples) / self._usual_anchors)),
            what=f"{type(self).__name__} of {views.n_samples} samples",
            advice='use WeaveClustering with solver="landmark", or fewer samples or anchors',
        )

    @abstractmethod
    def _n_anchors(self, n_samples: int) -> int:
        """Return how many anchors are used for so many samples."""

    @classmethod
    def estimate_memory(cls, n_samples: int, *, n_kernels: int = 1, itemsize: int = 8) -> int:
        """Return about how many bytes a fit needs beyond its samples, with the default number of anchors.

        Parameters
        ----------
        n_samples : int
            The number of samples.
        n_kernels : int, default=1
            The number of views.
        itemsize : int, default=8
            The bytes of a number, 4 in single precision.

        Returns
        -------
        int
            Bytes, a rough figure; linear in the number of samples.
        """
        return int(n_kernels * cls._columns * itemsize * int(n_samples))
