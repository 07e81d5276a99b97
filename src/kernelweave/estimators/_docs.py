"""Parts of docstrings that estimators share, so that each of them is written once and `help` shows all of them."""

from __future__ import annotations

import re
from typing import TypeVar

__all__ = ["documented"]

_T = TypeVar("_T", bound=type)

_PARTS = {
    "n_clusters": """
n_clusters : int, default=8
    The number of clusters.
""",
    "kernels": """
kernels : str, KernelBank, list or dict of kernels, default="{default}"
    A recipe ("released-12", "released-7", "printed-12", "printed-7", "gaussian-4"), kernels of your own, or
    "precomputed": then `fit` takes kernel matrices. "auto" is "released-12", or "gaussian-4" where there are
    numbers only and every table has fewer than ten columns, whose directions say little. "mixed", or `Mixed(...)`
    with choices, reads data frames as mixed tables of numbers and categories; those with columns that are not
    numbers are always read so. "mixed" takes the kernels of "auto" for the numbers, `Mixed(numbers="released-7")`
    others. With several views a dict may give each its own, by the names of the views:
    ``{{"words": Cosine(), "links": "released-7"}}``; anything else is used for every view.
views : dict of columns, default=None
    The columns of each view in one X, by name: slices, positions, names of columns or masks, such as
    ``{{"words": slice(0, 500), "links": slice(500, None)}}``; every view gets its own kernels. Whole numbers are
    positions, also where columns have numbers as names; a mask that is a Series of pandas goes by its index. Not
    with several tables, which are views by themselves.
""",
    "kernel": """
kernel : kernel, str or callable, default=None
    The kernel: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or "precomputed":
    then `fit` takes an (n, n) matrix. None is `Gaussian(t=1)`.
""",
    "scale": """
scale : {{"auto", "unit", "zscore", "none"}} or dict, default="auto"
    How the samples are scaled before the kernels are computed: rows at unit length ("unit"), columns standardised and
    cut off at ±3 ("zscore"), or nothing ("none"; polynomial kernels then depend on the unit of X). "auto" takes the
    directions of the rows (rows keep their length where a table has fewer than ten columns), or the z-scores of the
    columns where few of them have most of the size of the rows, or where the lengths of the rows fall into groups, and
    `scaling_` says what it took and why; with the schemes "released" and "printed" it is "none", as in the paper.
    Every view is scaled for itself; a dict gives each its method.
""",
    "n_neighbors": """
n_neighbors : int, "auto" or "all", default="auto"
    How many entries each row of the last graph keeps before it is made symmetric: the strongest, compared as
    cosines S_ij / √(S_ii S_jj), and those that connect its parts. Labels are inferred on these. "all" keeps
    every entry, as the paper does: half of all pairs are then joined, and with few labels every sample gets nearly
    the same scores. "auto" is 15, and "all" with the schemes "released" and "printed".
""",
    "alpha": """
alpha : float, default=1e-5
    Weight of the smoothness of the {P} P on the graph; at least 0.
""",
    "betas": """
beta : float, default=None
    Weight of the distance between the kernels and their consensus, as the paper defines it. What a value means
    depends on n_samples: prefer `relative_beta`.
relative_beta : float, default=None
    The same weight in a unit that does not depend on n_samples: `beta` times the sum of the weights w at the mean of
    the kernels. K then moves from the weighted mean of the kernels by about 1 / (2 relative_beta) times the residual of
    the graph. Give `beta` or `relative_beta`, not both; with neither it is 30.
""",
    "gamma": """
gamma : float, default={gamma}
    Weight of the ridge on the graph; raise it if the solver meets a singular system.
""",
    "gamma_of_pmkl": """
gamma : float or "auto", default="auto"
    Weight of the ridge on the graph; raise it if the solver meets a singular system. "auto" is 0.001, and 0.1 with
    the schemes "released" and "printed".
""",
    "scheme": """
scheme : {{"safeguarded", "released", "printed", "exact"}}, default="safeguarded"
    Which version of the algorithm runs. "safeguarded": closed forms that keep K + gamma*I positive definite and
    never raise the objective, with K and w solved at once; S >= 0 is imposed on the graph at the end, not in every
    iteration. "released": the public program that made the paper's figures. "printed": Algorithm 1 as printed,
    from a random start, with the symmetric part of Eq. 16. "exact": every step solved to optimality, S >= 0
    included.
max_iter : int, default=100
    The largest number of iterations.
tol : float, default=1e-5
    Stop when the relative change of the graph falls below it (3e-5 at the least in single precision).
""",
    "partition": """
n_init : int, default=10
    How many partitions of the embedding k-means compares; the best is kept. Each is the best of several starts
    (8 on small data, 3 on large), improved until no move of a single sample lowers the sum of squares; on small
    data the partitions are also recombined. The schemes "released" and "printed" use plain k-means with this
    number of starts.
random_state : int, RandomState or None, default=None
    Seed of k-means and of the "printed" start.
""",
    "start": """
random_state : int, RandomState or None, default=None
    Seed of the "printed" start; the other schemes are deterministic.
""",
    "run": """
n_jobs : int or None, default=None
    Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples, where more are no faster, and
    does not change them otherwise; -1 takes every core.
verbose : int, default=0
    1 writes the scaling and a line per iteration to the standard error stream.
dtype : {{None, "float32", "float64"}}, default=None
    The precision to work in: None is that of X. Single precision takes half the memory and about half the time.
""",
    "memberships": """
labels_ : array of shape (n_samples,)
    The cluster of every sample.
membership_ : array of shape (n_samples, n_clusters)
    How far every sample belongs to every cluster: {how}
confidence_ : array of shape (n_samples,)
    The membership of every sample in its own cluster.
margin_ : array of shape (n_samples,)
    `confidence_` minus the largest membership in another cluster.
""",
    "classes": """
classes_ : array of shape (n_classes,)
    The class labels.
transduction_ : array of shape (n_samples,)
    The class of every sample of `fit`, given or inferred; the first of those whose probabilities are equal.
label_distributions_ : array of shape (n_samples, n_classes)
    The probability of every class for every sample of `fit`.
undecided_ : array of bool of shape (n_samples,)
    Which samples no label reaches on the graph; their distribution is uniform.
""",
    "weights_of_the_model": """
kernel_weights_ : array of shape (n_kernels,)
    The weights {weights}
kernel_names_ : tuple of str
    The kernels' names in the order of the weights; with several views each after the name of its view.
view_names_, view_widths_, view_shares_, kernel_views_
    The names of the views, the number of columns and the share of each, and the view of every kernel. One table is one
    view; a mixed table is two, "numbers" and "categories".
sample_names_ : array of shape (n_samples,) or None
    The names of the samples, from the index of the tables; None if no table has an index that names them.
readings_ : dict
    How each table was read, by its name: columns, categories, missing cells, what was left out. One table is
    called "X"; one that is not mixed is not listed.
""",
    "solution": """
graph_ : array of shape (n_samples, n_samples)
    The learned graph S, with the entries that `n_neighbors` keeps.
consensus_kernel_ : array of shape (n_samples, n_samples)
    The learned kernel K.
embedding_ : array of shape (n_samples, {width})
    {embedding}
n_iter_ : int
    The number of iterations.
history_ : History
    Terms of the objective, change of the graph, weights and seconds of every iteration.
outcome_ : Outcome
    Why the solver stopped, with a sentence as its value: `outcome_.converged` tells whether it converged. If not,
    ON_BOUND means that beta is too small, OVERRULED that alpha is too large for gamma.
scaling_ : tuple of Version
    One version of the samples: its `name`, and what was done to each view and why, `scalings` by the name of the
    view; not with precomputed kernels.
n_features_in_ : int
    The number of features seen in `fit`; of samples, if kernels are "precomputed".
""",
    "weave_samples": """
scale : {{"auto", "unit", "zscore", "none"}} or dict, default="auto"
    How the samples are scaled before the kernels are computed: rows at unit length ("unit"), columns standardised and
    cut off at ±3 ("zscore"), or nothing ("none"; polynomial kernels then depend on the unit of X). "auto" compares
    samples in two versions, their directions and their z-scores, {versions} The solvers "local" and "landmark"
    take directions, or z-scores where few columns have most of the size of the rows, or where the lengths of the rows
    fall into groups. Rows keep their length where a table has fewer than ten columns, and tables that are mostly zero,
    such as counts of words, have no z-scores. Where all rows have one direction, z-scores are taken alone. `scaling_`
    says what was used. Every view is scaled for itself; a dict gives each its method.
weights : {{"self", "uniform"}} or array of shape (n_kernels,), default="self"
    The shares of the kernels in the consensus: large for kernels near it and next to nothing for kernels that
    correlate with no other ("self"), equal, or your own.
graph : {{"auto", "ridge", "knn", "both"}}, default="auto"
    How two samples are joined: by the ridge representation ("ridge"); by the distance between them in the
    consensus kernel, in units of the distances of both to their seventh neighbours ("knn"); or by the sum of both,
    the first with twice and the second with half as many neighbours, in equal parts. "auto" is {graph}, and with
    the solver "landmark" the graph between samples and landmarks.
gamma : float or "auto", default="auto"
    The ridge, relative to the mean diagonal of the consensus kernel; "auto" is 0.1. Not with `graph="knn"`, which has
    no ridge, nor with the solver "landmark".
n_neighbors : int or "auto", default="auto"
    How many entries each row of the graph keeps, before it is made symmetric; a third as many landmarks. "auto" is
    {neighbors}
""",
    "solver": """
solver : {{"auto", "dense", "local", "landmark"}} or solver, default="auto"
    How the graph is built. "dense": from n x n kernels, up to some thousand samples. "local": every
    sample is compared with its nearest neighbours only, up to two million samples. "landmark": through a few
    landmarks, linear in n and in one pass over the data. "auto" takes the first of these that fits the samples,
    the other parameters and the memory; `solver_` says which, and why. A solver object sets parameters of its own:
    ``Local(n_candidates=30)``, ``Landmark(n_landmarks=500)`` from `kernelweave`. What a solver does not support
    is refused.
""",
    "weave_run": """
n_jobs : int or None, default=None
    Threads of BLAS and OpenMP during `fit`{processes}: None takes one below 2000 samples, where more are no faster, and
    does not change them otherwise; -1 takes every core.
verbose : int, default=0
    1 writes what was chosen and found to the standard error stream.
dtype : {{None, "float32", "float64"}}, default=None
    The precision of the kernels and the graph. None takes that of the data with "dense"; "local" always works in single
    precision and refuses "float64", and "landmark" works in single precision mostly. Single precision takes half the
    memory and is faster. Its clusters are as good, but not always the same: k-means starts at other samples.
""",
    "woven": """
kernel_weights_, kernel_shares_ : array of shape (n_kernels,)
    The shares of the kernels in the consensus; they sum to one.
kernel_names_ : tuple of str
    The kernels' names in the order of the weights; with several views each after the name of its view.
view_names_, view_widths_, view_shares_, kernel_views_
    The names of the views, the number of columns and the share of each, and the view of every kernel. One table is one
    view; a mixed table is two, "numbers" and "categories".
sample_names_ : array of shape (n_samples,) or None
    The names of the samples, from the index of the tables; None if no table has an index that names them.
readings_ : dict
    How each table was read, by its name: columns, categories, missing cells, what was left out. One table is
    called "X"; one that is not mixed is not listed.
graph_ : sparse array of shape (n_samples, n_samples)
    The graph{pieces}. Not with the solver "landmark".
consensus_kernel_ : array of shape (n_samples, n_samples)
    The consensus of the kernels. With the solver "dense" only.
scaling_ : tuple of Version
    The versions of the samples that were compared, each with its `name`, its `share` of the weight, and its `scalings`
    by the name of the view; not with precomputed kernels.
solver_ : SolverChoice
    The `solver` that was taken, its `name`, and the `reason`.
neighbor_recall_ : float
    With "local": the share of each sample's true neighbours among its candidates, 1 where the search was exact.
landmarks_ : array of shape (n_landmarks, n_features)
    With "landmark": the landmarks, on the scale of `scaling_`.
n_features_in_ : int
    The number of features seen in `fit`; of samples, if kernels are "precomputed".
""",
}

_TASKS = {
    "clusters": {
        "graph": '"ridge", and neighbours as well in z-scores and where columns are few',
        "versions": "and gives more weight to the one whose clusters are more stable.",
        "neighbors": '10 and 15, and 10 and 30 with weights by shared neighbours; 5 and 15 for "knn", and 10 and\n'
        '    20 with such weights for at most three columns; 10 for "both" and for the solver "local".',
    },
    "classes": {"graph": '"both"', "versions": "and adds up the graphs of both.", "neighbors": "10."},
}

# a line such as `    %(gamma: gamma=0.1)`
_MARK = re.compile(r"^( *)%\((\w+)(?::\s*(.*))?\)$", re.MULTILINE)


def documented(cls: _T) -> _T:
    """Fill the shared parts into the docstring of a class: a line ``%(name: key=value | ...)`` stands for each."""
    if cls.__doc__:  # None under python -OO
        cls.__doc__ = _MARK.sub(_part, cls.__doc__)
    return cls


def _part(match: re.Match[str]) -> str:
    indent, name, given = match.groups()
    values = dict(pair.split("=", 1) for pair in (given or "").split(" | ") if pair)
    values |= _TASKS.get(values.get("task", ""), {})
    lines = _PARTS[name].strip("\n").format(**values).split("\n")
    return "\n".join(indent + line if line else line for line in lines)
