"""The methods of a leaderboard: what each is, what it is given, and how its table is prepared."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeAlias

from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin

from kernelweave.errors import InvalidInputError, PluginError
from kernelweave.plugins import load_plugin, plugin_names

__all__ = ["Entrant", "Given", "Role", "Scaling", "default_entrants", "find_entrant", "is_installed"]

Role: TypeAlias = Literal["clusterer", "classifier"]
Given: TypeAlias = Literal["views", "table"]
Scaling: TypeAlias = Literal["own", "usual", "samples"]

SCALING_WORDS: dict[Scaling, str] = {
    "own": "tables as they are; the method scales them itself",
    "usual": "columns as z-scores; rows to unit length where most entries are zero",
    "samples": "every row with mean 0 and deviation 1 over its columns, as in the published experiments",
}
GIVEN_WORDS: dict[Given, str] = {
    "views": "all views",
    "table": "all columns side by side, each view with mean squared length 1; column means in gaps; dense",
}


@dataclass(frozen=True, slots=True)
class Entrant:
    """One row of the leaderboard: an estimator with its one setting.

    Parameters
    ----------
    name : str
        The name in the tables.
    target : str
        Where the class is, such as "sklearn.cluster:KMeans".
    parameters : dict
        Parameters other than the number of clusters and the seed.
    given : {"views", "table"}
        Whether it is given all views, or all columns side by side.
    scaling : {"own", "usual", "samples"}
        How the tables are scaled for it.
    unknown : dict or None
        Parameters that make it choose the number of clusters; None if it cannot.
    takes_number : bool
        Whether it can be told the number of clusters.
    needs : str
        A package that it needs besides kernelweave's own.
    """

    name: str
    target: str
    parameters: dict[str, Any] = field(default_factory=dict)
    given: Given = "views"
    scaling: Scaling = "usual"
    unknown: dict[str, Any] | None = None
    takes_number: bool = True
    needs: str = ""

    @property
    def prepared(self) -> str:
        """What the method is given, in words."""
        return f"{GIVEN_WORDS[self.given]}; {SCALING_WORDS[self.scaling]}"

    def build(self, n_clusters: int | None, seed: int) -> BaseEstimator:
        """Return the estimator; without a number of clusters it chooses one."""
        cls = load_class(self.target)
        known = inspect.signature(cls).parameters
        chosen = dict(self.parameters) | ((self.unknown or {}) if n_clusters is None else {})
        if n_clusters is not None and self.takes_number:
            chosen["n_clusters" if "n_clusters" in known else "n_components"] = n_clusters
        if "random_state" in known:
            chosen["random_state"] = seed
        return cls(**chosen)

    @property
    def role(self) -> Role:
        """Whether it finds clusters, or classes from a few labels."""
        return _role(self.target)

    @property
    def is_random(self) -> bool:
        """Whether the seed is one of its parameters."""
        return "random_state" in inspect.signature(load_class(self.target)).parameters


_KNN = {"affinity": "nearest_neighbors", "n_neighbors": 10, "assign_labels": "kmeans"}
_OURS, _BASE, _SK = "kernelweave", "kernelweave.baselines", "sklearn"
_AUTO = {"n_clusters": "auto"}

_ENTRANTS: tuple[Entrant, ...] = (
    Entrant("WeaveClustering", f"{_OURS}:WeaveClustering", scaling="own", unknown=_AUTO),
    Entrant("SMKLClustering", f"{_OURS}:SMKLClustering", scaling="own"),
    Entrant("GMC", f"{_BASE}:GMC", scaling="samples"),
    Entrant("SNF", f"{_BASE}:SNF"),
    Entrant("NEMO", f"{_BASE}:NEMO", unknown=_AUTO),
    Entrant("SimpleMKKM", f"{_BASE}:SimpleMKKM"),
    Entrant("LateFusion", f"{_BASE}:LateFusion"),
    Entrant("MKKM", f"{_BASE}:MKKM"),
    Entrant("RMKKM", f"{_BASE}:RMKKM"),
    Entrant("AASC", f"{_BASE}:AASC"),
    Entrant("LMVSC", f"{_BASE}:LMVSC"),
    Entrant("FastMICE", f"{_BASE}:FastMICE"),
    Entrant("KMeans", f"{_SK}.cluster:KMeans", {"n_init": 10}, "table"),
    Entrant("SpectralClustering", f"{_SK}.cluster:SpectralClustering", _KNN, "table"),
    Entrant("Ward", f"{_SK}.cluster:AgglomerativeClustering", {}, "table"),
    Entrant("HDBSCAN", f"{_SK}.cluster:HDBSCAN", {"copy": True}, "table", unknown={}, takes_number=False),
    Entrant("Leiden", "kernelweave.leaderboard.leiden:Leiden", {}, "table", unknown={}, takes_number=False,
            needs="igraph"),
    Entrant("WeaveClassifier", f"{_OURS}:WeaveClassifier", scaling="own"),
    Entrant("SMKLClassifier", f"{_OURS}:SMKLClassifier", scaling="own"),
    Entrant("LaplaceLearning", f"{_BASE}:LaplaceLearning"),
    Entrant("PoissonLearning", f"{_BASE}:PoissonLearning"),
    Entrant("GFHF", f"{_BASE}:GFHF", {}, "table"),
    Entrant("LGC", f"{_BASE}:LGC", {}, "table"),
    Entrant("LabelSpreading", f"{_SK}.semi_supervised:LabelSpreading", {"kernel": "knn", "n_neighbors": 10}, "table"),
    Entrant("KNeighborsClassifier", "kernelweave.leaderboard.supervised:OnLabelled", {"method": "neighbour"}, "table"),
    Entrant("LogisticRegression", "kernelweave.leaderboard.supervised:OnLabelled", {"method": "logistic"}, "table"),
)  # fmt: skip


def default_entrants() -> tuple[Entrant, ...]:
    """Return the methods that come with the leaderboard and are installed, then those of plugins."""
    own = [entrant for entrant in _ENTRANTS if is_installed(entrant)]
    return (*own, *(find_entrant(name) for name in plugin_names("methods") if name not in _names()))


def is_installed(entrant: Entrant) -> bool:
    """Return whether the package that a method needs can be imported."""
    if not entrant.needs:
        return True
    try:
        import_module(entrant.needs)
    except ImportError:
        return False
    return True


def find_entrant(name: str) -> Entrant:
    """Return a method by its name, the name of a plugin, or ``module:Class``.

    Parameters
    ----------
    name : str
        Such as "GMC", "KMeans", or "my_package.methods:MyClustering". A class of your own is given all views if it has
        a parameter `views` or an attribute ``takes_views = True``, and otherwise all columns side by side. It is told
        the number of clusters as `n_clusters`.

    Returns
    -------
    entrant : Entrant

    Raises
    ------
    InvalidInputError
        If there is no such method.
    """
    known = {entrant.name.casefold(): entrant for entrant in _ENTRANTS}
    if name.casefold() in known:
        found = known[name.casefold()]
        if not is_installed(found):
            msg = (
                f"{found.name} needs the package {found.needs}, which is not installed: run pip install {found.needs}."
            )
            raise InvalidInputError(msg)
        return found
    if name in plugin_names("methods"):
        return _own(name, f"plugin:{name}")
    if ":" in name:
        return _own(name.rpartition(":")[2], name)
    known_names = ", ".join((*_names(), *plugin_names("methods")))
    msg = f"There is no method {name!r}: choose one of {known_names}, or give a class as module:Class."
    raise InvalidInputError(msg)


def _names() -> tuple[str, ...]:
    return tuple(entrant.name for entrant in _ENTRANTS)


def _own(name: str, target: str) -> Entrant:
    cls = load_class(target)
    parameters = inspect.signature(cls).parameters
    views = "views" in parameters or bool(getattr(cls, "takes_views", False))
    scaling: Scaling = "own" if "scale" in parameters else "usual"
    number = "n_clusters" in parameters or "n_components" in parameters
    entrant = Entrant(name, target, {}, "views" if views else "table", scaling, None if number else {}, number)
    _ = entrant.role  # an estimator of another kind is refused now, not in a worker
    return entrant


@cache
def load_class(target: str) -> type[BaseEstimator]:
    """Return the class that an entrant names."""
    module, _, name = target.partition(":")
    if module == "plugin":
        found = load_plugin("methods", name)
    else:
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            msg = f"The method {target} cannot be imported: {error}. Give it as module:Class, of a module on the path."
            raise InvalidInputError(msg) from error
    if not isinstance(found, type) or not hasattr(found, "fit"):
        msg = f"The method {target} must be an estimator class with a method fit, got {found!r}."
        raise PluginError(msg)
    return found


@cache
def _role(target: str) -> Role:
    cls = load_class(target)
    if issubclass(cls, ClusterMixin):
        return "clusterer"
    if issubclass(cls, ClassifierMixin):
        return "classifier"
    msg = f"The method {target} must be a clusterer or a classifier: derive it from ClusterMixin or ClassifierMixin."
    raise PluginError(msg)
