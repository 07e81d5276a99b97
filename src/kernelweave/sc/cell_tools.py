"""The two functions on annotated data: clusters of cells, and types of cells from a few labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar, Unpack

from kernelweave._plural import counted
from kernelweave._types import RandomStateLike
from kernelweave.errors import InvalidInputError
from kernelweave.estimators import WeaveClassifier, WeaveClustering
from kernelweave.samples.partial_labels import UNLABELLED_WORDS
from kernelweave.sc.annotated import AnnotatedData, Representation, read_cells, write_classes, write_clusters
from kernelweave.sc.parameters import ClassParameters, ClusterParameters

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["classify", "weave"]

Data = TypeVar("Data", bound=AnnotatedData)


def weave(
    data: Data,
    n_clusters: int | Literal["auto"] = "auto",
    *,
    use_rep: Representation | Mapping[str, Representation] | None = None,
    layer: str | Mapping[str, str] | None = None,
    modalities: Sequence[str] | None = None,
    key_added: str = "weave",
    random_state: RandomStateLike = 0,
    copy: bool = False,
    **parameters: Unpack[ClusterParameters],
) -> Data | None:
    """Cluster the cells of an AnnData or MuData object with `WeaveClustering` and write the result into it.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, normalised as usual. The modalities of a MuData are views; a cell may be missing in some.
    n_clusters : int or "auto", default="auto"
        The number of clusters.
    use_rep : str, list of str, or dict of these by modality, optional
        What the cells are compared by: a key of `obsm`, or "X" for the matrix; several are views. The default is
        `obsm["X_pca"]` if there is one, else "X". For a MuData one value holds for all modalities, and modalities that
        a dict leaves out have the default.
    layer : str, or dict of str by modality, optional
        A key of `layers`, instead of `use_rep`.
    modalities : list of str, optional
        The modalities of a MuData to use; all by default.
    key_added : str, default="weave"
        Where the result is written, see Returns.
    random_state : int, RandomState or None, default=0
        Seed, as for `WeaveClustering`.
    copy : bool, default=False
        Write into a copy and return it.
    **parameters
        Further parameters of `WeaveClustering`, such as `solver` or `scale`.

    Returns
    -------
    AnnData, MuData or None
        The copy if `copy`, else None. These are set:

        ``obs[key_added]``
            The cluster of every cell as a category, "0" being the largest.
        ``obs[f"{key_added}_confidence"]``
            How certain it is, from 0 to 1.
        ``obsm[f"X_{key_added}"]``
            The embedding of the cells.
        ``obsp[f"{key_added}_connectivities"]``, ``obsp[f"{key_added}_distances"]``
            The learned graph, sparse, and 1 minus its weights relative to the largest. Not with the solver "landmark",
            which has no graph of the cells. Functions of scanpy use them with ``neighbors_key=key_added``.
        ``uns[key_added]``
            The parameters, the share of every kernel and view, and the sentence on the number of clusters.

    Examples
    --------
    >>> import kernelweave as kw
    >>> kw.sc.weave(adata, n_clusters=8)  # doctest: +SKIP
    >>> adata.obs["weave"].value_counts()  # doctest: +SKIP
    """
    _check(data, key_added)
    written: Data = data.copy() if copy else data
    cells = read_cells(written, use_rep, layer, modalities)
    model = WeaveClustering(n_clusters, random_state=random_state, **parameters).fit(cells.X)
    write_clusters(written, model, key_added, cells.places)
    return written if copy else None


def classify(
    data: Data,
    labels_key: str,
    *,
    unlabeled_category: str | None = None,
    use_rep: Representation | Mapping[str, Representation] | None = None,
    layer: str | Mapping[str, str] | None = None,
    modalities: Sequence[str] | None = None,
    key_added: str = "weave_class",
    random_state: RandomStateLike = 0,
    copy: bool = False,
    **parameters: Unpack[ClassParameters],
) -> Data | None:
    """Classify the cells of an AnnData or MuData object from those whose type is known, with `WeaveClassifier`.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, as for `weave`.
    labels_key : str
        The column of `obs` that has the known types. Missing entries and empty texts are unlabelled.
    unlabeled_category : str, optional
        A category that marks unlabelled cells too, such as "Unknown"; refused if the column does not have it.
    use_rep, layer, modalities
        As for `weave`.
    key_added : str, default="weave_class"
        Where the result is written, see Returns; not `labels_key`.
    random_state, copy
        As for `weave`.
    **parameters
        Further parameters of `WeaveClassifier`.

    Returns
    -------
    AnnData, MuData or None
        The copy if `copy`, else None. Set are ``obs[key_added]``, the type of every cell as a category, given or
        predicted, ``obs[f"{key_added}_confidence"]``, its probability, and the graph, embedding and parameters in the
        same places as those of `weave`. A cell that no label reaches has a missing type.
    """
    _check(data, key_added)
    written: Data = data.copy() if copy else data
    if labels_key not in written.obs:
        msg = f"There is no column {labels_key!r} in obs; it has: {', '.join(map(str, written.obs)) or 'none'}."
        raise InvalidInputError(msg)
    if key_added == labels_key:
        msg = f"The result would replace the given types in obs[{labels_key!r}]: choose another key_added."
        raise InvalidInputError(msg)
    given = written.obs[labels_key].astype(object)
    if unlabeled_category is not None and not (given == unlabeled_category).any():
        there = ", ".join(map(repr, given.dropna().unique()[:10])) or "none"
        msg = f"There is no category {unlabeled_category!r} in obs[{labels_key!r}]; there are: {there}. Leave it out."
        raise InvalidInputError(msg)
    known = given.mask((given == unlabeled_category) | (given == "")).where(given.notna(), None)
    _say_unlabelled(known, labels_key)
    cells = read_cells(written, use_rep, layer, modalities)
    y = known.to_numpy(dtype=object)
    model = WeaveClassifier(random_state=random_state, **parameters).fit(cells.X, y)
    write_classes(written, model, key_added, cells.places)
    return written if copy else None


def _say_unlabelled(known: pd.Series, labels_key: str) -> None:
    """Issue a warning for every type whose name suggests cells without a type, unless it is `unlabeled_category`."""
    for name, count in known.value_counts().items():
        if str(name).strip().lower() in UNLABELLED_WORDS:
            msg = (
                f"{name!r} in obs[{labels_key!r}] is taken as a type ({counted(count, 'cell')}), but its name suggests "
                f"cells without a type: pass unlabeled_category={name!r} if they are unlabelled."
            )
            warnings.warn(msg, UserWarning, stacklevel=3)


def _check(data: object, key_added: object) -> None:
    """Refuse objects that are not annotated data, and keys that are not texts."""
    if not (hasattr(data, "obs_names") and hasattr(data, "obsm")):
        msg = (
            f"An AnnData or MuData object is needed; got {type(data).__name__}: fit WeaveClustering or WeaveClassifier "
            "to other tables."
        )
        raise InvalidInputError(msg)
    if not isinstance(key_added, str) or not key_added:
        msg = f"key_added must be a text, the name of what is written; got {key_added!r}."
        raise InvalidInputError(msg)
