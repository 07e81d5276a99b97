"""Models from files, of the classes that kernelweave exports."""

from __future__ import annotations

import os
from typing import Any

from sklearn.base import BaseEstimator

from kernelweave import estimators
from kernelweave.files import read_model

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that `model.save` wrote to a file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        It predicts as the model that was saved.

    Raises
    ------
    BadFileError
        If the file is damaged, not a model file, or of a later version. Nothing in a file is run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import kernelweave
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kernelweave.WeaveClustering(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "iris.kw")
    ...     again = kernelweave.load(Path(folder) / "iris.kw")
    >>> bool((again.predict(X + 0.01) == model.predict(X + 0.01)).all())
    True
    """
    return read_model(path, _exported)


def _exported(name: str) -> type[BaseEstimator] | None:
    """Return the estimator of this name in a file, None if there is none."""
    place, _, own = name.rpartition(".")
    if place == "kernelweave":
        cls = getattr(estimators, own) if own in estimators.__all__ else None
    elif place == "kernelweave.baselines":
        from kernelweave import baselines  # slow to import, and few files need it

        cls = getattr(baselines, own) if own in baselines.__all__ else None
    else:
        return None
    return cls if isinstance(cls, type) and issubclass(cls, BaseEstimator) else None
